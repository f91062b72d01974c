//! Recognises the protocol of an answer by its first bytes.

use std::fmt;

use wirecost_proto::PeerText;
use wirecost_stack::url::Scheme;

use super::application::hex;

/// The protocol of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There was no answer.
    Nothing,
    /// A TLS alert: the server expected TLS.
    TlsAlert,
    /// Another TLS record.
    TlsHandshake,
    /// A status line.
    Http(PeerText),
    /// An MQTT CONNACK.
    Mqtt,
    /// An AMQP protocol header.
    Amqp,
    /// The line of text with which a server of another protocol begins.
    Greeting(PeerText),
    /// Something else.
    Other(String),
}

/// The number of bytes that are shown of an unknown answer.
const SHOWN_BYTES: usize = 8;

impl Answer {
    /// The protocol that `bytes` begin.
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            [] => Self::Nothing,
            // RFC 8446, section 5.1: alert is 21, the other types are 20, 22 and 23; the major version is 3.
            [21, 3, ..] => Self::TlsAlert,
            [20 | 22 | 23, 3, ..] => Self::TlsHandshake,
            [b'H', b'T', b'T', b'P', b'/', ..] => Self::Http(first_line(bytes)),
            [b'A', b'M', b'Q', b'P', ..] => Self::Amqp,
            // Type 2, acknowledge flags, reason code (MQTT 5, section 3.2).
            [0x20, len, 0 | 1, _, ..] if *len >= 2 => Self::Mqtt,
            // RFC 4253, section 4.2; RFC 5321, section 4.2; RFC 1939, section 3; RFC 9051, section 7.1.
            _ if [&b"SSH-"[..], b"220 ", b"220-", b"+OK", b"* OK"]
                .iter()
                .any(|begin| bytes.starts_with(begin)) =>
            {
                Self::Greeting(first_line(bytes))
            }
            _ => Self::Other(hex(bytes.get(..SHOWN_BYTES).unwrap_or(bytes))),
        }
    }

    /// The scheme without protection whose server gives this answer.
    pub(super) const fn scheme(&self) -> Option<Scheme> {
        match self {
            Self::Http(_) => Some(Scheme::Http),
            Self::Mqtt => Some(Scheme::Mqtt),
            Self::Amqp => Some(Scheme::Amqp),
            Self::Nothing | Self::TlsAlert | Self::TlsHandshake | Self::Greeting(_) | Self::Other(_) => None,
        }
    }
}

fn first_line(bytes: &[u8]) -> PeerText {
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next();
    PeerText::from_bytes(line.unwrap_or_default())
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::TlsAlert => f.write_str("a TLS alert"),
            Self::TlsHandshake => f.write_str("TLS"),
            Self::Http(line) => write!(f, "an HTTP answer ({line:?})"),
            Self::Mqtt => f.write_str("an MQTT CONNACK"),
            Self::Amqp => f.write_str("an AMQP header"),
            Self::Greeting(line) => write!(f, "the greeting of another protocol ({line:?})"),
            Self::Other(bytes) => write!(f, "something unknown that begins with {bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_beginning() {
        let table: [(&[u8], &str); 9] = [
            (b"", "nothing"),
            (&[21, 3, 1, 0, 2, 2, 70], "a TLS alert"),
            (&[22, 3, 3, 0, 80], "TLS"),
            (
                b"HTTP/1.1 400 Bad Request\r\nServer: x",
                "an HTTP answer (\"HTTP/1.1 400 Bad Request\")",
            ),
            (&[0x20, 2, 0, 0], "an MQTT CONNACK"),
            (b"AMQP\x03\x01\x00\x00", "an AMQP header"),
            (
                b"220 mail.example ESMTP\r\n",
                "the greeting of another protocol (\"220 mail.example ESMTP\")",
            ),
            (
                b"SSH-2.0-x\x1b[2J\r\n",
                "the greeting of another protocol (\"SSH-2.0-x\\x1b[2J\")",
            ),
            (&[1, 2, 3], "something unknown that begins with 010203"),
        ];
        for (bytes, expected) in table {
            assert_eq!(Answer::of(bytes).to_string(), expected);
        }
    }
}
