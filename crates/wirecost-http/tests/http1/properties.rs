//! Properties that hold for any bytes and any cuts.

use proptest::prelude::*;
use wirecost_http::http1::{Client, ClientConfig, ServerConfig};
use wirecost_http::message::Method;
use wirecost_proto::Input;

use crate::common::{Raw, post, raw_server, request, word};

/// Valid requests of every framing, in any order.
fn requests() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        Just("GET /test HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        Just("HEAD /test HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        Just("\r\nGET /messages?limit=3 HTTP/1.1\nHost: a\n\n".to_owned()),
        Just("DELETE /test HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()),
        Just("GET /test HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".to_owned()),
        Just("nonsense\r\n\r\n".to_owned()),
        "[a-z]{0,20}".prop_map(|body| {
            let length = body.len();
            format!("POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}")
        }),
        "[a-z]{1,20}".prop_map(|body| {
            let length = body.len();
            format!("PUT /none HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n")
        }),
    ];
    proptest::collection::vec(one, 1..6).prop_map(|parts| parts.concat())
}

fn responses() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        Just("HTTP/1.1 204 No Content\r\n\r\n".to_owned()),
        Just("HTTP/1.1 100 Continue\r\n\r\n".to_owned()),
        Just("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned()),
        Just(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nab\r\n0\r\nA: b\r\n\r\n".to_owned()
        ),
        Just("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned()),
        Just("HTTP/1.1 200 OK\r\n\r\nuntil the end".to_owned()),
        Just("nonsense\r\n\r\n".to_owned()),
    ];
    proptest::collection::vec(one, 1..5).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn the_cuts_of_a_request_stream_do_not_matter(text in requests(), cuts in proptest::collection::vec(1..40_usize, 1..8)) {
        let mut whole = raw_server(ServerConfig::default());
        let mut answer = whole.send(text.as_bytes()).bytes;
        answer.extend(whole.peer_closed().bytes);
        let mut cut = raw_server(ServerConfig::default());
        let mut pieces = Vec::new();
        let mut rest = text.as_bytes();
        for len in cuts.iter().cycle() {
            let (piece, after) = rest.split_at(rest.len().min(*len));
            pieces.extend(cut.send(piece).bytes);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        pieces.extend(cut.peer_closed().bytes);
        prop_assert_eq!(String::from_utf8_lossy(&answer), String::from_utf8_lossy(&pieces));
        prop_assert_eq!(&whole.events, &cut.events);
        prop_assert_eq!(&whole.consumed, &cut.consumed);
        let total: u64 = whole.consumed.iter().map(|span| u64::from(span.len)).sum();
        prop_assert_eq!(total, text.len() as u64);
    }

    #[test]
    fn the_cuts_of_a_response_stream_do_not_matter(text in responses(), step in 1..40_usize) {
        let run = |step: usize| {
            let mut client = Raw::opened(Client::new(ClientConfig { keep_body_bytes: 10, ..ClientConfig::default() }));
            client.input(Input::Command(post(0, b"x")));
            for piece in text.as_bytes().chunks(step) {
                client.send(piece);
            }
            client.peer_closed();
            (client.events.iter().map(word).collect::<Vec<_>>(), client.consumed)
        };
        let whole = run(1_000);
        prop_assert_eq!(&whole, &run(step));
        let total: u64 = whole.1.iter().map(|span| u64::from(span.len)).sum();
        prop_assert_eq!(total, text.len() as u64);
    }

    #[test]
    fn any_bytes_are_accounted_for_by_both_sides(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut server = raw_server(ServerConfig::default());
        server.send(&bytes);
        server.peer_closed();
        let total: u64 = server.consumed.iter().map(|span| u64::from(span.len)).sum();
        prop_assert_eq!(total, bytes.len() as u64);
        let mut client = Raw::opened(Client::new(ClientConfig::default()));
        client.input(Input::Command(request(0, Method::Get, "/test", b"")));
        client.send(&bytes);
        client.peer_closed();
        let total: u64 = client.consumed.iter().map(|span| u64::from(span.len)).sum();
        prop_assert_eq!(total, bytes.len() as u64);
    }
}
