//! Round trips, events and bytes of the three starts.

use std::time::Duration;

use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Cause, Direction, FlowId, Instant, Layer, Phase};
use wirecost_security::layer::{Event, Fault};
use wirecost_security::{Start, tls};

use super::rig::{DELAY, Parts, bytes, get, post, reconnected, responses, rig, starts};
use crate::client::{self, Command};
use crate::server;

const ROUND_TRIP: Duration = Duration::from_millis(100);

#[test]
fn a_cold_post_is_answered_after_two_round_trips() {
    let mut rig = rig(Start::Cold);
    rig.open();
    rig.command(post(1, 128));
    rig.drive_for(Duration::from_secs(1));
    assert_eq!(responses(&rig), [(Instant::START + ROUND_TRIP * 2, 1, 204)]);
    assert_eq!(starts(&rig), [Start::Cold]);
    assert_eq!(rig.unconsumed(), 0);
}

#[test]
fn the_handshake_is_reported_before_opened() {
    let mut rig = rig(Start::Cold);
    rig.open();
    rig.drive_for(Duration::from_secs(1));
    let after = Instant::START + ROUND_TRIP;
    let expected = [
        (
            after,
            Event::Established {
                flow: FlowId(0),
                start: Start::Cold,
            },
        ),
        (after, Event::Inner(client::Event::Opened)),
    ];
    assert_eq!(rig.client_events, expected);
}

#[test]
fn a_resumed_post_takes_the_same_round_trips_and_fewer_bytes() {
    let mut rig = reconnected(rig(Start::Resumed));
    let opened = rig.now;
    rig.command(post(1, 128));
    rig.drive_for(Duration::from_secs(1));
    assert_eq!(responses(&rig), [(opened + ROUND_TRIP * 2, 1, 204)]);
    assert_eq!(starts(&rig), [Start::Resumed]);
    let down = |flow| bytes(&rig, flow, Direction::Down, Layer::Security, Phase::Connect);
    assert!(down(1) + 400 < down(0), "{} {}", down(0), down(1));
}

#[test]
fn an_early_post_is_answered_after_one_round_trip() {
    let mut rig = reconnected(rig(Start::ZeroRtt));
    let opened = rig.now;
    assert_eq!(rig.client_events, [(opened, Event::Inner(client::Event::Opened))]);
    rig.command(post(1, 128));
    rig.drive_for(Duration::from_secs(1));
    assert_eq!(responses(&rig), [(opened + ROUND_TRIP, 1, 204)]);
    assert_eq!(starts(&rig), [Start::ZeroRtt]);
    let early = |event: &Event<server::Event>| matches!(event, Event::EarlyData { flow: FlowId(1), .. });
    assert!(rig.server_events.iter().any(|(_, event)| early(event)));
    assert_eq!(rig.unconsumed(), 0);
}

/// RFC 8470 section 5.2.
#[test]
fn an_unsafe_early_post_is_refused() {
    let mut parts = Parts::new(Start::ZeroRtt);
    parts.unsafe_early_data = false;
    let mut rig = reconnected(parts.pair(1, FixedDelay(DELAY)));
    rig.command(post(1, 128));
    rig.command(get(2, "/messages"));
    rig.drive_for(Duration::from_secs(1));
    rig.command(post(3, 128));
    rig.drive_for(Duration::from_secs(1));
    let statuses: Vec<_> = responses(&rig)
        .into_iter()
        .map(|(_, message, status)| (message, status))
        .collect();
    assert_eq!(statuses, [(1, 425), (2, 200), (3, 204)]);
}

#[test]
fn the_first_flight_leaves_without_a_command_too() {
    let mut rig = reconnected(rig(Start::ZeroRtt));
    let (opened, before) = (rig.now, rig.sent.len());
    assert_eq!(
        rig.next_step(),
        Some(opened),
        "nothing is sent, and the driver is asked to come back"
    );
    rig.drive_for(Duration::from_millis(10));
    assert_eq!(rig.sent[before].at, opened);
    rig.command(post(1, 16));
    rig.drive_for(Duration::from_secs(1));
    assert_eq!(
        responses(&rig),
        [(opened + Duration::from_millis(10) + ROUND_TRIP, 1, 204)]
    );
}

#[test]
fn a_start_without_a_ticket_is_a_fault() {
    for start in [Start::Resumed, Start::ZeroRtt] {
        let mut rig = reconnected(rig(start));
        // A connection that never completes uses up the first ticket.
        rig.reset(FlowId(1), wirecost_proto::ResetReason::TimedOut);
        rig.client_events.clear();
        rig.open_flow(FlowId(2));
        let fault = Fault::Start {
            asked: start,
            granted: Start::Cold,
        };
        let flow = FlowId(2);
        assert_eq!(rig.client_events, [(rig.now, Event::Failed { flow, fault })]);
    }
}

#[test]
fn a_server_without_early_data_grants_none() {
    let mut parts = Parts::new(Start::ZeroRtt);
    parts.server.accept_early_data = false;
    let rig = reconnected(parts.pair(1, FixedDelay(DELAY)));
    let fault = Fault::Start {
        asked: Start::ZeroRtt,
        granted: Start::Resumed,
    };
    let flow = FlowId(1);
    assert_eq!(rig.client_events, [(rig.now, Event::Failed { flow, fault })]);
}

