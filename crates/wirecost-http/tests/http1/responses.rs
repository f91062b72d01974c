//! Responses of foreign servers.

use std::time::Duration;

use wirecost_http::client::{Command, Event, Failure};
use wirecost_http::http1::{Client, ClientConfig};
use wirecost_http::message::Method;
use wirecost_proto::{Input, Layer};

use crate::common::{FLOW, Raw, post, request, without_sent, word};

fn asked(command: Command) -> Raw<Client> {
    let mut client = Raw::opened(Client::new(ClientConfig::default()));
    client.input(Input::Command(command));
    client
}

fn words(client: &Raw<Client>) -> Vec<String> {
    without_sent(client.events.iter()).skip(1).map(word).collect()
}

#[test]
fn every_framing_of_a_response_is_read() {
    // Response, whether the server closes, the event, bytes of payload.
    let table: &[(&str, bool, &[&str], u32)] = &[
        ("HTTP/1.1 204 No Content\r\n\r\n", false, &["0: 204 0"], 0),
        (
            "HTTP/1.1 204 \r\nContent-Length: 9\r\n\r\n",
            false,
            &["0: 204 0"],
            0,
        ),
        ("HTTP/1.1 304\r\n\r\n", false, &["0: 304 0"], 0),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            false,
            &["0: 200 3"],
            3,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            false,
            &["0: 200 3"],
            3,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nabcd", true, &["0: 200 4", "closed"], 4),
        ("HTTP/1.2 204 No Content\r\n\r\n", false, &["0: 204 0"], 0),
        (
            "HTTP/1.9 200 OK\r\nX: a\r\n b\r\nContent-Length: 3\r\n\r\nabc",
            false,
            &["0: 200 3"],
            3,
        ),
        ("HTTP/1.0 200 OK\r\n\r\nabcd", true, &["0: 200 4", "closed"], 4),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            false,
            &["0: 200 0"],
            0,
        ),
        (
            "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
            true,
            &["0: 404 1", "closed"],
            1,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
            true,
            &[
                "0: the server closed the connection before the response was complete",
                "closed",
            ],
            4,
        ),
        (
            "",
            true,
            &[
                "0: the server closed the connection before the response was complete",
                "closed",
            ],
            0,
        ),
    ];
    for (text, closes, expected, payload) in table {
        let mut client = asked(post(0, b"x"));
        assert!(!client.send(text.as_bytes()).closed, "{text:?}");
        if *closes {
            assert!(client.peer_closed().closed, "{text:?}");
        }
        assert_eq!(words(&client), *expected, "{text:?}");
        let of_layer = |layer| {
            client
                .layers()
                .iter()
                .filter(move |run| run.1 == layer)
                .map(|run| run.0)
                .sum::<u32>()
        };
        assert_eq!(of_layer(Layer::Payload), *payload, "{text:?}");
        assert_eq!(
            of_layer(Layer::Application),
            text.len() as u32 - payload,
            "{text:?}"
        );
    }
}

#[test]
fn a_response_to_head_never_has_content() {
    let mut client = asked(request(0, Method::Head, "/test", b""));
    client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
    assert_eq!(words(&client), ["0: 200 0"]);
}

