//! Invalid requests, and requests that could be read as two.

use std::time::Duration;

use wirecost_http::http1::ServerConfig;
use wirecost_http::message::{Malformed, Method, Status};
use wirecost_http::resource;
use wirecost_http::server::{Command, Event};
use wirecost_proto::{FlowId, Front, Input, Layer};

use crate::common::{FLOW, raw_server};

#[test]
fn an_invalid_request_is_answered_and_the_connection_closed() {
    let table: &[(&str, u16)] = &[
        // Invalid request lines.
        ("\x16\x03\x01\x02", 400),
        ("GET\r\n\r\n", 400),
        ("GET /test\r\n\r\n", 400),
        (" GET /test HTTP/1.1\r\n", 400),
        ("G(T /test HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET test HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /te st HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /test HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET /test HTTP/0.9\r\nHost: a\r\n\r\n", 505),
        // The preface of HTTP/2 (RFC 9113 section 3.4).
        ("PRI * HTTP/2.0\r\n\r\n", 505),
        ("GET /test HTTP/1.10\r\nHost: a\r\n\r\n", 400),
        ("GET /test HTTP/1\r\nHost: a\r\n\r\n", 400),
        ("GET /test http/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /test HTTP/1.2\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http:///test HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://me@a/test HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("BREW /test HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("get /test HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 501),
        ("GET ftp://a/test HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        // Fields.
        ("GET /test HTTP/1.1\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nX : y\r\nHost: a\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a\r\nno field\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400),
        ("GET /test HTTP/1.1\r\nHost: a\0b\r\n\r\n", 400),
        // Ambiguous ends.
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 4\r\n\r\n",
            400,
        ),
        ("POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            501,
        ),
        ("POST /test HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        // Chunks.
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
            400,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
            400,
        ),
    ];
    for (text, status) in table {
        let mut server = raw_server(ServerConfig::default());
        let answer = server.send(text.as_bytes());
        let status = Status::new(*status).unwrap();
        assert_eq!(answer.line(), format!("HTTP/1.1 {status}"), "{text:?}");
        assert!(
            answer.text().ends_with("Connection: close\r\n\r\n") && answer.closed,
            "{text:?}"
        );
        let total: u64 = server.consumed.iter().map(|span| u64::from(span.len)).sum();
        assert_eq!(total, text.len() as u64, "{text:?}");
        assert!(matches!(server.events[..], [Event::Failed { .. }]), "{text:?}");
        let after = server.send(b"GET /test HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(after.bytes, b"", "{text:?}");
    }
}

#[test]
fn valid_forms_of_a_request_are_accepted() {
    let table: &[(&str, u16)] = &[
        ("\r\n\r\nGET /test HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        ("GET /test HTTP/1.1\nHost: a\n\n", 404),
        // A later minor version (RFC 9110 section 2.5).
        ("GET /test HTTP/1.2\r\nHost: a\r\n\r\n", 404),
        ("\r\nGET /test HTTP/1.9\nHost: a\n\n", 404),
        ("GET /test HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 404),
        ("GET http://other:80/test HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        ("GET HTTPS://a HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        ("GET /test HTTP/1.1\r\nhOST:\r\n\r\n", 404),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\nab",
            204,
        ),
        (
            "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n\
             01;x=\"y\"\r\na\r\n2 \r\nbc\r\n0\r\nTrailer: t\r\n\r\n",
            204,
        ),
    ];
    for (text, status) in table {
        let mut server = raw_server(ServerConfig::default());
        let answer = server.send(text.as_bytes());
        let status = Status::new(*status).unwrap();
        assert_eq!(answer.line(), format!("HTTP/1.1 {status}"), "{text:?}");
        assert!(!answer.closed, "{text:?}");
    }
}

#[test]
fn chunk_framing_is_not_payload() {
    let mut server = raw_server(ServerConfig::default());
    let head = "PUT /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = server.send(format!("{head}3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n").as_bytes());
    assert_eq!(answer.text(), "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(
        server.layers(),
        [
            (head.len() as u32 + 3, Layer::Application),
            (3, Layer::Payload),
            (5, Layer::Application),
            (10, Layer::Payload),
            (7, Layer::Application),
        ]
    );
    let back = server.send(b"GET /test HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(back.text().ends_with("\r\n\r\nabc0123456789"));
}

#[test]
fn a_head_above_the_limit_is_answered_by_431() {
    let config = ServerConfig {
        max_head_bytes: 100,
        ..ServerConfig::default()
    };
    let head = |filler: usize| {
        format!(
            "GET /test HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
            "x".repeat(filler)
        )
    };
    let fits = 100 - head(0).len();
    let mut server = raw_server(config.clone());
    assert_eq!(
        server.send(head(fits).as_bytes()).line(),
        "HTTP/1.1 404 Not Found"
    );
    for step in [1, 7, 1_000] {
        let mut server = raw_server(config.clone());
        let text = head(fits + 1);
        let answers = text.as_bytes().chunks(step).map(|chunk| server.send(chunk).bytes);
        let answer: Vec<u8> = answers.flatten().collect();
        assert!(answer.starts_with(b"HTTP/1.1 431 "), "{step}");
    }
    let many = "X: y\r\n".repeat(100);
    let mut server = raw_server(ServerConfig::default());
    let text = format!("GET /test HTTP/1.1\r\nHost: a\r\n{many}\r\n");
    assert_eq!(
        server.send(text.as_bytes()).line(),
        "HTTP/1.1 431 Request Header Fields Too Large"
    );
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut server = raw_server(ServerConfig::default());
    let post = "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";
    let get = "GET /test HTTP/1.1\r\nHost: a\r\n\r\n";
    let answer = server.send(format!("{get}{post}1{get}{post}2{get}").as_bytes());
    let found = |body: char| format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{body}");
    let done = "HTTP/1.1 204 No Content\r\n\r\n";
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(
        answer.text(),
        format!("{missing}{done}{}{done}{}", found('1'), found('2'))
    );
}

#[test]
fn requests_after_a_long_poll_wait_for_its_answer() {
    let mut server = raw_server(ServerConfig::default());
    let other = FlowId(1);
    server.open(other);
    let poll = "GET /long-poll/a?timeout=10 HTTP/1.1\r\nHost: a\r\n\r\n";
    let get = "GET /test HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(server.send(format!("{poll}{get}").as_bytes()).bytes, b"");
    assert_eq!(server.send(poll.as_bytes()).bytes, b"");
    let answer = server.send_on(
        other,
        b"POST /long-poll/a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
    );
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(
        answer.text(),
        format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi{missing}")
    );
    let answer = server.wait(Duration::from_secs(10));
    assert_eq!(answer.text(), "HTTP/1.1 204 No Content\r\n\r\n");
    // An answer that nobody waits for any more.
    server.send(poll.as_bytes());
    assert!(server.peer_closed().closed);
    assert_eq!(server.wait(Duration::from_secs(20)).bytes, b"");
}

#[test]
fn held_bytes_after_a_long_poll_are_limited() {
    let config = ServerConfig {
        max_held_bytes: 1_000,
        ..ServerConfig::default()
    };
    let mut server = raw_server(config);
    let poll = b"GET /long-poll/a HTTP/1.1\r\nHost: a\r\n\r\n";
    server.send(poll);
    assert!(!server.send(&[b'x'; 1_000]).closed);
    assert!(server.send(b"x").closed);
    let total: u64 = server.consumed.iter().map(|span| u64::from(span.len)).sum();
    assert_eq!(total, poll.len() as u64 + 1_001);
    assert_eq!(server.wait(Duration::from_secs(60)).bytes, b"");
}

#[test]
fn expect_100_continue_is_answered() {
    let head = "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    let mut server = raw_server(ServerConfig::default());
    assert_eq!(
        server.send(head.as_bytes()).text(),
        "HTTP/1.1 100 Continue\r\n\r\n"
    );
    assert_eq!(server.send(b"ab").text(), "HTTP/1.1 204 No Content\r\n\r\n");
    let at_once = server.send(format!("{head}ab").as_bytes());
    assert_eq!(at_once.text(), "HTTP/1.1 204 No Content\r\n\r\n");
    let refused = server.send(head.replace("/test", "/none").as_bytes());
    assert_eq!(
        refused.text(),
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    assert!(refused.closed);
    let mut server = raw_server(ServerConfig::default());
    let unknown = server.send(head.replace("100-continue", "miracles").as_bytes());
    assert_eq!(unknown.line(), "HTTP/1.1 417 Expectation Failed");
}

#[test]
fn refused_content_is_received_and_the_connection_continues() {
    let mut server = raw_server(ServerConfig::default());
    let refused = server.send(b"POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGE");
    assert_eq!(
        refused.text(),
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    );
    let answer = server.send(b"T /GET /test HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(answer.line(), "HTTP/1.1 404 Not Found");
    assert!(!answer.closed);
    assert_eq!(server.layers()[1], (5, Layer::Payload));
}

#[test]
fn content_above_the_limit_is_refused_in_every_framing() {
    let config = ServerConfig {
        resources: resource::Config {
            max_body_bytes: 4,
            ..resource::Config::default()
        },
        ..ServerConfig::default()
    };
    let mut server = raw_server(config.clone());
    let said = server.send(b"POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    let refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert!(said.text() == refusal && said.closed, "{said:?}");
    assert_eq!(server.send(b"abcde").bytes, b"");
    assert_eq!(server.layers()[1], (5, Layer::Payload));
    let mut server = raw_server(config);
    let head = "POST /test HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\n";
    assert_eq!(server.send(head.as_bytes()).bytes, b"");
    let grown = server.send(b"abc\r\n0\r\n\r\n");
    assert!(grown.text() == refusal && grown.closed, "{grown:?}");
    assert_eq!(server.layers().last(), Some(&(7, Layer::Application)));
}

#[test]
fn an_unsafe_method_in_early_data_is_too_early() {
    let post = b"POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
    let mut server = raw_server(ServerConfig::default());
    let bytes = post.len();
    server.input(Input::Command(Command::EarlyData { flow: FLOW, bytes }));
    assert_eq!(server.send(post).line(), "HTTP/1.1 425 Too Early");
    assert_eq!(server.send(post).line(), "HTTP/1.1 204 No Content");
    let answered = |status| Event::Answered {
        flow: FLOW,
        method: Method::Post,
        status,
        payload_bytes: u64::from(status == Status::NO_CONTENT),
        front: match status {
            Status::NO_CONTENT => Front::from_payload(b"x"),
            _ => Front::EMPTY,
        },
    };
    assert_eq!(
        server.events,
        [answered(Status::TOO_EARLY), answered(Status::NO_CONTENT)]
    );
}

#[test]
fn a_truncated_request_is_reported() {
    for part in [
        "GET /te",
        "POST /test HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx",
    ] {
        let mut server = raw_server(ServerConfig::default());
        server.send(part.as_bytes());
        assert!(server.peer_closed().closed);
        let reason = Malformed::Length;
        assert_eq!(
            server.events,
            [Event::Failed { flow: FLOW, reason }, Event::Closed { flow: FLOW }]
        );
        let total: u64 = server.consumed.iter().map(|span| u64::from(span.len)).sum();
        assert_eq!(total, part.len() as u64);
    }
}

#[test]
fn answers_to_pipelined_requests_are_limited() {
    const CONTENT: usize = 1_000_000;
    let mut server = raw_server(ServerConfig {
        max_pipelined_bytes: 4 * CONTENT,
        ..ServerConfig::default()
    });
    let head = format!("PUT /test HTTP/1.1\r\nHost: a\r\nContent-Length: {CONTENT}\r\n\r\n");
    let put = [head.as_bytes(), &vec![b'a'; CONTENT]].concat();
    assert!(server.send(&put).line().contains("201"));
    let get = "GET /test HTTP/1.1\r\nHost: a\r\n\r\n";
    let answer = server.send(get.repeat(100).as_bytes());
    assert!(answer.bytes.len() < 6 * CONTENT, "{} B", answer.bytes.len());
    assert!(answer.closed);
    let consumed: u32 = server.consumed.iter().map(|span| span.len).sum();
    assert_eq!(consumed as usize, put.len() + 100 * get.len());
}

#[test]
fn one_large_answer_does_not_end_the_connection() {
    let mut server = raw_server(ServerConfig {
        max_pipelined_bytes: 10,
        ..ServerConfig::default()
    });
    server.send(b"PUT /test HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n01234567890123456789");
    for _ in 0..3 {
        let answer = server.send(b"GET /test HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(answer.line().contains("200") && !answer.closed);
    }
}
