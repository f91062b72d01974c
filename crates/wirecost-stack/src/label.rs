//! Names packets in the terms of their protocols, for ladder diagrams.
//!
//! - `stream`: the messages of protocols in the clear on TCP; `tls`: records of TLS
//! - `datagram`: messages of MQTT-SN and CoAP, records of DTLS, packets of QUIC
//! - `handshake`: the handshake messages that TLS and DTLS share
//!
//! Protected bytes are named by their spans: nothing is decrypted.

mod datagram;
mod handshake;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

use std::ops::Range;

use wirecost_proto::{Direction, Layer, Span};
use wirecost_wire::ip::{self, Protocol};
use wirecost_wire::tcp::{Flags, Segment};
use wirecost_wire::udp;

use super::Stack;

/// Names the packets of one device, in the order in which they entered the link.
#[derive(Clone, Debug)]
pub struct Labeller {
    stack: Stack,
    /// Whether the client has sent protected handshake messages. A protected handshake message of the server after them is a ticket
    /// (RFC 8446 section 4.6.1).
    client_finished: bool,
}

impl Labeller {
    /// A labeller for the packets of a stack.
    pub const fn new(stack: Stack) -> Self {
        Self {
            stack,
            client_finished: false,
        }
    }

    /// The name of an IP packet: its TCP flags and the messages that begin in it.
    ///
    /// `spans` are those of the ledger and cover the packet. A segment whose content does not begin with a message continues an
    /// earlier one.
    pub fn label(&mut self, direction: Direction, bytes: &[u8], spans: &[Span]) -> String {
        let Ok(packet) = ip::Packet::new(bytes) else {
            return "not IP".into();
        };
        if let Some(fragment) = packet.fragment() {
            return format!("fragment at {} B", fragment.offset_bytes);
        }
        let content = |payload| Content::at_end(bytes, payload, spans);
        match packet.protocol() {
            Protocol::Tcp => match Segment::new(packet.payload()) {
                Ok(segment) => self.segment(direction, segment.flags(), &content(segment.payload())),
                Err(_) => "TCP".into(),
            },
            Protocol::Udp => match udp::Datagram::new(packet.payload()) {
                Ok(datagram) => datagram::name(self.stack, &content(datagram.payload())),
                Err(_) => "UDP".into(),
            },
            Protocol::Icmp | Protocol::Icmpv6 => "ICMP".into(),
            Protocol::Other(number) => format!("protocol {number}"),
        }
    }

    fn segment(&mut self, direction: Direction, flags: Flags, content: &Content<'_>) -> String {
        let mut words: Vec<String> = flag_names(flags, content.bytes.is_empty())
            .into_iter()
            .map(str::to_owned)
            .collect();
        // A new connection begins (RFC 9293 section 3.5).
        self.client_finished &= !flags.contains(Flags::SYN);
        let messages = if self.stack.channel.is_tls() {
            self.records(direction, content)
        } else {
            stream::messages(self.stack.application, direction, content)
        };
        if messages.is_empty() && !content.bytes.is_empty() {
            words.push("more of it".into());
        } else if !messages.is_empty() {
            words.push(messages.join(", "));
        }
        words.join(" ")
    }

    fn records(&mut self, direction: Direction, content: &Content<'_>) -> Vec<String> {
        let records = tls::records(content, self.client_finished && direction == Direction::Down);
        self.client_finished |=
            direction == Direction::Up && records.iter().any(|name| name == handshake::ENCRYPTED);
        records
    }
}

/// The flags that distinguish segments: ACK only on its own or with SYN, PSH never.
fn flag_names(flags: Flags, is_empty: bool) -> Vec<&'static str> {
    let telling = [(Flags::SYN, "SYN"), (Flags::FIN, "FIN"), (Flags::RST, "RST")];
    let mut words: Vec<&str> = telling
        .into_iter()
        .filter(|(flag, _)| flags.contains(*flag))
        .map(|(_, name)| name)
        .collect();
    let alone = words.is_empty() && is_empty;
    if flags.contains(Flags::ACK) && (alone || flags.contains(Flags::SYN)) {
        words.push("ACK");
    }
    words
}

/// The content of a segment or a datagram, and the spans of its packet.
struct Content<'a> {
    bytes: &'a [u8],
    /// Bytes of the packet before the content.
    start: usize,
    spans: &'a [Span],
}

impl<'a> Content<'a> {
    /// The content `bytes` at the end of `packet`, which `spans` cover.
    const fn at_end(packet: &[u8], bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self {
            bytes,
            start: packet.len().saturating_sub(bytes.len()),
            spans,
        }
    }

    /// The spans that reach into a range of the content.
    fn spans_of(&self, range: Range<usize>) -> impl Iterator<Item = &'a Span> + use<'a> {
        let wanted = self.start + range.start..self.start + range.end;
        let mut end = 0;
        self.spans.iter().filter(move |span| {
            let start = end;
            end += span.len as usize;
            start < wanted.end && end > wanted.start
        })
    }

    /// Whether a range has bytes of the application or of the payload.
    fn has_data(&self, range: Range<usize>) -> bool {
        self.spans_of(range)
            .any(|span| matches!(span.layer, Layer::Application | Layer::Payload))
    }
}

/// Adds a name unless it is the same as the last one.
fn push_new(names: &mut Vec<String>, name: String) {
    if names.last() != Some(&name) {
        names.push(name);
    }
}
