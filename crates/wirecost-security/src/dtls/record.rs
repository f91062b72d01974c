//! A view of the records in a datagram: DTLS 1.2 (RFC 6347 section 4.1) and DTLS 1.3 (RFC 9147 section 4).

/// Bytes of a DTLS 1.2 record header, which plaintext records of DTLS 1.3 have as well.
pub(super) const HEADER_BYTES: usize = 13;
/// Bytes of a handshake message's header (RFC 6347 section 4.2.2).
const MESSAGE_HEADER_BYTES: usize = 12;

/// The types of content that are told apart (RFC 9147 section 4.1).
pub mod content {
    /// Tells the peer to use what was agreed on, in DTLS 1.2.
    pub const CHANGE_CIPHER_SPEC: u8 = 20;
    /// An alert.
    pub const ALERT: u8 = 21;
    /// Handshake messages.
    pub const HANDSHAKE: u8 = 22;
    /// What the endpoint within sends.
    pub const APPLICATION_DATA: u8 = 23;
    /// Records received, in DTLS 1.3 (RFC 9147 section 7).
    pub const ACK: u8 = 26;
}

/// The handshake message that opens a connection.
const CLIENT_HELLO: u8 = 1;
/// RFC 7685: fills a ClientHello up.
const PADDING_EXTENSION: u16 = 21;

/// How a record is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In the clear.
    Plaintext {
        /// The type of its content.
        content: u8,
    },
    /// Protected by DTLS 1.2.
    Protected12 {
        /// The type of its content, which DTLS 1.2 does not hide.
        content: u8,
    },
    /// Protected by DTLS 1.3 behind the unified header.
    Protected13 {
        /// The last two bits of its epoch.
        epoch: u8,
    },
    /// Not a record: the rest of the datagram.
    Unknown,
}

/// One record of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// How it is written.
    pub form: Form,
    /// The record whole.
    pub bytes: &'a [u8],
    /// Bytes of the header.
    pub header: usize,
}

impl<'a> Record<'a> {
    /// What follows the header.
    pub fn body(&self) -> &'a [u8] {
        self.bytes.get(self.header..).unwrap_or_default()
    }

    /// The last 8 bytes: of a protected record the end of its tag, which tells it from every other.
    pub(super) fn tag(&self) -> [u8; 8] {
        last_eight(self.bytes)
    }

    /// The type of the first handshake message of a plaintext record (RFC 9147 section 5.2).
    pub fn handshake_type(&self) -> Option<u8> {
        self.message().map(|message| message.piece.message)
    }

    /// The first handshake message of a plaintext record.
    pub(super) fn message(&self) -> Option<Message<'a>> {
        match self.form {
            Form::Plaintext {
                content: content::HANDSHAKE,
            } => Message::parse(self.body()),
            _ => None,
        }
    }
}

/// The records of `datagram`, end to end; bytes that are none come last, as one of unknown form.
pub fn records(datagram: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let record = split(rest)?;
        rest = rest.get(record.bytes.len()..).unwrap_or_default();
        Some(record)
    })
}

fn split(bytes: &[u8]) -> Option<Record<'_>> {
    let first = *bytes.first()?;
    // RFC 9147 section 4: 001 in the highest bits is the unified header, anything else a plaintext or DTLS 1.2 record.
    let record = match first >> 5 {
        1 => split_unified(bytes, first),
        _ => split_classic(bytes, first),
    };
    Some(record.unwrap_or(Record {
        form: Form::Unknown,
        bytes,
        header: bytes.len(),
    }))
}

fn split_classic(bytes: &[u8], content: u8) -> Option<Record<'_>> {
    let header = bytes.get(..HEADER_BYTES)?;
    // Both versions write 254 as their major version (RFC 6347 section 4.1).
    if !(content::CHANGE_CIPHER_SPEC..=content::ACK).contains(&content) || header[1] != 254 {
        return None;
    }
    let length = usize::from(u16::from_be_bytes([header[11], header[12]]));
    let form = match [header[3], header[4]] {
        [0, 0] => Form::Plaintext { content },
        _ => Form::Protected12 { content },
    };
    Some(Record {
        form,
        bytes: bytes.get(..HEADER_BYTES + length)?,
        header: HEADER_BYTES,
    })
}

/// The unified header is `001CSLEE`: connection ID, two bytes of sequence number, length present, epoch
/// (RFC 9147 section 4). Only its owner knows how long a connection ID is, and our endpoints have none.
fn split_unified(bytes: &[u8], first: u8) -> Option<Record<'_>> {
    const CONNECTION_ID: u8 = 0x10;
    const LONG_SEQUENCE: u8 = 0x08;
    const LENGTH: u8 = 0x04;
    if first & CONNECTION_ID != 0 {
        return None;
    }
    let length_at = if first & LONG_SEQUENCE == 0 { 2 } else { 3 };
    let (header, end) = match first & LENGTH {
        0 => (length_at, bytes.len()),
        _ => {
            let length = bytes.get(length_at..length_at + 2)?;
            let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
            (length_at + 2, length_at + 2 + length)
        }
    };
    Some(Record {
        form: Form::Protected13 { epoch: first & 3 },
        bytes: bytes.get(..end)?,
        header,
    })
    .filter(|record| record.header <= record.bytes.len())
}

