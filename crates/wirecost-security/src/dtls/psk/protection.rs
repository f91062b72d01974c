//! Protection of records by AES-128-CCM-8 (RFC 6655), with and without a connection ID (RFC 9146).

use aes::Aes128;
use ccm::Ccm;
use ccm::aead::{AeadInOut as _, KeyInit as _};
use ccm::consts::{U8, U12};

use super::prf::{Master, prf};
use crate::dtls::record::{HEADER_BYTES, content};

/// Bytes of the explicit part of a nonce (RFC 6655 section 3).
pub(super) const EXPLICIT_NONCE_BYTES: usize = 8;
/// Bytes of a tag.
pub(super) const TAG_BYTES: usize = 8;
const KEY_BYTES: usize = 16;
/// Bytes of the part of a nonce that the key block gives.
const SALT_BYTES: usize = 4;
/// The version in the headers of DTLS 1.2 (RFC 6347 section 4.1).
pub(super) const VERSION: [u8; 2] = [254, 253];

/// The key of one direction.
pub(super) struct RecordKey {
    cipher: Box<Ccm<Aes128, U8, U12>>,
    salt: [u8; SALT_BYTES],
}

/// The keys of both directions.
pub(super) struct KeyPair {
    pub(super) client: RecordKey,
    pub(super) server: RecordKey,
}

impl KeyPair {
    /// The key block (RFC 5246 section 6.3): two keys, then two salts.
    pub(super) fn derive(master: &Master, client_random: &[u8; 32], server_random: &[u8; 32]) -> Self {
        let mut block = [0; 2 * (KEY_BYTES + SALT_BYTES)];
        prf(
            master,
            "key expansion",
            &[server_random, client_random],
            &mut block,
        );
        let (keys, salts) = block.split_at(2 * KEY_BYTES);
        let key = |index: usize| RecordKey::new(&keys[index * KEY_BYTES..], &salts[index * SALT_BYTES..]);
        Self {
            client: key(0),
            server: key(1),
        }
    }
}

impl RecordKey {
    /// The key at the start of `key`, with the salt at the start of `salt`.
    fn new(key: &[u8], salt: &[u8]) -> Self {
        let mut bytes = [0; KEY_BYTES];
        bytes.copy_from_slice(&key[..KEY_BYTES]);
        let mut own = [0; SALT_BYTES];
        own.copy_from_slice(&salt[..SALT_BYTES]);
        Self {
            cipher: Box::new(Ccm::new(&bytes.into())),
            salt: own,
        }
    }

    /// Appends `plaintext` to `out` as a record. `number` is the epoch and the sequence number. With a connection ID the
    /// content type is encrypted behind the plaintext (RFC 9146 section 4).
    pub(super) fn seal(&self, content: u8, number: u64, id: &[u8], plaintext: &[u8], out: &mut Vec<u8>) {
        let inner = plaintext.len() + usize::from(!id.is_empty());
        let outer = if id.is_empty() {
            content
        } else {
            content::CONNECTION_ID
        };
        push_header(outer, number, id, EXPLICIT_NONCE_BYTES + inner + TAG_BYTES, out);
        let explicit = number.to_be_bytes();
        out.extend_from_slice(&explicit);
        let start = out.len();
        out.extend_from_slice(plaintext);
        if !id.is_empty() {
            out.push(content);
        }
        let aad = authenticated(outer, number, id, inner);
        let nonce = self.nonce(explicit);
        let body = &mut out[start..];
        // Fails only above the cipher's limit of 16 MiB, which no record reaches.
        if let Ok(tag) = self
            .cipher
            .encrypt_inout_detached(&nonce.into(), &aad, body.into())
        {
            out.extend_from_slice(&tag);
        }
    }

    /// Decrypts a record in place: `body` holds the bytes after its header, and afterwards the plaintext. Returns the
    /// content type, or `None` if the record is not authentic.
    pub(super) fn open(&self, outer: u8, number: u64, id: &[u8], body: &mut Vec<u8>) -> Option<u8> {
        let inner = body.len().checked_sub(EXPLICIT_NONCE_BYTES + TAG_BYTES)?;
        let nonce = self.nonce(*body.first_chunk()?);
        let aad = authenticated(outer, number, id, inner);
        let (text, tag) = body[EXPLICIT_NONCE_BYTES..].split_at_mut_checked(inner)?;
        let tag = (&*tag).try_into().ok()?;
        self.cipher
            .decrypt_inout_detached(&nonce.into(), &aad, text.into(), tag)
            .ok()?;
        body.drain(..EXPLICIT_NONCE_BYTES);
        body.truncate(inner);
        if outer != content::CONNECTION_ID {
            return Some(outer);
        }
        // RFC 9146 section 4: zeros may follow the type.
        let at = body.iter().rposition(|byte| *byte != 0)?;
        let content = body[at];
        body.truncate(at);
        Some(content)
    }

    fn nonce(&self, explicit: [u8; EXPLICIT_NONCE_BYTES]) -> [u8; SALT_BYTES + EXPLICIT_NONCE_BYTES] {
        let mut nonce = [0; SALT_BYTES + EXPLICIT_NONCE_BYTES];
        nonce[..SALT_BYTES].copy_from_slice(&self.salt);
        nonce[SALT_BYTES..].copy_from_slice(&explicit);
        nonce
    }
}

/// Appends a record's header for `length` bytes.
pub(super) fn push_header(outer: u8, number: u64, id: &[u8], length: usize, out: &mut Vec<u8>) {
    out.reserve(HEADER_BYTES + id.len() + length);
    out.push(outer);
    out.extend_from_slice(&VERSION);
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(id);
    out.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes());
}

/// The additional data of a record with `inner` bytes of plaintext: RFC 5246 section 6.2.3.3, or RFC 9146 section 5.3 if
/// the record has a connection ID.
fn authenticated(outer: u8, number: u64, id: &[u8], inner: usize) -> Vec<u8> {
    let length = u16::try_from(inner).unwrap_or(u16::MAX).to_be_bytes();
    let mut aad = Vec::with_capacity(23 + id.len());
    if outer == content::CONNECTION_ID {
        let id_bytes = u8::try_from(id.len()).unwrap_or(u8::MAX);
        aad.extend_from_slice(&[0xff; 8]);
        aad.extend_from_slice(&[outer, id_bytes, outer]);
        aad.extend_from_slice(&VERSION);
        aad.extend_from_slice(&number.to_be_bytes());
        aad.extend_from_slice(id);
    } else {
        aad.extend_from_slice(&number.to_be_bytes());
        aad.push(outer);
        aad.extend_from_slice(&VERSION);
    }
    aad.extend_from_slice(&length);
    aad
}
