//! The cryptography of TLS and QUIC: suites and groups, signatures of constant length, time from the run's clock.
//!
//! Sizes must not depend on chance. So a P-256 signature is repeated until its DER form has `SIGNATURE_BYTES`, which
//! takes two attempts on average. CertificateVerify (RFC 8446 section 4.4.3) and ServerKeyExchange (RFC 8422 section
//! 5.4) then have a constant length. Signatures of other keys are not repeated.
//!
//! - [`standard`]: both ends of a run use it: X25519 and AES-128-GCM
//! - `with_certificate_curve`: adds P-256, which TLS 1.2 needs
//! - `classical`: like [`standard`], without the signature schemes of ML-DSA
//! - [`wide`]: all groups and suites of the library, for foreign servers
//! - `seeded`: like [`standard`], with keys and nonces from a seed (feature `seeded`)
//! - [`Clock`]: the time of an endpoint, for certificates and tickets

mod clock;
#[cfg(any(test, feature = "seeded"))]
mod seeded;
mod signing;

use std::sync::{Arc, LazyLock};

use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider, kx_group};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::{NamedGroup, SignatureScheme};

pub use self::clock::Clock;
#[cfg(any(test, feature = "seeded"))]
pub use self::seeded::seeded;
use self::signing::UsualLength;

/// X25519 alone; TLS_AES_128_GCM_SHA256, and for TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256.
pub fn standard() -> Arc<CryptoProvider> {
    Arc::new(narrow())
}

/// Like [`standard`], without the signature schemes of ML-DSA (FIPS 204).
pub(crate) fn classical() -> Arc<CryptoProvider> {
    static ALGORITHMS: LazyLock<WebPkiSupportedAlgorithms> = LazyLock::new(|| {
        let all = default_provider().signature_verification_algorithms;
        let is_classical = |scheme: SignatureScheme| {
            !matches!(
                scheme,
                SignatureScheme::ML_DSA_44 | SignatureScheme::ML_DSA_65 | SignatureScheme::ML_DSA_87
            )
        };
        let mapping: Vec<_> = all
            .mapping
            .iter()
            .filter(|(scheme, _)| is_classical(*scheme))
            .copied()
            .collect();
        WebPkiSupportedAlgorithms {
            mapping: mapping.leak(),
            ..all
        }
    });
    Arc::new(CryptoProvider {
        signature_verification_algorithms: *ALGORITHMS,
        ..narrow()
    })
}

/// `provider` with P-256 as its last group. A TLS 1.2 server may use its certificate only if the client's groups
/// contain the certificate's curve (RFC 8422 section 5.3). The key exchange still uses the first common group.
pub(crate) fn with_certificate_curve(provider: &CryptoProvider) -> Arc<CryptoProvider> {
    let mut provider = provider.clone();
    let names = provider.kx_groups.iter().map(|group| group.name());
    if !names.into_iter().any(|name| name == NamedGroup::secp256r1) {
        provider.kx_groups.push(kx_group::SECP256R1);
    }
    Arc::new(provider)
}

/// Every group and suite of the library, for servers that reject [`standard`].
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
