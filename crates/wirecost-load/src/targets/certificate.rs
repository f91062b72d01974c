//! Finds the fault of a target's certificate after every device failed to connect.

use std::net::SocketAddr;

use wirecost_probe::failure::certificate::explain;
use wirecost_probe::options::Trust;
use wirecost_scenario::options::load::{LoadOptions, LoadTarget};
use wirecost_security::layer::Fault;

use crate::targets::server::authorities;

/// The cause, and a hint, if most devices failed with a `reason` that rejects the certificate of the target's URL.
/// Connects once more to read the certificate.
pub(crate) fn refused(options: &LoadOptions, address: SocketAddr, reason: &str) -> Option<[String; 2]> {
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