#[test]
fn the_client_leaves_a_server_that_does_not_speak_http() {
    let table = [
        ("\x16\x03\x01", "the head is not HTTP"),
        ("HTTP/1.1 20 OK\r\n\r\n", "the head is not HTTP"),
        ("HTTP/2.0 200 OK\r\n\r\n", "the version is not HTTP/1"),
        ("HTTP/1.1 099 OK\r\n\r\n", "the status is 99, expected 100 to 599"),
        (
            "HTTP/1.1 600 OK\r\n\r\n",
            "the status is 600, expected 100 to 599",
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
            "101 Switching Protocols, which the request did not ask for",
        ),
        ("HTTP/1.10 200 OK\r\n\r\n", "the head is not HTTP"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "Content-Length is not one number of bytes",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
            "the last transfer coding is not chunked",
        ),
        (
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
            "the last transfer coding is not chunked",
        ),
        ("HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "the head is not HTTP"),
        ("HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", "the head is not HTTP"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
            "a chunk is malformed",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "Content-Length beside Transfer-Encoding",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "the transfer coding is not chunked alone",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz",
            "a chunk is malformed",
        ),
    ];
    for (text, reason) in table {
        let mut client = asked(post(0, b"x"));
        let answer = client.send(format!("{text}rest").as_bytes());
        assert!(answer.closed, "{text:?}");
        assert_eq!(
            words(&client),
            [format!("0: the server does not speak HTTP: {reason}")],
            "{text:?}"
        );
        let total: u64 = client.consumed.iter().map(|span| u64::from(span.len)).sum();
        assert_eq!(total, text.len() as u64 + 4, "{text:?}");
        client.peer_closed();
        assert_eq!(words(&client).last().map(String::as_str), Some("closed"));
    }
}

#[test]
fn an_unrequested_408_ends_the_connection_without_a_failure() {
    let mut client = Raw::opened(Client::new(ClientConfig::default()));
    let late = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    client.send(late);
    client.input(Input::Command(post(0, b"x")));
    assert!(client.peer_closed().closed);
    assert_eq!(words(&client), ["closed"]);
    assert_eq!(client.endpoint.stats().unasked_bytes, late.len() as u64);
    assert_eq!(client.endpoint.queued(), 1, "it goes out on the next connection");
}

#[test]
fn a_missing_or_stalled_response_times_out() {
    for part in [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    ] {
        let mut client = asked(post(0, b"x"));
        client.now += Duration::from_secs(30);
        client.send(part.as_bytes());
        let rest = if part.is_empty() { 29 } else { 59 };
        assert!(!client.wait(Duration::from_secs(rest)).closed, "{part:?}");
        assert!(client.wait(Duration::from_secs(1)).closed, "{part:?}");
        // Late bytes are accounted and not reported.
        client.send(b"");
        client.peer_closed();
        assert_eq!(words(&client), ["0: timed out", "closed"], "{part:?}");
    }
}

#[test]
fn a_late_response_is_accounted_but_not_reported() {
    let mut client = asked(post(0, b"x"));
    client.wait(Duration::from_secs(60));
    client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    client.input(Input::Command(post(1, b"x")));
    assert_eq!(words(&client), ["0: timed out"]);
    assert_eq!(client.layers()[1], (3, Layer::Payload));
    client.input(Input::PeerClosed { flow: FLOW });
    assert_eq!(words(&client), ["0: timed out", "closed"]);
}

#[test]
fn a_server_that_announces_close_but_stays_open_is_closed() {
    let mut client = asked(post(0, b"x"));
    let answer = client.send(b"HTTP/1.1 204 No Content\r\nConnection: Keep-Alive, Close\r\n\r\n");
    assert!(!answer.closed);
    client.input(Input::Command(post(1, b"x")));
    assert!(client.wait(Duration::from_secs(1)).closed);
    assert_eq!(words(&client), ["0: 204 0"]);
    client.peer_closed();
    assert_eq!(words(&client), ["0: 204 0", "closed"]);
}

#[test]
fn a_close_without_a_connection_has_no_effect() {
    let mut client = Client::new(ClientConfig::default());
    let mut raw = {
        use wirecost_proto::{Endpoint, Instant};
        let Ok(()) = client.handle_input(Input::Command(Command::Close), Instant::START);
        Raw::opened(client)
    };
    assert!(!raw.input(Input::Command(post(0, b"x"))).closed);
}

/// A server that never ends a head or content that the client keeps.
#[test]
fn held_bytes_of_an_endless_response_are_limited() {
    let limit = 16 << 10;
    let filler = "x".repeat(4 << 10);
    for (begin, bound) in [
        ("HTTP/1.1 200 OK\r\nX: ", limit),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", limit),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
            limit,
        ),
    ] {
        let mut client = asked(post(0, b"x"));
        let mut closed = client.send(begin.as_bytes()).closed;
        let mut sent = 0;
        while !closed && sent <= 2 * bound {
            closed = client.send(filler.as_bytes()).closed;
            sent += filler.len();
        }
        assert!(closed && sent <= bound + filler.len(), "{begin:?}: {sent} B");
        assert!(matches!(
            client.events.get(2),
            Some(Event::Failed {
                reason: Failure::Malformed(_),
                ..
            })
        ));
    }
}

#[test]
fn a_body_is_counted_and_kept_up_to_the_limit() {
    let mut client = Raw::opened(Client::new(ClientConfig {
        keep_body_bytes: 100,
        ..ClientConfig::default()
    }));
    client.input(Input::Command(post(0, b"x")));
    client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n");
    for _ in 0..100 {
        client.send(&[b'x'; 100_000]);
    }
    let Some(Event::Response { body_bytes, body, .. }) = client.events.get(2) else {
        panic!("{:?}", client.events);
    };
    assert_eq!((*body_bytes, body.len()), (10_000_000, 100));
    assert!(body.capacity() <= 1_000, "{}", body.capacity());
}
