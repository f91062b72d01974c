//! Servers that lie: what is said of each is what failed, on what, and what to do.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::probe;

/// What a server does with a connection.
type Lie = fn(&mut TcpStream);

/// What a server answers to a datagram.
type Echo = fn(&[u8]) -> Vec<u8>;

fn hear(stream: &mut TcpStream) {
    // Whoever has closed says nothing more.
    let _ = stream.read(&mut [0; 4096]);
}

fn say(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).expect("a client that listens");
}

fn hold(stream: &mut TcpStream) {
    // Until the client has closed.
    while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {}
}

fn answer(stream: &mut TcpStream, bytes: &[u8]) {
    hear(stream);
    say(stream, bytes);
    hold(stream);
}

/// CONNACK of success, and what follows the PUBLISH.
fn broker(stream: &mut TcpStream, bytes: &[u8]) {
    hear(stream);
    say(stream, &[0x20, 3, 0, 0, 0]);
    answer(stream, bytes);
}

/// Starts a server that lies to every connection; its port.
fn tcp(lie: Lie) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            stream
                .set_read_timeout(Some(Duration::from_secs(10)))
                .expect("a time-out");
            lie(&mut stream);
        }
    });
    port
}

/// Starts a server that answers every datagram; its port.
fn udp(echo: Echo) -> u16 {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let port = socket.local_addr().expect("an address").port();
    thread::spawn(move || {
        let mut bytes = [0; 2048];
        while let Ok((len, from)) = socket.recv_from(&mut bytes) {
            let answer = echo(&bytes[..len]);
            if !answer.is_empty() {
                socket.send_to(&answer, from).expect("sent");
            }
        }
    });
    port
}

/// 2.04 in an acknowledgement, with another message id or another token.
fn changed(request: &[u8], id: u8, token: u8) -> Vec<u8> {
    let tokens = usize::from(request[0] & 15);
    let mut answer = vec![0x60 | request[0] & 15, 0x44, request[2] ^ id, request[3]];
    answer.extend(request[4..4 + tokens].iter().map(|byte| byte ^ token));
    answer
}

fn told(scheme: &str, port: u16, code: i32, texts: &[&str]) {
    let folder = TempDir::new().expect("a folder");
    let trust = match scheme.ends_with('s') || scheme == "h3" {
        true => " --insecure",
        false => "",
    };
    let url = format!("{scheme}://127.0.0.1:{port}");
    let said = probe(folder.path(), &format!("{url}{trust} --timeout 700ms"));
    assert_eq!(said.code, Some(code), "{url}\n{}", said.stderr);
    for text in texts {
        assert!(
            said.stderr.contains(text),
            "{url}: no {text:?} in\n{}",
            said.stderr
        );
    }
    assert!(!said.stderr.contains("firewall"), "{url}\n{}", said.stderr);
    assert!(!said.stderr.contains(" 1 datagrams"), "{url}\n{}", said.stderr);
}

#[test]
fn an_answer_to_something_else_is_not_silence() {
    let at_fault = "hint: the server is at fault, or something on the way";
    let brokers: [(Lie, &str); 3] = [
        (
            |stream| broker(stream, &[0x40, 2, 0x12, 0x34]),
            "the server answered, but with PUBACK with packet id 4660, expected PUBACK with 1",
        ),
        (
            |stream| broker(stream, &[0x50, 2, 0, 1]),
            "does not keep to MQTT: protocol error: peer must not send PUBREC now",
        ),
        (
            |stream| broker(stream, &[0x70, 2, 0, 1]),
            "does not keep to MQTT: protocol error: peer must not send PUBCOMP now",
        ),
    ];
    for (lie, text) in brokers {
        told("mqtt", tcp(lie), 12, &["message failed after", text, at_fault]);
    }
    let answers: [(Echo, &str); 4] = [
        (
            |request| changed(request, 1, 0),
            "the server answered, but with message id ",
        ),
        (
            |request| changed(request, 0, 1),
            "the server answered, but with token 0x",
        ),
        (
            |_| vec![0xff; 9],
            "the server answered, but with a datagram that is not a CoAP message",
        ),
        (
            |request| vec![0x60, 0, request[2], request[3]],
            "but with an empty ACK",
        ),
    ];
    for (echo, text) in answers {
        told("coap", udp(echo), 12, &["message failed after", text, at_fault]);
    }
}

