//! What a server may send to an address before a cookie has proven that the client is there (RFC 6347 section 4.2.1, RFC 9147
//! section 5.1): no more than the client has sent, and nothing because time passes.

use wirecost_proto::Instant;

use super::cookie::extensions;
use super::fields::Reader;
use super::record::records;

/// The type of a ServerHello.
const SERVER_HELLO: u8 = 2;
/// The random of the ServerHello that is a HelloRetryRequest (RFC 8446 section 4.1.3).
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A connection of a server whose client has yet to return its cookie.
#[derive(Debug)]
pub(super) struct Unproven {
    /// The bytes that the client has sent, without those that were sent to it.
    credit: usize,
    /// When the server forgets the client.
    pub(super) until: Instant,
    /// Whether the client was asked for another key share: what it sends next is not its first ClientHello again.
    pub(super) asks_for_share: bool,
}

impl Unproven {
    /// The client has sent nothing yet.
    pub(super) fn new(until: Instant) -> Self {
        Self {
            credit: 0,
            until,
            asks_for_share: false,
        }
    }

    /// The client has sent a datagram of `bytes`.
    pub(super) fn received(&mut self, bytes: usize) {
        self.credit = self.credit.saturating_add(bytes);
    }

    /// Whether a datagram of `bytes` may be sent. It then counts.
    pub(super) fn may_send(&mut self, bytes: usize) -> bool {
        let left = self.credit.checked_sub(bytes);
        self.credit = left.unwrap_or(self.credit);
        left.is_some()
    }
}

/// Whether a datagram is a HelloRetryRequest that asks for a key share on another group (RFC 8446 section 4.2.8).
pub(super) fn asks_for_share(datagram: &[u8]) -> bool {
    const KEY_SHARE: u16 = 51;
    let asked = || {
        let message = records(datagram).next()?.message()?;
        let mut reader = Reader::new(message.body);
        let (_version, random): ([u8; 2], [u8; 32]) = (reader.array()?, reader.array()?);
        let (_session, _suite, _compression) =
            (reader.vector(1)?, reader.array::<2>()?, reader.array::<1>()?);
        let extensions = extensions(reader.vector(2)?)?;
        let is_retry = message.piece.message == SERVER_HELLO && random == RETRY_RANDOM;
        Some(is_retry && extensions.iter().any(|(number, _)| *number == KEY_SHARE))
    };
    asked().unwrap_or(false)
}

/// Whether a datagram of a server that asks for cookies says that the client has returned its own: the server answers no other
/// client with a ServerHello.
pub(super) fn has_answered(datagram: &[u8]) -> bool {
    let message = records(datagram).next().and_then(|record| record.message());
    message.is_some_and(|message| {
        // The random follows the version.
        let is_retry = message
            .body
            .get(2..34)
            .is_some_and(|random| *random == RETRY_RANDOM);
        message.piece.message == SERVER_HELLO && message.piece.offset == 0 && !is_retry
    })
}
