//! DTLS: records and the datagrams inside them. A key log decrypts DTLS 1.2. The content of DTLS 1.3 stays encrypted:
//! records of epoch 2 carry the handshake, later epochs carry application data (RFC 9147 section 6.1).
//!
//! | record | phase | cause |
//! |---|---|---|
//! | handshake, ChangeCipherSpec | connect | original; retransmission if the fragment was seen before |
//! | padding at the end of a ClientHello | connect | probe |
//! | ACK of DTLS 1.3 | connect | acknowledgement |
//! | alert | close | original |
//! | application data | those of the inner datagram | |

use std::collections::VecDeque;

use wirecost_proto::{Cause, Direction, Layer, Phase};

use super::Datagrams;
use crate::crypto::record::open_1_2;
use crate::crypto::schedule::Keys;
use crate::crypto::suite::Suite;
use crate::hello::{ServerHello, client_random, handshake_type, padding_bytes};
use crate::secrets::{Label, Secrets};
use crate::span_list::{Both, Purpose, SpanList};
use crate::stream::Context;

/// Bytes of a record's header (RFC 6347 section 4.1), and of a handshake message's (section 4.2.2).
const HEADER_BYTES: usize = 13;
const MESSAGE_HEADER_BYTES: usize = 12;

/// Handshake fragments remembered per direction, to recognize repetitions.
const REMEMBERED: usize = 64;

/// Content types (RFC 9147 section 4.1).
mod content_type {
    pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
    pub(super) const ALERT: u8 = 21;
    pub(super) const HANDSHAKE: u8 = 22;
    pub(super) const APPLICATION_DATA: u8 = 23;
    pub(super) const ACK: u8 = 26;
}

/// A handshake fragment: content type, message type, message number, fragment offset.
type Piece = (u8, u8, u16, u32);

#[derive(Debug)]
pub(crate) struct Dtls {
    inner: Datagrams,
    client_random: Option<[u8; 32]>,
    server_hello: Option<ServerHello>,
    protection: Option<Result<(Suite, [Keys; 2]), &'static str>>,
    pieces: Both<VecDeque<Piece>>,
    spans: SpanList,
    opaque: Option<&'static str>,
}

/// Whether a datagram starts with a record: a known content type and version 1.0 or 1.2, or the header of DTLS 1.3
/// (RFC 9147 section 4.1).
pub(super) fn is_record(bytes: &[u8]) -> bool {
    matches!(bytes, [20..=26, 0xfe, 0xfd | 0xff, ..])
}

/// A record with the header of DTLS 1.2, which DTLS 1.3 uses until it protects.
struct Record<'a> {
    header: &'a [u8; HEADER_BYTES],
    body: &'a [u8],
}

impl Record<'_> {
    const fn content_type(&self) -> u8 {
        self.header[0]
    }

    const fn is_protected(&self) -> bool {
        self.header[3] != 0 || self.header[4] != 0
    }

    /// Epoch and sequence number.
    fn sequence(&self) -> [u8; 8] {
        let mut sequence = [0; 8];
        sequence
            .iter_mut()
            .zip(&self.header[3..11])
            .for_each(|(to, from)| *to = *from);
        sequence
    }
}

impl Dtls {
    pub(crate) fn new(server_port: u16) -> Self {
        Self {
            inner: Datagrams::inside(server_port),
            client_random: None,
            server_hello: None,
            protection: None,
            pieces: Both::default(),
            spans: SpanList::default(),
            opaque: None,
        }
    }

    /// The protocol inside and the DTLS version.
    pub(crate) fn label(&self) -> String {
        let version = match self.server_hello.map(|hello| hello.version) {
            Some(0xfefc) => "DTLS 1.3",
            Some(0xfefd) => "DTLS 1.2",
            _ => "DTLS",
        };
        match &self.inner {
            Datagrams::Undecided => version.to_owned(),
            inner => format!("{} over {version}", inner.label()),
        }
    }

