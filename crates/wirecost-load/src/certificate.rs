//! What is wrong with the certificate of a target that no device could connect to.

use std::net::SocketAddr;

use wirecost_probe::failure::certificate::explain;
use wirecost_probe::options::Trust;
use wirecost_scenario::options::load::{LoadOptions, LoadTarget};
use wirecost_security::layer::Fault;

use super::server::authorities;

/// The cause and the way out where most devices have heard for a `reason` that the certificate of the target's URL is not
/// accepted; the target is asked for it once more.
pub(super) fn refused(options: &LoadOptions, address: SocketAddr, reason: &str) -> Option<[String; 2]> {
    let LoadTarget::Url(url) = &options.target else {
        return None;
    };
    let reason = Fault::certificate_reason(reason)?;
    let trusted = match authorities(options) {
        Ok(None) => Trust::Anyone,
        Ok(Some(authorities)) => Trust::Authorities(authorities),
        Err(_) => return None,
    };
    Some(explain(url, address, reason, trusted))
}
