//! A client with a broker: connect, subscribe, publish, ping, disconnect, in both versions.

use std::time::Duration;

use crate::common::*;
use wirecost_mqtt::broker;
use wirecost_mqtt::client::{self, Command, Event};
use wirecost_mqtt::codec::{ReasonCode, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_message_of_each_qos_is_acknowledged_and_delivered() {
    for version in Version::ALL {
        let mut pair = connected(of_version(version), broker::Config::default());
        pair.command(subscribe("test", QoS::ExactlyOnce));
        for qos in QoS::ALL {
            pair.command(publish("test", qos, &[qos.bits()]));
        }
        pair.drive_for(SECOND);
        assert_eq!(received(&pair), [[0], [1], [2]], "{version:?}");
        for message in [0, 1, 2] {
            assert!(events(&pair).contains(&&Event::Sent { message }));
        }
        for message in [1, 2] {
            let reason = ReasonCode::Success;
            assert!(events(&pair).contains(&&Event::Acknowledged { message, reason }));
        }
        assert_eq!(pair.client.in_flight(), 0);
        assert_eq!(pair.unconsumed(), 0);
    }
}

/// The sizes in every comparison: client id of 8 characters, topic `test`, 128 B of payload.
#[test]
fn packets_have_the_sizes_of_the_standard() {
    let sizes = [
        (Version::V3_1_1, QoS::AtMostOnce, vec![22, 4, 137, 2]),
        (Version::V3_1_1, QoS::AtLeastOnce, vec![22, 4, 139, 4, 2]),
        (Version::V3_1_1, QoS::ExactlyOnce, vec![22, 4, 139, 4, 4, 4, 2]),
        (Version::V5, QoS::AtMostOnce, vec![23, 5, 138, 2]),
        (Version::V5, QoS::AtLeastOnce, vec![23, 5, 140, 5, 2]),
        (Version::V5, QoS::ExactlyOnce, vec![23, 5, 140, 5, 4, 4, 2]),
    ];
    for (version, qos, expected) in sizes {
        let mut pair = connected(of_version(version), broker::Config::default());
        pair.command(publish("test", qos, &[0; 128]));
        pair.drive_for(SECOND);
        pair.command(Command::Disconnect(ReasonCode::Success));
        pair.drive_for(SECOND);
        let sent: Vec<usize> = pair.sent.iter().map(|sent| sent.bytes.len()).collect();
        assert_eq!(sent, expected, "{version:?} {qos:?}");
    }
}

#[test]
fn only_the_payload_of_publish_is_payload() {
    let mut pair = connected(of_version(Version::V5), broker::Config::default());
    pair.command(publish("test", QoS::AtLeastOnce, &[0; 128]));
    pair.drive_for(SECOND);
    let kinds = |index: usize| -> Vec<_> {
        let spans = pair.sent[index].spans.iter();
        spans
            .map(|span| (span.len, span.layer, span.phase, span.cause))
            .collect()
    };
    let application = |len, phase, cause| (len, Layer::Application, phase, cause);
    assert_eq!(kinds(0), [application(23, Phase::Connect, Cause::Original)]);
    assert_eq!(kinds(1), [application(5, Phase::Connect, Cause::Original)]);
    let payload = (128, Layer::Payload, Phase::Message, Cause::Original);
    assert_eq!(
        kinds(2),
        [application(12, Phase::Message, Cause::Original), payload]
    );
    assert_eq!(kinds(3), [application(5, Phase::Message, Cause::Acknowledgement)]);
}

#[test]
fn subscribing_belongs_to_connect_and_pinging_to_keep_alive() {
    let mut pair = connected(of_version(Version::V5), broker::Config::default());
    let first = pair.sent.len();
    pair.command(subscribe("other", QoS::AtMostOnce));
    pair.drive_for(SECOND);
    pair.command(Command::unsubscribe("other").expect("a filter"));
    pair.drive_for(SECOND);
    pair.command(Command::Ping);
    pair.command(Command::Disconnect(ReasonCode::Success));
    pair.drive_for(SECOND);
    let spans = pair.sent[first..].iter().flat_map(|sent| &sent.spans);
    let kinds: Vec<_> = spans.map(|span| (span.phase, span.cause)).collect();
    let expected = [
        (Phase::Connect, Cause::Original),
        (Phase::Connect, Cause::Acknowledgement),
        (Phase::Connect, Cause::Original),
        (Phase::Connect, Cause::Acknowledgement),
        (Phase::KeepAlive, Cause::Original),
        (Phase::Close, Cause::Original),
        (Phase::KeepAlive, Cause::Original),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn an_idle_client_pings_and_stays_connected() {
    let mut pair = connected(client::Config::default(), broker::Config::default());
    pair.drive_until(Instant::from_millis(600_000));
    let pings = pair.sent.iter().filter(|sent| sent.bytes == [0xc0, 0]);
    let at: Vec<u64> = pings.map(|ping| ping.at.as_nanos() / 1_000_000_000).collect();
    assert_eq!(at, [60, 120, 180, 240, 300, 360, 420, 480, 540]);
    assert!(pair.client.is_connected());
}

#[test]
fn a_client_gives_up_without_pingresp() {
    // The keep-alive ends again before the ping time-out. The client sends no second ping, and does not wait longer.
    for (keep_alive, given_up) in [(60, 70_010), (6, 16_010)] {
        let config = client::Config {
            keep_alive,
            ping_timeout: Duration::from_secs(10),
            ..client::Config::default()
        };
        let mut pair = connected(config, broker::Config::default());
        pair.path.0 = Duration::from_secs(3_600);
        pair.drive_until(Instant::from_millis(80_000));
        let timed_out = Event::TimedOut(client::Awaited::Pingresp);
        let last = pair.client_events.last().cloned();
        assert_eq!(last, Some((Instant::from_millis(given_up), timed_out)));
        assert!(!pair.client.is_connected());
        assert_eq!(pair.client.stats().pings, 1);
    }
}

#[test]
fn a_client_gives_up_without_connack() {
    let mut pair = unconnected(client::Config::default(), broker::Config::default());
    pair.path.0 = Duration::from_secs(3_600);
    pair.open();
    pair.drive_until(Instant::from_millis(40_000));
    let awaited = client::Awaited::Connack;
    let expected = (Instant::from_millis(30_000), Event::TimedOut(awaited));
    assert_eq!(pair.client_events, [expected]);
}

#[test]
fn a_disconnect_closes_both_sides() {
    for version in Version::ALL {
        let mut pair = connected(of_version(version), broker::Config::default());
        pair.command(Command::Disconnect(ReasonCode::Success));
        pair.drive_for(SECOND);
        assert_eq!(events(&pair).last(), Some(&&Event::Closed));
        let mut ups = pair.sent.iter().filter(|sent| sent.direction == Direction::Up);
        let last = ups.next_back().map(|sent| sent.bytes.clone());
        assert_eq!(last, Some(vec![0xe0, 0]));
        assert_eq!(pair.server.sessions(), 0);
        assert_eq!(pair.next_step(), None, "nothing is left to happen");
    }
}

#[test]
fn commands_before_the_connection_wait_for_it() {
    let mut pair = unconnected(client::Config::default(), broker::Config::default());
    pair.command(publish("test", QoS::AtMostOnce, b"early"));
    assert_eq!(pair.client.queued(), 1);
    pair.open();
    pair.drive_for(SECOND);
    assert_eq!(pair.server.stats().published, 1);
}