#[test]
fn an_incomplete_answer_is_not_called_silence() {
    let table: [(&str, Lie, &str); 5] = [
        ("mqtt", hold, "for CONNACK; nothing came"),
        ("http", hold, "for the response; nothing came"),
        (
            "http",
            |stream| answer(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
            "for the response; 41 B came, and it was not in them, or not whole",
        ),
        (
            "mqtt",
            |stream| broker(stream, &[0xd0, 0]),
            "for the acknowledgement of the PUBLISH; 2 B came, and it was not in them",
        ),
        ("https", hold, "for the handshake to be complete; nothing came"),
    ];
    for (scheme, lie, text) in table {
        told(scheme, tcp(lie), 11, &[text, "hint: check the port"]);
    }
    for scheme in ["h3", "coaps"] {
        // How often a handshake is begun within the time-out is up to the protocol.
        let texts = [" datagram", ", or not whole; the first is something unknown"];
        told(scheme, udp(|_| vec![0xc8; 40]), 11, &texts);
    }
}

#[test]
fn an_echo_is_called_one() {
    let echo: Lie = |stream| {
        let mut bytes = [0; 4096];
        let len = stream.read(&mut bytes).expect("a request");
        say(stream, &bytes[..len]);
        hold(stream);
    };
    for scheme in ["mqtt", "http", "mqtts", "https"] {
        told(scheme, tcp(echo), 12, &["it is an echo server"]);
    }
    for scheme in ["coap", "coaps", "h3"] {
        told(scheme, udp(<[u8]>::to_vec), 12, &["it is an echo server"]);
    }
}

#[test]
fn the_side_that_closes_is_named() {
    let reset: Lie = |stream| {
        // What was not read makes the close a reset (RFC 1122, section 4.2.2.13).
        thread::sleep(Duration::from_millis(50));
        let _ = stream.shutdown(Shutdown::Write);
    };
    for scheme in ["mqtt", "http", "amqp", "mqtts"] {
        told(scheme, tcp(|_| {}), 12, &["the connection without an answer to"]);
        told(scheme, tcp(reset), 12, &["the connection without an answer to"]);
    }
    let half: Lie = |stream| {
        hear(stream);
        say(stream, &[0x20, 3, 0, 0, 0]);
        hear(stream);
    };
    told(
        "mqtt",
        tcp(half),
        12,
        &["closed the connection before the message was over"],
    );
}

#[test]
fn a_greeting_of_another_protocol_is_shown() {
    for scheme in ["http", "amqp", "mqtts", "https"] {
        let ssh: Lie = |stream| {
            say(stream, b"SSH-2.0-OpenSSH_9.6\r\n");
            hold(stream);
        };
        let text = "with the greeting of another protocol (\"SSH-2.0-OpenSSH_9.6\")";
        told(
            scheme,
            tcp(ssh),
            12,
            &[text, "hint: check the port and the scheme"],
        );
    }
}

#[test]
fn an_answer_that_breaks_a_rule_is_named() {
    let table: [(Lie, &str); 3] = [
        (
            |stream| {
                answer(
                    stream,
                    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
                )
            },
            "does not keep to HTTP/1.1: 101 Switching Protocols, which the request did not ask for",
        ),
        (
            |stream| answer(stream, b"HTTP/2.0 200 OK\r\n\r\n"),
            "does not keep to HTTP/1.1: the version is not HTTP/1",
        ),
        (
            |stream| answer(stream, b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
            "does not keep to HTTP/1.1: Content-Length is not one number of bytes",
        ),
    ];
    for (lie, text) in table {
        told(
            "http",
            tcp(lie),
            12,
            &["message failed after", text, "hint: the server is at fault"],
        );
    }
}

#[test]
fn a_closed_port_of_dtls_is_said_to_be_closed() {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let port = socket.local_addr().expect("an address").port();
    drop(socket);
    let texts = ["security failed after", "ICMP says that the port is closed"];
    told("coaps", port, 11, &texts);
}

/// A server floods whoever asks, and answers in the end.
#[test]
fn a_flood_is_kept_up_to_a_bound_and_said() {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    let port = socket.local_addr().expect("an address").port();
    thread::spawn(move || {
        let mut bytes = [0; 2048];
        while let Ok((len, from)) = socket.recv_from(&mut bytes) {
            // What the client's buffer has no room for is lost: far more comes than is kept.
            for number in 0..4_000 {
                socket.send_to(&[0; 60_000], from).expect("sent");
                if number % 20 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            let answer = changed(&bytes[..len], 0, 0);
            socket.send_to(&answer, from).expect("sent");
        }
    });
    let folder = TempDir::new().expect("a folder");
    let said = probe(folder.path(), &format!("coap://127.0.0.1:{port} --timeout 20s"));
    let all = format!("{}{}", said.stdout, said.stderr);
    assert!(
        all.contains("packets came beyond the 32 MiB that are kept"),
        "{all}"
    );
}
