//! QUIC: decrypts a connection's packets with its secrets. The observer of `wirecost-http` describes them. Versions other than 1
//! are named, not read. ServerHello can be read without secrets: everyone can derive the keys of Initial packets.

use wirecost_http::http3::open::{Opener, Secrets};
use wirecost_proto::{Buffer, Direction};

use crate::handshakes::TlsHandshake;
use crate::hello::{ServerHello, handshake_type, message};
use crate::ordered::Ordered;
use crate::sender::Sender;
use crate::server_flight::ServerFlight;
use crate::span_list::{Piece, SpanList};

/// The most bytes of a connection ID (RFC 9000 section 17.2).
const MAX_ID_BYTES: u8 = 20;

/// State of one connection.
pub(crate) struct Quic {
    opener: Opener,
    spans: Buffer,
    has_opened: bool,
    version: Version,
    /// The server's handshake in Initial packets, and in Handshake packets.
    pieces: [Ordered; 2],
    hello: Option<ServerHello>,
    flight: ServerFlight,
}

/// The version of a connection's packets with long headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// A Version Negotiation packet (RFC 9000 section 17.2.1).
    Negotiation,
    /// RFC 9000.
    One,
    /// RFC 9369.
    Two,
    /// A draft of RFC 9000, which took the numbers from 0xff000000 on.
    Draft,
    /// A number that makes a server negotiate the version (RFC 9000 section 15).
    Reserved,
}

impl std::fmt::Debug for Quic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Quic")
    }
}

/// The version of a datagram that starts with a long header (RFC 9000 section 17.2); `None` if it does not, or if the version is
/// not known.
pub(super) fn version(bytes: &[u8]) -> Option<Version> {
    let [first, a, b, c, d, rest @ ..] = bytes else {
        return None;
    };
    let number = u32::from_be_bytes([*a, *b, *c, *d]);
    if first >> 7 == 0 {
        return None;
    }
    let version = match number {
        0 => return is_negotiation(rest).then_some(Version::Negotiation),
        1 => Version::One,
        0x6b33_43cf => Version::Two,
        0xff00_0000..=0xff00_00ff => Version::Draft,
        _ if number & 0x0f0f_0f0f == 0x0a0a_0a0a => Version::Reserved,
        _ => return None,
    };
    // The second bit is fixed. A server that negotiates must not look at it.
    let has_id = rest.first().is_some_and(|id_bytes| *id_bytes <= MAX_ID_BYTES);
    (first & 0x40 != 0 && has_id).then_some(version)
}

/// Whether a Version Negotiation packet goes on like this: two connection IDs, and at least one version of four bytes.
fn is_negotiation(ids: &[u8]) -> bool {
    let after = |bytes: &'_ [u8]| {
        let (len, rest) = bytes.split_first()?;
        (*len <= MAX_ID_BYTES && rest.len() >= usize::from(*len)).then_some(usize::from(*len) + 1)
    };
    let Some(first) = after(ids) else { return false };
    let ids = ids.get(first..).unwrap_or_default();
    let Some(second) = after(ids) else { return false };
    let versions = ids.len() - second;
    versions > 0 && versions.is_multiple_of(4)
}

/// Who sends a datagram with a long header: a client begins with an Initial packet or 0-RTT, a server negotiates or retries.
pub(super) fn sender(bytes: &[u8]) -> Option<Sender> {
    let version = version(bytes)?;
    let first = bytes.first()?;
    // RFC 9369 section 3.2: version 2 has other numbers for the types.
    let kind = match version {
        Version::Negotiation => return Some(Sender::Server),
        Version::Two => (first >> 4).wrapping_sub(1) & 3,
        Version::One | Version::Draft | Version::Reserved => (first >> 4) & 3,
    };
    match kind {
        // RFC 9000 section 7.2: the first ID that a client sends to has at least 8 bytes.
        0 if bytes.get(5).is_some_and(|id_bytes| *id_bytes < 8) => Some(Sender::Server),
        0 | 1 => Some(Sender::Client),
        2 => None,
        _ => Some(Sender::Server),
    }
}

/// Whether a datagram is a Version Negotiation or a Retry packet. Neither is encrypted (RFC 9000 sections 17.2.1 and
/// 17.2.5).
fn is_unprotected(bytes: &[u8]) -> bool {
    is_retry(bytes) || matches!(bytes, [0x80..=0xff, 0, 0, 0, 0, ..])
}

/// Whether a datagram is a Retry packet of version 1 (RFC 9000 section 17.2.5).
fn is_retry(bytes: &[u8]) -> bool {
    matches!(bytes, [0xf0..=0xff, 0, 0, 0, 1, ..])
}

