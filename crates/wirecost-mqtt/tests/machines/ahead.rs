//! The packet that a client sends behind CONNECT, before CONNACK (sections 3.1.4 and 3.2.2.3).

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use crate::common::*;
use wirecost_mqtt::broker;
use wirecost_mqtt::client::{self, Command, Event, PublishTemplate, ServerReason};
use wirecost_mqtt::codec::{ReasonCode, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::{Direction, FlowId, Instant, ResetReason};

fn pipelining(version: Version) -> client::Config {
    client::Config {
        pipelines: true,
        ..of_version(version)
    }
}

/// A pair whose client has sent `command` behind CONNECT, 100 ms later.
fn with_first(client: client::Config, broker: broker::Config, command: Command) -> TestPair {
    let mut pair = unconnected(client, broker);
    pair.open();
    pair.command(command);
    pair.drive_for(Duration::from_millis(100));
    pair
}

fn when(pair: &TestPair, is_it: impl Fn(&Event) -> bool) -> Option<Instant> {
    let found = pair.client_events.iter().find(|(_, event)| is_it(event));
    found.map(|(at, _)| *at)
}

const fn is_acknowledged(event: &Event) -> bool {
    matches!(event, Event::Acknowledged { .. })
}

#[test]
fn a_message_behind_connect_is_acknowledged_a_round_trip_earlier() {
    for version in Version::ALL {
        for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
            let acknowledged = |client| {
                let pair = with_first(client, broker::Config::default(), publish("test", qos, b"x"));
                assert_eq!(pair.server.stats().published, 1);
                assert_eq!(pair.client.in_flight(), 0);
                when(&pair, is_acknowledged).expect("acknowledged")
            };
            let gained =
                acknowledged(of_version(version)).saturating_since(acknowledged(pipelining(version)));
            assert_eq!(gained, DELAY * 2, "{version:?} {qos:?}");
        }
    }
}

#[test]
fn a_subscription_may_go_behind_connect_too() {
    let subscribed = |client| {
        let pair = with_first(
            client,
            broker::Config::default(),
            subscribe("test", QoS::AtLeastOnce),
        );
        when(&pair, |event| matches!(event, Event::Subscribed { .. })).expect("subscribed")
    };
    let gained = subscribed(of_version(Version::V5)).saturating_since(subscribed(pipelining(Version::V5)));
    assert_eq!(gained, DELAY * 2);
}

#[test]
fn the_client_says_when_the_first_packet_may_follow() {
    let pair = connected(pipelining(Version::V5), broker::Config::default());
    assert!(matches!(
        events(&pair)[..],
        [Event::MaySend, Event::Connected { .. }]
    ));
    let waiting = connected(of_version(Version::V5), broker::Config::default());
    assert!(matches!(events(&waiting)[..], [Event::Connected { .. }]));
}

/// [MQTT-3.1.4-6]
#[test]
fn a_server_that_refuses_the_connection_has_not_processed_the_message() {
    let broker = broker::Config {
        users: Some(BTreeMap::new()),
        ..broker::Config::default()
    };
    for version in Version::ALL {
        for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
            let pair = with_first(pipelining(version), broker.clone(), publish("test", qos, b"x"));
            let reason = Box::new(ServerReason {
                code: ReasonCode::BadUserNameOrPassword,
                version,
                reference: None,
            });
            let refused = [
                &Event::MaySend,
                &Event::Sent { message: 0 },
                &Event::Unprocessed {
                    message: 0,
                    reason: reason.clone(),
                },
                &Event::Rejected { reason },
                &Event::Closed,
            ];
            assert_eq!(events(&pair), refused);
            assert_eq!((pair.client.in_flight(), pair.server.stats().published), (0, 0));
        }
    }
}

/// Section 3.2.2.3.3: the least Receive Maximum is 1.
#[test]
fn one_packet_goes_ahead_whatever_the_receive_maximum_becomes() {
    for receive_maximum in [1, 2, u16::MAX] {
        let broker = broker::Config {
            receive_maximum,
            ..broker::Config::default()
        };
        let mut pair = unconnected(pipelining(Version::V5), broker);
        pair.open();
        for number in 0..5 {
            pair.command(publish("test", QoS::ExactlyOnce, &[number]));
        }
        assert_eq!((pair.client.in_flight(), pair.client.queued()), (1, 4));
        pair.drive_for(DELAY * 2);
        let in_flight = usize::from(receive_maximum.min(5));
        assert_eq!(
            pair.client.in_flight(),
            in_flight,
            "the first counts for the maximum"
        );
        pair.drive_for(Duration::from_secs(1));
        assert_eq!((pair.client.in_flight(), pair.client.queued()), (0, 0));
        assert_eq!(pair.server.stats().published, 5);
    }
}

/// Section 3.2.2.3.8: without a CONNACK the Topic Alias Maximum is 0.
#[test]
fn a_topic_alias_waits_for_connack() {
    let broker = broker::Config {
        topic_alias_maximum: 1,
        ..broker::Config::default()
    };
    let client = client::Config {
        use_topic_aliases: true,
        ..pipelining(Version::V5)
    };
    let mut pair = with_first(client, broker, publish("a/long/topic", QoS::AtMostOnce, b"x"));
    for _ in 0..2 {
        pair.command(publish("a/long/topic", QoS::AtMostOnce, b"x"));
    }
    pair.drive_for(Duration::from_secs(1));
    let up = pair.sent.iter().filter(|sent| sent.direction == Direction::Up);
    let sizes: Vec<usize> = up.map(|sent| sent.bytes.len()).skip(1).collect();
    assert_eq!(sizes, [18, 21, 9], "no alias, its definition, its use");
    assert_eq!(pair.server.stats().published, 3);
}

