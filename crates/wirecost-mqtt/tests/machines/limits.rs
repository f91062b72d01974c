//! What a subscriber takes: packet size, receive maximum, aliases, and the broker's own queue (sections 3.1.2.11
//! and 4.9).

use crate::harness::*;
use wirecost_mqtt::broker::{Command, Config};
use wirecost_mqtt::client::PublishTemplate;
use wirecost_mqtt::codec::{
    Acknowledgement, Connect, Packet, Property, Publish, ReasonCode, SubscriptionOptions,
};
use wirecost_mqtt::quality::{Delivery, QoS};

const QOS0: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::AtMostOnce);
const QOS1: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::AtLeastOnce);
const QOS2: SubscriptionOptions = SubscriptionOptions::of_qos(QoS::ExactlyOnce);

/// [MQTT-3.1.2-24], [MQTT-3.1.2-25]
#[test]
fn a_message_above_the_clients_packet_size_is_dropped() {
    let mut harness = BrokerHarness::two();
    let small = properties([Property::MaximumPacketSize(20)]);
    harness.connect(
        2,
        Connect {
            properties: small.as_properties(),
            ..hello("small")
        },
    );
    harness.subscribe(2, "a", QOS1);
    harness.received(2);
    let delivery = Delivery::AtLeastOnce(id(1));
    harness.publish(
        0,
        Publish {
            delivery,
            ..message("a", "1234567890123")
        },
    );
    harness.publish(
        0,
        Publish {
            delivery,
            ..message("a", "123456789012")
        },
    );
    assert_eq!(harness.received(2), ["a=123456789012 qos1 1"]);
    assert_eq!(harness.broker.stats().dropped_too_large, 1);
}

/// [MQTT-3.3.4-9]
#[test]
fn messages_in_flight_stay_within_the_receive_maximum() {
    let mut harness = BrokerHarness::two();
    let one = properties([Property::ReceiveMaximum(1)]);
    harness.connect(
        2,
        Connect {
            properties: one.as_properties(),
            ..hello("one")
        },
    );
    harness.subscribe(2, "#", QOS2);
    harness.received(2);
    for (packet_id, payload) in [(1, "1"), (2, "2")] {
        let delivery = Delivery::AtLeastOnce(id(packet_id));
        harness.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
    }
    let delivery = Delivery::ExactlyOnce(id(3));
    harness.publish(
        0,
        Publish {
            delivery,
            ..message("a", "3")
        },
    );
    assert_eq!(harness.received(2), ["a=1 qos1 1"]);
    harness.acknowledge(2, 1);
    assert_eq!(harness.received(2), ["a=2 qos1 2"]);
    harness.acknowledge(2, 2);
    assert_eq!(harness.received(2), ["a=3 qos2 3"]);
    let refused = Acknowledgement::new(id(3), ReasonCode::QuotaExceeded);
    harness.send(2, Packet::Pubrec(refused));
    harness.publish(
        0,
        Publish {
            delivery: Delivery::AtLeastOnce(id(4)),
            ..message("a", "4")
        },
    );
    assert_eq!(
        harness.received(2),
        ["a=4 qos1 4"],
        "a refusal gives the quota back"
    );
}

/// Section 3.3.2.3.4
#[test]
fn topic_aliases_work_both_ways() {
    let mut harness = BrokerHarness::new(Config {
        topic_alias_maximum: 2,
        sent_topic_aliases: 1,
        ..Config::default()
    });
    harness.join(0, "publisher");
    let takes = properties([Property::TopicAliasMaximum(5)]);
    harness.connect(
        1,
        Connect {
            properties: takes.as_properties(),
            ..hello("taker")
        },
    );
    harness.subscribe(1, "#", QOS0);
    harness.received(1);
    let alias = properties([Property::TopicAlias(2)]);
    let with_alias = |topic| Publish {
        properties: alias.as_properties(),
        ..message(topic, "x")
    };
    for topic in ["long/topic", "", "other", ""] {
        harness.publish(0, with_alias(topic));
    }
    let received = [
        "long/topic=x TopicAlias(1)",
        "=x TopicAlias(1)",
        "other=x",
        "other=x",
    ];
    assert_eq!(harness.received(1), received);
    let unknown = properties([Property::TopicAlias(1)]);
    harness.publish(
        0,
        Publish {
            properties: unknown.as_properties(),
            ..message("", "x")
        },
    );
    assert_eq!(harness.received(0), ["disconnect 0x82", "close"]);
}

