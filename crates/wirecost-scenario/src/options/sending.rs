//! How devices hand their messages to the network.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use wirecost_proto::bare::Transport;
use wirecost_proto::driver::Writing;
use wirecost_proto::{ByteSize, Congestion};
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
    /// The congestion control of TCP at both ends of the link.
    pub congestion: Congestion,
    /// Whether clients send behind their request to connect, without waiting for its answer.
    pub pipelined_connect: bool,
    /// The largest frame that both ends of an AMQP connection accept; `None` is their usual one.
    pub amqp_frame_size: Option<ByteSize>,
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
        writing(self.chunk, self.nagle, self.congestion)
    }

    /// Why a stack cannot send in this way; `None` if it can.
    pub(crate) fn refuses(&self, stack: Stack) -> Option<String> {
        refusal(stack, self.chunk, self.nagle)
            .or_else(|| congestion_refusal(stack, self.congestion))
            .or_else(|| self.http.refuses(stack))
            .or_else(|| stack.cannot_pipeline().filter(|_| self.pipelined_connect))
            .or_else(|| frame_size_refusal(stack, self.amqp_frame_size))
    }
}

/// Why a stack has no congestion control of TCP; `None` if it has, or none but the usual one is asked for.
pub(crate) fn congestion_refusal(stack: Stack, asked: Congestion) -> Option<String> {
    let is_asked = asked != Congestion::default();
    (is_asked && stack.transport() != Transport::Stream)
        .then(|| format!("{stack} has no TCP connection, and the congestion control is TCP's"))
}

/// Why the ends of a run cannot have a congestion control: the simulator has what the preset of Linux was compared with, and sockets
/// beyond a link are other people's.
pub(crate) fn congestion_problem(asked: Congestion, simulates: bool, has_link: bool) -> Option<String> {
    // What was not asked for cannot be wrong: the default holds wherever there is no TCP as well.
    if asked == Congestion::default() {
        return None;
    }
    if simulates && !asked.is_simulated() {
        return Some(format!(
            "{asked} is the kernel's alone: virtual time has {} and {}, so take the engine live",
            Congestion::Cubic,
            Congestion::Reno
        ));
    }
    let text = "it is that of both ends of an emulated link: without one, the machines' own applies (net.ipv4.tcp_congestion_control)";
    (!has_link).then(|| text.to_owned())
}

/// The largest frames that may be asked for: the least is that of AMQP 1.0 (2.7.1).
const FRAME_BYTES: std::ops::RangeInclusive<u64> = 512..=1_000_000;

/// Why a stack has no frames of AMQP; `None` if it has, or none are asked for.
pub(crate) fn frame_size_refusal(stack: Stack, size: Option<ByteSize>) -> Option<String> {
    (size.is_some() && !stack.is_amqp())
        .then(|| format!("{stack} is not AMQP, whose frames have a largest size"))
}

/// Why frames cannot have this size. A message has frames as large as its receiver accepts: a server that wirecost did not write has its
/// own size.
pub(crate) fn frame_size_problem(size: Option<ByteSize>, is_builtin: bool) -> Option<String> {
    let bytes = size?.bytes();
    if !FRAME_BYTES.contains(&bytes) {
        return Some(format!(
            "must be {}B to {}B",
            FRAME_BYTES.start(),
            FRAME_BYTES.end()
        ));
    }
    let text = "a message has frames as large as its server accepts, and only the built-in server's can be set: leave out the target";
    (!is_builtin).then(|| text.to_owned())
}

/// The size of frames as the ends of a connection take it.
pub fn frame_bytes(size: Option<ByteSize>) -> Option<u32> {
    size.and_then(|size| u32::try_from(size.bytes()).ok())
}

/// How a driver writes to streams: in chunks of this size, with or without Nagle's algorithm, under this congestion control.
pub(crate) fn writing(chunk: Option<ByteSize>, nagle: bool, congestion: Congestion) -> Writing {
    Writing {
        chunk: chunk.map(bytes_of).and_then(std::num::NonZeroUsize::new),
        nagle,
        congestion,
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
    fn a_congestion_control_is_of_tcp_and_of_ends_that_have_it() {
        let stack = |name: &str| name.parse::<Stack>().expect("a stack");
        assert_eq!(
            congestion_refusal(stack("mqtt-qos1+tls1.3"), Congestion::Bbr),
            None
        );
        assert_eq!(congestion_refusal(stack("coap-con"), Congestion::Cubic), None);
        let why = congestion_refusal(stack("http3"), Congestion::Reno).expect("QUIC has its own");
        assert!(why.contains("http3 has no TCP connection"), "{why}");
        let [cubic, reno, bbr] = [Congestion::Cubic, Congestion::Reno, Congestion::Bbr];
        assert_eq!(congestion_problem(cubic, true, false), None);
        assert_eq!(congestion_problem(reno, true, true), None);
        assert_eq!(congestion_problem(bbr, false, true), None);
        let why = congestion_problem(bbr, true, true).expect("virtual time has none");
        assert!(why.contains("take the engine live"), "{why}");
        let why = congestion_problem(reno, false, false).expect("no link");
        assert!(why.contains("an emulated link"), "{why}");
    }

    #[test]
    fn frames_of_amqp_have_a_size_that_their_server_accepts() {
        let size = |bytes: u64| Some(ByteSize::from_bytes(bytes));
        for (bytes, is_builtin, refused) in [
            (None, false, None),
            (size(512), true, None),
            (size(511), true, Some("must be 512B")),
            (size(1_000_001), true, Some("must be 512B")),
            (size(2_000), false, Some("leave out the target")),
        ] {
            let why = frame_size_problem(bytes, is_builtin);
            match refused {
                None => assert_eq!(why, None),
                Some(words) => assert!(why.is_some_and(|why| why.contains(words)), "{bytes:?}"),
            }
        }
        let stack = |name: &str| name.parse::<Stack>().expect(name);
        let why = frame_size_refusal(stack("mqtt-qos1"), size(2_000)).expect("no frames");
        assert!(why.contains("mqtt-qos1 is not AMQP"), "{why}");
        assert_eq!(frame_size_refusal(stack("amqp-unsettled"), size(2_000)), None);
        assert_eq!(frame_size_refusal(stack("mqtt-qos1"), None), None);
    }

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
