//! The memory limit of the broker, and which messages it drops for which clients.

use crate::harness::*;
use wirecost_mqtt::broker::{Config, Event, Limit};
use wirecost_mqtt::codec::{Connect, Packet, Property, Publish, ReasonCode, SubscriptionOptions};
use wirecost_mqtt::quality::{Delivery, QoS};

const PAYLOAD: &str = match str::from_utf8(&[b'x'; 1_000]) {
    Ok(payload) => payload,
    Err(_) => "",
};

fn ask_for(qos: QoS) -> SubscriptionOptions {
    SubscriptionOptions::of_qos(qos)
}

/// A broker with this memory limit, and a publisher on flow 0.
fn bounded(maximum_held_bytes: usize) -> BrokerHarness {
    let mut harness = BrokerHarness::new(Config {
        maximum_held_bytes,
        ..Config::default()
    });
    harness.join(0, "publisher");
    harness
}

/// A subscriber to `topic` whose transport is full.
fn stalled(harness: &mut BrokerHarness, flow: u32, topic: &str, qos: QoS) {
    harness.join(flow, &format!("stalled{flow}"));
    harness.subscribe(flow, topic, ask_for(qos));
    harness.congest(flow, true);
}

fn publish(harness: &mut BrokerHarness, topic: &str, qos: QoS, count: u16) {
    for number in 1..=count {
        let delivery = Delivery::new(qos, id(number));
        harness.publish(
            0,
            Publish {
                delivery,
                ..message(topic, PAYLOAD)
            },
        );
    }
    harness.received(0);
}

#[test]
fn a_message_is_held_once_for_all_subscribers() {
    for qos in QoS::ALL {
        let mut harness = bounded(usize::MAX);
        for flow in 1..=100 {
            stalled(&mut harness, flow, "t", qos);
        }
        let before = harness.broker.held_bytes();
        publish(&mut harness, "t", qos, 100);
        let held = harness.broker.held_bytes() - before;
        assert!(
            held < 100 * 1_000 * 12,
            "{held} B of 100 messages for 100 subscribers"
        );
        for flow in 1..=100 {
            harness.congest(flow, false);
            let received = harness.received(flow).len();
            assert_eq!(received, 100, "{qos:?}");
        }
        for flow in 1..=100 {
            harness.leave(flow, ReasonCode::Success);
            harness.lose(flow);
        }
        assert!(
            harness.broker.held_bytes() < before,
            "{}",
            harness.broker.held_bytes()
        );
    }
}

#[test]
fn the_broker_holds_no_memory_after_all_clients_are_gone() {
    let mut harness = bounded(100_000);
    for flow in 1..=3 {
        stalled(&mut harness, flow, "t", QoS::ExactlyOnce);
        publish(&mut harness, "t", QoS::ExactlyOnce, 20);
        harness.congest(flow, false);
    }
    assert!(harness.broker.held_bytes() > 20_000);
    for flow in 0..=3 {
        harness.lose(flow);
    }
    assert_eq!(harness.broker.held_bytes(), 0);
}

