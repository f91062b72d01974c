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

use wirecost_proto::{BothWays, Cause, Direction, Layer, Phase};
use wirecost_security::dtls::record::{Form, Message, Piece, Pieces, Record, content, records_with};

use super::Datagrams;
use crate::crypto::record::open_1_2;
use crate::crypto::schedule::Keys;
use crate::crypto::suite::Suite;
use crate::handshakes::TlsHandshake;
use crate::hello::{Handshake, ServerHello, client_id_bytes, handshake_type};
use crate::ordered::Ordered;
use crate::sender::Sender;
use crate::server_flight::ServerFlight;
use crate::span_list::{Purpose, SpanList};
use crate::stream::Context;

#[derive(Debug)]
pub(crate) struct Dtls {
    inner: Datagrams,
    handshake: Handshake,
    /// Bytes of the connection IDs in the records of each direction; 0 if they have none (RFC 9146).
    id_bytes: BothWays<usize>,
    protection: Option<Result<(Suite, BothWays<Keys>), &'static str>>,
    pieces: BothWays<Pieces>,
    spans: SpanList,
    opaque: Option<&'static str>,
    flight: ServerFlight,
    /// The fragments of the server's message at hand, by its number.
    fragments: Option<(u16, Ordered)>,
    ending: Ending,
}

/// How the server's flight of DTLS 1.2 ends: a resumed one at once (RFC 5246 section 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    #[default]
    NotSeen,
    ServerHelloDone,
    ChangeCipherSpec,
}

const DTLS_1_3: u16 = 0xfefc;

/// Whether a datagram starts with a record: a known content type and version 1.0 or 1.2, or the header of DTLS 1.3
/// (RFC 9147 section 4.1).
pub(super) fn is_record(bytes: &[u8]) -> bool {
    matches!(bytes, [20..=26, 0xfe, 0xfd | 0xff, ..])
}

/// Who sends a datagram that starts with a record of a handshake: its first message tells (RFC 6347 section 4.3.2).
pub(super) fn sender(bytes: &[u8]) -> Option<Sender> {
    const HEADER_BYTES: usize = 13;
    match (bytes.first()?, *bytes.get(HEADER_BYTES)?) {
        (22, handshake_type::CLIENT_HELLO) => Some(Sender::Client),
        // HelloVerifyRequest.
        (22, handshake_type::SERVER_HELLO | 3) => Some(Sender::Server),
        _ => None,
    }
}

impl Dtls {
    pub(crate) fn new(server_port: u16) -> Self {
        Self {
            inner: Datagrams::inside(server_port),
            handshake: Handshake::default(),
            id_bytes: BothWays::default(),
            protection: None,
            pieces: BothWays::default(),
            spans: SpanList::default(),
            opaque: None,
            flight: ServerFlight::default(),
            fragments: None,
            ending: Ending::default(),
        }
    }

    /// What the handshake had; `None` until ServerHello.
    pub(crate) fn handshake(&self) -> Option<TlsHandshake> {
        let hello = self.handshake.server_hello.as_ref()?;
        let is_resumed = match hello.version {
            DTLS_1_3 => hello.takes_psk,
            _ => self.ending == Ending::ChangeCipherSpec,
        };
        Some(self.flight.handshake(hello, is_resumed))
    }

