//! Every byte has a layer, a phase and a cause. The endpoint that sends or consumes the byte states them.

use alloc::vec::Vec;
use core::ops::Range;

crate::named! {
    /// The layer that a byte belongs to.
    ///
    /// Named as in results files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Layer {
        /// IP header, options and extension headers included.
        Ip => "ip",
        /// TCP or UDP header; of QUIC the header, tag, ACK, PADDING and control frames.
        Transport => "transport",
        /// TLS, DTLS, OSCORE or object protection: handshake, record header, tag, wrapped keys.
        Security => "security",
        /// The application protocol's own bytes: headers, topics, options, acknowledgements.
        Application => "application",
        /// The user's data.
        Payload => "payload",
    }
}

crate::named! {
    /// The part of a connection's life that a byte belongs to.
    ///
    /// Named as in results files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Phase {
        /// Until the client may send application data.
        Connect => "connect",
        /// Messages and their acknowledgements.
        Message => "message",
        /// PINGREQ, CoAP ping and the like.
        KeepAlive => "keep_alive",
        /// DISCONNECT, FIN, RST.
        Close => "close",
    }
}

crate::named! {
    /// Why a byte was sent.
    ///
    /// Named as in results files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Cause {
        /// Sent for the first time, for a command or a request.
        Original => "original",
        /// A pure TCP ACK, a PUBACK, a CoAP ACK, an AMQP disposition.
        Acknowledgement => "acknowledgement",
        /// Sent before.
        Retransmission => "retransmission",
        /// Path-MTU or zero-window probe, padding.
        Probe => "probe",
    }
}

/// A run of bytes of one layer, phase and cause. Spans lie end to end; `len` is in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Bytes covered.
    pub len: u32,
    /// Layer of every byte covered.
    pub layer: Layer,
    /// Phase of every byte covered.
    pub phase: Phase,
    /// Cause of every byte covered.
    pub cause: Cause,
}

impl Span {
    /// Whether `other` can be merged into `self`: same layer, phase and cause.
    pub fn continues(&self, other: &Self) -> bool {
        (self.layer, self.phase, self.cause) == (other.layer, other.phase, other.cause)
    }

    /// The payload bytes of the span that were not sent before.
    pub fn original_payload_bytes(&self) -> u32 {
        let is_original = matches!(self.cause, Cause::Original | Cause::Acknowledgement);
        if is_original && self.layer == Layer::Payload {
            self.len
        } else {
            0
        }
    }
}

/// Bytes to transmit and the spans that cover them, or the spans of bytes that were consumed.
///
/// Adjacent bytes of the same kind share one span. A driver keeps one `Buffer` and clears it between polls, so
/// that steady state allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Buffer {
    /// An empty buffer.
    pub const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// Appends `bytes` as one span.
    pub fn push(&mut self, bytes: &[u8], layer: Layer, phase: Phase, cause: Cause) {
        self.bytes.extend_from_slice(bytes);
        self.cover(bytes.len(), layer, phase, cause);
    }

    /// Appends `bytes`, which `spans` cover from end to end. Ignores bytes that no span covers.
    pub fn push_described(&mut self, bytes: &[u8], spans: &[Span]) {
        let mut rest = bytes;
        for span in spans {
            let (these, behind) = rest.split_at((span.len as usize).min(rest.len()));
            self.push(these, span.layer, span.phase, span.cause);
            rest = behind;
        }
    }

    /// Appends the bytes that `write` appends, as one span.
    pub fn push_with(&mut self, layer: Layer, phase: Phase, cause: Cause, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.bytes.len();
        write(&mut self.bytes);
        let written = self.bytes.len().saturating_sub(before);
        self.cover(written, layer, phase, cause);
    }

    /// Appends a span without bytes, which describes consumed bytes.
    pub fn cover(&mut self, len: usize, layer: Layer, phase: Phase, cause: Cause) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        self.cover_span(Span {
            len,
            layer,
            phase,
            cause,
        });
    }

    /// Appends spans without bytes.
    pub fn cover_spans(&mut self, spans: &[Span]) {
        spans.iter().for_each(|span| self.cover_span(*span));
    }

    /// Appends one span, merged into the last one where both are of the same kind.
    pub fn cover_span(&mut self, span: Span) {
        if span.len == 0 {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.continues(&span) && last.len.checked_add(span.len).is_some() => {
                last.len += span.len;
            }
            _ => self.spans.push(span),
        }
    }

    /// The bytes to transmit.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes in `range`, for a change in place (a length field that is known last).
    pub fn bytes_mut(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        self.bytes.get_mut(range)
    }

    /// The spans, end to end, in byte order.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Removes the spans after the first `at`. The caller covers the same bytes with new spans.
    pub(crate) fn split_off_spans(&mut self, at: usize) -> Vec<Span> {
        self.spans.split_off(at.min(self.spans.len()))
    }

    /// Bytes covered by the spans.
    pub fn covered(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len)).sum()
    }

    /// Whether there is neither a byte nor a span.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.spans.is_empty()
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_adjacent_spans_of_one_kind() {
        let mut out = Buffer::new();
        out.push(b"ab", Layer::Application, Phase::Message, Cause::Original);
        out.push(b"c", Layer::Application, Phase::Message, Cause::Original);
        out.push(b"", Layer::Payload, Phase::Message, Cause::Original);
        out.push(b"defg", Layer::Payload, Phase::Message, Cause::Original);
        let lens: Vec<u32> = out.spans().iter().map(|span| span.len).collect();
        assert_eq!(lens, [3, 4]);
        assert_eq!(out.covered(), out.bytes().len() as u64);
    }

    #[test]
    fn does_not_merge_past_the_length_field() {
        let mut out = Buffer::new();
        let span = Span {
            len: u32::MAX,
            layer: Layer::Payload,
            phase: Phase::Message,
            cause: Cause::Original,
        };
        out.cover_span(span);
        out.cover_span(span);
        assert_eq!(out.spans().len(), 2);
    }
}
