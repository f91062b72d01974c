//! Why a client or a server cannot be configured.

use crate::certificate;
use crate::entropy::NoEntropy;
use crate::tls;

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The engine rejects a setting.
    #[error("cannot configure DTLS: {0}")]
    Engine(String),
    /// A certificate cannot be generated.
    #[error(transparent)]
    Certificate(#[from] certificate::Error),
    /// A trusted certificate or name cannot be used.
    #[error(transparent)]
    Trust(#[from] tls::ConfigError),
    /// The engine does not support the kind of private key.
    #[error("cannot use the private key: {0}; expected one on P-256 or P-384")]
    PrivateKey(String),
    /// A raw public key in place of a certificate.
    #[error("cannot use a raw public key (RFC 7250) with DTLS: its library has certificates alone")]
    RawPublicKey,
    /// A pre-shared key or its identity is longer than the handshake can say.
    #[error("a pre-shared key and its identity must have at most 65535 B each")]
    PskTooLong,
    /// There is no secret for cookies.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// A server has neither a certificate nor a pre-shared key.
    #[error("a server needs a certificate or a pre-shared key, got neither")]
    NoCredentials,
    /// A server requests certificates but has none of its own.
    #[error("a server that requests client certificates needs a certificate of its own")]
    NoIdentity,
}
