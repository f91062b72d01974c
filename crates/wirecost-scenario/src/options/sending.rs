//! How devices hand their messages to the network.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use wirecost_proto::ByteSize;
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::Writing;
use wirecost_stack::message::{LEAST_FIELD_BYTES, Requests};
use wirecost_stack::{Channel, Stack};

/// How long the connections of devices that send last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// A connection carries all messages of its device.
    #[default]
    Kept,
    /// Each message has a connection of its own, which is closed when the message is over.
    PerMessage,
}

impl Connection {
    /// Whether a connection carries all messages of its device.
    pub fn is_kept(&self) -> bool {
        *self == Self::Kept
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kept => "kept",
            Self::PerMessage => "per_message",
        })
    }
}

impl FromStr for Connection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "kept" => Ok(Self::Kept),
            "per_message" | "per-message" => Ok(Self::PerMessage),
            _ => Err(format!(
                "unknown value {text:?}, expected kept or per-message (per_message in files)"
            )),
        }
    }
}

/// How the devices of a comparison hand their messages to the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// The bytes of each message; `None`: pseudo-random bytes of the sizes of the comparison.
    pub payload: Option<Arc<[u8]>>,
    /// The most bytes that a device gives to TCP at once; `None`: a message and its headers are one write.
    pub chunk: Option<ByteSize>,
    /// Whether sockets leave Nagle's algorithm on: they do not set `TCP_NODELAY`.
    pub nagle: bool,
    /// Whether clients send behind their request to connect, without waiting for its answer.
    pub pipelined_connect: bool,
    /// Whether the interfaces keep segmentation offload, so that packets are recorded before they are cut to the MTU.
    pub offload: bool,
    /// What HTTP requests and answers carry beyond the least.
    pub http: HttpSizes,
}

/// The form of HTTP requests, and what they and their answers carry beyond the least that the standards need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpSizes {
    /// Bytes of further header fields of each request, in the form of HTTP/1.1.
    pub request_headers: Option<ByteSize>,
    /// Bytes of content in the built-in server's answer to a message; `None`: the answer has no content.
    pub response_body: Option<ByteSize>,
    /// Whether a message is a GET with its payload in the query, percent-encoded.
    pub reading_in_query: bool,
}

/// The most bytes of further header fields: the built-in server takes heads of 16 KiB.
const MOST_FIELD_BYTES: u64 = 15_000;
/// The most bytes of content in an answer.
const MOST_BODY_BYTES: u64 = 16 << 20;

impl HttpSizes {
    /// The form of requests that carry messages.
    pub fn requests(self) -> Requests {
        Requests {
            field_bytes: self.request_headers.map_or(0, bytes_of),
            in_query: self.reading_in_query,
        }
    }

    /// Bytes of content in an answer.
    pub fn body_bytes(self) -> usize {
        self.response_body.map_or(0, bytes_of)
    }

    /// Why a stack does not have these sizes; `None` if it has, or none is asked for.
    pub(crate) fn refuses(self, stack: Stack) -> Option<String> {
        let is_asked = self != Self::default();
        (is_asked && !stack.is_http()).then(|| {
            format!("{stack} is not HTTP, which alone has header fields, queries and bodies of answers")
        })
    }

    /// The first size that cannot be, and why. A server that wirecost did not write answers as it likes.
    pub(crate) fn problem(self, is_builtin: bool) -> Option<(&'static str, String)> {
        let least = LEAST_FIELD_BYTES as u64;
        let headers = self.request_headers.map(ByteSize::bytes);
        if headers.is_some_and(|bytes| !(least..=MOST_FIELD_BYTES).contains(&bytes)) {
            let text = format!("must be {least}B (the shortest field) to {MOST_FIELD_BYTES}B");
            return Some(("request_headers", text));
        }
        let body = self.response_body.map(ByteSize::bytes)?;
        if !(1..=MOST_BODY_BYTES).contains(&body) {
            return Some(("response_body", "must be 1B to 16MiB".to_owned()));
        }
        let text = "only the built-in server answers with a body of a given size: leave out the target";
        (!is_builtin).then(|| ("response_body", text.to_owned()))
    }
}

