//! The memory limit of the broker, and which messages it drops for which clients.

use crate::talk::*;
use wirecost_mqtt::broker::{Config, Event, Limit};
use wirecost_mqtt::codec::{Connect, Packet, Property, Publish, ReasonCode, SubscriptionOptions};
use wirecost_mqtt::quality::{Delivery, QoS};

const PAYLOAD: &str = match str::from_utf8(&[b'x'; 1_000]) {
    Ok(payload) => payload,
    Err(_) => "",
};

fn of(qos: QoS) -> SubscriptionOptions {
    SubscriptionOptions::of_qos(qos)
}

/// A broker with this memory limit, and a publisher on flow 0.
fn bounded(maximum_held_bytes: usize) -> Talk {
    let mut talk = Talk::new(Config {
        maximum_held_bytes,
        ..Config::default()
    });
    talk.join(0, "publisher");
    talk
}

/// A subscriber to `topic` whose transport is full.
fn stalled(talk: &mut Talk, flow: u32, topic: &str, qos: QoS) {
    talk.join(flow, &format!("stalled{flow}"));
    talk.subscribe(flow, topic, of(qos));
    talk.congest(flow, true);
}

fn publish(talk: &mut Talk, topic: &str, qos: QoS, count: u16) {
    for number in 1..=count {
        let delivery = Delivery::new(qos, id(number));
        talk.publish(
            0,
            Publish {
                delivery,
                ..message(topic, PAYLOAD)
            },
        );
    }
    talk.hear(0);
}

#[test]
fn a_message_is_held_once_for_all_subscribers() {
    for qos in QoS::ALL {
        let mut talk = bounded(usize::MAX);
        for flow in 1..=100 {
            stalled(&mut talk, flow, "t", qos);
        }
        let before = talk.broker.held_bytes();
        publish(&mut talk, "t", qos, 100);
        let held = talk.broker.held_bytes() - before;
        assert!(
            held < 100 * 1_000 * 12,
            "{held} B of 100 messages for 100 subscribers"
        );
        for flow in 1..=100 {
            talk.congest(flow, false);
            let heard = talk.hear(flow).len();
            assert_eq!(heard, 100, "{qos:?}");
        }
        for flow in 1..=100 {
            talk.leave(flow, ReasonCode::Success);
            talk.lose(flow);
        }
        assert!(talk.broker.held_bytes() < before, "{}", talk.broker.held_bytes());
    }
}

#[test]
fn the_broker_holds_no_memory_after_all_clients_are_gone() {
    let mut talk = bounded(100_000);
    for flow in 1..=3 {
        stalled(&mut talk, flow, "t", QoS::ExactlyOnce);
        publish(&mut talk, "t", QoS::ExactlyOnce, 20);
        talk.congest(flow, false);
    }
    assert!(talk.broker.held_bytes() > 20_000);
    for flow in 0..=3 {
        talk.lose(flow);
    }
    assert_eq!(talk.broker.held_bytes(), 0);
}

/// QoS 0 messages leave half of the free memory to QoS 1 and 2.
#[test]
fn messages_of_qos_0_are_dropped_first() {
    let kept = |qos| {
        let mut talk = bounded(100_000);
        stalled(&mut talk, 1, "t", qos);
        publish(&mut talk, "t", qos, 100);
        talk.congest(1, false);
        let kept = talk.hear(1).len() as u64;
        assert_eq!(talk.broker.stats().dropped_memory_full, 100 - kept);
        let dropping = Event::Dropping {
            client_id: "stalled1".into(),
            limit: Limit::Broker,
        };
        let said = talk.events.iter().filter(|event| **event == dropping);
        assert_eq!(said.count(), 1, "said once");
        kept
    };
    let (at_most_once, at_least_once) = (kept(QoS::AtMostOnce), kept(QoS::AtLeastOnce));
    assert!((20..40).contains(&at_most_once), "{at_most_once}");
    assert!(
        (at_most_once + 10..60).contains(&at_least_once),
        "{at_least_once}"
    );
}

#[test]
fn a_client_that_reads_gets_all_messages_under_memory_pressure() {
    let mut talk = bounded(100_000);
    talk.join(1, "reader");
    talk.subscribe(1, "#", of(QoS::AtLeastOnce));
    for (flow, topic) in (2..).zip(["a", "b", "c"]) {
        stalled(&mut talk, flow, topic, QoS::AtLeastOnce);
        publish(&mut talk, topic, QoS::AtMostOnce, 100);
        publish(&mut talk, topic, QoS::AtLeastOnce, 100);
    }
    assert!(talk.broker.stats().dropped_memory_full > 300);
    let heard = talk.hear(1);
    let of_qos_0 = heard.iter().filter(|line| !line.contains("qos1"));
    assert_eq!(of_qos_0.count(), 300, "nothing is dropped for who takes all");
    assert!(
        talk.broker.held_bytes() <= 101_500,
        "{}",
        talk.broker.held_bytes()
    );
}

