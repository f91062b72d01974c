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
