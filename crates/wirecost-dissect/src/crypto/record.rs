//! Records of TLS 1.2 and DTLS 1.2.

use super::aead::{NONCE_BYTES, nonce};
use super::schedule::Keys;
use super::suite::{Cipher, Suite};

/// Decrypts the body of a TLS 1.2 or DTLS 1.2 record in place and returns where the plaintext starts and ends. For
/// DTLS, `sequence` is the epoch followed by the sequence number. `header` starts with content type and version. `id` is
/// the connection ID of a DTLS record, empty if it has none.
pub(crate) fn open_1_2(
    suite: Suite,
    keys: &Keys,
    sequence: &[u8; 8],
    (header, id): (&[u8], &[u8]),
    body: &mut [u8],
) -> Option<(usize, usize)> {
    let start = NONCE_BYTES - suite.cipher.fixed_iv_bytes();
    let plain = body.len().checked_sub(start + suite.cipher.tag_bytes())?;
    let nonce = match suite.cipher {
        // RFC 7905 section 2.
        Cipher::Chacha20Poly1305 => nonce(keys.iv, u64::from_be_bytes(*sequence)),
        // RFC 5288 section 3, RFC 6655 section 3: the explicit part is before the ciphertext.
        _ => {
            let mut nonce = keys.iv;
            let explicit = body.get(..start)?;
            nonce
                .iter_mut()
                .skip(NONCE_BYTES - start)
                .zip(explicit)
                .for_each(|(to, from)| *to = *from);
            nonce
        }
    };
    // RFC 5246 section 6.2.3.3: sequence number, type, version, length of the plaintext.
    let length = u16::try_from(plain).ok()?.to_be_bytes();
    let [kind, major, minor, ..] = *header else {
        return None;
    };
    let aad = if id.is_empty() {
        [&sequence[..], &[kind, major, minor], &length].concat()
    } else {
        // RFC 9146 section 5.3: a placeholder, then type, length of the ID, type, and the fields of the record.
        let id_bytes = u8::try_from(id.len()).ok()?;
        let fixed = [kind, id_bytes, kind, major, minor];
        [&[0xff; 8][..], &fixed, sequence, id, &length].concat()
    };
    keys.key.open(nonce, &aad, body.get_mut(start..)?)?;
    Some((start, start + plain))
}
