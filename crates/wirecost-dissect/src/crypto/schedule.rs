//! Keys from secrets.

use aws_lc_rs::{hkdf, hmac};

use super::aead::{Key, NONCE_BYTES};
use super::suite::{Hash, Suite};

/// The keys that decrypt one direction.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) key: Key,
    /// The IV. In TLS 1.2 with AES, only the first four bytes are derived.
    pub(crate) iv: [u8; NONCE_BYTES],
}

/// An output length for HKDF.
struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl Keys {
    /// Derives the keys from a traffic secret (RFC 8446 section 7.3).
    pub(crate) fn of_traffic_secret(suite: Suite, secret: &[u8]) -> Option<Self> {
        let mut key = [0; 32];
        let key = key.get_mut(..suite.cipher.key_bytes())?;
        expand_label(suite.hash, secret, b"key", key)?;
        let mut iv = [0; NONCE_BYTES];
        expand_label(suite.hash, secret, b"iv", &mut iv)?;
        Some(Self {
            key: Key::new(suite.cipher, key)?,
            iv,
        })
    }

    /// Derives the client's and the server's keys from a master secret (RFC 5246 section 6.3).
    pub(crate) fn of_master_secret(
        suite: Suite,
        master: &[u8],
        client_random: &[u8; 32],
        server_random: &[u8; 32],
    ) -> Option<[Self; 2]> {
        let (key_bytes, iv_bytes) = (suite.cipher.key_bytes(), suite.cipher.fixed_iv_bytes());
        let mut block = vec![0; 2 * (key_bytes + iv_bytes)];
        let seed = [b"key expansion".as_slice(), server_random, client_random].concat();
        prf(suite.hash, master, &seed, &mut block);
        let (keys, ivs) = block.split_at_checked(2 * key_bytes)?;
        let of = |side: usize| {
            let key = keys.chunks_exact(key_bytes).nth(side)?;
            let fixed = ivs.chunks_exact(iv_bytes).nth(side)?;
            let mut iv = [0; NONCE_BYTES];
            iv.iter_mut().zip(fixed).for_each(|(to, from)| *to = *from);
            let key = Key::new(suite.cipher, key)?;
            Some(Self { key, iv })
        };
        Some([of(0)?, of(1)?])
    }
}

/// The traffic secret after a key update (RFC 8446 section 7.2).
pub(crate) fn next_traffic_secret(hash: Hash, secret: &[u8]) -> Option<Vec<u8>> {
    let mut next = vec![0; secret.len()];
    expand_label(hash, secret, b"traffic upd", &mut next)?;
    Some(next)
}

/// HKDF-Expand-Label with an empty context (RFC 8446 section 7.1).
pub(crate) fn expand_label(hash: Hash, secret: &[u8], label: &[u8], out: &mut [u8]) -> Option<()> {
    let algorithm = match hash {
        Hash::Sha256 => hkdf::HKDF_SHA256,
        Hash::Sha384 => hkdf::HKDF_SHA384,
    };
    let length = u16::try_from(out.len()).ok()?.to_be_bytes();
    let label_length = [u8::try_from(b"tls13 ".len() + label.len()).ok()?];
    let info = [&length[..], &label_length, b"tls13 ", label, &[0]];
    let secret = hkdf::Prk::new_less_safe(algorithm, secret);
    let expanded = secret.expand(&info, Length(out.len())).ok()?;
    expanded.fill(out).ok()
}

/// P_hash over `seed`, which is the label followed by the seed (RFC 5246 section 5).
fn prf(hash: Hash, secret: &[u8], seed: &[u8], out: &mut [u8]) {
    let algorithm = match hash {
        Hash::Sha256 => hmac::HMAC_SHA256,
        Hash::Sha384 => hmac::HMAC_SHA384,
    };
    let key = hmac::Key::new(algorithm, secret);
    let mut a = hmac::sign(&key, seed);
    for chunk in out.chunks_mut(algorithm.digest_algorithm().output_len()) {
        let block = hmac::sign(&key, &[a.as_ref(), seed].concat());
        chunk
            .iter_mut()
            .zip(block.as_ref())
            .for_each(|(to, from)| *to = *from);
        a = hmac::sign(&key, a.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits
            .chunks(2)
            .map(|pair| (pair[0] << 4 | pair[1]) as u8)
            .collect()
    }

    #[test]
    fn derives_the_keys_of_rfc_8448() {
        // RFC 8448 section 3: the server's handshake traffic secret and its key and iv.
        let secret = hex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
        let (mut key, mut iv) = ([0; 16], [0; 12]);
        expand_label(Hash::Sha256, &secret, b"key", &mut key).unwrap();
        expand_label(Hash::Sha256, &secret, b"iv", &mut iv).unwrap();
        assert_eq!(key.as_slice(), hex("3fce516009c21727d0f2e4e86ee403bc"));
        assert_eq!(iv.as_slice(), hex("5d313eb2671276ee13000b30"));
    }

    #[test]
    fn the_sequence_number_is_laid_over_the_end_of_the_iv() {
        let nonce = super::super::aead::nonce([0xff; 12], 0x0102);
        assert_eq!(nonce[..10], [0xff; 10]);
        assert_eq!(nonce[10..], [0xfe, 0xfd]);
    }
}
