//! What the client and the broker promise when connections break (sections 4.3 and 4.4), over a path that loses
//! packets.

use std::time::Duration;

use crate::common::*;
use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self, Client, Command, Event};
use wirecost_mqtt::codec::{ReasonCode, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::Pair;
use wirecost_proto::{Cause, Delivery, Direction, Fate, FlowId, Instant, Path, ResetReason, Rng, Stamp};

/// A path that loses a third of the packets and delays the others by 1 ms to 40 ms.
struct Lossy(Rng);

impl Path for Lossy {
    fn offer(&mut self, _: Direction, _: usize, now: Instant, deliveries: &mut Vec<Delivery>) -> Fate {
        if self.0.next_below(3) == 0 {
            return Fate::Lost;
        }
        let at = now + Duration::from_millis(1 + self.0.next_below(40));
        deliveries.push(Delivery { at, flip_bit: None });
        Fate::Delivered
    }
}

fn lasting(version: Version) -> client::Config {
    client::Config {
        clean_start: false,
        session_expiry: 3_600,
        receive_maximum: 5,
        ..of_version(version)
    }
}

/// Sends 100 numbered messages to a topic that the sender subscribes to itself, so that both directions cross
/// connections that break every 50 ms to 350 ms. Returns the payloads that came back, in order.
fn through_broken_connections(version: Version, qos: QoS, seed: u64) -> Vec<u8> {
    let mut random = Rng::new(seed);
    let path = Lossy(random.purpose(1));
    let (client, broker) = (
        Client::new(lasting(version)),
        Broker::new(broker::Config::default()),
    );
    let mut pair = Pair::new(Transport::Stream, client, broker, path);
    let mut flow = FlowId(0);
    pair.open_flow(flow);
    pair.command(subscribe("test", qos));
    pair.drive_for(Duration::from_secs(5));
    for number in 0..100 {
        pair.command(publish("test", qos, &[number]));
        pair.drive_for(Duration::from_millis(random.next_below(20)));
        if random.next_below(10) == 0 {
            pair.reset(flow, ResetReason::TimedOut);
            flow = FlowId(flow.0 + 1);
            pair.open_flow(flow);
            pair.drive_for(Duration::from_millis(50 + random.next_below(300)));
        }
    }
    pair.drive_for(Duration::from_secs(60));
    assert_eq!(
        (pair.client.in_flight(), pair.client.queued()),
        (0, 0),
        "seed {seed}"
    );
    let acknowledged = |(_, event): &&(_, _)| matches!(event, Event::Acknowledged { .. });
    assert_eq!(
        pair.client_events.iter().filter(acknowledged).count(),
        100,
        "seed {seed}"
    );
    let payloads = pair.client_events.iter().filter_map(|(_, event)| match event {
        Event::MessageReceived(message) => message.payload.first().copied(),
        _ => None,
    });
    payloads.collect()
}

/// [MQTT-4.3.3-10], [MQTT-4.4.0-1], [MQTT-4.6.0-6]
#[test]
fn qos_2_delivers_every_message_once_and_in_order() {
    for version in Version::ALL {
        for seed in 0..5 {
            let payloads = through_broken_connections(version, QoS::ExactlyOnce, seed);
            assert_eq!(payloads, (0..100).collect::<Vec<u8>>(), "{version:?} seed {seed}");
        }
    }
}

/// [MQTT-4.3.2-3], [MQTT-4.4.0-1]
#[test]
fn qos_1_delivers_every_message_at_least_once() {
    let mut repeated = 0;
    for version in Version::ALL {
        for seed in 0..5 {
            let mut payloads = through_broken_connections(version, QoS::AtLeastOnce, seed);
            repeated += payloads.len() - 100;
            payloads.sort_unstable();
            payloads.dedup();
            assert_eq!(payloads, (0..100).collect::<Vec<u8>>(), "{version:?} seed {seed}");
        }
    }
    assert!(repeated > 0, "the connections did break in between");
}

#[test]
fn the_same_seed_gives_the_same_conversation() {
    let run = || through_broken_connections(Version::V5, QoS::AtLeastOnce, 7);
    assert_eq!(run(), run());
}

/// [MQTT-3.3.1-1], [MQTT-4.4.0-1]
#[test]
fn a_resent_publish_has_dup_and_counts_as_retransmission() {
    let mut pair = connected(lasting(Version::V5), broker::Config::default());
    pair.command(publish("test", QoS::AtLeastOnce, b"x"));
    pair.reset(FlowId(0), ResetReason::ByPeer);
    pair.open_flow(FlowId(1));
    pair.drive_for(Duration::from_secs(1));
    let resent = pair.sent.iter().find(|sent| sent.bytes.first() == Some(&0x3a));
    let spans = &resent.expect("a PUBLISH with DUP").spans;
    assert!(spans.iter().all(|span| span.cause == Cause::Retransmission));
    assert_eq!(pair.client.stats().resent, 1);
    assert_eq!(pair.client.in_flight(), 0);
}

/// [MQTT-3.3.1-3]: a resent message has the same stamp over its shared payload.
#[test]
fn a_stamp_is_sent_again_too() {
    let mut pair = connected(lasting(Version::V3_1_1), broker::Config::default());
    let stamp = Stamp {
        device: 3,
        message: 7,
        intended_ns: 1 << 40,
    };
    pair.command(Command::PublishAs {
        message: 7,
        template: template("test", QoS::AtLeastOnce, &[0xee; 20]),
        stamp: Some(stamp),
    });
    pair.reset(FlowId(0), ResetReason::ByPeer);
    pair.open_flow(FlowId(1));
    pair.drive_for(Duration::from_secs(1));
    for first_byte in [0x32, 0x3a] {
        let sent = pair
            .sent
            .iter()
            .find(|sent| sent.bytes.first() == Some(&first_byte));
        let (_, payload) = sent
            .expect("a PUBLISH")
            .bytes
            .split_last_chunk::<20>()
            .expect("a payload");
        assert_eq!(Stamp::read(payload), Some(stamp));
        assert_eq!(payload[Stamp::BYTES..], [0xee; 4]);
    }
}

/// [MQTT-3.2.2-5]
#[test]
fn a_session_lost_by_the_server_discards_unacknowledged_messages() {
    let mut pair = connected(of_version(Version::V3_1_1), broker::Config::default());
    pair.command(publish("test", QoS::AtLeastOnce, b"x"));
    pair.reset(FlowId(0), ResetReason::ByPeer);
    pair.open_flow(FlowId(1));
    pair.drive_for(Duration::from_secs(1));
    assert!(events(&pair).contains(&&Event::Discarded { message: 0 }));
    assert_eq!(pair.client.in_flight(), 0);
}

/// [MQTT-3.3.4-7]
#[test]
fn a_client_stays_within_the_servers_receive_maximum() {
    let broker = broker::Config {
        receive_maximum: 3,
        ..broker::Config::default()
    };
    let mut pair = connected(of_version(Version::V5), broker);
    for number in 0..10 {
        pair.command(publish("test", QoS::ExactlyOnce, &[number]));
    }
    assert_eq!((pair.client.in_flight(), pair.client.queued()), (3, 7));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!((pair.client.in_flight(), pair.client.queued()), (0, 0));
    assert_eq!(pair.server.stats().published, 10);
}

/// [MQTT-3.2.2-11], [MQTT-3.2.2-14], [MQTT-3.2.2-15]
#[test]
fn a_client_rejects_messages_beyond_the_servers_limits() {
    let broker = broker::Config {
        maximum_qos: QoS::AtLeastOnce,
        retain_available: false,
        maximum_packet_size: Some(100),
        ..broker::Config::default()
    };
    let mut pair = connected(of_version(Version::V5), broker);
    pair.command(publish("test", QoS::ExactlyOnce, b""));
    let retained = client::PublishTemplate::new("test", QoS::AtMostOnce, *b"x").expect("a message");
    pair.command(client::Command::Publish(retained.retained().into()));
    pair.command(publish("test", QoS::AtMostOnce, &[0; 92]));
    pair.command(publish("test", QoS::AtMostOnce, &[0; 91]));
    pair.drive_for(Duration::from_secs(1));
    let rejected = [
        ReasonCode::QosNotSupported,
        ReasonCode::RetainNotSupported,
        ReasonCode::PacketTooLarge,
    ];
    for (message, reason) in (0..).zip(rejected) {
        assert!(events(&pair).contains(&&Event::Refused { message, reason }));
    }
    assert_eq!(events(&pair).last(), Some(&&Event::Sent { message: 3 }));
    assert_eq!(pair.server.stats().published, 1);
}

/// Section 3.3.2.3.4
#[test]
fn a_client_uses_topic_aliases_if_configured() {
    let broker = broker::Config {
        topic_alias_maximum: 1,
        ..broker::Config::default()
    };
    let client = client::Config {
        use_topic_aliases: true,
        ..of_version(Version::V5)
    };
    let mut pair = connected(client, broker);
    let first = pair.sent.len();
    for topic in ["a/long/topic", "a/long/topic", "another"] {
        pair.command(publish(topic, QoS::AtMostOnce, b"x"));
    }
    pair.drive_for(Duration::from_secs(1));
    let sizes: Vec<usize> = pair.sent[first..].iter().map(|sent| sent.bytes.len()).collect();
    assert_eq!(sizes, [21, 9, 13]);
    assert_eq!(pair.server.stats().published, 3);
}

#[test]
fn a_refused_client_reports_the_reason() {
    let broker = broker::Config {
        users: Some(std::collections::BTreeMap::new()),
        ..broker::Config::default()
    };
    for version in Version::ALL {
        let pair = connected(of_version(version), broker.clone());
        let reason = Box::new(client::ServerReason {
            code: ReasonCode::BadUserNameOrPassword,
            version,
            reference: None,
        });
        assert_eq!(events(&pair), [&Event::Rejected { reason }, &Event::Closed]);
    }
}
