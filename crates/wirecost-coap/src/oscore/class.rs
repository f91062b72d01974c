//! The protection class of each option (RFC 8613 section 4.1, figure 5).
//!
//! Class E is encrypted, class U stays visible to proxies. The protection itself writes the OSCORE option. Proxy-Uri would
//! have to be split first (section 4.1.3.3).

use crate::option::OptionNumber;

/// Whether the option is encrypted. Max-Age and the block options could be outer as well, for proxies (sections 4.1.3.1,
/// 4.1.3.4). An unknown option is class E (section 4.1).
pub(super) fn is_inner(number: OptionNumber) -> bool {
    is_both(number) || !matches!(number, OptionNumber::OSCORE | OptionNumber::PROXY_URI) && !is_outer(number)
}

/// Whether the option is visible.
pub(super) fn is_outer(number: OptionNumber) -> bool {
    let is_class_u = matches!(
        number,
        OptionNumber::URI_HOST
            | OptionNumber::URI_PORT
            | OptionNumber::HOP_LIMIT
            | OptionNumber::EDHOC
            | OptionNumber::PROXY_SCHEME
    );
    is_class_u || is_both(number)
}

/// Whether the option is encrypted and visible: proxies use it, and the ends need an authentic copy (sections 4.1.3.5 and
/// 4.1.3.6).
fn is_both(number: OptionNumber) -> bool {
    matches!(number, OptionNumber::OBSERVE | OptionNumber::NO_RESPONSE)
}
