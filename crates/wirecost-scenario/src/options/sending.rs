//! How devices hand their messages to the network.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use wirecost_proto::ByteSize;
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::Writing;
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
    /// Whether the interfaces keep segmentation offload, so that packets are recorded before they are cut to the MTU.
    pub offload: bool,
}

impl Sending {
    /// How a driver writes to the streams of the devices.
    pub fn writing(&self) -> Writing {
        writing(self.chunk, self.nagle)
    }

    /// Why a stack cannot send in this way; `None` if it can.
    pub(crate) fn refuses(&self, stack: Stack) -> Option<String> {
        refusal(stack, self.chunk, self.nagle)
    }
}

/// How a driver writes to streams, in chunks of this size and with or without Nagle's algorithm.
pub(crate) fn writing(chunk: Option<ByteSize>, nagle: bool) -> Writing {
    let bytes = chunk.map(|chunk| usize::try_from(chunk.bytes()).unwrap_or(usize::MAX));
    Writing {
        chunk: bytes.and_then(std::num::NonZeroUsize::new),
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
