//! The groups of the key exchange by name, in order of preference.

use std::fmt;
use std::str::FromStr;

use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::kx_group;

wirecost_proto::named! {
    /// A group of the key exchange.
    ///
    /// Named as in files and flags.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Group {
        /// X25519 (RFC 7748).
        X25519 => "x25519",
        /// P-256.
        P256 => "p256",
        /// P-384.
        P384 => "p384",
        /// X25519 and ML-KEM-768 together (draft-ietf-tls-ecdhe-mlkem).
        X25519MlKem768 => "x25519mlkem768",
        /// ML-KEM-768 alone (draft-ietf-tls-mlkem).
        MlKem768 => "mlkem768",
        /// ML-KEM-1024 alone.
        MlKem1024 => "mlkem1024",
    }
}

impl Group {
    /// Whether TLS 1.3 alone has it.
    pub const fn needs_tls13(self) -> bool {
        match self {
            Self::X25519 | Self::P256 | Self::P384 => false,
            Self::X25519MlKem768 | Self::MlKem768 | Self::MlKem1024 => true,
        }
    }

    pub(super) fn of_library(self) -> &'static dyn SupportedKxGroup {
        match self {
            Self::X25519 => kx_group::X25519,
            Self::P256 => kx_group::SECP256R1,
            Self::P384 => kx_group::SECP384R1,
            Self::X25519MlKem768 => kx_group::X25519MLKEM768,
            Self::MlKem768 => kx_group::MLKEM768,
            Self::MlKem1024 => kx_group::MLKEM1024,
        }
    }
}

/// Groups in order of preference, at least one. A client of TLS 1.3 sends a key share of the first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Groups([Option<Group>; Group::ALL.len()]);

impl Groups {
    /// One group alone.
    pub const fn one(group: Group) -> Self {
        Self([Some(group), None, None, None, None, None])
    }

    /// The groups, the best first.
    pub fn iter(self) -> impl Iterator<Item = Group> {
        self.0.into_iter().flatten()
    }

    /// Whether another end has one of these groups in a version of TLS.
    pub fn meets(self, other: Self, tls13: bool) -> bool {
        let usable = |group: &Group| tls13 || !group.needs_tls13();
        self.iter()
            .filter(usable)
            .any(|group| other.iter().any(|theirs| theirs == group))
    }
}

impl Default for Groups {
    /// X25519 alone.
    fn default() -> Self {
        Self::one(Group::X25519)
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Group::name).collect();
        f.pad(&names.join(","))
    }
}

impl FromStr for Groups {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut groups = Self([None; Group::ALL.len()]);
        for (place, word) in text.split(',').map(str::trim).enumerate() {
            let found = Group::by_name(word);
            let Some(group) = found else {
                let all = Group::ALL.map(Group::name).join(", ");
                return Err(format!("unknown group {word:?}, expected some of {all}"));
            };
            if groups.iter().any(|earlier| earlier == group) {
                return Err(format!("{group} is named twice", group = group.name()));
            }
            // Each group is named once, so that there is a place for all.
            if let Some(free) = groups.0.get_mut(place) {
                *free = Some(group);
            }
        }
        Ok(groups)
    }
}
