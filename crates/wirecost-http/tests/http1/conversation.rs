//! Whole conversations.

use std::time::Duration;

use wirecost_http::client::Command;
use wirecost_http::http1::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::Method;
use wirecost_http::server::Event;
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::Pair;
use wirecost_proto::{
    Cause, Delivery, Direction, Fate, FlowId, Instant, Layer, Path, Phase, ResetReason, Rng, Span,
};

use crate::common::{DELAY, FLOW, opened, post, request, sent, template, word, words};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_post_and_its_204_have_the_minimum_length() {
    let mut pair = opened(ClientConfig::default(), ServerConfig::default());
    pair.command(post(7, &[b'x'; 128]));
    pair.drive_for(SECOND);
    assert_eq!(words(&pair), ["opened", "7: 204 0"]);
    let head = "POST /test HTTP/1.1\r\nHost: wirecost\r\nContent-Type: application/octet-stream\r\nContent-Length: 128\r\n\r\n";
    assert_eq!(sent(&pair, Direction::Up), format!("{head}{}", "x".repeat(128)));
    assert_eq!(sent(&pair, Direction::Down), "HTTP/1.1 204 No Content\r\n\r\n");
    let span = |len, layer, cause| Span {
        len,
        layer,
        phase: Phase::Message,
        cause,
    };
    assert_eq!(pair.sent.len(), 2, "one write per message");
    let up = [
        span(head.len() as u32, Layer::Application, Cause::Original),
        span(128, Layer::Payload, Cause::Original),
    ];
    assert_eq!(pair.sent[0].spans, up);
    assert_eq!(
        pair.sent[1].spans,
        [span(27, Layer::Application, Cause::Acknowledgement)]
    );
    assert_eq!(pair.unconsumed(), 0);
    let times: Vec<_> = pair
        .client_events
        .iter()
        .map(|(at, event)| (*at, word(event)))
        .collect();
    let begin = Instant::START;
    let expected = [
        (begin, "opened"),
        (begin, "7: sent"),
        (begin + DELAY * 2, "7: 204 0"),
    ];
    assert_eq!(times, expected.map(|(at, word)| (at, word.to_owned())));
}

