//! A view of the records in a datagram: DTLS 1.2 (RFC 6347 section 4.1) and DTLS 1.3 (RFC 9147 section 4).

use super::fields::HEADER_BYTES as MESSAGE_HEADER_BYTES;

/// Bytes of a connection ID that our server asks for. It is random, so that it collides with another one of a million
/// connections in less than one case in 10^8. Our client asks for an ID of zero bytes: it has one connection and needs
/// none (RFC 9146 section 3).
pub const CONNECTION_ID_BYTES: usize = 6;

/// The most plaintext bytes of a record (RFC 6347 section 4.1, RFC 8446 section 5.1). Longer datagrams are not sent.
pub const MAX_PLAINTEXT_BYTES: usize = 1 << 14;

/// Bytes of a DTLS 1.2 record header, which plaintext records of DTLS 1.3 have as well.
pub const HEADER_BYTES: usize = 13;

/// Content types that are distinguished (RFC 9147 section 4.1).
pub mod content {
    /// Switches to the negotiated keys, in DTLS 1.2.
    pub const CHANGE_CIPHER_SPEC: u8 = 20;
    /// An alert.
    pub const ALERT: u8 = 21;
    /// Handshake messages.
    pub const HANDSHAKE: u8 = 22;
    /// Data of the inner endpoint.
    pub const APPLICATION_DATA: u8 = 23;
    /// A protected record with a connection ID, whose content type is encrypted, in DTLS 1.2 (RFC 9146 section 4).
    pub const CONNECTION_ID: u8 = 25;
    /// Acknowledges records, in DTLS 1.3 (RFC 9147 section 7).
    pub const ACK: u8 = 26;
}

/// Index of the connection ID: behind type, version, epoch and sequence number.
const ID_AT: usize = 11;

/// The handshake message that opens a connection.
const CLIENT_HELLO: u8 = 1;
/// Padding of a ClientHello (RFC 7685).
const PADDING_EXTENSION: u16 = 21;

/// The form of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Not protected.
    Plaintext {
        /// The content type.
        content: u8,
    },
    /// Protected by DTLS 1.2.
    Protected12 {
        /// The content type, which DTLS 1.2 does not encrypt.
        content: u8,
    },
    /// Protected by DTLS 1.2, with a connection ID and an encrypted content type.
    ConnectionId,
    /// Protected by DTLS 1.3, with the unified header.
    Protected13 {
        /// The two lowest bits of its epoch.
        epoch: u8,
    },
    /// Not a record: the rest of the datagram.
    Unknown,
}

/// One record of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its form.
    pub form: Form,
    /// The whole record.
    pub bytes: &'a [u8],
    /// Bytes of the header.
    pub header: usize,
}

impl<'a> Record<'a> {
    /// The bytes after the header.
    pub fn body(&self) -> &'a [u8] {
        self.bytes.get(self.header..).unwrap_or_default()
    }

    /// Epoch (2 bytes) and sequence number (6 bytes) of a record that is not one of DTLS 1.3.
    pub fn number(&self) -> Option<u64> {
        let is_classic = !matches!(self.form, Form::Protected13 { .. } | Form::Unknown);
        let number = self.bytes.get(3..)?.first_chunk().filter(|_| is_classic)?;
        Some(u64::from_be_bytes(*number))
    }

    /// The connection ID, empty if the record has none.
    pub fn connection_id(&self) -> &'a [u8] {
        match self.form {
            Form::ConnectionId => self.bytes.get(ID_AT..self.header - 2).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The last 8 bytes. In a protected record they end the tag, which identifies the record.
    pub(super) fn tag(&self) -> [u8; 8] {
        last_eight(self.bytes)
    }

    /// The type of the first handshake message of a plaintext record (RFC 9147 section 5.2).
    pub fn handshake_type(&self) -> Option<u8> {
        self.message().map(|message| message.piece.message)
    }

    /// The first handshake message of a plaintext record.
    pub fn message(&self) -> Option<Message<'a>> {
        match self.form {
            Form::Plaintext {
                content: content::HANDSHAKE,
            } => Message::parse(self.body()),
            _ => None,
        }
    }
}

/// The consecutive records of `datagram`. Bytes that are not a record come last, as one of unknown form. A connection ID
/// has as many bytes as those of our servers: only its owner knows its length.
pub fn records(datagram: &[u8]) -> impl Iterator<Item = Record<'_>> {
    records_with(datagram, CONNECTION_ID_BYTES)
}

