//! Sessions, their expiry, take-over, and wills (sections 3.1.2 to 3.1.4, 4.1 and 4.4).

use std::sync::Arc;

use crate::harness::*;
use wirecost_mqtt::broker::{Command, Config, Event};
use wirecost_mqtt::codec::{
    Acknowledgement, Connect, Packet, Property, Publish, ReasonCode, SubscriptionOptions, Version, Will,
};
use wirecost_mqtt::quality::{Delivery, QoS};

const QOS1: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::AtLeastOnce);
const QOS2: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::ExactlyOnce);

/// A broker with a subscriber to `will` on flow 0.
fn watched() -> BrokerHarness {
    let mut harness = BrokerHarness::new(Config::default());
    harness.join(0, "watcher");
    harness.subscribe(0, "will", QOS1);
    harness
}

fn lasting(harness: &mut BrokerHarness, flow: u32, clean_start: bool, seconds: u32) {
    let expiry = properties([Property::SessionExpiryInterval(seconds)]);
    harness.connect(
        flow,
        Connect {
            clean_start,
            properties: expiry.as_properties(),
            ..hello("device")
        },
    );
}

fn at_least_once<'a>(topic: &'a str, payload: &'a str) -> Publish<'a> {
    Publish {
        delivery: Delivery::AtLeastOnce(id(1)),
        ..message(topic, payload)
    }
}

#[test]
fn a_session_keeps_subscriptions_and_messages_until_it_expires() {
    let mut harness = watched();
    lasting(&mut harness, 1, true, 100);
    assert_eq!(harness.received(1), ["connack 0x00"]);
    harness.subscribe(1, "a", QOS1);
    harness.lose(1);
    harness.publish(0, at_least_once("a", "kept"));
    harness.publish(0, message("a", "qos 0 is not"));
    harness.wait(99);
    lasting(&mut harness, 2, false, 100);
    assert_eq!(harness.received(2), ["connack 0x00 session", "a=kept qos1 1"]);
    assert_eq!(harness.broker.stats().dropped_offline, 1);
    harness.lose(2);
    harness.wait(100);
    assert_eq!(harness.broker.sessions(), 1);
    lasting(&mut harness, 3, false, 100);
    assert_eq!(harness.received(3), ["connack 0x00"]);
}

/// [MQTT-3.3.2-5]
#[test]
fn a_message_that_expires_while_queued_is_dropped() {
    let mut harness = watched();
    lasting(&mut harness, 1, true, 100);
    harness.subscribe(1, "a", QOS1);
    harness.lose(1);
    let expiry = properties([Property::MessageExpiryInterval(5)]);
    for payload in ["old", "newer"] {
        let publish = at_least_once("a", payload);
        harness.publish(
            0,
            Publish {
                properties: expiry.as_properties(),
                ..publish
            },
        );
        harness.wait(3);
    }
    lasting(&mut harness, 2, false, 100);
    let newer = "a=newer qos1 1 MessageExpiryInterval(2)";
    assert_eq!(harness.received(2), ["connack 0x00 session", newer]);
    assert_eq!(harness.broker.stats().dropped_expired, 1);
}

/// [MQTT-3.1.2-4]
#[test]
fn a_clean_start_forgets_the_session() {
    let mut harness = watched();
    lasting(&mut harness, 1, true, 100);
    harness.subscribe(1, "a", QOS1);
    harness.lose(1);
    harness.publish(0, at_least_once("a", "lost"));
    lasting(&mut harness, 2, true, 100);
    harness.publish(0, at_least_once("a", "lost"));
    assert_eq!(harness.received(2), ["connack 0x00"]);
}

#[test]
fn version_3_1_1_sessions_last_forever_or_for_one_connection() {
    let mut harness = watched();
    let old = |clean_start| Connect {
        version: Version::V3_1_1,
        clean_start,
        ..hello("old")
    };
    harness.connect(1, old(false));
    harness.lose(1);
    harness.wait(1_000_000_000);
    harness.connect(2, old(false));
    assert_eq!(harness.received(2), ["connack 0x00 session"]);
    harness.lose(2);
    harness.connect(3, old(true));
    harness.lose(3);
    harness.connect(4, old(false));
    assert_eq!(harness.received(4), ["connack 0x00"]);
}

/// [MQTT-4.4.0-1], [MQTT-4.6.0-1]
#[test]
fn unacknowledged_messages_are_resent_in_order_on_reconnect() {
    let mut harness = watched();
    lasting(&mut harness, 1, true, 100);
    harness.subscribe(1, "a", QOS2);
    for (packet_id, payload) in [(1, "1"), (2, "2"), (3, "3")] {
        let delivery = Delivery::ExactlyOnce(id(packet_id));
        harness.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
    }
    harness.send(
        1,
        Packet::Pubrec(Acknowledgement::new(id(2), ReasonCode::Success)),
    );
    harness.received(1);
    harness.wait(50);
    assert!(harness.received(1).is_empty());
    harness.lose(1);
    lasting(&mut harness, 2, false, 100);
    let received = [
        "connack 0x00 session",
        "a=1 qos2 1 dup",
        "pubrel 2 0x00",
        "a=3 qos2 3 dup",
    ];
    assert_eq!(harness.received(2), received);
    assert_eq!(harness.broker.stats().resent, 3);
}

