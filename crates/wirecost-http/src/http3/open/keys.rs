//! Keys of QUIC packets, derived from secrets (RFC 9001 section 5).

use aws_lc_rs::aead::quic::{self, HeaderProtectionKey};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;

/// A suite of TLS 1.3 that protects packets (RFC 9001 section 5.3).
#[derive(Clone, Copy)]
pub(super) struct Suite {
    aead: &'static aead::Algorithm,
    header: &'static quic::Algorithm,
    hash: hmac::Algorithm,
    /// Bytes of its secrets.
    pub(super) secret: usize,
}

/// TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256.
pub(super) static SUITES: [Suite; 3] = [
    Suite {
        aead: &aead::AES_128_GCM,
        header: &quic::AES_128,
        hash: hmac::HMAC_SHA256,
        secret: 32,
    },
    Suite {
        aead: &aead::AES_256_GCM,
        header: &quic::AES_256,
        hash: hmac::HMAC_SHA384,
        secret: 48,
    },
    Suite {
        aead: &aead::CHACHA20_POLY1305,
        header: &quic::CHACHA20,
        hash: hmac::HMAC_SHA256,
        secret: 32,
    },
];

/// The salt of version 1 (RFC 9001 section 5.2).
const INITIAL_SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc,
    0xbb, 0x7f, 0x0a,
];

/// Bytes of a tag.
pub(super) const TAG_BYTES: usize = 16;

/// The keys of one direction at one encryption level.
pub(super) struct Keys {
    suite: Suite,
    header: HeaderProtectionKey,
    /// The keys of the current key phase and of the next one.
    packet: [PacketKey; 2],
    next_secret: Vec<u8>,
    phase: bool,
}

struct PacketKey {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
}

impl Keys {
    /// The client's and the server's keys of Initial packets, from the client's first Destination Connection ID (RFC
    /// 9001 section 5.2).
    pub(super) fn initial(destination: &[u8]) -> Option<[Self; 2]> {
        let suite = SUITES[0];
        let salt = hmac::Key::new(suite.hash, &INITIAL_SALT);
        let secret = hmac::sign(&salt, destination);
        let of = |label| {
            Self::new(
                suite,
                expand_label(suite.hash, secret.as_ref(), label, suite.secret),
            )
        };
        Some([of("client in")?, of("server in")?])
    }

    /// Derives the keys from a secret.
    pub(super) fn new(suite: Suite, secret: Vec<u8>) -> Option<Self> {
        let header = expand_label(suite.hash, &secret, "quic hp", suite.aead.key_len());
        let header = HeaderProtectionKey::new(suite.header, &header).ok()?;
        let (next, after) = (suite.next(&secret), suite.next(&suite.next(&secret)));
        Some(Self {
            suite,
            header,
            packet: [PacketKey::new(suite, &secret)?, PacketKey::new(suite, &next)?],
            next_secret: after,
            phase: false,
        })
    }

    /// The mask for header protection (RFC 9001 section 5.4.1).
    pub(super) fn mask(&self, sample: &[u8]) -> Option<[u8; 5]> {
        self.header.new_mask(sample).ok()
    }

    /// Decrypts a packet in place and returns the plaintext. A short header packet of another key phase is tried with
    /// the next keys. If they decrypt it, they become the current keys (RFC 9001 section 6.3).
    pub(super) fn open<'a>(
        &mut self,
        number: u64,
        key_phase: Option<bool>,
        header: &[u8],
        sealed: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        let is_next = key_phase.is_some_and(|phase| phase != self.phase);
        let plain = self.packet[usize::from(is_next)].open(number, header, sealed)?;
        if is_next {
            self.phase = !self.phase;
            self.update();
        }
        Some(plain)
    }

    /// RFC 9001 section 6.1.
    fn update(&mut self) {
        if let Some(key) = PacketKey::new(self.suite, &self.next_secret) {
            self.packet.swap(0, 1);
            self.packet[1] = key;
            self.next_secret = self.suite.next(&self.next_secret);
        }
    }
}

impl Suite {
    fn next(self, secret: &[u8]) -> Vec<u8> {
        expand_label(self.hash, secret, "quic ku", self.secret)
    }
}

impl PacketKey {
    fn new(suite: Suite, secret: &[u8]) -> Option<Self> {
        let key = expand_label(suite.hash, secret, "quic key", suite.aead.key_len());
        let iv = expand_label(suite.hash, secret, "quic iv", NONCE_LEN);
        Some(Self {
            key: LessSafeKey::new(UnboundKey::new(suite.aead, &key).ok()?),
            iv: iv.try_into().ok()?,
        })
    }

    fn open<'a>(&self, number: u64, header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        // RFC 9001 section 5.3: the packet number is XORed into the end of the IV.
        let mut nonce = self.iv;
        for (byte, number) in nonce.iter_mut().rev().zip(number.to_le_bytes()) {
            *byte ^= number;
        }
        let nonce = Nonce::assume_unique_for_key(nonce);
        let plain = self.key.open_in_place(nonce, Aad::from(header), sealed);
        plain.ok().map(|plain| &*plain)
    }
}

/// HKDF-Expand-Label of TLS 1.3 (RFC 8446 section 7.1) without context, for at most as many bytes as the hash has.
pub fn expand_label(hash: hmac::Algorithm, secret: &[u8], label: &str, len: usize) -> Vec<u8> {
    let mut info = vec![0, len as u8, 6 + label.len() as u8];
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    // The empty context, and the number of HKDF's first block (RFC 5869 section 2.3).
    info.extend_from_slice(&[0, 1]);
    let block = hmac::sign(&hmac::Key::new(hash, secret), &info);
    block.as_ref().iter().take(len).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9001 appendix A.1.
    #[test]
    fn initial_secrets_match_rfc_9001() {
        let destination = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
        let suite = SUITES[0];
        let salt = hmac::Key::new(suite.hash, &INITIAL_SALT);
        let secret = hmac::sign(&salt, &destination);
        let client = expand_label(suite.hash, secret.as_ref(), "client in", 32);
        assert_eq!(client[..4], [0xc0, 0x0c, 0xf1, 0x51]);
        let key = expand_label(suite.hash, &client, "quic key", 16);
        assert_eq!(key[..4], [0x1f, 0x36, 0x96, 0x13]);
        let header = expand_label(suite.hash, &client, "quic hp", 16);
        assert_eq!(header[..4], [0x9f, 0x50, 0x44, 0x9e]);
    }
}
