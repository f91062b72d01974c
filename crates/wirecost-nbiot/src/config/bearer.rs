//! What of a packet crosses the air.

use serde::{Deserialize, Serialize};

/// What a packet data network connection carries (TS 23.401 section 5.3.1, TS 23.682 section 4.5.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PdnType {
    /// IP packets.
    Ip,
    /// Payloads of UDP: the network ends the connection and knows the server, so that neither IP nor UDP is on the air.
    NonIp,
}

/// How headers are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderCompression {
    /// They are not.
    None,
    /// By static rules for IP, UDP and CoAP (SCHC: RFC 8724, RFC 8824; over NB-IoT: RFC 9391).
    Schc,
}

/// What of a packet crosses the air. A [`Network`](crate::Network) carries the bytes that it is given: who offers the packets
/// applies these parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BearerConfig {
    /// What the connection carries: `ip` or `non-ip`. TS 23.682.
    pub pdn_type: PdnType,
    /// How headers are compressed: `none` or `schc`; not with `non-ip`. RFC 9391.
    pub header_compression: HeaderCompression,
}

impl Default for BearerConfig {
    fn default() -> Self {
        Self {
            pdn_type: PdnType::Ip,
            header_compression: HeaderCompression::None,
        }
    }
}

impl BearerConfig {
    pub(crate) fn validate(&self) -> Result<(), super::ConfigError> {
        let is_both = self.pdn_type == PdnType::NonIp && self.header_compression == HeaderCompression::Schc;
        match is_both {
            true => Err(super::ConfigError::not_allowed(
                "bearer.header_compression",
                "schc with bearer.pdn_type non-ip",
                "none",
            )),
            false => Ok(()),
        }
    }
}
