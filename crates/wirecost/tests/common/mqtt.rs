//! An MQTT client of a few lines.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a server may take to accept.
const PATIENCE: Duration = Duration::from_secs(20);

/// An MQTT 3.1.1 client that the server has accepted, named by a number.
pub(crate) fn connected(address: SocketAddr, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("an open socket");
    let client_id = format!("wc-{number:05}");
    let body = [&[0, 4][..], b"MQTT", &[4, 2, 0, 60, 0, 8], client_id.as_bytes()].concat();
    let header = [0x10, u8::try_from(body.len()).expect("a length")];
    stream
        .write_all(&[&header, &body[..]].concat())
        .expect("a CONNECT");
    let mut connack = [0; 4];
    stream.read_exact(&mut connack).expect("a CONNACK");
    assert_eq!(connack, [0x20, 2, 0, 0]);
    stream
}

/// Publishes by QoS 1, and waits until the server has acknowledged.
pub(crate) fn publish(stream: &mut TcpStream, topic: &str, payload: &[u8]) {
    let topic_len = u16::try_from(topic.len()).expect("a topic").to_be_bytes();
    let body = [&topic_len[..], topic.as_bytes(), &[0, 1], payload].concat();
    let mut header = vec![0x32];
    let mut len = body.len();
    loop {
        let (digit, rest) = ((len % 128) as u8, len / 128);
        header.push(digit | if rest > 0 { 0x80 } else { 0 });
        len = rest;
        if len == 0 {
            break;
        }
    }
    stream.write_all(&header).expect("a PUBLISH");
    stream.write_all(&body).expect("a PUBLISH");
    let mut puback = [0; 4];
    stream.read_exact(&mut puback).expect("a PUBACK");
    assert_eq!(puback, [0x40, 2, 0, 1]);
}
