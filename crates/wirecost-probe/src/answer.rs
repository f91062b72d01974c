//! Recognises the protocol of an answer by its first bytes.

use std::fmt;

use wirecost_proto::PeerText;
use wirecost_stack::url::{Protocol, Scheme, Url};

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
    pub fn from_bytes(bytes: &[u8]) -> Self {
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
    const fn scheme(&self) -> Option<Scheme> {
        match self {
            Self::Http(_) => Some(Scheme::Http),
            Self::Mqtt => Some(Scheme::Mqtt),
            Self::Amqp => Some(Scheme::Amqp),
            Self::Nothing | Self::TlsAlert | Self::TlsHandshake | Self::Greeting(_) | Self::Other(_) => None,
        }
    }
}

/// The first message that a client of a protocol sends on an open connection.
pub(super) const fn greeting(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mqtt => "an MQTT CONNECT",
        Protocol::Amqp => "an AMQP header",
        Protocol::MqttSn => "an MQTT-SN CONNECT",
        Protocol::Coap | Protocol::CoapTcp => "a CoAP request",
        Protocol::Http1 | Protocol::Http3 => "an HTTP request",
        Protocol::Tcp | Protocol::Udp => "a payload",
        Protocol::Store(_) => "a start-up message",
    }
}

/// What is wrong with a port that answered the first message of a URL's protocol with `answer`, and what to do; `None` if nothing
/// is known to be wrong.
pub fn of_another_protocol(url: &Url, port: u16, answer: &Answer) -> Option<[String; 2]> {
    otherwise(url, port, greeting(url.scheme.protocol()), answer)
}

/// The same of a port that answered `greeting`.
pub(super) fn otherwise(url: &Url, port: u16, greeting: &str, answer: &Answer) -> Option<[String; 2]> {
    let scheme = url.scheme;
    let meant = match answer {
        Answer::TlsAlert | Answer::TlsHandshake if !scheme.is_secure() => Some(scheme.counterpart()),
        Answer::Nothing | Answer::TlsAlert | Answer::TlsHandshake => return None,
        Answer::Greeting(_) => None,
        Answer::Other(_) if !scheme.is_secure() => None,
        Answer::Other(_) => Some(scheme.counterpart()),
        Answer::Http(_) | Answer::Mqtt | Answer::Amqp => match answer.scheme() {
            Some(meant) if meant == scheme => return None,
            meant => meant,
        },
    };
    let hint = match (meant, answer, scheme.protocol()) {
        (Some(meant), Answer::Http(_), Protocol::Mqtt) => {
            format!(
                "{} If it is MQTT over WebSocket, which wirecost does not speak, give the broker's port for MQTT over TCP",
                did_you_mean(url, meant)
            )
        }
        (Some(meant), ..) => did_you_mean(url, meant),
        (None, ..) => "check the port and the scheme".to_owned(),
    };
    Some([format!("port {port} answered {greeting} with {answer}"), hint])
}

/// A question that names the same server and port by another scheme. The space keeps the question mark out of the URL.
pub fn did_you_mean(url: &Url, scheme: Scheme) -> String {
    format!("did you mean {} ?", url.by(scheme))
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

    fn told(url: &str, bytes: &[u8]) -> Option<[String; 2]> {
        let url: Url = url.parse().expect(url);
        of_another_protocol(&url, 29001, &Answer::from_bytes(bytes))
    }

    #[test]
    fn a_port_of_another_protocol_is_named_by_its_answer() {
        let [cause, hint] =
            told("mqtt://broker:29001/t", b"HTTP/1.0 403 Forbidden\r\n").expect("it is no MQTT");
        assert_eq!(
            cause,
            "port 29001 answered an MQTT CONNECT with an HTTP answer (\"HTTP/1.0 403 Forbidden\")"
        );
        assert!(hint.starts_with("did you mean http://broker:29001 ?"), "{hint}");
        assert!(hint.contains("WebSocket"), "{hint}");
        let [_, hint] = told("amqp://broker/q", b"HTTP/1.1 400 Bad Request").expect("it is no AMQP");
        assert!(!hint.contains("WebSocket"), "{hint}");
        assert_eq!(told("mqtt://broker/t", &[0x20, 2, 0, 5]), None, "a CONNACK");
        assert_eq!(told("mqtt://broker/t", b""), None, "silence");
    }

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
            assert_eq!(Answer::from_bytes(bytes).to_string(), expected);
        }
    }
}
