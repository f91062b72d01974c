//! Peers on aioquic's QUIC that break rules of RFC 9114 and RFC 9204. Each receives the right code at once.

use std::io::{BufRead as _, BufReader, Write as _};
use std::iter;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use wirecost_http::client::{Command, Event, Failure};
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_proto::Input;
use wirecost_security::{Start, layer};

use crate::ours::{Files, script};
use crate::port::own_port;
use crate::{Program, at, await_bound};

/// GET / of the host `a`, as HEADERS.
const GET: &str = "01080000d1d7c1500161";

#[test]
#[ignore = "needs the Python packages"]
fn a_client_that_breaks_a_rule_receives_its_code() {
    let cases = [
        ("bidi 01040000ff24".to_owned(), "connection 0x200"),
        ("bidi 01020100".to_owned(), "connection 0x200"),
        ("bidi 01020080".to_owned(), "connection 0x200"),
        ("bidi 0100".to_owned(), "connection 0x200"),
        ("bidi 000161".to_owned(), "connection 0x105"),
        ("bidi 0400".to_owned(), "connection 0x105"),
        ("bidi 050100".to_owned(), "connection 0x105"),
        ("bidi 0200".to_owned(), "connection 0x105"),
        ("bidi-fin 0105".to_owned(), "connection 0x106"),
        ("uni 000700".to_owned(), "connection 0x10a"),
        ("uni 0004000400".to_owned(), "connection 0x105"),
        ("uni 000400; uni 000400".to_owned(), "connection 0x103"),
        ("uni-fin 000400".to_owned(), "connection 0x104"),
        ("uni 0004020200".to_owned(), "connection 0x109"),
        ("uni 000400030100".to_owned(), "connection 0x108"),
        ("uni 0100".to_owned(), "connection 0x103"),
        ("uni 023f".to_owned(), "connection 0x201"),
        ("uni 0380".to_owned(), "connection 0x202"),
        // Trailers, and content after them.
        (format!("bidi {GET}01030000c2000161"), "connection 0x105"),
        // A missing :path, a name in upper case, and content above the announced 0 B while the stream is open.
        ("bidi 01070000d1d7500161".to_owned(), "stream 0x10e"),
        ("bidi 010c0000d1d7c150016121410162".to_owned(), "stream 0x10e"),
        ("bidi 01090000d1d7c1500161c4000161".to_owned(), "stream 0x10e"),
        ("bidi-fin".to_owned(), "stream 0x10d"),
        // A stream of an unknown type.
        (format!("uni 21ffff; bidi-fin {GET}"), "answer"),
    ];
    let files = Files::new();
    let server = files.server();
    let mut command = script("hostile_peer.py");
    command
        .args(["client", &server.address.port().to_string()])
        .arg(files.path("ca.pem"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut client = Program(command.spawn().expect("the environment of the tests"));
    let lines: Vec<String> = cases.iter().map(|(case, _)| format!("{case}\n")).collect();
    let mut stdin = client.0.stdin.take().expect("a pipe");
    stdin.write_all(lines.concat().as_bytes()).expect("cases");
    drop(stdin);
    let stdout = BufReader::new(client.0.stdout.take().expect("a pipe"));
    let outcomes: Vec<String> = stdout.lines().map_while(Result::ok).collect();
    let expected: Vec<&str> = cases.iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(outcomes, expected);
    server.stop();
}

#[test]
#[ignore = "needs the Python packages"]
fn a_server_that_breaks_a_rule_receives_its_code() {
    let cases = [
        ("uni 000700", "connection 0x10a", "H3_MISSING_SETTINGS (0x10a)"),
        ("uni 0004000d0100", "connection 0x105", "a server's MAX_PUSH_ID"),
        (
            "uni 000400; answer 000161",
            "connection 0x105",
            "the server sent DATA before HEADERS, and this side closed the connection with H3_FRAME_UNEXPECTED (0x105)",
        ),
        (
            "uni 000400; answer 050100",
            "connection 0x108",
            "a push that was not allowed",
        ),
        ("uni 0100", "connection 0x108", "a push that was not allowed"),
        ("uni 0004000701040701 08", "connection 0x108", "H3_ID_ERROR"),
        (
            "uni 000400070102",
            "connection 0x108",
            "without a request stream ID",
        ),
        (
            "uni 0380",
            "connection 0x202",
            "QPACK_DECODER_STREAM_ERROR (0x202)",
        ),
        (
            "uni 02c0",
            "connection 0x201",
            "QPACK_ENCODER_STREAM_ERROR (0x201)",
        ),
        (
            "answer 01040000ff24",
            "connection 0x200",
            "QPACK_DECOMPRESSION_FAILED (0x200)",
        ),
        (
            "uni 000400; answer 010800005f0903313031",
            "",
            "101 Switching Protocols, which the request did not ask for",
        ),
        (
            "uni 000400; answer-fin",
            "",
            "the frames or pseudo-fields are out of order",
        ),
        (
            "uni 000400; answer 21; uni 000400",
            "connection 0x103",
            "H3_STREAM_CREATION_ERROR",
        ),
    ];
    let files = Files::new();
    let port = own_port();
    let mut command = script("hostile_peer.py");
    command
        .args(["server", &port.to_string()])
        .args([files.path("cert.pem"), files.path("key.pem")])
        .args(cases.iter().map(|(case, ..)| *case))
        .stdout(Stdio::piped());
    let mut server = Program(command.spawn().expect("the environment of the tests"));
    let mut stdout = BufReader::new(server.0.stdout.take().expect("a pipe")).lines();
    let mut line = || stdout.next().and_then(Result::ok).unwrap_or_default();
    assert_eq!(line(), "ready");
    await_bound(port);
    for (case, closed, reason) in cases {
        let failure = failure(&files, port).to_string();
        assert!(failure.contains(reason), "{case}: {failure}");
        if closed.is_empty() {
            continue;
        }
        // A connection that this side closes in order has a line too.
        let outcome = iter::repeat_with(&mut line).find(|line| line.is_empty() || line.starts_with(case));
        assert_eq!(outcome, Some(format!("{case}: {closed}")));
    }
}

/// RFC 9114 section 5.2: unprocessed requests fail at once with that reason.
#[test]
#[ignore = "needs the Python packages"]
fn a_request_after_goaway_fails_at_once() {
    let files = Files::new();
    let port = own_port();
    let mut command = script("hostile_peer.py");
    command
        .args(["server", &port.to_string()])
        .args([files.path("cert.pem"), files.path("key.pem")])
        // After the request, so that the request is in flight.
        .arg("answer 2100; uni 000400070100")
        .stdout(Stdio::null());
    let _server = Program(command.spawn().expect("the environment of the tests"));
    await_bound(port);
    let failure = failure(&files, port);
    assert!(
        matches!(failure, Failure::NotProcessed | Failure::Closed),
        "{failure}"
    );
}

/// Why a request to that port fails. `Closed` if it was never sent.
fn failure(files: &Files, port: u16) -> Failure {
    let mut client = files.client(Start::Cold);
    client.connect(at(port));
    let template = RequestTemplate::new(Method::Post, "localhost", "/test", None, *b"x");
    let template = Arc::new(template.expect("a template"));
    client.input(Input::Command(Command::Request { message: 0, template }));
    let failed = |event: &layer::Event<Event>| match event {
        layer::Event::Inner(Event::Failed { reason, .. }) => Some(*reason),
        layer::Event::Inner(Event::GoneAway) => Some(Failure::Closed),
        _ => None,
    };
    client.until("a failure", |client| {
        client.events.iter().any(|event| failed(event).is_some())
    });
    client.input(Input::Command(Command::Close));
    client.linger(Duration::from_millis(20));
    client.events.iter().find_map(failed).expect("a failure")
}
