//! The nonce and the additional authenticated data of a message (RFC 8613 sections 5.2 and 5.4).

use super::context::{Id, NONCE_BYTES};
use crate::option::UintBytes;

/// The length of the longest Partial IV in bytes (RFC 8613 section 6.1).
pub(super) const MAX_PARTIAL_IV_BYTES: usize = 5;

/// A sender sequence number of 40 bits. Its encoding has as few bytes as possible, and at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartialIv(u64);

impl PartialIv {
    /// The first sequence number.
    pub const ZERO: Self = Self(0);
    /// The last sequence number of a key (RFC 8613 section 7.2.1).
    pub const MAX: Self = Self((1 << 40) - 1);

    /// The Partial IV of a sequence number, or `None` if it exceeds 40 bits.
    pub const fn new(number: u64) -> Option<Self> {
        if number <= Self::MAX.0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The Partial IV that these bytes encode, or `None` if they are not 1 to 5 bytes or begin with an unnecessary zero
    /// (RFC 8613 section 6.1).
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let shortest = bytes.len() == 1 || bytes.first().is_some_and(|first| *first != 0);
        if !shortest || bytes.len() > MAX_PARTIAL_IV_BYTES {
            return None;
        }
        let shift = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(Self(bytes.iter().fold(0, shift)))
    }

    /// The sequence number.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The encoding.
    pub fn bytes(self) -> UintBytes {
        match self.0 {
            0 => UintBytes::fixed(0, 1),
            number => UintBytes::new(number),
        }
    }

    /// The next sequence number, or `None` after the last.
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }
}

/// The nonce of a message with this Partial IV from the sender `id`.
pub(super) fn nonce(common_iv: &[u8; NONCE_BYTES], id: &Id, partial_iv: PartialIv) -> [u8; NONCE_BYTES] {
    // RFC 8613 section 5.2: the length of the id, the id padded to 7 B, the Partial IV padded to 5 B.
    let mut nonce = [0; NONCE_BYTES];
    let id = id.bytes();
    let number = partial_iv.value().to_be_bytes();
    let padded_id = id.iter().rev().zip((1..=7).rev());
    padded_id.for_each(|(byte, at)| nonce[at] = *byte);
    let padded_number = number.iter().rev().zip((8..NONCE_BYTES).rev());
    padded_number.for_each(|(byte, at)| nonce[at] = *byte);
    nonce[0] = id.len() as u8;
    let masked = nonce.iter_mut().zip(common_iv);
    masked.for_each(|(byte, mask)| *byte ^= mask);
    nonce
}

/// The additional authenticated data of a request and of its responses.
pub(super) struct Aad {
    bytes: [u8; Self::MAX],
    len: usize,
}

impl Aad {
    /// The length of the structure with at most 19 B of external data.
    const MAX: usize = 12 + 19;

    /// The data of the request from `kid` with this Partial IV.
    pub(super) fn new(kid: &Id, partial_iv: PartialIv) -> Self {
        let (kid, partial_iv) = (kid.bytes(), partial_iv.bytes());
        let partial_iv = partial_iv.bytes();
        let mut aad = Self {
            bytes: [0; Self::MAX],
            len: 0,
        };
        // RFC 9052 section 5.3: ["Encrypt0", no protected header, external_aad].
        aad.push(&[0x83, 0x68]);
        aad.push(b"Encrypt0");
        aad.push(&[0x40, 0x40 | (7 + kid.len() + partial_iv.len()) as u8]);
        // RFC 8613 section 5.4: [version 1, [AES-CCM-16-64-128], request_kid, request_piv, no class I options].
        aad.push(&[0x85, 0x01, 0x81, super::context::ALGORITHM]);
        aad.push_bytes(kid);
        aad.push_bytes(partial_iv);
        aad.push(&[0x40]);
        aad
    }

    /// Appends a CBOR byte string of at most 23 B.
    fn push_bytes(&mut self, bytes: &[u8]) {
        self.push(&[0x40 | bytes.len() as u8]);
        self.push(bytes);
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(bytes);
            self.len = end;
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}
