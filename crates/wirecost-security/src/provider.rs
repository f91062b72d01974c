//! The cryptography of TLS and QUIC: suites and groups, signatures of one length, time from the run's clock.
//!
//! Sizes must not depend on chance: a P-256 signature is made anew until its DER form has
//! [`SIGNATURE_BYTES`](crate::certificate::SIGNATURE_BYTES), which takes two tries on average. So a CertificateVerify (RFC
//! 8446 section 4.4.3) and a ServerKeyExchange (RFC 8422 section 5.4) always have the same length; that of other keys is
//! left as it comes.
//!
//! - [`standard`]: what both ends of a run offer and accept: X25519 and AES-128-GCM
//! - [`wide`]: everything the library has, for foreign servers
//! - `seeded`: the same as [`standard`] with keys and nonces from a seed (feature `seeded`)
//! - [`Clock`]: an endpoint's time for certificates and tickets

mod clock;
#[cfg(any(test, feature = "seeded"))]
mod seeded;
mod signing;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider, kx_group};

pub use self::clock::Clock;
#[cfg(any(test, feature = "seeded"))]
pub use self::seeded::seeded;
use self::signing::UsualLength;

/// X25519 alone; TLS_AES_128_GCM_SHA256, and for TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256.
pub fn standard() -> Arc<CryptoProvider> {
    Arc::new(narrow())
}

/// Every group and suite of the library, for servers that refuse [`standard`].
pub fn wide() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        key_provider: &UsualLength,
        ..default_provider()
    })
}

fn narrow() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        ],
        kx_groups: vec![kx_group::X25519],
        key_provider: &UsualLength,
        ..default_provider()
    }
}

#[cfg(test)]
mod tests;