#[test]
fn requests_wait_for_the_previous_response_on_one_connection() {
    let mut pair = opened(ClientConfig::default(), ServerConfig::default());
    for message in 0..3 {
        pair.command(post(message, b"abc"));
    }
    pair.command(Command::Close);
    pair.drive_for(SECOND);
    assert_eq!(
        words(&pair),
        ["opened", "0: 204 0", "1: 204 0", "2: 204 0", "closed"]
    );
    let times: Vec<u64> = pair
        .sent
        .iter()
        .map(|sent| sent.at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(times, [0, 5, 10, 15, 20, 25]);
    assert_eq!(
        pair.server_events.last().map(|(_, event)| *event),
        Some(Event::Closed { flow: FLOW })
    );
    assert_eq!(pair.server.connections(), 0);
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn with_connection_close_the_next_request_waits() {
    let config = ClientConfig {
        connection_close: true,
        ..ClientConfig::default()
    };
    let mut pair = opened(config, ServerConfig::default());
    pair.command(post(0, b"abc"));
    pair.command(post(1, b"abc"));
    pair.drive_for(SECOND);
    assert_eq!(words(&pair), ["opened", "0: 204 0", "closed"]);
    assert!(sent(&pair, Direction::Up).contains("\r\nConnection: close\r\n\r\nabc"));
    assert_eq!(
        sent(&pair, Direction::Down),
        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(pair.client.queued(), 1);
    pair.open_flow(FlowId(1));
    pair.drive_for(SECOND);
    assert_eq!(words(&pair)[3..], ["opened", "1: 204 0", "closed"]);
    assert_eq!((pair.unconsumed(), pair.server.connections()), (0, 0));
}

#[test]
fn content_comes_back_by_get_and_its_length_by_head() {
    let config = ClientConfig {
        keep_body_bytes: 4,
        ..ClientConfig::default()
    };
    let mut pair = opened(config, ServerConfig::default());
    pair.command(request(0, Method::Get, "/test", b""));
    pair.command(post(1, b"abcdef"));
    pair.command(request(2, Method::Get, "/test", b""));
    pair.command(request(3, Method::Head, "/test", b""));
    pair.command(request(4, Method::Delete, "/test", b""));
    pair.drive_for(SECOND);
    assert_eq!(
        words(&pair),
        [
            "opened", "0: 404 0", "1: 204 0", "2: 200 6", "3: 200 0", "4: 405 0"
        ]
    );
    let down = sent(&pair, Direction::Down);
    let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 6\r\n\r\n";
    assert!(down.contains(&format!("{ok}abcdef{ok}HTTP/1.1 405")), "{down}");
    assert!(down.contains("Allow: GET, HEAD, POST, PUT\r\nContent-Length: 0\r\n\r\n"));
    let body = pair.client_events.iter().find_map(|(_, event)| match event {
        wirecost_http::client::Event::Response { message: 2, body, .. } => Some(body.clone()),
        _ => None,
    });
    assert_eq!(body.as_deref(), Some(b"abcd".as_slice()));
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn a_large_content_goes_out_and_comes_back_in_pieces() {
    let mut pair = opened(ClientConfig::default(), ServerConfig::default());
    let content: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
    pair.command(post(0, &content));
    pair.command(request(1, Method::Get, "/test", b""));
    pair.drive_for(SECOND);
    assert_eq!(words(&pair), ["opened", "0: 204 0", "1: 200 1000000"]);
    let largest = pair.sent.iter().map(|sent| sent.bytes.len()).max();
    assert!(largest.is_some_and(|bytes| bytes < 70_000), "{largest:?}");
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn a_long_poll_is_answered_when_another_flow_posts() {
    let mut pair = opened(ClientConfig::default(), ServerConfig::default());
    pair.command(request(0, Method::Get, "/long-poll/a?timeout=20", b""));
    pair.drive_for(SECOND);
    assert_eq!(words(&pair), ["opened"]);
    pair.command(request(1, Method::Post, "/long-poll/a", b"news"));
    pair.drive_for(SECOND);
    assert_eq!(
        words(&pair),
        ["opened"],
        "the client waits for the response first"
    );
    pair.drive_for(SECOND * 20);
    assert_eq!(words(&pair), ["opened", "0: 204 0", "1: 204 0"]);
    let answered = pair
        .client_events
        .iter()
        .find(|(_, event)| word(event) == "0: 204 0");
    assert_eq!(answered.map(|(at, _)| *at), Some(Instant::from_millis(20_010)));
}

#[test]
fn a_broken_connection_fails_sent_requests_only() {
    let mut pair = opened(ClientConfig::default(), ServerConfig::default());
    pair.command(post(0, b"abc"));
    pair.command(post(1, b"abc"));
    pair.reset(FLOW, ResetReason::ByPeer);
    pair.drive_for(SECOND);
    let failed = "0: the connection broke: connection reset by the peer";
    assert_eq!(words(&pair), ["opened", failed, "connection reset by the peer"]);
    pair.open_flow(FlowId(1));
    pair.drive_for(SECOND);
    assert_eq!(words(&pair)[3..], ["opened", "1: 204 0"]);
    assert_eq!(pair.server.connections(), 1);
}

#[test]
fn a_fulfilled_close_does_not_close_the_next_connection() {
    let config = ClientConfig {
        connection_close: true,
        ..ClientConfig::default()
    };
    let mut pair = opened(config, ServerConfig::default());
    pair.command(post(0, b"abc"));
    pair.command(Command::Close);
    pair.drive_for(SECOND);
    pair.command(Command::Close);
    pair.open_flow(FlowId(1));
    pair.drive_for(SECOND);
    assert_eq!(words(&pair), ["opened", "0: 204 0", "closed", "opened"]);
    pair.command(post(1, b"abc"));
    pair.drive_for(SECOND);
    assert_eq!(words(&pair)[4..], ["1: 204 0", "closed"]);
}

/// Loses a share of all packets.
struct Lossy(Rng);

impl Path for Lossy {
    fn offer(&mut self, _: Direction, _: usize, at: Instant, out: &mut Vec<Delivery>) -> Fate {
        if self.0.next_f64() < 0.2 {
            return Fate::Lost;
        }
        out.push(Delivery {
            at: at + Duration::from_millis(5),
            flip_bit: None,
        });
        Fate::Delivered
    }
}

#[test]
fn every_request_has_one_outcome_over_broken_connections() {
    for seed in 0..20 {
        let path = Lossy(Rng::new(seed));
        let (client, server) = (
            Client::new(ClientConfig::default()),
            Server::new(ServerConfig::default()),
        );
        let mut pair = Pair::new(Transport::Stream, client, server, path);
        let mut dice = Rng::new(seed).host(1);
        let template = template(Method::Post, "/test", &[7; 100]);
        let mut next_message = 0;
        for flow in 0..20 {
            pair.open_flow(FlowId(flow));
            for _ in 0..dice.next_below(5) {
                pair.command(Command::Request {
                    message: next_message,
                    template: template.clone(),
                });
                next_message += 1;
            }
            pair.drive_for(Duration::from_millis(dice.next_below(300)));
            pair.reset(FlowId(flow), ResetReason::TimedOut);
        }
        pair.open_flow(FlowId(20));
        pair.drive_for(SECOND * 60);
        let mut fates: Vec<u64> = words(&pair)
            .iter()
            .filter_map(|word| word.split_once(": ")?.0.parse().ok())
            .collect();
        fates.sort_unstable();
        assert_eq!(fates, (0..next_message).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(pair.server.connections(), 1);
    }
}
