//! What a subscriber takes: packet size, receive maximum, aliases, and the broker's own queue (sections 3.1.2.11
//! and 4.9).

use crate::talk::*;
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
    let mut talk = Talk::two();
    let small = properties([Property::MaximumPacketSize(20)]);
    talk.connect(
        2,
        Connect {
            properties: small.as_properties(),
            ..hello("small")
        },
    );
    talk.subscribe(2, "a", QOS1);
    talk.hear(2);
    let delivery = Delivery::AtLeastOnce(id(1));
    talk.publish(
        0,
        Publish {
            delivery,
            ..message("a", "1234567890123")
        },
    );
    talk.publish(
        0,
        Publish {
            delivery,
            ..message("a", "123456789012")
        },
    );
    assert_eq!(talk.hear(2), ["a=123456789012 qos1 1"]);
    assert_eq!(talk.broker.stats().dropped_too_large, 1);
}

/// [MQTT-3.3.4-9]
#[test]
fn messages_in_flight_stay_within_the_receive_maximum() {
    let mut talk = Talk::two();
    let one = properties([Property::ReceiveMaximum(1)]);
    talk.connect(
        2,
        Connect {
            properties: one.as_properties(),
            ..hello("one")
        },
    );
    talk.subscribe(2, "#", QOS2);
    talk.hear(2);
    for (packet_id, payload) in [(1, "1"), (2, "2")] {
        let delivery = Delivery::AtLeastOnce(id(packet_id));
        talk.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
    }
    let delivery = Delivery::ExactlyOnce(id(3));
    talk.publish(
        0,
        Publish {
            delivery,
            ..message("a", "3")
        },
    );
    assert_eq!(talk.hear(2), ["a=1 qos1 1"]);
    talk.acknowledge(2, 1);
    assert_eq!(talk.hear(2), ["a=2 qos1 2"]);
    talk.acknowledge(2, 2);
    assert_eq!(talk.hear(2), ["a=3 qos2 3"]);
    let refused = Acknowledgement::new(id(3), ReasonCode::QuotaExceeded);
    talk.say(2, Packet::Pubrec(refused));
    talk.publish(
        0,
        Publish {
            delivery: Delivery::AtLeastOnce(id(4)),
            ..message("a", "4")
        },
    );
    assert_eq!(talk.hear(2), ["a=4 qos1 4"], "a refusal gives the quota back");
}

/// Section 3.3.2.3.4
#[test]
fn topic_aliases_work_both_ways() {
    let mut talk = Talk::new(Config {
        topic_alias_maximum: 2,
        sent_topic_aliases: 1,
        ..Config::default()
    });
    talk.join(0, "publisher");
    let takes = properties([Property::TopicAliasMaximum(5)]);
    talk.connect(
        1,
        Connect {
            properties: takes.as_properties(),
            ..hello("taker")
        },
    );
    talk.subscribe(1, "#", QOS0);
    talk.hear(1);
    let alias = properties([Property::TopicAlias(2)]);
    let with_alias = |topic| Publish {
        properties: alias.as_properties(),
        ..message(topic, "x")
    };
    for topic in ["long/topic", "", "other", ""] {
        talk.publish(0, with_alias(topic));
    }
    let heard = [
        "long/topic=x TopicAlias(1)",
        "=x TopicAlias(1)",
        "other=x",
        "other=x",
    ];
    assert_eq!(talk.hear(1), heard);
    let unknown = properties([Property::TopicAlias(1)]);
    talk.publish(
        0,
        Publish {
            properties: unknown.as_properties(),
            ..message("", "x")
        },
    );
    assert_eq!(talk.hear(0), ["disconnect 0x82", "close"]);
}

#[test]
fn the_brokers_own_messages_are_delivered_and_retained() {
    let mut talk = Talk::two();
    talk.subscribe(1, "a", QOS1);
    let template = PublishTemplate::new("a", QoS::AtLeastOnce, *b"x").expect("a message");
    talk.command(Command::Publish(template.retained().into()));
    assert_eq!(talk.hear(1), ["a=x qos1 1"]);
    assert_eq!(talk.broker.retained(), 1);
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut talk = Talk::new(Config {
        maximum_queued: 2,
        maximum_inflight: 1,
        ..Config::default()
    });
    talk.join(0, "publisher");
    talk.join(1, "subscriber");
    talk.subscribe(1, "a", QOS1);
    for packet_id in 1..=5 {
        let delivery = Delivery::AtLeastOnce(id(packet_id));
        talk.publish(
            0,
            Publish {
                delivery,
                ..message("a", "x")
            },
        );
    }
    assert_eq!(talk.hear(1).len(), 1);
    assert_eq!(talk.broker.stats().dropped_queue_full, 2);
}

/// Queues messages while another one is in flight, in a broker with this queue limit in bytes.
fn payloads_kept(maximum_queued_bytes: usize, payloads: &[&str]) -> (Vec<String>, u64) {
    let mut talk = Talk::new(Config {
        maximum_queued_bytes,
        maximum_inflight: 1,
        ..Config::default()
    });
    talk.join(0, "publisher");
    talk.join(1, "subscriber");
    talk.subscribe(1, "a", QOS1);
    for (packet_id, payload) in (1..).zip(payloads) {
        let delivery = Delivery::AtLeastOnce(id(packet_id));
        talk.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
    }
    let mut heard = talk.hear(1);
    for packet_id in 1..=payloads.len() {
        talk.acknowledge(1, packet_id as u16);
        heard.extend(talk.hear(1));
    }
    (heard, talk.broker.stats().dropped_queue_full)
}

#[test]
fn a_queue_is_full_by_its_bytes_too() {
    // A topic of 1 B, an empty property length and 10 B of payload: 12 B each.
    let payloads = ["in flight.", "one waits..", "1234567890", "1234567890", "x"];
    let (heard, dropped) = payloads_kept(13 + 12, &payloads);
    assert_eq!((heard.len(), dropped), (3, 2), "{heard:?}");
    let (heard, dropped) = payloads_kept(13 + 12 + 12 + 3, &payloads);
    assert_eq!((heard.len(), dropped), (5, 0), "{heard:?}");
    let (heard, dropped) = payloads_kept(1, &payloads);
    assert_eq!((heard.len(), dropped), (2, 3), "one alone is taken: {heard:?}");
}

/// [MQTT-3.1.2-24] on a new connection with a smaller maximum packet size
#[test]
fn a_message_above_a_new_packet_size_is_not_resent() {
    let mut talk = Talk::two();
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
    talk.connect(
        2,
        Connect {
            properties: large.as_properties(),
            ..device
        },
    );
    talk.subscribe(2, "a", QOS1);
    let delivery = Delivery::AtLeastOnce(id(1));
    for payload in ["123456789012345678901234567890", "short"] {
        talk.publish(
            0,
            Publish {
                delivery,
                ..message("a", payload)
            },
        );
    }
    talk.lose(2);
    talk.hear(2);
    let small = lasting(20);
    talk.connect(
        3,
        Connect {
            properties: small.as_properties(),
            ..device
        },
    );
    assert_eq!(talk.hear(3), ["connack 0x00 session", "a=short qos1 2 dup"]);
    assert_eq!(talk.broker.stats().dropped_too_large, 1);
}