    /// The protocol inside and the DTLS version.
    pub(crate) fn label(&self) -> String {
        let version = match self.handshake.version() {
            Some(DTLS_1_3) => "DTLS 1.3",
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
        // A hello decides the length of the connection IDs behind it.
        while let Some(record) = records_with(rest, self.id_bytes[direction]).next() {
            rest = rest.get(record.bytes.len()..).unwrap_or_default();
            match record.form {
                Form::Plaintext { content } => self.plain(direction, content, &record, out),
                Form::Protected12 { .. } | Form::ConnectionId => {
                    self.protected(direction, &record, context, out);
                }
                Form::Protected13 { epoch: 2 } => {
                    out.push(record.bytes.len(), Layer::Security, Purpose::CONNECT);
                }
                Form::Protected13 { .. } => {
                    self.leave_out(&record, "encrypted, DTLS 1.3 is not supported", out)
                }
                Form::Unknown => {
                    self.opaque = Some("not a DTLS record");
                    out.leave_out(record.bytes.len() as u64);
                }
            }
        }
    }

    fn plain(&mut self, direction: Direction, content: u8, record: &Record<'_>, out: &mut SpanList) {
        let message = record.message();
        if let Some(message) = &message {
            self.learn(message);
            if direction == Direction::Down {
                self.read_flight(message);
            }
        }
        if (direction, content) == (Direction::Down, content::CHANGE_CIPHER_SPEC) {
            self.end_flight(Ending::ChangeCipherSpec);
        }
        let padding = message.map_or(0, |message| message.padding());
        let purpose = self.purpose(direction, content, record.body());
        out.push(record.bytes.len() - padding, Layer::Security, purpose);
        let cause = match purpose.cause {
            Cause::Original => Cause::Probe,
            again => again,
        };
        out.push(padding, Layer::Security, Purpose { cause, ..purpose });
    }

    /// Learns the parameters of the keys from a handshake message or from its first fragment.
    fn learn(&mut self, message: &Message<'_>) {
        if message.piece.offset != 0 {
            return;
        }
        match message.piece.message {
            handshake_type::CLIENT_HELLO => {
                self.handshake.client_random = message.client_random();
                // Each side says which ID it wants to receive.
                self.id_bytes[Direction::Down] = client_id_bytes(message.body);
            }
            handshake_type::SERVER_HELLO => {
                let id_bytes = ServerHello::connection_id_bytes(message.body);
                self.id_bytes[Direction::Up] = id_bytes.unwrap_or(0);
                if id_bytes.is_none() {
                    self.id_bytes[Direction::Down] = 0;
                }
                let hello = self.flight.hello(message.body);
                self.handshake.server_hello = hello.or(self.handshake.server_hello);
                self.protection = None;
            }
            _ => {}
        }
    }

    /// Reads a fragment of what the server sends in the clear after ServerHello. Fragments of one message come before those of the next,
    /// unless they are late; then the message stays unknown.
    fn read_flight(&mut self, message: &Message<'_>) {
        let piece = message.piece;
        match piece.message {
            handshake_type::CERTIFICATE
            | handshake_type::SERVER_KEY_EXCHANGE
            | handshake_type::HELLO_VERIFY_REQUEST => {}
            handshake_type::SERVER_HELLO_DONE => return self.end_flight(Ending::ServerHelloDone),
            _ => return,
        }
        let (number, fragments) = self
            .fragments
            .get_or_insert_with(|| (piece.sequence, Ordered::default()));
        if *number != piece.sequence {
            (*number, *fragments) = (piece.sequence, Ordered::default());
        }
        fragments.add(piece.offset.into(), message.body);
        if fragments.front().len() == message.length {
            self.flight.message(piece.message, fragments.front(), false);
            self.fragments = None;
        }
    }

    fn end_flight(&mut self, ending: Ending) {
        if self.ending == Ending::NotSeen {
            self.ending = ending;
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
        plain.extend_from_slice(record.body());
        // The type of a record with a connection ID is encrypted, and in most of them that of application data.
        let outer = match record.form {
            Form::Protected12 { content } => content,
            _ => content::APPLICATION_DATA,
        };
        match self.open(direction, record, &mut plain, context) {
            Ok((content, start, end)) if content == content::APPLICATION_DATA => {
                let trailer = plain.len() - end;
                let inner = plain.get(start..end).unwrap_or_default();
                self.application_data(direction, (record.header + start, inner, trailer), context, out);
            }
            Ok((content, start, end)) => {
                let purpose = self.purpose(direction, content, plain.get(start..end).unwrap_or_default());
                out.push(record.bytes.len(), Layer::Security, purpose);
            }
            // The content type is not encrypted. Only application data is left out.
            Err(why) if outer == content::APPLICATION_DATA => self.leave_out(record, why, out),
            Err(_) if outer == content::ALERT => {
                out.push(record.bytes.len(), Layer::Security, Purpose::CLOSE);
            }
            Err(_) => out.push(record.bytes.len(), Layer::Security, Purpose::CONNECT),
        }
        *context.scratch = plain;
    }

    fn application_data(
        &mut self,
        direction: Direction,
        (before, inner, trailer): (usize, &[u8], usize),
        context: &mut Context<'_>,
        out: &mut SpanList,
    ) {
        self.spans.clear();
        self.inner.describe(direction, inner, context, &mut self.spans);
        let pieces = self.spans.pieces();
        let purpose = pieces.first().map_or(Purpose::MESSAGE, |piece| piece.purpose());
        out.push(before, Layer::Security, purpose);
        pieces.iter().for_each(|piece| out.push_piece(*piece));
        out.push(trailer, Layer::Security, purpose);
    }

    /// Leaves out the content of a record that cannot be decrypted.
    fn leave_out(&mut self, record: &Record<'_>, why: &'static str, out: &mut SpanList) {
        self.opaque = Some(why);
        out.push(record.header, Layer::Security, Purpose::MESSAGE);
        out.leave_out(record.body().len() as u64);
    }

    /// Decrypts a record. Returns its content type and where in `body` its content starts and ends.
    fn open(
        &mut self,
        direction: Direction,
        record: &Record<'_>,
        body: &mut [u8],
        context: &Context<'_>,
    ) -> Result<(u8, usize, usize), &'static str> {
        const WRONG: &str = "a record that its secrets do not decrypt";
        let handshake = &self.handshake;
        let derived = self
            .protection
            .get_or_insert_with(|| handshake.keys_1_2(context.secrets));
        let (suite, keys) = derived.as_ref().map_err(|why| *why)?;
        // RFC 6347 section 4.1: epoch and sequence number are in bytes 3 to 10.
        let sequence = record
            .bytes
            .get(3..)
            .and_then(|tail| tail.first_chunk())
            .ok_or(WRONG)?;
        let header = (record.bytes, record.connection_id());
        let keys = &keys[direction];
        let (start, end) = open_1_2(*suite, keys, sequence, header, body).ok_or(WRONG)?;
        if let Form::Protected12 { content } = record.form {
            return Ok((content, start, end));
        }
        // RFC 9146 section 4: the type follows the content, and zeros may follow the type.
        let plain = body.get(start..end).unwrap_or_default();
        let at = plain.iter().rposition(|byte| *byte != 0).ok_or(WRONG)?;
        Ok((plain[at], start, start + at))
    }

    fn purpose(&mut self, direction: Direction, content: u8, body: &[u8]) -> Purpose {
        match content {
            content::ALERT => Purpose::CLOSE,
            content::ACK => Purpose {
                cause: Cause::Acknowledgement,
                ..Purpose::CONNECT
            },
            content::HANDSHAKE | content::CHANGE_CIPHER_SPEC => {
                let piece = Piece::from_content(content, body);
                let is_new = piece.is_none_or(|piece| self.pieces[direction].note(piece));
                Purpose {
                    phase: Phase::Connect,
                    cause: if is_new {
                        Cause::Original
                    } else {
                        Cause::Retransmission
                    },
                }
            }
            _ => Purpose::MESSAGE,
        }
    }
}

#[cfg(test)]
mod tests;