#[test]
fn the_brokers_own_messages_are_delivered_and_retained() {
    let mut harness = BrokerHarness::two();
    harness.subscribe(1, "a", QOS1);
    let template = PublishTemplate::new("a", QoS::AtLeastOnce, *b"x").expect("a message");
    harness.command(Command::Publish(template.retained().into()));
    assert_eq!(harness.received(1), ["a=x qos1 1"]);
    assert_eq!(harness.broker.retained(), 1);
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut harness = BrokerHarness::new(Config {
        maximum_queued: 2,
        maximum_inflight: 1,
        ..Config::default()
    });
    harness.join(0, "publisher");
    harness.join(1, "subscriber");
    harness.subscribe(1, "a", QOS1);
    for packet_id in 1..=5 {
        let delivery = Delivery::AtLeastOnce(id(packet_id));
        harness.publish(
            0,
            Publish {
                delivery,
                ..message("a", "x")
            },
        );
    }
    assert_eq!(harness.received(1).len(), 1);
    assert_eq!(harness.broker.stats().dropped_queue_full, 2);
}

/// Queues messages while another one is in flight, in a broker with this queue limit in bytes.
fn payloads_kept(maximum_queued_bytes: usize, payloads: &[&str]) -> (Vec<String>, u64) {
    let mut harness = BrokerHarness::new(Config {
        maximum_queued_bytes,
        maximum_inflight: 1,
        ..Config::default()
    });
    harness.join(0, "publisher");
    harness.join(1, "subscriber");
    harness.subscribe(1, "a", QOS1);
    for (packet_id, payload) in (1..).zip(payloads) {
        let delivery = Delivery::AtLeastOnce(id(packet_id));
        harness.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
    }
    let mut received = harness.received(1);
    for packet_id in 1..=payloads.len() {
        harness.acknowledge(1, packet_id as u16);
        received.extend(harness.received(1));
    }
    (received, harness.broker.stats().dropped_queue_full)
}

#[test]
fn a_queue_is_full_by_its_bytes_too() {
    // A topic of 1 B, an empty property length and 10 B of payload: 12 B each.
    let payloads = ["in flight.", "one waits..", "1234567890", "1234567890", "x"];
    let (received, dropped) = payloads_kept(13 + 12, &payloads);
    assert_eq!((received.len(), dropped), (3, 2), "{received:?}");
    let (received, dropped) = payloads_kept(13 + 12 + 12 + 3, &payloads);
    assert_eq!((received.len(), dropped), (5, 0), "{received:?}");
    let (received, dropped) = payloads_kept(1, &payloads);
    assert_eq!(
        (received.len(), dropped),
        (2, 3),
        "a single message is accepted: {received:?}"
    );
}

/// [MQTT-3.1.2-24] on a new connection with a smaller maximum packet size
#[test]
fn a_message_above_a_new_packet_size_is_not_resent() {
    let mut harness = BrokerHarness::two();
    let lasting = |size| {
        properties([
            Property::SessionExpiryInterval(100),
            Property::MaximumPacketSize(size),
        ])
    };
    let large = lasting(100);
    let device = Connect {
        clean_start: false,
        ..hello("device")
    };
    harness.connect(
        2,
        Connect {
            properties: large.as_properties(),
            ..device
        },
    );
    harness.subscribe(2, "a", QOS1);
    let delivery = Delivery::AtLeastOnce(id(1));
    for payload in ["123456789012345678901234567890", "short"] {
        harness.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
    }
    harness.lose(2);
    harness.received(2);
    let small = lasting(20);
    harness.connect(
        3,
        Connect {
            properties: small.as_properties(),
            ..device
        },
    );
    assert_eq!(
        harness.received(3),
        ["connack 0x00 session", "a=short qos1 2 dup"]
    );
    assert_eq!(harness.broker.stats().dropped_too_large, 1);
}
