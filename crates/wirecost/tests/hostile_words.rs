//! A peer's text is shown without effect on a terminal or on a reader of files.

mod common;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::Duration;

use common::{Said, need_program, said, wirecost};
use tempfile::TempDir;

/// A title, a cleared screen, a line of its own, the ends of a field, of a label and of a script, an override of direction.
const WORDS: &str = "\x1b]0;owned\x07\x1b[2J\r\nerror: all is well,\"</script>\0\u{202e}\u{9b}1m";
/// The same as wirecost may show it.
const SHOWN: &str = "\\x1b]0;owned\\x07\\x1b[2J\\r\\nerror: all is well,\"</script>\\x00\\u{202e}\\x9b1m";

#[test]
fn words_of_an_amqp_server_are_shown_as_escapes_by_probe() {
    let address = served(amqp());
    let said = probe(&format!("amqp://{address}/test --json report.json"));
    assert_eq!(said.code, Some(12), "{}", said.stderr);
    assert!(said.stderr.contains(SHOWN), "{}", said.stderr);
}

#[test]
fn words_of_an_amqp_server_are_shown_as_escapes_by_load() {
    let said = load(TempDir::new().expect("a folder").path(), served(amqp()));
    assert_eq!(said.code, Some(12), "{}", said.stderr);
    assert!(said.stderr.contains(SHOWN), "{}", said.stderr);
}

