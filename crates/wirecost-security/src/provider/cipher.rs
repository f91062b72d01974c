//! The ciphers of records by name: each is a cipher suite of TLS 1.3, and one of TLS 1.2 for each kind of certificate.

use std::fmt;
use std::str::FromStr;

use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::cipher_suite;

use crate::certificate::KeyKind;

/// A cipher of records. CCM is not among them: no library of TLS here has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cipher {
    /// TLS_AES_128_GCM_SHA256, TLS_ECDHE_*_WITH_AES_128_GCM_SHA256.
    #[default]
    Aes128Gcm,
    /// TLS_AES_256_GCM_SHA384, TLS_ECDHE_*_WITH_AES_256_GCM_SHA384.
    Aes256Gcm,
    /// TLS_CHACHA20_POLY1305_SHA256, TLS_ECDHE_*_WITH_CHACHA20_POLY1305_SHA256.
    Chacha20Poly1305,
}

impl Cipher {
    /// Every cipher.
    const ALL: [Self; 3] = [Self::Aes128Gcm, Self::Aes256Gcm, Self::Chacha20Poly1305];

    /// The names of all, in the same order.
    pub const NAMES: &'static [&'static str] = &["aes128-gcm", "aes256-gcm", "chacha20-poly1305"];

    /// Its suites whatever the key of the certificates.
    pub(super) fn of_any_key(self) -> Vec<SupportedCipherSuite> {
        let [both, ecdsa] = self.of_library(KeyKind::P256);
        let [_, rsa] = self.of_library(KeyKind::Rsa2048);
        vec![both, ecdsa, rsa]
    }

    /// Its suites: of TLS 1.3, and of TLS 1.2 with certificates of this key.
    pub(super) fn of_library(self, key: KeyKind) -> [SupportedCipherSuite; 2] {
        use cipher_suite::{
            TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
        };
        match (self, key.is_rsa()) {
            (Self::Aes128Gcm, false) => [TLS13_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256],
            (Self::Aes128Gcm, true) => [TLS13_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256],
            (Self::Aes256Gcm, false) => [TLS13_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384],
            (Self::Aes256Gcm, true) => [TLS13_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384],
            (Self::Chacha20Poly1305, false) => [
                TLS13_CHACHA20_POLY1305_SHA256,
                TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            ],
            (Self::Chacha20Poly1305, true) => [
                TLS13_CHACHA20_POLY1305_SHA256,
                TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            ],
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::NAMES[*self as usize])
    }
}

impl FromStr for Cipher {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|cipher| cipher.to_string() == text);
        found.ok_or_else(|| {
            let lacks = match text.contains("ccm") {
                true => "; no library of TLS here has CCM",
                false => "",
            };
            format!(
                "unknown value {text:?}, expected one of {}{lacks}",
                Self::NAMES.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cipher_is_found_by_its_name_and_ccm_is_refused_with_its_reason() {
        for cipher in Cipher::ALL {
            assert_eq!(cipher.to_string().parse(), Ok(cipher));
        }
        let refused = "aes128-ccm8".parse::<Cipher>().expect_err("no such suite");
        assert!(refused.contains("no library of TLS here has CCM"), "{refused}");
    }
}