impl Quic {
    /// A connection whose first datagram has a long header of this version.
    pub(super) fn new(version: Version) -> Self {
        Self {
            opener: Opener::new(),
            spans: Buffer::new(),
            has_opened: false,
            version,
            pieces: Default::default(),
            hello: None,
            flight: ServerFlight::default(),
        }
    }

    /// What the handshake had; `None` until ServerHello.
    pub(super) fn handshake(&self) -> Option<TlsHandshake> {
        let hello = self.hello.as_ref()?;
        Some(self.flight.handshake(hello, hello.takes_psk))
    }

    /// Reads the messages of the server's handshake in the datagram that was opened last.
    fn read_flight(&mut self) {
        for piece in self.opener.server_pieces() {
            let ordered = &mut self.pieces[usize::from(!piece.is_initial)];
            ordered.add(piece.offset, &piece.bytes);
            while let Some((kind, body, after)) = message(ordered.front()) {
                match kind {
                    handshake_type::SERVER_HELLO => self.hello = self.flight.hello(body).or(self.hello),
                    _ => self.flight.message(kind, body, true),
                }
                let bytes = ordered.front().len() - after.len();
                ordered.take(bytes);
            }
        }
    }

    /// The protocol's name.
    pub(crate) const fn label(&self) -> &'static str {
        match self.version {
            _ if self.has_opened => "HTTP/3",
            Version::One => "QUIC",
            Version::Two => "QUIC version 2",
            Version::Draft => "QUIC draft",
            Version::Negotiation => "QUIC version negotiation",
            Version::Reserved => "QUIC of a reserved version",
        }
    }

    /// Why bytes were left out.
    pub(crate) const fn reason(&self) -> &'static str {
        match self.version {
            Version::One => "packets without matching secrets",
            Version::Two | Version::Draft | Version::Negotiation | Version::Reserved => "not supported",
        }
    }

    pub(crate) fn describe(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        secrets: &Secrets,
        out: &mut SpanList,
    ) {
        // A negotiation of the version says nothing about the packets after it.
        match version(bytes) {
            Some(Version::Negotiation) | None => {}
            Some(version) => self.version = version,
        }
        let whole = is_unprotected(bytes);
        if !whole && self.version != Version::One {
            out.leave_out(bytes.len() as u64);
            return;
        }
        self.spans.clear();
        let opened = self.opener.datagram(direction, bytes, secrets, &mut self.spans);
        self.read_flight();
        if is_retry(bytes) {
            self.flight.check_address();
        }
        // RFC 9000 section 17.3: packets with short headers follow the handshake. The handshake alone does not show
        // the protocol.
        self.has_opened |= opened
            .iter()
            .any(|packet| bytes.get(packet.range.start).is_some_and(|first| first >> 7 == 0));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_told_by_the_long_header() {
        let table: [(&[u8], Option<Version>); 8] = [
            (b"\xc3\0\0\0\x01\x08", Some(Version::One)),
            (b"\xd3\x6b\x33\x43\xcf\x08", Some(Version::Two)),
            (b"\xc3\xff\0\0\x1d\x08", Some(Version::Draft)),
            (b"\xc3\x1a\x2a\x3a\x4a\x08", Some(Version::Reserved)),
            (
                b"\x9a\0\0\0\0\x01i\x02jj\0\0\0\x01\x6b\x33\x43\xcf",
                Some(Version::Negotiation),
            ),
            (b"\x9a\0\0\0\0\x01i\x02jj\0\0\x01", None),
            (b"\x43\0\0\0\x01\x08", None),
            (b"\xc3\0\0\0\x01\x15", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(version(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_negotiation_does_not_hide_the_version_after_it() {
        let mut quic = Quic::new(Version::Reserved);
        let mut told = |direction, bytes: &[u8]| {
            let mut out = SpanList::default();
            quic.describe(direction, bytes, &Secrets::default(), &mut out);
            assert_eq!(out.bytes(), bytes.len() as u64);
            quic.label()
        };
        assert_eq!(
            told(Direction::Up, b"\xc3\x1a\x2a\x3a\x4a\x08"),
            "QUIC of a reserved version"
        );
        told(Direction::Down, b"\x9a\0\0\0\0\x01i\x02jj\0\0\0\x01");
        assert_eq!(told(Direction::Up, b"\xd3\x6b\x33\x43\xcf\x08"), "QUIC version 2");
        assert_eq!(quic.reason(), "not supported");
    }
}