    /// Why bytes were left out.
    pub(crate) fn reason(&self) -> &'static str {
        self.opaque.unwrap_or_else(|| self.inner.reason())
    }

    pub(crate) fn describe(
        &mut self,
        direction: Direction,
        datagram: &[u8],
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) {
        let mut rest = datagram;
        while let Some(first) = rest.first() {
            // RFC 9147 section 4.1: the three highest bits of a unified header are 001.
            let taken = if first >> 5 == 1 {
                self.unified(rest, out)
            } else {
                self.record(direction, rest, context, out)
            };
            let Some(after) = taken.and_then(|taken| rest.get(taken..)) else {
                self.opaque = Some("not a DTLS record");
                out.leave_out(rest.len() as u64);
                return;
            };
            rest = after;
        }
    }

    /// Describes a protected DTLS 1.3 record (RFC 9147 section 4). Returns its length.
    fn unified(&mut self, bytes: &[u8], out: &mut SpanList) -> Option<usize> {
        const HAS_CONNECTION_ID: u8 = 0b0001_0000;
        const HAS_LONG_SEQUENCE: u8 = 0b0000_1000;
        const HAS_LENGTH: u8 = 0b0000_0100;
        let flags = *bytes.first()?;
        if flags & HAS_CONNECTION_ID != 0 {
            return None;
        }
        let sequence_end = if flags & HAS_LONG_SEQUENCE == 0 { 2 } else { 3 };
        let (header, len) = if flags & HAS_LENGTH == 0 {
            (sequence_end, bytes.len().checked_sub(sequence_end)?)
        } else {
            let length: &[u8; 2] = bytes.get(sequence_end..)?.first_chunk()?;
            (sequence_end + 2, usize::from(u16::from_be_bytes(*length)))
        };
        if bytes.len() < header + len {
            return None;
        }
        // The two lowest bits of the epoch. Epoch 2 protects the handshake.
        if flags & 0b11 == 2 {
            out.push(header + len, Layer::Security, Purpose::CONNECT);
        } else {
            self.opaque = Some("encrypted, DTLS 1.3 is not supported");
            out.push(header, Layer::Security, Purpose::MESSAGE);
            out.leave_out(len as u64);
        }
        Some(header + len)
    }

    /// Describes the record at the start of `bytes`. Returns its length.
    fn record(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) -> Option<usize> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let length = usize::from(u16::from_be_bytes([header[11], header[12]]));
        let record = Record {
            header,
            body: rest.get(..length)?,
        };
        if record.is_protected() {
            self.protected(direction, &record, context, out);
        } else {
            self.plain(direction, &record, out);
        }
        Some(HEADER_BYTES + length)
    }

    fn plain(&mut self, direction: Direction, record: &Record<'_>, out: &mut SpanList) {
        let bytes = HEADER_BYTES + record.body.len();
        let kind = record.content_type();
        if kind == content_type::HANDSHAKE {
            self.learn(record.body);
        }
        let padding = padding_of(record);
        let purpose = self.purpose(direction, kind, record.body);
        out.push(bytes - padding, Layer::Security, purpose);
        let probe = match purpose.cause {
            Cause::Original => Cause::Probe,
            again => again,
        };
        out.push(
            padding,
            Layer::Security,
            Purpose {
                cause: probe,
                ..purpose
            },
        );
    }

    /// Learns the parameters of the keys from a handshake message that is not fragmented, or from its first fragment.
    fn learn(&mut self, message: &[u8]) {
        let Some((header, body)) = message.split_first_chunk::<MESSAGE_HEADER_BYTES>() else {
            return;
        };
        if header[6..9] != [0; 3] {
            return;
        }
        match header[0] {
            handshake_type::CLIENT_HELLO => self.client_random = client_random(body),
            handshake_type::SERVER_HELLO => {
                let hello = ServerHello::parse(body).filter(|hello| !hello.is_retry());
                self.server_hello = hello.or(self.server_hello);
                self.protection = None;
            }
            _ => {}
        }
    }

    /// A protected record of DTLS 1.2.
    fn protected(
        &mut self,
        direction: Direction,
        record: &Record<'_>,
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) {
        let mut plain = std::mem::take(context.scratch);
        plain.clear();
        plain.extend_from_slice(record.body);
        let opened = self.open(direction, record, &mut plain, context.secrets);
        match opened {
            Ok((start, end)) => {
                let content = plain.get(start..end).unwrap_or_default();
                let trailer = plain.len() - end;
                self.content(
                    direction,
                    record.content_type(),
                    (start, content, trailer),
                    context,
                    out,
                );
            }
            Err(why) => self.closed(record, why, out),
        }
        *context.scratch = plain;
    }

    fn content(
        &mut self,
        direction: Direction,
        kind: u8,
        (start, content, trailer): (usize, &[u8], usize),
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) {
        if kind != content_type::APPLICATION_DATA {
            let purpose = self.purpose(direction, kind, content);
            out.push(
                HEADER_BYTES + start + content.len() + trailer,
                Layer::Security,
                purpose,
            );
            return;
        }
        self.spans.clear();
        self.inner.describe(direction, content, context, &mut self.spans);
        let first = self.spans.pieces().first();
        let purpose = first.map_or(Purpose::MESSAGE, |piece| Purpose {
            phase: piece.span.phase,
            cause: piece.span.cause,
        });
        out.push(HEADER_BYTES + start, Layer::Security, purpose);
        self.spans
            .pieces()
            .iter()
            .for_each(|piece| out.push_piece(*piece));
        out.push(trailer, Layer::Security, purpose);
    }

    /// Describes a record that cannot be decrypted. Its content type is not encrypted. Only application data is left
    /// out.
    fn closed(&mut self, record: &Record<'_>, why: &'static str, out: &mut SpanList) {
        let len = record.body.len();
        match record.content_type() {
            content_type::APPLICATION_DATA => {
                self.opaque = Some(why);
                out.push(HEADER_BYTES, Layer::Security, Purpose::MESSAGE);
                out.leave_out(len as u64);
            }
            content_type::ALERT => out.push(HEADER_BYTES + len, Layer::Security, Purpose::CLOSE),
            _ => out.push(HEADER_BYTES + len, Layer::Security, Purpose::CONNECT),
        }
    }

    fn open(
        &mut self,
        direction: Direction,
        record: &Record<'_>,
        body: &mut [u8],
        secrets: &Secrets,
    ) -> Result<(usize, usize), &'static str> {
        if self.protection.is_none() {
            self.protection = Some(self.derive(secrets));
        }
        match &self.protection {
            Some(Ok((suite, keys))) => {
                let opened = open_1_2(
                    *suite,
                    &keys[direction as usize],
                    &record.sequence(),
                    record.header,
                    body,
                );
                opened.ok_or("a record that its secrets do not decrypt")
            }
            Some(Err(why)) => Err(*why),
            None => Err("a handshake that was not captured"),
        }
    }

    fn derive(&self, secrets: &Secrets) -> Result<(Suite, [Keys; 2]), &'static str> {
        let (Some(random), Some(hello)) = (self.client_random, self.server_hello) else {
            return Err("a handshake that was not captured");
        };
        let suite = Suite::new(hello.suite).ok_or("an unsupported cipher suite")?;
        let master = secrets
            .find(&random, Label::Master)
            .ok_or("encrypted, no secrets")?;
        let keys =
            Keys::of_master_secret(suite, master, &random, &hello.random).ok_or("an invalid secret")?;
        Ok((suite, keys))
    }

    fn purpose(&mut self, direction: Direction, kind: u8, content: &[u8]) -> Purpose {
        match kind {
            content_type::ALERT => Purpose::CLOSE,
            content_type::ACK => Purpose {
                cause: Cause::Acknowledgement,
                ..Purpose::CONNECT
            },
            content_type::HANDSHAKE | content_type::CHANGE_CIPHER_SPEC => Purpose {
                phase: Phase::Connect,
                cause: self.cause_of_piece(direction, kind, content),
            },
            _ => Purpose::MESSAGE,
        }
    }

    /// Retransmission if the fragment was seen in this direction before. Remembers it.
    fn cause_of_piece(&mut self, direction: Direction, kind: u8, content: &[u8]) -> Cause {
        let piece = match content.first_chunk::<MESSAGE_HEADER_BYTES>() {
            Some([message, _, _, _, high, low, a, b, c, ..]) if kind == content_type::HANDSHAKE => {
                let number = u16::from_be_bytes([*high, *low]);
                (kind, *message, number, u32::from_be_bytes([0, *a, *b, *c]))
            }
            _ => (kind, 0, 0, 0),
        };
        let pieces = self.pieces.of_mut(direction);
        if pieces.contains(&piece) {
            return Cause::Retransmission;
        }
        if pieces.len() >= REMEMBERED {
            pieces.pop_front();
        }
        pieces.push_back(piece);
        Cause::Original
    }
}

/// Bytes of padding at the end of an unfragmented ClientHello (RFC 7685).
fn padding_of(record: &Record<'_>) -> usize {
    let Some((header, body)) = record.body.split_first_chunk::<MESSAGE_HEADER_BYTES>() else {
        return 0;
    };
    let is_hello =
        record.content_type() == content_type::HANDSHAKE && header[0] == handshake_type::CLIENT_HELLO;
    let length = u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
    if is_hello && body.len() == length {
        padding_bytes(body)
    } else {
        0
    }
}

#[cfg(test)]
mod tests;