/// [MQTT-4.8.2-3] to [MQTT-4.8.2-6], [MQTT-4.4.0-2]
#[test]
fn a_message_for_a_group_member_goes_to_no_other_member() {
    let mut harness = watched();
    lasting(&mut harness, 1, true, 100);
    harness.subscribe(1, "$share/g/a", QOS1);
    harness.join(2, "other");
    harness.subscribe(2, "$share/g/a", QOS2);
    harness.received(1);
    let publish = |harness: &mut BrokerHarness, payload| {
        let delivery = Delivery::ExactlyOnce(id(1));
        harness.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
        harness.send(
            0,
            Packet::Pubrel(Acknowledgement::new(id(1), ReasonCode::Success)),
        );
    };
    publish(&mut harness, "granted QoS 1");
    harness.lose(1);
    publish(&mut harness, "the other's turn");
    assert_eq!(harness.received(1), ["a=granted QoS 1 qos1 1"]);
    assert_eq!(harness.received(2), ["a=the other's turn qos2 1"]);
    lasting(&mut harness, 1, false, 100);
    assert_eq!(
        harness.received(1),
        ["connack 0x00 session", "a=granted QoS 1 qos1 1 dup"]
    );
    let refused = Acknowledgement::new(id(1), ReasonCode::ImplementationSpecificError);
    harness.send(1, Packet::Puback(refused));
    harness.lose(1);
    lasting(&mut harness, 1, false, 100);
    assert_eq!(
        harness.received(1),
        ["connack 0x00 session"],
        "what was refused is over"
    );
    publish(&mut harness, "of a session that ends");
    harness.lose(1);
    harness.wait(100);
    assert!(harness.received(2).is_empty());
}

/// [MQTT-4.3.3-10], [MQTT-4.3.3-11]
#[test]
fn a_message_of_qos_2_is_published_once_even_across_connections() {
    let mut harness = watched();
    lasting(&mut harness, 1, true, 100);
    let delivery = Delivery::ExactlyOnce(id(9));
    harness.publish(
        1,
        Publish {
            delivery,
            ..message("will", "x")
        },
    );
    harness.lose(1);
    lasting(&mut harness, 2, false, 100);
    harness.received(2);
    harness.publish(
        2,
        Publish {
            delivery,
            dup: true,
            ..message("will", "x")
        },
    );
    let release = Packet::Pubrel(Acknowledgement::new(id(9), ReasonCode::Success));
    harness.send(2, release);
    harness.send(2, release);
    assert_eq!(
        harness.received(2),
        ["pubrec 9 0x00", "pubcomp 9 0x00", "pubcomp 9 0x92"]
    );
    assert_eq!(harness.received(0), ["will=x qos1 1"]);
    assert_eq!(harness.broker.stats().duplicates, 1);
    harness.publish(
        2,
        Publish {
            delivery,
            ..message("will", "y")
        },
    );
    assert_eq!(
        harness.received(0),
        ["will=y qos1 2"],
        "a released identifier is free"
    );
}

/// [MQTT-3.1.4-3]
#[test]
fn a_second_connection_takes_over() {
    let mut harness = watched();
    lasting(&mut harness, 1, true, 100);
    harness.received(1);
    lasting(&mut harness, 2, false, 100);
    assert_eq!(harness.received(1), ["disconnect 0x8e", "close"]);
    assert_eq!(harness.received(2), ["connack 0x00 session"]);
    let old = Connect {
        version: Version::V3_1_1,
        ..hello("device")
    };
    harness.connect(3, old);
    harness.received(3);
    harness.connect(4, old);
    assert_eq!(harness.received(3), ["close"]);
}

/// Section 3.2.2.3.2
#[test]
fn a_session_lasts_no_longer_than_the_broker_grants() {
    let mut harness = BrokerHarness::new(Config {
        maximum_session_expiry: 60,
        ..Config::default()
    });
    lasting(&mut harness, 1, true, 100);
    harness.lose(1);
    harness.wait(59);
    assert_eq!(harness.broker.sessions(), 1);
    harness.wait(1);
    assert_eq!(harness.broker.sessions(), 0);
}

#[test]
fn a_client_without_an_identifier_is_assigned_one() {
    let mut harness = watched();
    harness.connect(1, hello(""));
    harness.connect(2, hello(""));
    let named = |number| format!("connack 0x00 AssignedClientIdentifier(\"wc-auto-0000000{number}\")");
    assert_eq!(
        (harness.received(1), harness.received(2)),
        (vec![named(1)], vec![named(2)])
    );
    harness.connect(
        3,
        Connect {
            version: Version::V3_1_1,
            ..hello("")
        },
    );
    assert_eq!(harness.received(3), ["connack 0x00"]);
}

