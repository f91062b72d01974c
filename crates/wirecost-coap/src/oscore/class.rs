//! Which options are encrypted (RFC 8613 section 4.1, figure 5).

use crate::option::OptionNumber;

/// Where an option of a protected message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Class E: encrypted.
    Inner,
    /// Class U: visible to proxies, not protected.
    Outer,
    /// Once encrypted and once visible.
    Both,
    /// The OSCORE option, which the protection itself writes.
    Own,
    /// Proxy-Uri, which must be taken apart first (section 4.1.3.3).
    Composed,
}

impl Class {
    pub(super) fn of(number: OptionNumber) -> Self {
        match number {
            OptionNumber::OSCORE => Self::Own,
            OptionNumber::PROXY_URI => Self::Composed,
            OptionNumber::URI_HOST
            | OptionNumber::URI_PORT
            | OptionNumber::HOP_LIMIT
            | OptionNumber::EDHOC
            | OptionNumber::PROXY_SCHEME => Self::Outer,
            // Sections 4.1.3.5 and 4.1.3.6: proxies must know of these, and the ends must be sure of them.
            OptionNumber::OBSERVE | OptionNumber::NO_RESPONSE => Self::Both,
            // Max-Age and the block options could be outer as well, for proxies (4.1.3.1, 4.1.3.4); an option that
            // is not known is class E (section 4.1).
            _ => Self::Inner,
        }
    }

    /// Whether an option of this class is encrypted.
    pub(super) fn is_inner(self) -> bool {
        matches!(self, Self::Inner | Self::Both)
    }

    /// Whether an option of this class is visible.
    pub(super) fn is_outer(self) -> bool {
        matches!(self, Self::Outer | Self::Both)
    }
}