#[test]
fn words_of_an_amqp_server_do_nothing_in_the_files_of_a_load() {
    let home = TempDir::new().expect("a folder");
    let [opening, rejection] = amqp_that_rejects();
    let said = load(home.path(), served_on(opening, rejection));
    let names = [
        "report.html",
        "summary.csv",
        "summary.md",
        "summary.json",
        "junit.xml",
        "metrics.om",
    ];
    let texts = names.map(|name| {
        std::fs::read_to_string(home.path().join("run").join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", said.stderr))
    });
    for (name, text) in names.iter().zip(&texts) {
        assert!(is_clean(text), "{name}: {text}");
        // The shown text ends no element and no script.
        assert!(
            *name == "summary.json" || !text.contains("well,\"</script>"),
            "{name}: {text}"
        );
    }
    assert!(
        texts.concat().contains("]0;owned"),
        "nobody is told why: {}",
        said.stderr
    );
}

fn load(home: &Path, address: SocketAddr) -> Said {
    let line = format!("load amqp://{address}/test -c 2 -r 10/s -d 1s --timeout 1s --out run");
    let said = said(wirecost(home).args(line.split(' ')));
    assert!(is_clean(&said.stdout) && is_clean(&said.stderr), "{said:?}");
    said
}

#[test]
fn words_of_an_mqtt_server_do_nothing() {
    // CONNACK of MQTT 5: not authorized, with a reason string and a user property (sections 3.2.2.2, 3.2.2.3).
    let text = |text: &str| [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat();
    let words = WORDS.replace('\0', "");
    let properties = [&[0x1f][..], &text(&words), &[0x26], &text(&words), &text(&words)].concat();
    let body = [
        &[
            0,
            0x87,
            0x80 | (properties.len() % 128) as u8,
            (properties.len() / 128) as u8,
        ],
        &properties[..],
    ]
    .concat();
    let packet = [
        &[0x20, 0x80 | (body.len() % 128) as u8, (body.len() / 128) as u8],
        &body[..],
    ]
    .concat();
    let said = probe(&format!("mqtt://{}/test", served(packet)));
    assert_eq!(said.code, Some(12), "{}", said.stderr);
}

#[test]
fn words_of_an_http_server_do_nothing() {
    let words = WORDS.replace(['\r', '\n'], "");
    let response =
        format!("HTTP/1.1 404 {words}\r\nServer: {words}\r\nContent-Length: 0\r\n\r\n").into_bytes();
    let said = probe(&format!("http://{}/test", served(response.clone())));
    assert!(said.code.is_some_and(|code| code != 0), "{}", said.stderr);
    // The same where something else was expected, which quotes the first line.
    let said = probe(&format!("mqtt://{}/test", served(response)));
    assert!(said.stderr.contains("\\x1b]0;owned"), "{}", said.stderr);
}

#[test]
fn words_of_a_coap_server_are_shown_as_escapes() {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let address = socket.local_addr().expect("an address");
    thread::spawn(move || {
        let mut request = [0; 1_500];
        while let Ok((length, from)) = socket.recv_from(&mut request) {
            let token = usize::from(request[0] & 0x0f);
            // An acknowledgement with 4.04, Location-Path and a diagnostic payload (RFC 7252, sections 3 and 5.5.2).
            let mut answer = vec![0x60 | token as u8, 0x84, request[2], request[3]];
            answer.extend(&request[4..(4 + token).min(length)]);
            answer.extend([0x8d, (WORDS.len() - 13) as u8]);
            answer.extend(WORDS.as_bytes());
            answer.push(0xff);
            answer.extend(WORDS.as_bytes());
            let _ = socket.send_to(&answer, from);
        }
    });
    let said = probe(&format!("coap://{address}/test"));
    assert_eq!(said.code, Some(12), "{}", said.stderr);
    assert!(said.stderr.contains(SHOWN), "{}", said.stderr);
}

#[test]
#[ignore = "needs openssl"]
fn names_of_a_certificate_are_shown_as_escapes() {
    need_program("openssl", "openssl");
    let home = TempDir::new().expect("a folder");
    let name = format!("/CN={}", WORDS.replace(['/', '\0', '\u{9b}'], ""));
    let words = [
        "req", "-x509", "-nodes", "-utf8", "-days", "2", "-keyout", "s.key", "-out", "s.pem", "-newkey",
    ];
    let mut openssl = std::process::Command::new("openssl");
    openssl
        .current_dir(home.path())
        .args(words)
        .args(["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    let made = said(openssl.args(["-subj", &name]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let line = format!("serve http1 --tls --cert s.pem --key s.key -q --listen {address}");
    let mut server = wirecost(home.path())
        .args(line.split(' '))
        .spawn()
        .expect("a server");
    common::eventually("it listens", || TcpStream::connect(address).is_ok());
    let said = probe_in(home.path(), &format!("https://{address}/test --insecure"));
    let doubted = probe_in(home.path(), &format!("https://{address}/test"));
    server.kill().expect("it ends");
    server.wait().expect("it has ended");
    assert!(said.stdout.contains("\\x1b]0;owned"), "{said:?}");
    assert_eq!(doubted.code, Some(12), "{}", doubted.stderr);
}

#[test]
#[ignore = "needs root"]
fn last_words_of_a_server_are_shown_as_escapes() {
    common::need_root();
    let home = TempDir::new().expect("a folder");
    let server = "sh -c 'printf \"\\033]0;owned\\007\\033[2J\"; exit 3'";
    let said = said(wirecost(home.path()).args(["link", "--server", server, "--", "true"]));
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    assert!(
        said.stderr.contains("\\x1b]0;owned\\x07\\x1b[2J") && is_clean(&said.stderr),
        "{}",
        said.stderr
    );
}

/// Probes, and asserts that the output consists of lines of text.
fn probe(arguments: &str) -> Said {
    let home = TempDir::new().expect("a folder");
    probe_in(home.path(), arguments)
}

fn probe_in(home: &Path, arguments: &str) -> Said {
    let said = said(wirecost(home).arg("probe").args(arguments.split(' ')));
    assert!(is_clean(&said.stdout) && is_clean(&said.stderr), "{said:?}");
    let errors = said.stderr.lines().filter(|line| line.starts_with("error: "));
    assert!(errors.count() <= 1, "{}", said.stderr);
    if let Ok(json) = std::fs::read_to_string(home.join("report.json")) {
        assert!(is_clean(&json) && !json.contains("\\u00"), "{json}");
    }
    said
}

/// Whether a terminal reacts to none of it.
fn is_clean(text: &str) -> bool {
    let acts = |c: char| {
        (c.is_control() && c != '\n') || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
    };
    !text.chars().any(acts)
}

/// A server that sends this to every client after its first input, and keeps listening.
fn served(answer: Vec<u8>) -> SocketAddr {
    served_on(answer, Vec::new())
}

/// A server that sends the second answer to later input.
fn served_on(first: Vec<u8>, more: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answers = (first.clone(), more.clone());
            thread::spawn(move || answer(stream, &answers.0, &answers.1));
        }
    });
    address
}

fn answer(mut stream: TcpStream, first: &[u8], more: &[u8]) {
    let mut heard = [0; 4_096];
    let mut next = first;
    // A client that has enough closes.
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    while stream.read(&mut heard).is_ok_and(|length| length > 0) {
        let _ = stream.write_all(next);
        next = more;
    }
}

/// What an AMQP server says that lets a client in and ends the connection with a condition (AMQP 1.0, sections 2.7.9, 5.3).
fn amqp() -> Vec<u8> {
    [amqp_opening(), frame(0, 0x18, 1, &error())].concat()
}

/// What one says that takes messages, and what it says of them: that they are rejected (sections 2.7 and 3.4.2).
fn amqp_that_rejects() -> [Vec<u8>; 2] {
    const WINDOW: [u8; 5] = [0x70, 0, 0, 0xff, 0xff];
    let begin = [&[0x60, 0, 0, 0x43][..], &WINDOW, &WINDOW].concat();
    let terminus = |code| [0, 0x53, code, 0x45];
    let attach = [
        &text(0xa1, "link")[..],
        &[0x43, 0x41, 0x40, 0x40],
        &terminus(0x28),
        &terminus(0x29),
    ]
    .concat();
    let flow = [&[0x43][..], &WINDOW, &[0x43], &WINDOW, &[0x43, 0x43], &WINDOW].concat();
    let opening = [
        amqp_opening(),
        frame(0, 0x11, 4, &begin),
        frame(0, 0x12, 7, &attach),
        frame(0, 0x13, 7, &flow),
    ];
    let rejected = [&[0, 0x53, 0x25][..], &list(1, &error())].concat();
    let disposition = [&[0x41, 0x43][..], &WINDOW, &[0x41], &rejected].concat();
    [opening.concat(), frame(0, 0x15, 5, &disposition)]
}

fn amqp_opening() -> Vec<u8> {
    [
        b"AMQP\x03\x01\x00\x00".to_vec(),
        frame(1, 0x40, 1, &text(0xa3, "ANONYMOUS")),
        frame(1, 0x44, 1, &[0x50, 0]),
        b"AMQP\x00\x01\x00\x00".to_vec(),
        frame(0, 0x10, 1, &text(0xa1, "server")),
    ]
    .concat()
}

fn frame(kind: u8, code: u8, count: u32, fields: &[u8]) -> Vec<u8> {
    let list = list(count, fields);
    let length = 8 + 3 + list.len() as u32;
    [&length.to_be_bytes()[..], &[2, kind, 0, 0, 0, 0x53, code], &list].concat()
}

fn list(count: u32, fields: &[u8]) -> Vec<u8> {
    let length = fields.len() as u32 + 4;
    [&[0xd0][..], &length.to_be_bytes(), &count.to_be_bytes(), fields].concat()
}

fn text(constructor: u8, text: &str) -> Vec<u8> {
    [&[constructor, text.len() as u8], text.as_bytes()].concat()
}

fn error() -> Vec<u8> {
    let condition = [text(0xa3, "amqp:connection:forced\x1b[2J"), text(0xa1, WORDS)].concat();
    [&[0, 0x53, 0x1d][..], &list(2, &condition)].concat()
}
