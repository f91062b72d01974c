//! The message layer: retransmission, duplicates, separate responses, pings (RFC 7252 section 4).

mod common;

use std::time::Duration;

use common::*;
use wirecost_coap::client::{Command, Event, Request};
use wirecost_coap::code::Code;
use wirecost_coap::server;
use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Cause, Direction, Front, Instant, Layer, Phase, ResetReason};

#[test]
fn a_confirmable_put_takes_one_round_trip_and_two_datagrams() {
    let mut pair = pair(Lossy::default());
    pair.command(request(Request::put("/test", pattern(128))));
    pair.drive_for(Duration::from_secs(400));
    assert_eq!(flow_of(&pair), [">CON 0.03", "<ACK 2.04"]);
    assert_eq!(
        pair.client_events[0],
        (Instant::START, Event::Sent { message: 1 })
    );
    let (at, Event::Response(response)) = &pair.client_events[1] else {
        panic!("{:?}", pair.client_events);
    };
    assert_eq!(*at, Instant::START + DELAY * 2);
    assert_eq!((response.code, response.transmissions), (Code::CHANGED, 1));
    assert_eq!(pair.server.content("/test"), Some(&pattern(128)[..]));
    let lens: Vec<_> = pair.sent.iter().map(|sent| sent.bytes.len()).collect();
    assert_eq!(lens, [14 + 128, 6]);
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn a_put_without_response_is_one_datagram() {
    let mut pair = pair(Lossy::default());
    pair.command(request(Request::put_without_response("/test", pattern(16))));
    pair.drive_for(Duration::from_secs(400));
    assert_eq!(flow_of(&pair), [">NON 0.03"]);
    assert_eq!(pair.client_events, [(Instant::START, Event::Sent { message: 1 })]);
    assert_eq!(processed_bodies(&pair), [16]);
    assert_eq!(pair.server.stats().suppressed, 1);
    assert_eq!(pair.sent[0].bytes.len(), 17 + 16, "No-Response costs 3 bytes");
}

#[test]
fn spans_say_layer_phase_and_cause() {
    let mut pair = pair(Lossy {
        up: vec![0],
        ..Lossy::default()
    });
    pair.command(request(Request::put("/test", pattern(8))));
    pair.drive_for(Duration::from_secs(5));
    let causes: Vec<_> = pair.sent.iter().map(|sent| sent.spans[0].cause).collect();
    assert_eq!(
        causes,
        [Cause::Original, Cause::Retransmission, Cause::Acknowledgement]
    );
    for sent in &pair.sent[..2] {
        let layers: Vec<_> = sent.spans.iter().map(|s| (s.len, s.layer, s.phase)).collect();
        let expected = [
            (14, Layer::Application, Phase::Message),
            (8, Layer::Payload, Phase::Message),
        ];
        assert_eq!(layers, expected);
    }
}

#[test]
fn retransmits_con_until_max_transmit_wait() {
    for seed in 0..20 {
        let mut config = client_config();
        config.rng = wirecost_proto::Rng::new(seed);
        let path = Lossy::share(1.0, seed);
        let mut pair = pair_with(path, config, server_config());
        pair.command(request(Request::put("/test", pattern(8))));
        pair.drive_for(Duration::from_secs(100));
        let at: Vec<f64> = pair.sent.iter().map(|sent| seconds(sent.at)).collect();
        assert_eq!(at.len(), 5, "one transmission and MAX_RETRANSMIT retransmissions");
        // RFC 7252 section 4.2: the first time-out lies in 2..3 s, each further one is twice as long.
        let first = at[1] - at[0];
        assert!((2.0..=3.0).contains(&first), "{first}");
        for (n, pair) in at.windows(2).enumerate() {
            assert!((pair[1] - pair[0] - first * f64::from(1 << n)).abs() < 1e-6);
        }
        let (gave_up, event) = &pair.client_events[1];
        assert!((62.0..=93.0).contains(&seconds(*gave_up)));
        assert!((seconds(*gave_up) - first * 31.0).abs() < 1e-6);
        let (message, transmissions) = (1, 5);
        assert_eq!(
            *event,
            Event::TimedOut {
                message,
                transmissions
            }
        );
        let same = pair.sent.iter().all(|sent| sent.bytes == pair.sent[0].bytes);
        assert!(same, "a retransmission is the same datagram");
    }
}

fn seconds(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e9
}

#[test]
fn a_lost_ack_is_sent_again_without_repeating_the_request() {
    let mut pair = pair(Lossy {
        down: vec![0, 1],
        ..Lossy::default()
    });
    pair.command(request(Request::put("/test", pattern(8))));
    pair.drive_for(Duration::from_secs(20));
    assert_eq!(flow_of(&pair), [">CON 0.03", "<ACK 2.04"].repeat(3));
    assert_eq!(processed_bodies(&pair), [8]);
    assert_eq!(pair.server_events.len(), 3);
    assert_eq!(pair.server.stats().duplicates, 2);
    assert_eq!(responses(&pair)[0].transmissions, 3);
    assert_eq!(
        sent(&pair, Direction::Down)[0].bytes,
        sent(&pair, Direction::Down)[2].bytes
    );
}

#[test]
fn a_repeated_non_is_ignored() {
    let mut pair = pair(Lossy {
        duplicate: true,
        ..Lossy::default()
    });
    pair.command(request(Request {
        confirmable: false,
        ..Request::put("/test", pattern(8))
    }));
    pair.drive_for(Duration::from_secs(5));
    assert_eq!(flow_of(&pair), [">NON 0.03", "<NON 2.04"]);
    assert_eq!(processed_bodies(&pair), [8]);
    assert_eq!(responses(&pair).len(), 1);
    assert_eq!(
        (pair.server.stats().duplicates, pair.client.stats().duplicates),
        (1, 1)
    );
}

#[test]
fn an_empty_ack_stops_retransmission_until_the_separate_response() {
    let mut config = server_config();
    config.separate_delay = Duration::from_secs(10);
    let mut pair = pair_with(Lossy::default(), client_config(), config);
    pair.command(request(Request::get("/separate")));
    pair.drive_for(Duration::from_secs(60));
    assert_eq!(
        flow_of(&pair),
        [">CON 0.01", "<ACK 0.00", "<CON 2.05", ">ACK 0.00"]
    );
    let (message, transmissions) = (1, 1);
    assert_eq!(
        pair.client_events[1].1,
        Event::Acknowledged {
            message,
            transmissions
        }
    );
    assert_eq!(responses(&pair)[0].payload, b"separate");
    assert_eq!(pair.sent[2].spans[0].cause, Cause::Original);
}

#[test]
fn a_separate_response_overtakes_a_lost_ack() {
    // RFC 7252 section 5.2.2: the response replaces the lost acknowledgement.
    let mut config = server_config();
    config.separate_delay = Duration::from_secs(1);
    let path = Lossy {
        down: vec![0],
        ..Lossy::default()
    };
    let mut pair = pair_with(path, client_config(), config);
    pair.command(request(Request::get("/separate")));
    pair.drive_for(Duration::from_secs(60));
    assert_eq!(
        flow_of(&pair),
        [">CON 0.01", "<ACK 0.00", "<CON 2.05", ">ACK 0.00"]
    );
    assert_eq!(responses(&pair).len(), 1);
}

#[test]
fn a_repeated_separate_response_gets_its_ack_again() {
    let mut pair = pair(Lossy {
        up: vec![1],
        ..Lossy::default()
    });
    pair.command(request(Request::get("/separate")));
    pair.drive_for(Duration::from_secs(60));
    let end = ["<CON 2.05", ">ACK 0.00", "<CON 2.05", ">ACK 0.00"];
    assert_eq!(flow_of(&pair)[2..], end);
    assert_eq!(responses(&pair).len(), 1);
    assert_eq!(pair.client.stats().duplicates, 1);
    assert_eq!(pair.server.stats().retransmissions, 1);
}

#[test]
fn a_non_request_gets_a_non_separate_response() {
    let mut pair = pair(Lossy::default());
    pair.command(request(Request {
        confirmable: false,
        ..Request::get("/separate")
    }));
    pair.drive_for(Duration::from_secs(5));
    assert_eq!(flow_of(&pair), [">NON 0.01", "<NON 2.05"]);
    assert_eq!(responses(&pair)[0].payload, b"separate");
}

#[test]
fn a_ping_is_answered_by_a_reset_and_counts_as_keep_alive() {
    let mut pair = pair(Lossy {
        up: vec![0],
        ..Lossy::default()
    });
    pair.command(Command::Ping { message: 9 });
    pair.drive_for(Duration::from_secs(10));
    assert_eq!(flow_of(&pair), [">CON 0.00", ">CON 0.00", "<RST 0.00"]);
    let (message, transmissions) = (9, 2);
    assert_eq!(
        pair.client_events[0].1,
        Event::Pong {
            message,
            transmissions
        }
    );
    assert!(
        pair.sent
            .iter()
            .all(|sent| sent.spans[0].phase == Phase::KeepAlive)
    );
}

#[test]
fn a_lost_pong_is_repeated_in_the_same_phase() {
    let mut pair = pair(Lossy {
        duplicate: true,
        ..Lossy::default()
    });
    pair.command(Command::Ping { message: 9 });
    pair.drive_for(Duration::from_secs(10));
    assert_eq!(pair.client.stats().unmatched, 3, "one RST of four is the answer");
}

#[test]
fn a_broken_flow_fails_waiting_requests() {
    let mut pair = pair(Lossy::share(1.0, 1));
    pair.command(request(Request::get("/test")));
    pair.command(request(Request::get("/test")));
    pair.reset(FIRST_FLOW, ResetReason::Refused);
    let failed = |event: &Event| matches!(event, Event::Failed { .. });
    assert_eq!(
        pair.client_events
            .iter()
            .filter(|(_, event)| failed(event))
            .count(),
        2
    );
    assert_eq!(pair.client_events[3].1, Event::FlowReset(ResetReason::Refused));
    pair.drive_for(Duration::from_secs(10));
    assert_eq!(pair.sent.len(), 1);
}

#[test]
fn close_ends_everything() {
    let mut pair = pair(Lossy::default());
    pair.command(observe(1, "/obs"));
    pair.drive_for(Duration::from_secs(1));
    pair.command(Command::Close);
    assert_eq!(pair.client_events.last().unwrap().1, Event::Closed);
    assert_eq!(pair.client.pending(), 0);
}

#[test]
fn events_of_the_server_name_the_resource() {
    let mut pair = pair(Lossy::default());
    pair.command(request(Request::put("/test", pattern(4))));
    pair.drive_for(Duration::from_secs(1));
    let expected = server::Event::MessageReceived {
        flow: FIRST_FLOW,
        method: wirecost_coap::code::Method::Put,
        path: "/test",
        payload_bytes: 4,
        front: Front::from_payload(&pattern(4)),
        duplicate: false,
    };
    assert_eq!(pair.server_events, [(Instant::START + DELAY, expected)]);
}