#[test]
fn every_phase_and_layer_has_its_bytes() {
    let mut rig = rig(Start::Cold);
    rig.open();
    rig.drive_for(Duration::from_secs(1));
    rig.command(post(1, 128));
    rig.drive_for(Duration::from_secs(1));
    rig.command(Command::Close);
    rig.drive_for(Duration::from_secs(1));
    let up = |layer, phase| bytes(&rig, 0, Direction::Up, layer, phase);
    let down = |layer, phase| bytes(&rig, 0, Direction::Down, layer, phase);
    assert_eq!(up(Layer::Payload, Phase::Message), 128);
    // HEADERS and the header of DATA; the answer is HEADERS with one indexed field.
    assert_eq!(up(Layer::Application, Phase::Message), 45);
    assert_eq!(down(Layer::Application, Phase::Message), 6);
    // Stream type and an empty SETTINGS, both ways.
    assert_eq!(up(Layer::Application, Phase::Connect), 3);
    assert_eq!(down(Layer::Application, Phase::Connect), 3);
    assert_eq!(up(Layer::Security, Phase::Message), 0);
    assert_eq!(down(Layer::Security, Phase::Message), 0);
    assert!(up(Layer::Transport, Phase::Close) > 20);
    assert_eq!(down(Layer::Transport, Phase::Close), 0);
    let closed = Event::Inner(client::Event::Closed);
    assert_eq!(rig.client_events.last().map(|(_, event)| event), Some(&closed));
    let closed = Event::Inner(server::Event::Closed { flow: FlowId(0) });
    assert_eq!(rig.server_events.last().map(|(_, event)| event), Some(&closed));
    assert_eq!(rig.server.connections(), 0);
}

#[test]
fn nothing_is_sent_twice_on_a_path_without_loss() {
    let mut rig = rig(Start::Cold);
    rig.open();
    rig.command(post(1, 100_000));
    rig.drive_for(Duration::from_secs(5));
    assert_eq!(responses(&rig).len(), 1);
    assert_eq!(rig.unconsumed(), 0);
    let spans = rig.sent.iter().flat_map(|sent| &sent.spans);
    assert!(spans.into_iter().all(|span| span.cause != Cause::Retransmission));
    assert_eq!(
        bytes(&rig, 0, Direction::Up, Layer::Payload, Phase::Message),
        100_000
    );
}

#[test]
fn a_large_answer_arrives_whole() {
    let mut rig = rig(Start::Cold);
    rig.open();
    rig.command(post(1, 50_000));
    rig.drive_for(Duration::from_secs(5));
    rig.command(get(2, "/test"));
    rig.drive_for(Duration::from_secs(5));
    let last = rig.client_events.last().map(|(_, event)| event.clone());
    let Some(Event::Inner(client::Event::Response { body_bytes, .. })) = last else {
        panic!("a response, got {last:?}");
    };
    assert_eq!(body_bytes, 50_000);
    assert_eq!(rig.unconsumed(), 0);
}

#[test]
fn a_long_poll_waits_on_one_stream_while_others_go_on() {
    let mut rig = rig(Start::Cold);
    rig.open();
    rig.command(get(1, "/long-poll/a?timeout=10"));
    rig.drive_for(Duration::from_secs(2));
    rig.command(get(2, "/test"));
    rig.drive_for(Duration::from_secs(2));
    let asked: Vec<_> = responses(&rig)
        .into_iter()
        .map(|(_, message, status)| (message, status))
        .collect();
    assert_eq!(asked, [(2, 404)]);
    rig.drive_for(Duration::from_secs(10));
    let asked: Vec<_> = responses(&rig)
        .into_iter()
        .map(|(_, message, status)| (message, status))
        .collect();
    assert_eq!(asked, [(2, 404), (1, 204)]);
}

#[test]
fn sizes_do_not_depend_on_chance() {
    let sizes = |seed| {
        let mut rig = reconnected(Parts::new(Start::ZeroRtt).pair(seed, FixedDelay(DELAY)));
        rig.command(post(1, 128));
        rig.drive_for(Duration::from_secs(1));
        rig.command(Command::Close);
        rig.drive_for(Duration::from_secs(1));
        let sizes: Vec<_> = rig.sent.iter().map(|sent| (sent.at, sent.bytes.len())).collect();
        let spans: Vec<_> = rig.sent.iter().map(|sent| sent.spans.clone()).collect();
        (sizes, spans)
    };
    let first = sizes(1);
    for seed in 2..=20 {
        assert!(sizes(seed) == first, "seed {seed}");
    }
}

#[test]
fn a_configuration_without_tls_1_3_is_refused() {
    let mut parts = Parts::new(Start::Cold);
    parts.client.versions = tls::Versions::Tls12;
    let refused = crate::http3::Client::new(parts.client_config(1));
    assert!(matches!(refused.err(), Some(tls::ConfigError::Unusable { .. })));
}