/// Sections 3.2.2.3.4 to 3.2.2.3.6: limits that have no least, which the client cannot know in time.
#[test]
fn a_message_ahead_that_breaks_a_limit_ends_the_connection() {
    let limits = broker::Config {
        maximum_qos: QoS::AtLeastOnce,
        retain_available: false,
        maximum_packet_size: Some(100),
        ..broker::Config::default()
    };
    let retained = PublishTemplate::new("test", QoS::AtMostOnce, *b"x").expect("a message");
    let broken = [
        (
            publish("test", QoS::ExactlyOnce, b""),
            ReasonCode::QosNotSupported,
        ),
        (
            Command::Publish(retained.retained().into()),
            ReasonCode::RetainNotSupported,
        ),
        (
            publish("test", QoS::AtLeastOnce, &[0; 200]),
            ReasonCode::PacketTooLarge,
        ),
    ];
    for (command, expected) in broken {
        let pair = with_first(pipelining(Version::V5), limits.clone(), command);
        let ended = events(&pair).into_iter().find_map(|event| match event {
            Event::Disconnected { reason } => Some(reason.code),
            _ => None,
        });
        assert_eq!(ended, Some(expected));
        assert_eq!(pair.server.stats().published, 0);
        assert!(!pair.client.is_connected());
    }
}

#[test]
fn limits_hold_for_what_follows_connack() {
    let broker = broker::Config {
        maximum_packet_size: Some(100),
        ..broker::Config::default()
    };
    let mut pair = with_first(
        pipelining(Version::V5),
        broker,
        publish("test", QoS::AtLeastOnce, b"x"),
    );
    pair.command(publish("test", QoS::AtLeastOnce, &[0; 200]));
    pair.drive_for(Duration::from_secs(1));
    let reason = ReasonCode::PacketTooLarge;
    assert!(events(&pair).contains(&&Event::Refused { message: 1, reason }));
}

/// [MQTT-3.1.2-4], [MQTT-3.2.2-5]
#[test]
fn a_clean_start_drops_the_message_of_a_connection_without_connack() {
    let mut pair = unconnected(pipelining(Version::V5), broker::Config::default());
    pair.open();
    pair.command(publish("test", QoS::AtLeastOnce, b"x"));
    pair.reset(FlowId(0), ResetReason::ByPeer);
    pair.open_flow(FlowId(1));
    pair.command(publish("test", QoS::AtLeastOnce, b"y"));
    pair.drive_for(Duration::from_secs(1));
    assert!(events(&pair).contains(&&Event::Discarded { message: 0 }));
    assert_eq!(when(&pair, is_acknowledged), Some(Instant::START + DELAY * 2));
}

/// [MQTT-4.4.0-1], [MQTT-4.6.0-1]
#[test]
fn unfinished_messages_of_a_session_go_before_a_new_one() {
    let client = client::Config {
        clean_start: false,
        session_expiry: 60,
        ..pipelining(Version::V5)
    };
    let mut pair = connected(client, broker::Config::default());
    pair.command(subscribe("test", QoS::AtLeastOnce));
    pair.drive_for(Duration::from_millis(100));
    pair.command(publish("test", QoS::AtLeastOnce, b"1"));
    pair.reset(FlowId(0), ResetReason::ByPeer);
    pair.open_flow(FlowId(1));
    let offered = events(&pair)
        .into_iter()
        .filter(|event| **event == Event::MaySend);
    assert_eq!(offered.count(), 1, "the second connection offers nothing");
    pair.command(publish("test", QoS::AtLeastOnce, b"2"));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(received(&pair), [b"1".to_vec(), b"2".to_vec()]);
}

#[test]
fn a_client_that_leaves_before_connack_says_so_behind_its_message() {
    let mut pair = unconnected(pipelining(Version::V5), broker::Config::default());
    pair.open();
    pair.command(publish("test", QoS::AtMostOnce, b"x"));
    pair.command(Command::Disconnect(ReasonCode::Success));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(pair.server.stats().published, 1);
    let last = pair
        .sent
        .iter()
        .rev()
        .find(|sent| sent.direction == Direction::Up);
    assert_eq!(last.map(|sent| sent.bytes.as_slice()), Some(&[0xe0, 0][..]));
}

proptest! {
    /// What the server learns does not depend on whether the client waits, nor does any outcome.
    #[test]
    fn a_client_that_pipelines_sends_the_same_bytes_and_gets_the_same_outcomes(
        version in proptest::sample::select(Version::ALL.to_vec()),
        qualities in proptest::collection::vec(0_u8..3, 1..8),
        receive_maximum in 1_u16..4,
    ) {
        let run = |pipelines| {
            let broker = broker::Config { receive_maximum, ..broker::Config::default() };
            let client = client::Config { pipelines, ..of_version(version) };
            let mut pair = unconnected(client, broker);
            pair.open();
            for (number, qos) in (0_u8..).zip(&qualities) {
                let qos = QoS::from_bits(*qos).expect("a quality");
                pair.command(publish("test", qos, &[number]));
            }
            pair.drive_for(Duration::from_secs(2));
            let bytes = |direction| {
                let sent = pair.sent.iter().filter(|sent| sent.direction == direction);
                sent.map(|sent| sent.bytes.len()).sum::<usize>()
            };
            let mut outcomes: Vec<String> = events(&pair)
                .into_iter()
                .filter(|event| !matches!(event, Event::MaySend | Event::Connected { .. }))
                .map(|event| format!("{event:?}"))
                .collect();
            outcomes.sort();
            (outcomes, bytes(Direction::Up), bytes(Direction::Down), pair.server.stats().published)
        };
        prop_assert_eq!(run(true), run(false));
    }
}
