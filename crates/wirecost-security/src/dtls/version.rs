//! Versions of DTLS, the starts that each can have, and pre-shared keys.

use crate::start::Start;

/// Why DTLS with certificates has no resumption: the reason of a cell that is not run.
pub const NO_RESUMPTION: &str = "dimpl 0.9, which does DTLS with certificates, has no session resumption";

/// Why DTLS 1.2 has no early data.
pub const NO_EARLY_DATA: &str = "DTLS 1.2 has no 0-RTT (RFC 9147, section 5.6)";

/// Why it has no handshake of EDHOC.
const NO_EDHOC: &str = "EDHOC agrees on a context of OSCORE (RFC 9528), and DTLS has a handshake of its own";

/// A version of DTLS and its kind of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// DTLS 1.3 with certificates (RFC 9147): TLS_AES_128_GCM_SHA256 on X25519.
    Dtls13,
    /// DTLS 1.2 with certificates (RFC 6347): TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 on X25519.
    Dtls12,
    /// DTLS 1.2 with a pre-shared key (RFC 4279): TLS_PSK_WITH_AES_128_CCM_8 (RFC 6655).
    Dtls12Psk,
    /// The same with connection IDs (RFC 9146).
    Dtls12Cid,
}

impl Version {
    /// Every version.
    pub const ALL: [Self; 4] = [Self::Dtls13, Self::Dtls12, Self::Dtls12Psk, Self::Dtls12Cid];

    /// The name in error messages, before and after the version is negotiated.
    pub(super) const fn name(version: Option<Self>) -> &'static str {
        match version {
            None => "DTLS",
            Some(Self::Dtls13) => "DTLS 1.3",
            Some(Self::Dtls12) => "DTLS 1.2",
            Some(Self::Dtls12Psk) => "DTLS 1.2 (pre-shared key)",
            Some(Self::Dtls12Cid) => "DTLS 1.2 (connection ID)",
        }
    }

    /// Why connections of the version cannot have a start; `None` if they can.
    pub const fn cannot_start(self, start: Start) -> Option<&'static str> {
        match (start, self) {
            (Start::Cold, _) | (Start::Resumed, Self::Dtls12Psk | Self::Dtls12Cid) => None,
            (Start::ZeroRtt, Self::Dtls12 | Self::Dtls12Psk | Self::Dtls12Cid) => Some(NO_EARLY_DATA),
            (Start::Edhoc | Start::EdhocByValue, _) => Some(NO_EDHOC),
            (Start::Resumed | Start::ZeroRtt, _) => Some(NO_RESUMPTION),
        }
    }
}

/// A pre-shared key and its identity.
#[derive(Clone, PartialEq, Eq)]
pub struct Psk {
    /// The identity, which the client sends unencrypted.
    pub identity: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

impl Psk {
    /// The key under the identity `wc`.
    pub fn new(key: impl Into<Vec<u8>>) -> Self {
        Self {
            identity: b"wc".to_vec(),
            key: key.into(),
        }
    }
}

impl std::fmt::Debug for Psk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Psk")
            .field("identity", &self.identity.escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}
