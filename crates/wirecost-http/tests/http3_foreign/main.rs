//! HTTP/3 with foreign programs over loopback: ngtcp2's gtlsclient and gtlsserver, aioquic, and Caddy.
//!
//! Every received byte is accounted, and the payload bytes equal the content that was sent.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a driver needs sockets, threads and a clock"
)]

mod hostile;
mod ours;
#[path = "../../../wirecost/tests/peers/port.rs"]
mod port;
mod udp;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use wirecost_http::http3::Client;
use wirecost_http::http3::open::{Opener, Secrets};
use wirecost_http::message::Method;
use wirecost_proto::{Buffer, Cause, Direction, Endpoint, Layer, Phase, Span};
use wirecost_security::Start;

use ours::{Answer, Files, answered, ask, python};
use port::own_port;
use udp::Driver;

/// A program that ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // The program may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program to its end and returns what it printed.
fn output(mut command: Command) -> String {
    let output = command.output().expect("the program is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    text + &errors
}

/// Waits until a program has bound a UDP port on loopback. A client cannot detect that by connecting.
fn await_bound(port: u16) {
    let began = std::time::Instant::now();
    let local = format!(" 0100007F:{port:04X} ");
    let is_bound = || std::fs::read_to_string("/proc/net/udp").is_ok_and(|table| table.contains(&local));
    while !is_bound() {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "nobody binds UDP port {port}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn gtlsclient(files: &Files, port: u16, more: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command
        .args([
            "20",
            "gtlsclient",
            "--no-quic-dump",
            "--no-http-dump",
            "--exit-on-all-streams-close",
        ])
        .arg(format!("--session-file={}", files.path("session").display()))
        .arg(format!("--tp-file={}", files.path("parameters").display()))
        .arg(format!("--data={}", files.path("body").display()))
        .args(["--http-method=POST", "--no-preferred-addr"])
        .args(more)
        .args(["127.0.0.1", &port.to_string(), "https://localhost/test"]);
    output(command)
}

#[test]
#[ignore = "needs ngtcp2-client"]
fn gtlsclient_posts_to_our_server_cold_early_and_with_new_keys() {
    let files = Files::new();
    files.write("body", &"x".repeat(100_000));
    let server = files.server();
    let port = server.address.port();
    let cold = gtlsclient(&files, port, &[]);
    assert!(cold.contains("204"), "{cold}");
    let early = gtlsclient(&files, port, &[]);
    assert!(early.contains("204"), "{early}");
    let updated = gtlsclient(
        &files,
        port,
        &[
            "--key-update=10ms",
            "--delay-stream=100ms",
            "--disable-early-data",
        ],
    );
    assert!(updated.contains("204"), "{updated}");
    assert!(updated.contains("Initiate key update"), "{updated}");
    let driver = server.stop();
    let (statuses, starts) = answered(&driver.events);
    assert_eq!(statuses, [(204, 100_000); 3]);
    assert_eq!(starts, [Start::Cold, Start::ZeroRtt, Start::Resumed]);
    assert_eq!(driver.received.covered(), driver.received.bytes);
    assert_eq!(driver.received.count(Layer::Payload, Phase::Message), 300_000);
    check_observer(&files, &driver, Direction::Up);
}

#[test]
#[ignore = "needs ngtcp2-server"]
fn our_client_asks_gtlsserver_cold_resumed_and_early() {
    let files = Files::new();
    files.write("page", &"y".repeat(5_000));
    for start in [Start::Resumed, Start::ZeroRtt] {
        let port = own_port();
        let mut command = Command::new("gtlsserver");
        command
            .args(["--quiet", "--htdocs"])
            .arg(files.folder.path())
            .args(["127.0.0.1", &port.to_string()])
            .args([files.path("key.pem"), files.path("cert.pem")])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let _server = Program(command.spawn().expect("gtlsserver is installed"));
        await_bound(port);
        let mut client = files.client(start);
        let answers = ask(&mut client, at(port), &[(Method::Get, "/page", b"")]);
        let page = || Answer::Response(200, vec![b'y'; 5_000]);
        let expected = [Answer::Start(Start::Cold), page(), Answer::Start(start), page()];
        assert_eq!(sorted(answers), sorted(expected.into()));
        check_account(&client, 10_000);
        check_observer(&files, &client, Direction::Down);
    }
}

#[test]
#[ignore = "needs the Python packages"]
fn aioquic_posts_to_our_server_cold_early_and_with_new_keys() {
    let files = Files::new();
    let server = files.server();
    let mut command = python();
    command
        .args(["client", &server.address.port().to_string()])
        .arg(files.path("ca.pem"))
        .arg("50000");
    let text = output(command);
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["204 204 late", "204 204 early"],
        "{text}"
    );
    let driver = server.stop();
    let (_, starts) = answered(&driver.events);
    assert_eq!(starts, [Start::Cold, Start::ZeroRtt]);
    assert_eq!(driver.received.covered(), driver.received.bytes);
    assert_eq!(driver.received.count(Layer::Payload, Phase::Message), 100_032);
    check_observer(&files, &driver, Direction::Up);
}

#[test]
#[ignore = "needs the Python packages"]
fn our_client_asks_aioquic_cold_resumed_and_early() {
    let files = Files::new();
    for start in [Start::Resumed, Start::ZeroRtt] {
        let port = own_port();
        let mut command = python();
        command
            .args(["server", &port.to_string()])
            .args([files.path("cert.pem"), files.path("key.pem")])
            .stdout(Stdio::piped());
        let mut server = Program(command.spawn().expect("the environment of the tests"));
        let mut line = String::new();
        let stdout = server.0.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        let mut client = files.client(start);
        let answers = ask(&mut client, at(port), &[(Method::Post, "/test", &[7; 3_000])]);
        let echo = || Answer::Response(200, vec![7; 3_000]);
        let expected = [Answer::Start(Start::Cold), echo(), Answer::Start(start), echo()];
        assert_eq!(sorted(answers), sorted(expected.into()));
        check_account(&client, 6_000);
        check_observer(&files, &client, Direction::Down);
    }
}

#[test]
#[ignore = "needs caddy"]
fn our_client_asks_caddy_cold_resumed_and_early() {
    let files = Files::new();
    let port = own_port();
    let caddyfile = format!(
        "{{\n admin off\n auto_https off\n}}\nhttps://localhost:{port} {{\n bind 127.0.0.1\n tls {} {}\n respond 204\n}}\n",
        files.path("cert.pem").display(),
        files.path("key.pem").display()
    );
    files.write("Caddyfile", &caddyfile);
    let mut command = Command::new("caddy");
    command
        .args(["run", "--adapter", "caddyfile", "--config"])
        .arg(files.path("Caddyfile"))
        .env("HOME", files.folder.path())
        .env("XDG_DATA_HOME", files.folder.path())
        .env("XDG_CONFIG_HOME", files.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _server = Program(command.spawn().expect("Caddy is installed"));
    let began = std::time::Instant::now();
    while std::net::TcpStream::connect(at(port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(10), "Caddy does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    for start in [Start::Resumed, Start::ZeroRtt] {
        let mut client = files.client(start);
        let answers = ask(&mut client, at(port), &[(Method::Post, "/test", &[7; 128])]);
        let done = || Answer::Response(204, vec![]);
        let expected = [Answer::Start(Start::Cold), done(), Answer::Start(start), done()];
        assert_eq!(sorted(answers), sorted(expected.into()));
        check_account(&client, 0);
        check_observer(&files, &client, Direction::Down);
    }
}

/// Answers in a fixed order, whether or not an early response precedes the end of the handshake.
fn sorted(mut answers: Vec<Answer>) -> Vec<String> {
    let mut texts: Vec<String> = answers.drain(..).map(|answer| format!("{answer:?}")).collect();
    texts.sort();
    texts
}

/// Checks that every received byte is accounted and that this many are content.
fn check_account(client: &Driver<Client>, content: u64) {
    assert_eq!(client.received.covered(), client.received.bytes);
    assert_eq!(client.received.count(Layer::Payload, Phase::Message), content);
}

/// What an observer sees of a received datagram without the packet that the endpoint could not read, and what the
/// endpoint says without it. A busy peer repeats a Handshake packet after the endpoint has discarded its keys (RFC 9001,
/// section 4.9), alone or in front of a 1-RTT packet (RFC 9000, section 12.2): the observer reads a retransmission, the
/// endpoint counts the whole packet as one span of the transport.
fn without_late_copy<'a>(observed: &'a [Span], said: &'a [Span]) -> (&'a [Span], &'a [Span]) {
    let [unread, rest @ ..] = said else {
        return (observed, said);
    };
    let is_copy = |count: &usize| {
        let copies = &observed[..*count];
        copies.iter().all(|span| span.cause != Cause::Original)
            && copies.iter().map(|span| span.len).sum::<u32>() == unread.len
    };
    match (1..=observed.len()).find(is_copy) {
        Some(count) if unread.layer == Layer::Transport => (&observed[count..], rest),
        _ => (observed, said),
    }
}

/// Checks that an observer with the key log decrypts every packet, also after key updates, and describes its bytes
/// like the endpoint. `received` is the direction of received packets.
fn check_observer<E>(files: &Files, driver: &Driver<E>, received: Direction)
where
    E: Endpoint<Error = Infallible>,
{
    let secrets = Secrets::parse(&files.key_log.text());
    let mut openers = BTreeMap::new();
    for datagram in &driver.datagrams {
        let opener = openers.entry(datagram.flow).or_insert_with(Opener::new);
        let direction = if datagram.is_sent {
            received.reverse()
        } else {
            received
        };
        let mut out = Buffer::new();
        let opened = opener.datagram(direction, &datagram.bytes, &secrets, &mut out);
        let (observed, said) = if datagram.is_sent {
            (out.spans(), &datagram.spans[..])
        } else {
            without_late_copy(out.spans(), &datagram.spans)
        };
        assert_eq!(observed, said, "{direction:?} {opened:?}");
    }
}