/// Like [`records`], with connection IDs of `id_bytes` bytes. If there are none, no record has one.
pub fn records_with(datagram: &[u8], id_bytes: usize) -> impl Iterator<Item = Record<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let record = split(rest, id_bytes)?;
        rest = rest.get(record.bytes.len()..).unwrap_or_default();
        Some(record)
    })
}

fn split(bytes: &[u8], id_bytes: usize) -> Option<Record<'_>> {
    let first = *bytes.first()?;
    // RFC 9147 section 4: a unified header starts with the bits 001. Anything else is an unprotected or DTLS 1.2
    // record.
    let record = match first >> 5 {
        1 => split_unified(bytes, first),
        _ if first == content::CONNECTION_ID => split_with_id(bytes, id_bytes),
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
    // Both versions have 254 as their major version (RFC 6347 section 4.1).
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

/// RFC 9146 section 4: the connection ID is before the length.
fn split_with_id(bytes: &[u8], id_bytes: usize) -> Option<Record<'_>> {
    let header = bytes.get(..HEADER_BYTES + id_bytes)?;
    let protected = header[1] == 254 && header[3..5] != [0, 0];
    if id_bytes == 0 || !protected {
        return None;
    }
    let length = header
        .last_chunk()
        .map_or(0, |length| u16::from_be_bytes(*length));
    Some(Record {
        form: Form::ConnectionId,
        bytes: bytes.get(..header.len() + usize::from(length))?,
        header: header.len(),
    })
}

/// The unified header is `001CSLEE`: connection ID, two bytes of sequence number, length present, epoch (RFC 9147
/// section 4). Only the owner of a connection ID knows its length, and our endpoints have none in DTLS 1.3.
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

/// The last 8 bytes of `bytes`, padded with leading zeros.
pub(super) fn last_eight(bytes: &[u8]) -> [u8; 8] {
    let end = bytes.get(bytes.len().saturating_sub(8)..).unwrap_or_default();
    let mut tag = [0; 8];
    tag[8 - end.len()..].copy_from_slice(end);
    tag
}

/// A handshake fragment that is sent as one record, identified as RFC 6347 section 4.2.2 identifies repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The content type.
    pub content: u8,
    /// The handshake type.
    pub message: u8,
    /// The message's number.
    pub sequence: u16,
    /// The fragment's offset.
    pub offset: u32,
}

impl Piece {
    /// The handshake fragment at the start of a record of this `content` type.
    pub fn from_content(content: u8, plaintext: &[u8]) -> Option<Self> {
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

/// The handshake fragments that one side has sent.
#[derive(Debug, Default)]
pub struct Pieces(Vec<Piece>);

impl Pieces {
    /// The most fragments remembered: more than a handshake has with the smallest MTU. Anyone can send more in
    /// unprotected records, even on an established connection.
    const REMEMBERED: usize = 512;

    /// Remembers a fragment. Returns whether it is new, as far as remembered.
    pub fn note(&mut self, piece: Piece) -> bool {
        let is_new = !self.0.contains(&piece);
        if is_new && self.0.len() < Self::REMEMBERED {
            self.0.push(piece);
        }
        is_new
    }

    /// Frees memory that only the handshake needed.
    pub(super) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }
}

/// A handshake message, or its fragment in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Identifies the fragment.
    pub piece: Piece,
    /// The bytes after the message's header.
    pub body: &'a [u8],
    /// Bytes of the whole message without header.
    pub length: usize,
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

    /// The client's random at the start of a ClientHello (RFC 6347 section 4.2.1: after the version).
    pub fn client_random(&self) -> Option<[u8; 32]> {
        if self.piece.message != CLIENT_HELLO || self.piece.offset != 0 {
            return None;
        }
        self.body.get(2..34)?.try_into().ok()
    }

    /// The body of an unfragmented ClientHello.
    pub(super) fn whole_client_hello(&self) -> Option<&'a [u8]> {
        (self.piece.message == CLIENT_HELLO && self.body.len() == self.length).then_some(self.body)
    }

    /// Bytes of padding at the end of an unfragmented ClientHello (RFC 7685).
    pub fn padding(&self) -> usize {
        self.padding_extension().unwrap_or(0)
    }

    fn padding_extension(&self) -> Option<usize> {
        if self.piece.message != CLIENT_HELLO || self.body.len() != self.length {
            return None;
        }
        // After version and random: session ID, cookie, cipher suites and compression methods, each after its length.
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

/// The client's random of a datagram that begins with a ClientHello.
pub(super) fn client_hello(datagram: &[u8]) -> Option<[u8; 32]> {
    records(datagram).next()?.message()?.client_random()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_remembered_fragments_is_limited() {
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
    }
}
