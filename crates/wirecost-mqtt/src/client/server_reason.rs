//! Why a server refuses or ends a connection, in the words of the version that is spoken.

use core::fmt;

use wirecost_proto::PeerText;

use crate::codec::text::OwnedText;
use crate::codec::{Properties, Property, ReasonCode, Version, v3_1_1};

/// What the server said in CONNACK or DISCONNECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReason {
    /// The reason; a return code of MQTT 3.1.1 as its counterpart.
    pub code: ReasonCode,
    /// The version in which it was said.
    pub version: Version,
    /// The other server that the client is to use (MQTT 5, section 4.11), if the server names one.
    pub reference: Option<OwnedText>,
}

impl ServerReason {
    /// A server of MQTT 3.1.1 refuses the version.
    pub(super) const UNACCEPTABLE_VERSION: Self = Self {
        code: ReasonCode::UnsupportedProtocolVersion,
        version: Version::V3_1_1,
        reference: None,
    };

    pub(super) fn new(code: ReasonCode, version: Version, properties: Properties<'_>) -> Self {
        let reference = properties.iter().find_map(|property| match property {
            Property::ServerReference(reference) => Some(reference.into()),
            _ => None,
        });
        Self {
            code,
            version,
            reference,
        }
    }

    /// The reference to another server, safe to display.
    pub fn shown_reference(&self) -> Option<PeerText> {
        let reference = self.reference.as_ref()?;
        Some(PeerText::new(reference.as_text().as_str()))
    }
}

impl fmt::Display for ServerReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Version::V5 => write!(f, "{}", self.code)?,
            // The byte of 3.1.1 is a small number, and its table (section 3.2.2.3) writes it so.
            Version::V3_1_1 => write!(f, "{} {}", v3_1_1::return_code_of(self.code), self.code.name())?,
        }
        match self.shown_reference() {
            Some(reference) => write!(f, ", with a reference to {:?}", reference.as_str()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_code_is_shown_as_on_the_wire() {
        let of = |code, version| ServerReason {
            code,
            version,
            reference: None,
        };
        for (code, on_3_1_1, on_5) in [
            (
                ReasonCode::UnsupportedProtocolVersion,
                "1 Unsupported Protocol Version",
                "0x84 Unsupported Protocol Version",
            ),
            (
                ReasonCode::NotAuthorized,
                "5 Not authorized",
                "0x87 Not authorized",
            ),
        ] {
            assert_eq!(of(code, Version::V3_1_1).to_string(), on_3_1_1);
            assert_eq!(of(code, Version::V5).to_string(), on_5);
        }
    }

    #[test]
    fn a_reference_to_another_server_is_shown_with_escapes() {
        let moved = ServerReason {
            code: ReasonCode::ServerMoved,
            version: Version::V5,
            reference: Some("other.lab:1883\u{7f}".parse().expect("a text")),
        };
        let shown = moved.to_string();
        assert!(
            shown.starts_with("0x9d Server moved, with a reference to \"other.lab:1883"),
            "{shown}"
        );
        assert!(!shown.contains('\u{7f}'), "{shown}");
    }
}