#[test]
fn a_client_without_acks_stays_within_the_memory_limit() {
    let mut talk = bounded(100_000);
    talk.join(1, "silent");
    talk.subscribe(1, "t", of(QoS::AtLeastOnce));
    publish(&mut talk, "t", QoS::AtLeastOnce, 500);
    assert!(
        talk.broker.held_bytes() <= 101_500,
        "{}",
        talk.broker.held_bytes()
    );
    let in_flight = talk.hear(1).len() as u16;
    assert!(in_flight < 100, "{in_flight}");
    for packet_id in 1..=in_flight {
        talk.acknowledge(1, packet_id);
    }
    publish(&mut talk, "t", QoS::AtLeastOnce, 1);
    assert!(!talk.hear(1).is_empty(), "it goes on where room is made");
}

#[test]
fn unused_sessions_stay_within_the_memory_limit() {
    let mut talk = bounded(30_000);
    let lasting = properties([Property::SessionExpiryInterval(1_000)]);
    let names: Vec<String> = (0..100).map(|number| format!("{number:0500}")).collect();
    let mut refused = 0;
    for (flow, name) in (1..).zip(&names) {
        let properties = lasting.as_properties();
        talk.connect(
            flow,
            Connect {
                properties,
                ..hello(name)
            },
        );
        refused += u32::from(talk.hear(flow) == ["connack 0x97", "close"]);
        talk.lose(flow);
    }
    assert!(refused > 50, "{refused}");
    assert!(talk.broker.held_bytes() < 32_000, "{}", talk.broker.held_bytes());
}

#[test]
fn subscriptions_and_retained_messages_without_room_are_refused() {
    let mut talk = bounded(20_000);
    talk.join(1, "subscriber");
    let filters: Vec<String> = (0..100)
        .map(|number| format!("{number}/{}", "y".repeat(500)))
        .collect();
    let mut refused = 0;
    for filter in &filters {
        talk.subscribe_with(1, filter, of(QoS::AtMostOnce), properties([]).as_properties());
        refused += u32::from(talk.hear(1) == ["suback [97]"]);
    }
    assert!((50..95).contains(&refused), "{refused}");
    let mut talk = bounded(20_000);
    for number in 0..100 {
        let topic = format!("t{number}");
        talk.publish(
            0,
            Publish {
                retain: true,
                ..message(&topic, PAYLOAD)
            },
        );
    }
    assert_eq!(talk.broker.retained(), 9, "half of it");
    assert_eq!(talk.broker.stats().dropped_by_limit, 91);
}

/// Publishes to subscribers that read nothing.
fn fill(talk: &mut Talk, subscribers: u32) {
    for flow in 1..=subscribers {
        let topic = format!("t{flow}");
        stalled(talk, flow, &topic, QoS::AtLeastOnce);
        publish(talk, &topic, QoS::AtLeastOnce, 700);
    }
}

#[test]
fn subscribers_that_do_not_read_leave_memory_for_other_clients() {
    let mut talk = bounded(1 << 20);
    fill(&mut talk, 30);
    assert!(talk.broker.stats().dropped_memory_full > 0);
    talk.connect(40, hello("other"));
    assert_eq!(talk.hear(40), ["connack 0x00"]);
    let payload = "x".repeat(100_000);
    let begun = Packet::Publish(message("a", &payload));
    talk.begin(40, begun, 90_000);
    assert_eq!(talk.hear(40), Vec::<String>::new());
}

#[test]
fn retained_messages_use_only_free_memory() {
    let mut talk = bounded(1 << 20);
    fill(&mut talk, 10);
    let retained = |talk: &mut Talk, topic: &str, payload: &str| {
        let retain = true;
        talk.publish(
            0,
            Publish {
                retain,
                ..message(topic, payload)
            },
        );
        talk.broker.retained()
    };
    let topics: Vec<String> = (0..1_000).map(|number| format!("r{number}")).collect();
    let kept = topics
        .iter()
        .fold(0, |_, topic| retained(&mut talk, topic, PAYLOAD));
    assert!(kept < 100, "{kept}");
    assert!(talk.broker.held_bytes() < 1 << 20, "{}", talk.broker.held_bytes());
    assert!(kept == 0 || retained(&mut talk, "r0", "shorter") == kept);
}

/// A SUBSCRIBE can have many filters, and each can match every retained message.
#[test]
fn a_subscription_gets_at_most_a_queue_of_retained_messages() {
    let mut talk = Talk::new(Config {
        maximum_queued: 10,
        ..Config::default()
    });
    talk.join(0, "publisher");
    for number in 0..100 {
        let topic = format!("t{number:02}");
        talk.publish(
            0,
            Publish {
                retain: true,
                ..message(&topic, "1")
            },
        );
    }
    talk.join(1, "subscriber");
    talk.subscribe(1, "#", of(QoS::AtMostOnce));
    assert_eq!(talk.hear(1).len(), 10);
    assert_eq!(
        talk.broker.stats().dropped_queue_full,
        1,
        "the first that finds no room, and no more are looked at"
    );
}
