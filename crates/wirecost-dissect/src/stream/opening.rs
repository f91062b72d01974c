//! Who sends the bytes at hand of a connection whose SYN was not captured.

use super::detect::{REQUESTS, RESPONSE};
use crate::sender::Sender;

/// The sender of the first bytes in a capture, if they tell: a request or an answer of HTTP, a hello of TLS, CONNECT or CONNACK of
/// MQTT.
pub(crate) fn sender(bytes: &[u8]) -> Option<Sender> {
    if bytes.starts_with(RESPONSE.as_bytes()) {
        return Some(Sender::Server);
    }
    if REQUESTS
        .iter()
        .any(|request| bytes.starts_with(request.as_bytes()))
    {
        return Some(Sender::Client);
    }
    match bytes {
        // A record of a handshake (RFC 8446 section 5.1), and the type of its message (section 4).
        [22, 3, _, _, _, 1, ..] => Some(Sender::Client),
        [22, 3, _, _, _, 2, ..] => Some(Sender::Server),
        [0x10, _, 0, 4, b'M', b'Q', b'T', b'T', ..] => Some(Sender::Client),
        // MQTT 3.1.1 section 3.2: CONNACK has two bytes; its flags are 0 or 1, its codes below 6.
        [0x20, 2, 0 | 1, 0..=5] => Some(Sender::Server),
        _ => None,
    }
}
