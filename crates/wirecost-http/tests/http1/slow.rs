//! Slow clients.

use std::time::Duration;

use wirecost_http::http1::ServerConfig;
use wirecost_http::server::Event;
use wirecost_proto::Input;

use crate::common::{FLOW, raw_server};

const SECOND: Duration = Duration::from_secs(1);

const TIMED_OUT: &str = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

#[test]
fn the_time_out_of_a_head_runs_from_its_first_byte() {
    let mut server = raw_server(ServerConfig::default());
    for byte in b"GET /test" {
        assert!(!server.send(&[*byte]).closed);
        server.wait(SECOND);
    }
    let answer = server.wait(SECOND);
    assert!(answer.text() == TIMED_OUT && answer.closed, "{answer:?}");
    assert_eq!(server.events, [Event::TimedOut { flow: FLOW }]);
    let total: u64 = server.consumed.iter().map(|span| u64::from(span.len)).sum();
    assert_eq!(total, 9);
}

#[test]
fn content_may_be_slow_but_not_pause() {
    let mut server = raw_server(ServerConfig::default());
    server.send(b"POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    for _ in 0..10 {
        server.wait(SECOND * 29);
        assert!(!server.send(b"x").closed);
    }
    let answer = server.wait(SECOND * 30);
    assert!(answer.text() == TIMED_OUT && answer.closed, "{answer:?}");
}

#[test]
fn an_idle_connection_is_closed_without_a_response() {
    let mut server = raw_server(ServerConfig::default());
    server.send(b"GET /test HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(!server.wait(SECOND * 74).closed);
    let answer = server.wait(SECOND);
    assert!(answer.bytes.is_empty() && answer.closed, "{answer:?}");
}

#[test]
fn a_second_head_has_its_own_time_out() {
    let mut server = raw_server(ServerConfig::default());
    server.send(b"GET /te");
    server.wait(SECOND * 9);
    server.send(b"st HTTP/1.1\r\nHost: a\r\n\r\nGET");
    assert!(!server.wait(SECOND * 9).closed);
    assert!(server.wait(SECOND).closed);
}

#[test]
fn a_client_that_does_not_close_is_reset() {
    let mut server = raw_server(ServerConfig::default());
    let get = b"GET /test HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    assert!(server.send(get).closed);
    assert_eq!(server.send(get).bytes, b"");
    assert_eq!(server.endpoint.connections(), 1);
    assert!(server.wait(SECOND * 5).closed);
    assert_eq!(server.endpoint.connections(), 0);
    assert_eq!(server.events.last(), Some(&Event::Closed { flow: FLOW }));
}

#[test]
fn a_client_that_closes_in_time_is_not_reset() {
    let mut server = raw_server(ServerConfig::default());
    assert!(server.send(b"GET /test HTTP/1.0\r\n\r\n").closed);
    assert!(!server.peer_closed().closed, "the server has closed already");
    assert!(!server.wait(SECOND * 60).closed);
    server.input(Input::Timeout);
    assert_eq!(server.endpoint.connections(), 0);
}