/// The end of `bytes`, with zeros before it where there are fewer than 8.
pub(super) fn last_eight(bytes: &[u8]) -> [u8; 8] {
    let end = bytes.get(bytes.len().saturating_sub(8)..).unwrap_or_default();
    let mut tag = [0; 8];
    tag[8 - end.len()..].copy_from_slice(end);
    tag
}

/// A part of the handshake that is sent as one record, by what a repetition of it repeats (RFC 6347 section 4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) content: u8,
    pub(super) message: u8,
    pub(super) sequence: u16,
    pub(super) offset: u32,
}

impl Piece {
    /// The piece of handshake that a record of this `content` begins with.
    pub(super) fn of(content: u8, plaintext: &[u8]) -> Option<Self> {
        match content {
            content::HANDSHAKE => Message::parse(plaintext).map(|message| message.piece),
            content::CHANGE_CIPHER_SPEC => Some(Self {
                content,
                message: 0,
                sequence: 0,
                offset: 0,
            }),
            _ => None,
        }
    }
}

/// Pieces of the handshake that one side has sent.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<Piece>);

impl Pieces {
    /// Most that are remembered: more than the flights of a handshake have in fragments of the smallest MTU. Anyone can
    /// send plaintext records of more, on an established connection as well.
    const REMEMBERED: usize = 512;

    /// Takes note of a piece; whether it was not seen before, as far as that is remembered.
    pub(super) fn note(&mut self, piece: Piece) -> bool {
        let is_new = !self.0.contains(&piece);
        if is_new && self.0.len() < Self::REMEMBERED {
            self.0.push(piece);
        }
        is_new
    }

    /// Whether a piece of this message was seen.
    pub(super) fn has_message(&self, message: u8) -> bool {
        self.0.iter().any(|piece| piece.message == message)
    }

    /// Gives memory back that only the handshake needed.
    pub(super) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }
}

/// A handshake message, or the fragment of one that a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub(super) piece: Piece,
    /// What follows the message's header.
    body: &'a [u8],
    /// Bytes of the message without header.
    length: usize,
}

impl<'a> Message<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let header = bytes.get(..MESSAGE_HEADER_BYTES)?;
        let number = |at: usize| u32::from_be_bytes([0, header[at], header[at + 1], header[at + 2]]);
        let fragment = usize::try_from(number(9)).ok()?;
        Some(Self {
            piece: Piece {
                content: content::HANDSHAKE,
                message: header[0],
                sequence: u16::from_be_bytes([header[4], header[5]]),
                offset: number(6),
            },
            body: bytes.get(MESSAGE_HEADER_BYTES..MESSAGE_HEADER_BYTES + fragment)?,
            length: usize::try_from(number(1)).ok()?,
        })
    }

    /// The client's random, where this is the beginning of a ClientHello (RFC 6347 section 4.2.1: behind the version).
    pub(super) fn client_random(&self) -> Option<[u8; 32]> {
        if self.piece.message != CLIENT_HELLO || self.piece.offset != 0 {
            return None;
        }
        self.body.get(2..34)?.try_into().ok()
    }

    /// Bytes of padding at the end of a ClientHello that is not fragmented (RFC 7685).
    pub(super) fn padding(&self) -> usize {
        self.padding_extension().unwrap_or(0)
    }

    fn padding_extension(&self) -> Option<usize> {
        if self.piece.message != CLIENT_HELLO || self.body.len() != self.length {
            return None;
        }
        // Behind version and random: session ID, cookie, cipher suites and compression methods, each behind its length.
        let mut rest = self.body.get(34..)?;
        for length_bytes in [1, 1, 2, 1] {
            let (length, behind) = rest.split_at_checked(length_bytes)?;
            let length = length
                .iter()
                .fold(0, |number, byte| number << 8 | usize::from(*byte));
            rest = behind.get(length..)?;
        }
        rest = rest.get(2..)?;
        let mut last = None;
        while let Some((head, behind)) = rest.split_at_checked(4) {
            let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
            last = Some((u16::from_be_bytes([head[0], head[1]]), 4 + length));
            rest = behind.get(length..)?;
        }
        last.filter(|(extension, _)| *extension == PADDING_EXTENSION)
            .map(|(_, bytes)| bytes)
    }
}

/// The client's random of a datagram that begins with a ClientHello: a connection that someone wants to open.
pub(super) fn client_hello(datagram: &[u8]) -> Option<[u8; 32]> {
    records(datagram).next()?.message()?.client_random()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_told_apart_and_no_flood_of_them_is_kept() {
        let mut pieces = Pieces::default();
        let piece = |offset| Piece {
            content: content::HANDSHAKE,
            message: CLIENT_HELLO,
            sequence: 0,
            offset,
        };
        assert!(pieces.note(piece(0)));
        for offset in 1..100_000 {
            assert!(pieces.note(piece(offset)));
        }
        assert!(pieces.0.len() <= Pieces::REMEMBERED);
        assert!(!pieces.note(piece(0)));
        assert!(pieces.has_message(CLIENT_HELLO) && !pieces.has_message(11));
    }
}
