//! The cryptography of TLS and QUIC: suites and groups, signatures of constant length, time from the run's clock.
//!
//! Sizes must not depend on chance. So an ECDSA signature is repeated until its DER form has its usual length (71 B on P-256,
//! 103 B on P-384), which takes two attempts on average. CertificateVerify (RFC 8446 section 4.4.3) and ServerKeyExchange (RFC 8422
//! section 5.4) then have a constant length. Signatures of other keys have one length.
//!
//! - [`standard`]: both ends of a run use it: X25519 and AES-128-GCM
//! - `with_certificate_curve`: adds P-256, which TLS 1.2 needs
//! - `classical`: like [`standard`], without the signature schemes of ML-DSA
//! - `chosen`: the groups and the cipher of a run, and the suites of its certificates
//! - [`wide`]: all groups and suites of the library, for foreign servers
//! - `seeded`: like `chosen`, with keys and nonces from a seed (feature `seeded`)
//! - [`Groups`], [`Cipher`]: the groups of the key exchange and the ciphers of records by name
//! - [`Clock`]: the time of an endpoint, for certificates and tickets

mod cipher;
mod clock;
mod groups;
#[cfg(any(test, feature = "seeded"))]
mod seeded;
mod signing;

use std::sync::{Arc, LazyLock};

use rustls::SignatureScheme;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider, kx_group};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};

pub use self::cipher::Cipher;
pub use self::clock::Clock;
pub use self::groups::{Group, Groups};
#[cfg(any(test, feature = "seeded"))]
pub use self::seeded::seeded;
use self::signing::UsualLength;
use crate::certificate::KeyKind;

/// X25519 alone; TLS_AES_128_GCM_SHA256, and for TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256.
pub fn standard() -> Arc<CryptoProvider> {
    Arc::new(narrow())
}

/// What both ends of a run offer and accept, besides their certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The groups, the best first.
    pub groups: Groups,
    /// The key of the certificates.
    pub key: KeyKind,
    /// The cipher of records.
    pub cipher: Cipher,
}

/// The groups and the cipher of a run, with the suite of TLS 1.2 that its certificates need.
pub(crate) fn chosen(choice: Choice) -> Arc<CryptoProvider> {
    let Choice { groups, key, cipher } = choice;
    Arc::new(CryptoProvider {
        cipher_suites: cipher.of_library(key).to_vec(),
        kx_groups: groups.iter().map(Group::of_library).collect(),
        ..narrow()
    })
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

/// `provider` with the curve of the certificates as its last group. A TLS 1.2 server may use its certificate only if the client's
/// groups contain the certificate's curve (RFC 8422 section 5.3). The key exchange still uses the first common group.
pub(crate) fn with_certificate_curve(provider: &CryptoProvider, key: KeyKind) -> Arc<CryptoProvider> {
    let curve = match key {
        KeyKind::P256 => kx_group::SECP256R1,
        KeyKind::P384 => kx_group::SECP384R1,
        KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Ed25519 | KeyKind::MlDsa44 | KeyKind::MlDsa65 => {
            return Arc::new(provider.clone());
        }
    };
    let mut provider = provider.clone();
    if !provider
        .kx_groups
        .iter()
        .any(|group| group.name() == curve.name())
    {
        provider.kx_groups.push(curve);
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

/// [`wide`] with these groups alone, and with the suites of this cipher alone.
pub(crate) fn wide_with(groups: Option<Groups>, cipher: Option<Cipher>) -> Arc<CryptoProvider> {
    let mut provider = Arc::unwrap_or_clone(wide());
    if let Some(groups) = groups {
        provider.kx_groups = groups.iter().map(Group::of_library).collect();
    }
    if let Some(cipher) = cipher {
        provider.cipher_suites = cipher.of_any_key();
    }
    Arc::new(provider)
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