/// QoS 0 messages leave half of the free memory to QoS 1 and 2.
#[test]
fn messages_of_qos_0_are_dropped_first() {
    let kept = |qos| {
        let mut harness = bounded(100_000);
        stalled(&mut harness, 1, "t", qos);
        publish(&mut harness, "t", qos, 100);
        harness.congest(1, false);
        let kept = harness.received(1).len() as u64;
        assert_eq!(harness.broker.stats().dropped_memory_full, 100 - kept);
        let dropping = Event::Dropping {
            client_id: "stalled1".into(),
            limit: Limit::Broker,
        };
        let reports = harness.events.iter().filter(|event| **event == dropping);
        assert_eq!(reports.count(), 1, "reported once");
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
    let mut harness = bounded(100_000);
    harness.join(1, "reader");
    harness.subscribe(1, "#", ask_for(QoS::AtLeastOnce));
    for (flow, topic) in (2..).zip(["a", "b", "c"]) {
        stalled(&mut harness, flow, topic, QoS::AtLeastOnce);
        publish(&mut harness, topic, QoS::AtMostOnce, 100);
        publish(&mut harness, topic, QoS::AtLeastOnce, 100);
    }
    assert!(harness.broker.stats().dropped_memory_full > 300);
    let received = harness.received(1);
    let of_qos_0 = received.iter().filter(|line| !line.contains("qos1"));
    assert_eq!(of_qos_0.count(), 300, "nothing is dropped for who takes all");
    assert!(
        harness.broker.held_bytes() <= 101_500,
        "{}",
        harness.broker.held_bytes()
    );
}

#[test]
fn a_client_without_acks_stays_within_the_memory_limit() {
    let mut harness = bounded(100_000);
    harness.join(1, "silent");
    harness.subscribe(1, "t", ask_for(QoS::AtLeastOnce));
    publish(&mut harness, "t", QoS::AtLeastOnce, 500);
    assert!(
        harness.broker.held_bytes() <= 101_500,
        "{}",
        harness.broker.held_bytes()
    );
    let in_flight = harness.received(1).len() as u16;
    assert!(in_flight < 100, "{in_flight}");
    for packet_id in 1..=in_flight {
        harness.acknowledge(1, packet_id);
    }
    publish(&mut harness, "t", QoS::AtLeastOnce, 1);
    assert!(!harness.received(1).is_empty(), "it goes on where room is made");
}

#[test]
fn unused_sessions_stay_within_the_memory_limit() {
    let mut harness = bounded(30_000);
    let lasting = properties([Property::SessionExpiryInterval(1_000)]);
    let names: Vec<String> = (0..100).map(|number| format!("{number:0500}")).collect();
    let mut refused = 0;
    for (flow, name) in (1..).zip(&names) {
        let properties = lasting.as_properties();
        harness.connect(
            flow,
            Connect {
                properties,
                ..hello(name)
            },
        );
        refused += u32::from(harness.received(flow) == ["connack 0x97", "close"]);
        harness.lose(flow);
    }
    assert!(refused > 50, "{refused}");
    assert!(
        harness.broker.held_bytes() < 32_000,
        "{}",
        harness.broker.held_bytes()
    );
}

#[test]
fn subscriptions_and_retained_messages_without_room_are_refused() {
    let mut harness = bounded(20_000);
    harness.join(1, "subscriber");
    let filters: Vec<String> = (0..100)
        .map(|number| format!("{number}/{}", "y".repeat(500)))
        .collect();
    let mut refused = 0;
    for filter in &filters {
        harness.subscribe_with(
            1,
            filter,
            ask_for(QoS::AtMostOnce),
            properties([]).as_properties(),
        );
        refused += u32::from(harness.received(1) == ["suback [97]"]);
    }
    assert!((50..95).contains(&refused), "{refused}");
    let mut harness = bounded(20_000);
    for number in 0..100 {
        let topic = format!("t{number}");
        harness.publish(
            0,
            Publish {
                retain: true,
                ..message(&topic, PAYLOAD)
            },
        );
    }
    assert_eq!(harness.broker.retained(), 9, "half of it");
    assert_eq!(harness.broker.stats().dropped_by_limit, 91);
}

/// Publishes to subscribers that read nothing.
fn fill(harness: &mut BrokerHarness, subscribers: u32) {
    for flow in 1..=subscribers {
        let topic = format!("t{flow}");
        stalled(harness, flow, &topic, QoS::AtLeastOnce);
        publish(harness, &topic, QoS::AtLeastOnce, 700);
    }
}

#[test]
fn subscribers_that_do_not_read_leave_memory_for_other_clients() {
    let mut harness = bounded(1 << 20);
    fill(&mut harness, 30);
    assert!(harness.broker.stats().dropped_memory_full > 0);
    harness.connect(40, hello("other"));
    assert_eq!(harness.received(40), ["connack 0x00"]);
    let payload = "x".repeat(100_000);
    let begun = Packet::Publish(message("a", &payload));
    harness.begin(40, begun, 90_000);
    assert_eq!(harness.received(40), Vec::<String>::new());
}

#[test]
fn retained_messages_use_only_free_memory() {
    let mut harness = bounded(1 << 20);
    fill(&mut harness, 10);
    let retained = |harness: &mut BrokerHarness, topic: &str, payload: &str| {
        let retain = true;
        harness.publish(
            0,
            Publish {
                retain,
                ..message(topic, payload)
            },
        );
        harness.broker.retained()
    };
    let topics: Vec<String> = (0..1_000).map(|number| format!("r{number}")).collect();
    let kept = topics
        .iter()
        .fold(0, |_, topic| retained(&mut harness, topic, PAYLOAD));
    assert!(kept < 100, "{kept}");
    assert!(
        harness.broker.held_bytes() < 1 << 20,
        "{}",
        harness.broker.held_bytes()
    );
    assert!(kept == 0 || retained(&mut harness, "r0", "shorter") == kept);
}

/// A SUBSCRIBE can have many filters, and each can match every retained message.
#[test]
fn a_subscription_gets_at_most_a_queue_of_retained_messages() {
    let mut harness = BrokerHarness::new(Config {
        maximum_queued: 10,
        ..Config::default()
    });
    harness.join(0, "publisher");
    for number in 0..100 {
        let topic = format!("t{number:02}");
        harness.publish(
            0,
            Publish {
                retain: true,
                ..message(&topic, "1")
            },
        );
    }
    harness.join(1, "subscriber");
    harness.subscribe(1, "#", ask_for(QoS::AtMostOnce));
    assert_eq!(harness.received(1).len(), 10);
    assert_eq!(
        harness.broker.stats().dropped_queue_full,
        1,
        "the first that finds no room, and no more are looked at"
    );
}