#[test]
fn connack_announces_what_differs_from_the_defaults() {
    let mut harness = BrokerHarness::new(Config {
        receive_maximum: 10,
        server_keep_alive: Some(7),
        maximum_session_expiry: 60,
        response_information: Some("r".parse().expect("a text")),
        maximum_qos: QoS::AtLeastOnce,
        shared_subscriptions: false,
        ..Config::default()
    });
    let wishes = [
        Property::SessionExpiryInterval(100),
        Property::RequestResponseInformation(1),
    ];
    let wishes = properties(wishes);
    harness.connect(
        0,
        Connect {
            properties: wishes.as_properties(),
            ..hello("device")
        },
    );
    let announced = "connack 0x00 ReceiveMaximum(10) MaximumQos(1) ServerKeepAlive(7) \
        SharedSubscriptionAvailable(0) SessionExpiryInterval(60) ResponseInformation(\"r\")";
    assert_eq!(harness.received(0), [announced]);
    harness.wait(10);
    assert!(harness.received(0).is_empty());
    harness.wait(1);
    assert_eq!(
        harness.received(0),
        ["disconnect 0x8d", "close"],
        "the imposed keep-alive counts"
    );
}

fn with_will(harness: &mut BrokerHarness, flow: u32, keep_alive: u16) {
    let will = Some(will("will"));
    harness.connect(
        flow,
        Connect {
            will,
            keep_alive,
            ..hello("device")
        },
    );
    harness.received(flow);
}

/// [MQTT-3.1.2-8], [MQTT-3.14.4-3]
#[test]
fn a_will_is_published_unless_the_client_disconnects() {
    let mut harness = watched();
    with_will(&mut harness, 1, 0);
    harness.leave(1, ReasonCode::Success);
    assert!(harness.received(0).is_empty());
    with_will(&mut harness, 2, 0);
    harness.leave(2, ReasonCode::DisconnectWithWill);
    assert_eq!(harness.received(0), ["will=gone"]);
    with_will(&mut harness, 3, 0);
    harness.lose(3);
    assert_eq!(harness.received(0), ["will=gone"]);
    with_will(&mut harness, 4, 10);
    harness.wait(15);
    assert_eq!(harness.received(4), ["disconnect 0x8d", "close"]);
    assert_eq!(harness.received(0), ["will=gone"]);
    with_will(&mut harness, 5, 0);
    with_will(&mut harness, 6, 0);
    assert_eq!(harness.received(0), ["will=gone"], "take-over");
    harness.send(6, Packet::Pingresp);
    assert_eq!(harness.received(6), ["disconnect 0x82", "close"]);
    assert_eq!(harness.received(0), ["will=gone"], "protocol error");
}

/// Section 3.1.3.2.2 and [MQTT-3.1.3-9]
#[test]
fn a_client_can_return_before_its_will_delay_ends() {
    let connect = |harness: &mut BrokerHarness, flow, clean_start, expiry| {
        let delay = properties([Property::WillDelayInterval(10)]);
        let expiry = properties([Property::SessionExpiryInterval(expiry)]);
        let will = Will {
            properties: delay.as_properties(),
            ..will("will")
        };
        let hello = hello("device");
        harness.connect(
            flow,
            Connect {
                clean_start,
                will: Some(will),
                properties: expiry.as_properties(),
                ..hello
            },
        );
    };
    let mut harness = watched();
    connect(&mut harness, 1, true, 100);
    harness.lose(1);
    harness.wait(9);
    connect(&mut harness, 2, false, 100);
    harness.wait(9);
    assert!(harness.received(0).is_empty(), "back in time");
    harness.lose(2);
    harness.wait(10);
    assert_eq!(harness.received(0), ["will=gone"], "after the delay");
    connect(&mut harness, 3, false, 5);
    harness.lose(3);
    harness.wait(5);
    assert_eq!(
        harness.received(0),
        ["will=gone"],
        "the session ended before the delay"
    );
    connect(&mut harness, 4, false, 100);
    harness.lose(4);
    connect(&mut harness, 5, true, 100);
    assert_eq!(
        harness.received(0),
        ["will=gone"],
        "a clean start ended the session"
    );
}

#[test]
fn a_will_can_be_retained_and_have_qos_1() {
    let mut harness = watched();
    let will = Will {
        qos: QoS::AtLeastOnce,
        retain: true,
        ..will("will")
    };
    harness.connect(
        1,
        Connect {
            will: Some(will),
            ..hello("device")
        },
    );
    harness.lose(1);
    assert_eq!(harness.received(0), ["will=gone qos1 1"]);
    assert_eq!(harness.broker.retained(), 1);
}

#[test]
fn commands_end_connections() {
    let mut harness = watched();
    harness.join(1, "device");
    let reason = ReasonCode::AdministrativeAction;
    let client_id: Arc<str> = "device".into();
    harness.command(Command::DisconnectClient {
        client_id: client_id.clone(),
        reason,
    });
    assert_eq!(harness.received(1), ["disconnect 0x98", "close"]);
    let flow = wirecost_proto::FlowId(1);
    assert!(harness.events.contains(&Event::ClientDisconnected {
        flow,
        client_id,
        reason
    }));
    harness.command(Command::Shutdown);
    assert_eq!(harness.received(0), ["disconnect 0x8b", "close"]);
}
