//! Sessions, their expiry, take-over, and wills (sections 3.1.2 to 3.1.4, 4.1 and 4.4).

use std::sync::Arc;

use crate::talk::*;
use wirecost_mqtt::broker::{Command, Config, Event};
use wirecost_mqtt::codec::{
    Acknowledgement, Connect, Packet, Property, Publish, ReasonCode, SubscriptionOptions, Version, Will,
};
use wirecost_mqtt::quality::{Delivery, QoS};

const QOS1: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::AtLeastOnce);
const QOS2: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::ExactlyOnce);

/// A broker with a subscriber to `will` on flow 0.
fn watched() -> Talk {
    let mut talk = Talk::new(Config::default());
    talk.join(0, "watcher");
    talk.subscribe(0, "will", QOS1);
    talk
}

fn lasting(talk: &mut Talk, flow: u32, clean_start: bool, seconds: u32) {
    let expiry = properties([Property::SessionExpiryInterval(seconds)]);
    talk.connect(
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
    let mut talk = watched();
    lasting(&mut talk, 1, true, 100);
    assert_eq!(talk.hear(1), ["connack 0x00"]);
    talk.subscribe(1, "a", QOS1);
    talk.lose(1);
    talk.publish(0, at_least_once("a", "kept"));
    talk.publish(0, message("a", "qos 0 is not"));
    talk.wait(99);
    lasting(&mut talk, 2, false, 100);
    assert_eq!(talk.hear(2), ["connack 0x00 session", "a=kept qos1 1"]);
    assert_eq!(talk.broker.stats().dropped_offline, 1);
    talk.lose(2);
    talk.wait(100);
    assert_eq!(talk.broker.sessions(), 1);
    lasting(&mut talk, 3, false, 100);
    assert_eq!(talk.hear(3), ["connack 0x00"]);
}

/// [MQTT-3.3.2-5]
#[test]
fn a_message_that_expires_while_queued_is_dropped() {
    let mut talk = watched();
    lasting(&mut talk, 1, true, 100);
    talk.subscribe(1, "a", QOS1);
    talk.lose(1);
    let expiry = properties([Property::MessageExpiryInterval(5)]);
    for payload in ["old", "newer"] {
        let publish = at_least_once("a", payload);
        talk.publish(
            0,
            Publish {
                properties: expiry.as_properties(),
                ..publish
            },
        );
        talk.wait(3);
    }
    lasting(&mut talk, 2, false, 100);
    let newer = "a=newer qos1 1 MessageExpiryInterval(2)";
    assert_eq!(talk.hear(2), ["connack 0x00 session", newer]);
    assert_eq!(talk.broker.stats().dropped_expired, 1);
}

/// [MQTT-3.1.2-4]
#[test]
fn a_clean_start_forgets_the_session() {
    let mut talk = watched();
    lasting(&mut talk, 1, true, 100);
    talk.subscribe(1, "a", QOS1);
    talk.lose(1);
    talk.publish(0, at_least_once("a", "lost"));
    lasting(&mut talk, 2, true, 100);
    talk.publish(0, at_least_once("a", "lost"));
    assert_eq!(talk.hear(2), ["connack 0x00"]);
}

#[test]
fn version_3_1_1_sessions_last_forever_or_for_one_connection() {
    let mut talk = watched();
    let old = |clean_start| Connect {
        version: Version::V3_1_1,
        clean_start,
        ..hello("old")
    };
    talk.connect(1, old(false));
    talk.lose(1);
    talk.wait(1_000_000_000);
    talk.connect(2, old(false));
    assert_eq!(talk.hear(2), ["connack 0x00 session"]);
    talk.lose(2);
    talk.connect(3, old(true));
    talk.lose(3);
    talk.connect(4, old(false));
    assert_eq!(talk.hear(4), ["connack 0x00"]);
}

/// [MQTT-4.4.0-1], [MQTT-4.6.0-1]
#[test]
fn unacknowledged_messages_are_resent_in_order_on_reconnect() {
    let mut talk = watched();
    lasting(&mut talk, 1, true, 100);
    talk.subscribe(1, "a", QOS2);
    for (packet_id, payload) in [(1, "1"), (2, "2"), (3, "3")] {
        let delivery = Delivery::ExactlyOnce(id(packet_id));
        talk.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
    }
    talk.say(
        1,
        Packet::Pubrec(Acknowledgement::new(id(2), ReasonCode::Success)),
    );
    talk.hear(1);
    talk.wait(50);
    assert!(talk.hear(1).is_empty());
    talk.lose(1);
    lasting(&mut talk, 2, false, 100);
    let heard = [
        "connack 0x00 session",
        "a=1 qos2 1 dup",
        "pubrel 2 0x00",
        "a=3 qos2 3 dup",
    ];
    assert_eq!(talk.hear(2), heard);
    assert_eq!(talk.broker.stats().resent, 3);
}

/// [MQTT-4.8.2-3] to [MQTT-4.8.2-6], [MQTT-4.4.0-2]
#[test]
fn a_message_for_a_group_member_goes_to_no_other_member() {
    let mut talk = watched();
    lasting(&mut talk, 1, true, 100);
    talk.subscribe(1, "$share/g/a", QOS1);
    talk.join(2, "other");
    talk.subscribe(2, "$share/g/a", QOS2);
    talk.hear(1);
    let publish = |talk: &mut Talk, payload| {
        let delivery = Delivery::ExactlyOnce(id(1));
        talk.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
        talk.say(
            0,
            Packet::Pubrel(Acknowledgement::new(id(1), ReasonCode::Success)),
        );
    };
    publish(&mut talk, "granted QoS 1");
    talk.lose(1);
    publish(&mut talk, "the other's turn");
    assert_eq!(talk.hear(1), ["a=granted QoS 1 qos1 1"]);
    assert_eq!(talk.hear(2), ["a=the other's turn qos2 1"]);
    lasting(&mut talk, 1, false, 100);
    assert_eq!(
        talk.hear(1),
        ["connack 0x00 session", "a=granted QoS 1 qos1 1 dup"]
    );
    let refused = Acknowledgement::new(id(1), ReasonCode::ImplementationSpecificError);
    talk.say(1, Packet::Puback(refused));
    talk.lose(1);
    lasting(&mut talk, 1, false, 100);
    assert_eq!(talk.hear(1), ["connack 0x00 session"], "what was refused is over");
    publish(&mut talk, "of a session that ends");
    talk.lose(1);
    talk.wait(100);
    assert!(talk.hear(2).is_empty());
}

/// [MQTT-4.3.3-10], [MQTT-4.3.3-11]
#[test]
fn a_message_of_qos_2_is_published_once_even_across_connections() {
    let mut talk = watched();
    lasting(&mut talk, 1, true, 100);
    let delivery = Delivery::ExactlyOnce(id(9));
    talk.publish(
        1,
        Publish {
            delivery,
            ..message("will", "x")
        },
    );
    talk.lose(1);
    lasting(&mut talk, 2, false, 100);
    talk.hear(2);
    talk.publish(
        2,
        Publish {
            delivery,
            dup: true,
            ..message("will", "x")
        },
    );
    let release = Packet::Pubrel(Acknowledgement::new(id(9), ReasonCode::Success));
    talk.say(2, release);
    talk.say(2, release);
    assert_eq!(
        talk.hear(2),
        ["pubrec 9 0x00", "pubcomp 9 0x00", "pubcomp 9 0x92"]
    );
    assert_eq!(talk.hear(0), ["will=x qos1 1"]);
    assert_eq!(talk.broker.stats().duplicates, 1);
    talk.publish(
        2,
        Publish {
            delivery,
            ..message("will", "y")
        },
    );
    assert_eq!(talk.hear(0), ["will=y qos1 2"], "a released identifier is free");
}

/// [MQTT-3.1.4-3]
#[test]
fn a_second_connection_takes_over() {
    let mut talk = watched();
    lasting(&mut talk, 1, true, 100);
    talk.hear(1);
    lasting(&mut talk, 2, false, 100);
    assert_eq!(talk.hear(1), ["disconnect 0x8e", "close"]);
    assert_eq!(talk.hear(2), ["connack 0x00 session"]);
    let old = Connect {
        version: Version::V3_1_1,
        ..hello("device")
    };
    talk.connect(3, old);
    talk.hear(3);
    talk.connect(4, old);
    assert_eq!(talk.hear(3), ["close"]);
}

/// Section 3.2.2.3.2
#[test]
fn a_session_lasts_no_longer_than_the_broker_grants() {
    let mut talk = Talk::new(Config {
        maximum_session_expiry: 60,
        ..Config::default()
    });
    lasting(&mut talk, 1, true, 100);
    talk.lose(1);
    talk.wait(59);
    assert_eq!(talk.broker.sessions(), 1);
    talk.wait(1);
    assert_eq!(talk.broker.sessions(), 0);
}

#[test]
fn a_client_without_an_identifier_is_assigned_one() {
    let mut talk = watched();
    talk.connect(1, hello(""));
    talk.connect(2, hello(""));
    let named = |number| format!("connack 0x00 AssignedClientIdentifier(\"wc-auto-0000000{number}\")");
    assert_eq!((talk.hear(1), talk.hear(2)), (vec![named(1)], vec![named(2)]));
    talk.connect(
        3,
        Connect {
            version: Version::V3_1_1,
            ..hello("")
        },
    );
    assert_eq!(talk.hear(3), ["connack 0x00"]);
}

#[test]
fn connack_announces_what_differs_from_the_defaults() {
    let mut talk = Talk::new(Config {
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
    talk.connect(
        0,
        Connect {
            properties: wishes.as_properties(),
            ..hello("device")
        },
    );
    let announced = "connack 0x00 ReceiveMaximum(10) MaximumQos(1) ServerKeepAlive(7) \
        SharedSubscriptionAvailable(0) SessionExpiryInterval(60) ResponseInformation(\"r\")";
    assert_eq!(talk.hear(0), [announced]);
    talk.wait(10);
    assert!(talk.hear(0).is_empty());
    talk.wait(1);
    assert_eq!(
        talk.hear(0),
        ["disconnect 0x8d", "close"],
        "the imposed keep-alive counts"
    );
}

fn with_will(talk: &mut Talk, flow: u32, keep_alive: u16) {
    let will = Some(will("will"));
    talk.connect(
        flow,
        Connect {
            will,
            keep_alive,
            ..hello("device")
        },
    );
    talk.hear(flow);
}

/// [MQTT-3.1.2-8], [MQTT-3.14.4-3]
#[test]
fn a_will_is_published_unless_the_client_disconnects() {
    let mut talk = watched();
    with_will(&mut talk, 1, 0);
    talk.leave(1, ReasonCode::Success);
    assert!(talk.hear(0).is_empty());
    with_will(&mut talk, 2, 0);
    talk.leave(2, ReasonCode::DisconnectWithWill);
    assert_eq!(talk.hear(0), ["will=gone"]);
    with_will(&mut talk, 3, 0);
    talk.lose(3);
    assert_eq!(talk.hear(0), ["will=gone"]);
    with_will(&mut talk, 4, 10);
    talk.wait(15);
    assert_eq!(talk.hear(4), ["disconnect 0x8d", "close"]);
    assert_eq!(talk.hear(0), ["will=gone"]);
    with_will(&mut talk, 5, 0);
    with_will(&mut talk, 6, 0);
    assert_eq!(talk.hear(0), ["will=gone"], "take-over");
    talk.say(6, Packet::Pingresp);
    assert_eq!(talk.hear(6), ["disconnect 0x82", "close"]);
    assert_eq!(talk.hear(0), ["will=gone"], "protocol error");
}

/// Section 3.1.3.2.2 and [MQTT-3.1.3-9]
#[test]
fn a_client_can_return_before_its_will_delay_ends() {
    let connect = |talk: &mut Talk, flow, clean_start, expiry| {
        let delay = properties([Property::WillDelayInterval(10)]);
        let expiry = properties([Property::SessionExpiryInterval(expiry)]);
        let will = Will {
            properties: delay.as_properties(),
            ..will("will")
        };
        let hello = hello("device");
        talk.connect(
            flow,
            Connect {
                clean_start,
                will: Some(will),
                properties: expiry.as_properties(),
                ..hello
            },
        );
    };
    let mut talk = watched();
    connect(&mut talk, 1, true, 100);
    talk.lose(1);
    talk.wait(9);
    connect(&mut talk, 2, false, 100);
    talk.wait(9);
    assert!(talk.hear(0).is_empty(), "back in time");
    talk.lose(2);
    talk.wait(10);
    assert_eq!(talk.hear(0), ["will=gone"], "after the delay");
    connect(&mut talk, 3, false, 5);
    talk.lose(3);
    talk.wait(5);
    assert_eq!(talk.hear(0), ["will=gone"], "the session ended before the delay");
    connect(&mut talk, 4, false, 100);
    talk.lose(4);
    connect(&mut talk, 5, true, 100);
    assert_eq!(talk.hear(0), ["will=gone"], "a clean start ended the session");
}

#[test]
fn a_will_can_be_retained_and_have_qos_1() {
    let mut talk = watched();
    let will = Will {
        qos: QoS::AtLeastOnce,
        retain: true,
        ..will("will")
    };
    talk.connect(
        1,
        Connect {
            will: Some(will),
            ..hello("device")
        },
    );
    talk.lose(1);
    assert_eq!(talk.hear(0), ["will=gone qos1 1"]);
    assert_eq!(talk.broker.retained(), 1);
}

#[test]
fn commands_end_connections() {
    let mut talk = watched();
    talk.join(1, "device");
    let reason = ReasonCode::AdministrativeAction;
    let client_id: Arc<str> = "device".into();
    talk.command(Command::DisconnectClient {
        client_id: client_id.clone(),
        reason,
    });
    assert_eq!(talk.hear(1), ["disconnect 0x98", "close"]);
    let flow = wirecost_proto::FlowId(1);
    assert!(talk.events.contains(&Event::ClientDisconnected {
        flow,
        client_id,
        reason
    }));
    talk.command(Command::Shutdown);
    assert_eq!(talk.hear(0), ["disconnect 0x8b", "close"]);
}
