//! QUIC: decrypts a connection's packets with its secrets. The observer of `wirecost-http` describes them.

use wirecost_http::http3::open::{Opener, Secrets};
use wirecost_proto::{Buffer, Direction};

use crate::span_list::{Piece, SpanList};

/// State of one connection.
pub(crate) struct Quic {
    opener: Opener,
    spans: Buffer,
    has_opened: bool,
}

impl std::fmt::Debug for Quic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Quic")
    }
}

impl Default for Quic {
    fn default() -> Self {
        Self {
            opener: Opener::new(),
            spans: Buffer::new(),
            has_opened: false,
        }
    }
}

/// Whether a datagram starts with a long header of QUIC version 1 (RFC 9000 section 17.2).
pub(super) fn is_long_header(bytes: &[u8]) -> bool {
    matches!(bytes, [0xc0..=0xff, 0, 0, 0, 1, ..])
}

/// Whether a datagram is a Version Negotiation or a Retry packet. Neither is encrypted (RFC 9000 sections 17.2.1 and
/// 17.2.5).
fn is_unprotected(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0x80..=0xff, 0, 0, 0, 0, ..] | [0xf0..=0xff, 0, 0, 0, 1, ..]
    )
}

impl Quic {
    /// The protocol's name.
    pub(crate) const fn label(&self) -> &'static str {
        if self.has_opened { "HTTP/3" } else { "QUIC" }
    }

    pub(crate) fn describe(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        secrets: &Secrets,
        out: &mut SpanList,
    ) {
        self.spans.clear();
        let opened = self.opener.datagram(direction, bytes, secrets, &mut self.spans);
        // RFC 9000 section 17.3: packets with short headers follow the handshake. The handshake alone does not show
        // the protocol.
        self.has_opened |= opened
            .iter()
            .any(|packet| bytes.get(packet.range.start).is_some_and(|first| first >> 7 == 0));
        let whole = is_unprotected(bytes);
        let mut at = 0;
        for span in self.spans.spans() {
            let end = at + span.len as usize;
            while at < end {
                // A span may cover several packets of which only some were decrypted.
                let packet = opened.iter().find(|packet| packet.range.end > at);
                let (known, until) = match packet {
                    Some(packet) if packet.range.start <= at => (true, packet.range.end),
                    Some(packet) => (whole, packet.range.start),
                    None => (whole, end),
                };
                let until = until.min(end);
                let mut span = *span;
                span.len = u32::try_from(until - at).unwrap_or(u32::MAX);
                out.push_piece(Piece { span, known });
                at = until;
            }
        }
    }
}
