//! Keys from secrets.

use aws_lc_rs::hmac;
use wirecost_http::http3::open::expand_label;
use wirecost_proto::BothWays;

use super::aead::{Key, NONCE_BYTES};
use super::suite::Suite;

/// The keys that decrypt one direction.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) key: Key,
    /// The IV. In TLS 1.2 with AES, only the first four bytes are derived.
    pub(crate) iv: [u8; NONCE_BYTES],
}

impl Keys {
    /// Derives the keys from a traffic secret (RFC 8446 section 7.3).
    pub(crate) fn of_traffic_secret(suite: Suite, secret: &[u8]) -> Option<Self> {
        let key = expand_label(suite.hash, secret, "key", suite.cipher.key_bytes());
        let iv = expand_label(suite.hash, secret, "iv", NONCE_BYTES);
        Some(Self {
            key: Key::new(suite.cipher, &key)?,
            iv: iv.try_into().ok()?,
        })
    }

    /// Derives the client's and the server's keys from a master secret (RFC 5246 section 6.3).
    pub(crate) fn of_master_secret(
        suite: Suite,
        master: &[u8],
        client_random: &[u8; 32],
        server_random: &[u8; 32],
    ) -> Option<BothWays<Self>> {
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
        Some(BothWays {
            up: of(0)?,
            down: of(1)?,
        })
    }
}

/// P_hash over `seed`, which is the label followed by the seed (RFC 5246 section 5).
fn prf(hash: hmac::Algorithm, secret: &[u8], seed: &[u8], out: &mut [u8]) {
    let key = hmac::Key::new(hash, secret);
    let mut a = hmac::sign(&key, seed);
    for chunk in out.chunks_mut(hash.digest_algorithm().output_len()) {
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
        let key = expand_label(hmac::HMAC_SHA256, &secret, "key", 16);
        let iv = expand_label(hmac::HMAC_SHA256, &secret, "iv", 12);
        assert_eq!(key, hex("3fce516009c21727d0f2e4e86ee403bc"));
        assert_eq!(iv, hex("5d313eb2671276ee13000b30"));
    }

    #[test]
    fn the_sequence_number_is_xored_into_the_end_of_the_iv() {
        let nonce = super::super::aead::nonce([0xff; 12], 0x0102);
        assert_eq!(nonce[..10], [0xff; 10]);
        assert_eq!(nonce[10..], [0xfe, 0xfd]);
    }
}
