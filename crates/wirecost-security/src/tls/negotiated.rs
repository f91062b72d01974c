//! The negotiated parameters.

use rustls::{CipherSuite, CommonState, HandshakeKind, NamedGroup, ProtocolVersion};

/// The negotiated parameters, as far as the handshake has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// `TLS 1.3`, `TLS 1.2`.
    pub version: Option<&'static str>,
    /// The cipher suite by its registered name: `TLS_AES_128_GCM_SHA256`.
    pub suite: Option<String>,
    /// The group of the key exchange: `X25519`. `None` for a resumed TLS 1.2 session.
    pub group: Option<String>,
    /// Whether the server asked for a share of another group first (HelloRetryRequest, RFC 8446 section 4.1.4): a round trip more.
    pub is_retried: bool,
    /// The application protocol (RFC 7301).
    pub protocol: Option<Vec<u8>>,
    /// The peer's certificates in DER, the leaf first.
    pub peer_certificates: Vec<Vec<u8>>,
}

impl Negotiated {
    pub(super) fn from_connection(connection: &CommonState) -> Self {
        let suite = connection.negotiated_cipher_suite();
        let suite = suite.and_then(|suite| suite.suite().as_str());
        let group = connection.negotiated_key_exchange_group();
        let certificates = connection.peer_certificates().unwrap_or_default();
        Self {
            version: connection.protocol_version().and_then(version),
            suite: suite.map(registered),
            group: group.map(|group| group_name(group.name().into())),
            is_retried: connection.handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest),
            protocol: connection.alpn_protocol().map(<[u8]>::to_vec),
            peer_certificates: certificates.iter().map(|der| der.to_vec()).collect(),
        }
    }
}

/// The registered name of a cipher suite by its number; `None` where the library does not know it.
pub fn suite_name(number: u16) -> Option<String> {
    CipherSuite::from(number).as_str().map(registered)
}

/// The library's names of TLS 1.3 suites have a prefix that the standard lacks (RFC 8446 appendix B.4).
fn registered(name: &str) -> String {
    name.replacen("TLS13_", "TLS_", 1)
}

/// The name of a group by its number.
pub fn group_name(number: u16) -> String {
    format!("{:?}", NamedGroup::from(number))
}

const fn version(version: ProtocolVersion) -> Option<&'static str> {
    match version {
        ProtocolVersion::TLSv1_3 => Some("TLS 1.3"),
        ProtocolVersion::TLSv1_2 => Some("TLS 1.2"),
        _ => None,
    }
}
