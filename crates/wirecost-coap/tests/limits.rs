//! The limits of a client: NSTART, PROBING_RATE, message ids, and suppressed responses.

mod common;

use std::time::Duration;

use common::*;
use wirecost_coap::client::{Event, Request};
use wirecost_coap::server::Server;
use wirecost_proto::{Endpoint, FlowId, Input, Instant};

#[test]
fn nstart_1_lets_one_confirmable_request_out_at_a_time() {
    let mut pair = pair(Lossy::default());
    for _ in 0..3 {
        pair.command(request(Request::put("/test", pattern(8))));
    }
    assert_eq!(pair.sent.len(), 1);
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(flow_of(&pair), [">CON 0.03", "<ACK 2.04"].repeat(3));
    let mut config = client_config();
    config.parameters.nstart = 3;
    let mut pair = pair_with(Lossy::default(), config, server_config());
    for _ in 0..4 {
        pair.command(request(Request::put("/test", pattern(8))));
    }
    assert_eq!(pair.sent.len(), 3);
}

#[test]
fn probing_rate_decides_how_long_a_non_request_is_outstanding() {
    // RFC 7252 section 4.7.
    let mut pair = pair(Lossy::share(1.0, 1));
    for _ in 0..2 {
        pair.command(request(Request {
            confirmable: false,
            ..Request::put("/test", pattern(86))
        }));
    }
    pair.drive_for(Duration::from_secs(1000));
    let at: Vec<_> = pair.sent.iter().map(|sent| sent.at).collect();
    assert_eq!(
        at,
        [Instant::START, Instant::from_millis(100_000)],
        "100 B at 1 B/s"
    );
    let timed_out = |event: &Event| matches!(event, Event::TimedOut { .. });
    assert_eq!(
        pair.client_events
            .iter()
            .filter(|(_, event)| timed_out(event))
            .count(),
        2
    );
}

#[test]
fn messages_wait_when_all_ids_are_taken() {
    let mut config = client_config();
    config.parameters.nstart = usize::MAX;
    let mut pair = pair_with(Lossy::default(), config, server_config());
    let put = request(Request::put_without_response("/test", *b""));
    for _ in 0..=65_536 {
        pair.command(put.clone());
    }
    assert!((64_512..=65_536).contains(&pair.sent.len()));
    pair.drive_for(Duration::from_secs(144));
    assert!(pair.client.stats().waited_for_message_id > 0);
    pair.drive_for(Duration::from_secs(2));
    assert_eq!(pair.sent.len(), 65_537);
    assert_eq!(pair.server.stats().duplicates, 0);
}

#[test]
fn separate_responses_to_one_peer_take_turns() {
    let mut client = client_config();
    client.parameters.nstart = 2;
    let mut pair = pair_with(Lossy::default(), client, server_config());
    pair.command(request(Request::get("/separate")));
    pair.command(request(Request::get("/separate")));
    // Both responses are due before the ACK of the first one arrives.
    pair.drive_for(Duration::from_secs(10));
    let turns = ["<CON 2.05", ">ACK 0.00", "<CON 2.05", ">ACK 0.00"];
    assert_eq!(flow_of(&pair)[4..], turns);
    assert_eq!(responses(&pair).len(), 2);
}

#[test]
fn no_response_suppresses_classes_and_never_the_ack() {
    for (path, no_response, confirmable, answers) in [
        ("/test", 2, false, &[][..]),
        ("/test", 8, false, &["<NON 2.04"]),
        ("/none", 8, false, &[]),
        ("/none", 2, false, &["<NON 4.04"]),
        ("/test", 26, true, &["<ACK 0.00"]),
        ("/none", 2, true, &["<ACK 4.04"]),
    ] {
        let mut pair = pair(Lossy::default());
        pair.command(request(Request {
            confirmable,
            no_response: Some(no_response),
            ..Request::put(path, pattern(4))
        }));
        pair.drive_for(Duration::from_secs(5));
        assert_eq!(flow_of(&pair)[1..], *answers, "{path} {no_response}");
    }
}

#[test]
fn no_answer_is_not_a_failure_with_no_response() {
    let mut pair = pair(Lossy::default());
    pair.command(request(Request {
        confirmable: false,
        no_response: Some(2),
        ..Request::put("/test", pattern(4))
    }));
    pair.drive_for(Duration::from_secs(300));
    assert_eq!(pair.sent.len(), 1);
    assert_eq!(pair.client_events.last().unwrap().1, Event::Sent { message: 1 });
}

#[test]
fn a_confirmable_request_without_response_ends_with_the_ack() {
    let mut pair = pair(Lossy::default());
    pair.command(request(Request {
        confirmable: true,
        ..Request::put_without_response("/test", pattern(4))
    }));
    pair.drive_for(Duration::from_secs(300));
    let (message, transmissions) = (1, 1);
    let acknowledged = Event::Acknowledged {
        message,
        transmissions,
    };
    let events: Vec<_> = pair.client_events.iter().map(|(_, event)| event).collect();
    assert_eq!(events, [&Event::Sent { message }, &acknowledged]);
    assert_eq!(pair.client.pending(), 0);
}

#[test]
fn unacknowledged_separate_responses_are_limited() {
    let mut server = Server::new(server_config());
    let flow = FlowId(0);
    let peer = "10.0.0.1:5683".parse().expect("an address");
    let opened = Input::Opened { flow, peer };
    assert!(server.handle_input(opened, Instant::START).is_ok());
    drain(&mut server, 0);
    let (mut acknowledged, mut answered) = (0, 0);
    for id in 0..2_000_u16 {
        let [high, low] = id.to_be_bytes();
        let get = [&[0x40, 0x01, high, low, 0xb8], b"separate".as_slice()].concat();
        let received = Input::Received { flow, bytes: &get };
        assert!(server.handle_input(received, Instant::START).is_ok());
        for datagram in drain(&mut server, get.len()) {
            match datagram[1] {
                0 => acknowledged += 1,
                _ => answered += 1,
            }
        }
    }
    assert_eq!(acknowledged + answered, 2_000, "all are answered");
    assert!(acknowledged <= 256, "{acknowledged} are yet to come");
}