fn bytes_of(size: ByteSize) -> usize {
    usize::try_from(size.bytes()).unwrap_or(usize::MAX)
}

impl Sending {
    /// How a driver writes to the streams of the devices.
    pub fn writing(&self) -> Writing {
        writing(self.chunk, self.nagle)
    }

    /// Why a stack cannot send in this way; `None` if it can.
    pub(crate) fn refuses(&self, stack: Stack) -> Option<String> {
        refusal(stack, self.chunk, self.nagle)
            .or_else(|| self.http.refuses(stack))
            .or_else(|| stack.cannot_pipeline().filter(|_| self.pipelined_connect))
    }
}

/// How a driver writes to streams, in chunks of this size and with or without Nagle's algorithm.
pub(crate) fn writing(chunk: Option<ByteSize>, nagle: bool) -> Writing {
    Writing {
        chunk: chunk.map(bytes_of).and_then(std::num::NonZeroUsize::new),
        nagle,
    }
}

/// Why a stack cannot send in chunks, or with Nagle's algorithm; `None` if it can, or neither is asked for.
pub(crate) fn refusal(stack: Stack, chunk: Option<ByteSize>, nagle: bool) -> Option<String> {
    let is_stream = stack.transport() == Transport::Stream;
    if chunk.is_some() && !is_stream {
        return Some(format!(
            "{stack} sends datagrams, and chunks are writes to a TCP connection"
        ));
    }
    if chunk.is_some() && stack.channel != Channel::Plain {
        return Some(format!(
            "{stack} writes TLS records, and chunks are writes of the plain message to a TCP connection"
        ));
    }
    (nagle && !is_stream).then(|| format!("{stack} has no TCP connection, and Nagle's algorithm is TCP's"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_http_are_those_of_one_field_and_of_our_server() {
        let problem = |headers: Option<u64>, body: Option<u64>, is_builtin| {
            let sizes = HttpSizes {
                request_headers: headers.map(ByteSize::from_bytes),
                response_body: body.map(ByteSize::from_bytes),
                reading_in_query: false,
            };
            sizes.problem(is_builtin).map(|(key, _)| key)
        };
        for (headers, body, is_builtin, key) in [
            (None, None, false, None),
            (Some(15), Some(1), true, None),
            (Some(15_000), None, false, None),
            (Some(14), None, true, Some("request_headers")),
            (Some(15_001), None, true, Some("request_headers")),
            (None, Some(0), true, Some("response_body")),
            (None, Some((16 << 20) + 1), true, Some("response_body")),
            (None, Some(1), false, Some("response_body")),
        ] {
            assert_eq!(
                problem(headers, body, is_builtin),
                key,
                "{headers:?} {body:?} {is_builtin}"
            );
        }
        let sizes = HttpSizes {
            response_body: Some(ByteSize::from_bytes(1)),
            ..HttpSizes::default()
        };
        let refuses = |stack: &str| sizes.refuses(stack.parse().expect("a stack")).is_some();
        assert!(refuses("mqtt-qos1") && refuses("coap-con") && !refuses("http1+tls1.3") && !refuses("http3"));
        assert_eq!(
            HttpSizes::default().refuses("tcp".parse().expect("a stack")),
            None
        );
    }

    #[test]
    fn chunks_and_nagle_are_of_tcp_alone() {
        let refused = |stack: &str, chunk: bool, nagle: bool| {
            let size = chunk.then(|| ByteSize::from_bytes(100));
            refusal(stack.parse().expect("a stack"), size, nagle).is_some()
        };
        for stack in ["udp", "coap-con", "coap-con+dtls1.3", "http3", "mqttsn-qos1"] {
            assert!(
                refused(stack, true, false) && refused(stack, false, true),
                "{stack}"
            );
            assert!(!refused(stack, false, false), "{stack}");
        }
        assert!(refused("mqtt-qos1+tls1.3", true, false) && !refused("mqtt-qos1+tls1.3", false, true));
        assert!(!refused("tcp", true, true) && !refused("mqtt-qos1+cose", true, true));
    }
}
