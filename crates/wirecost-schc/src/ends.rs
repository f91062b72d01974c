//! The two ends of a device's packets.

use std::net::{IpAddr, SocketAddr};

use wirecost_wire::ip::Version;

/// The two ends of a device's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Address and port of the device.
    pub device: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
}

impl Ends {
    /// Their version of IP.
    pub(crate) const fn version(&self) -> Version {
        match self.device.ip() {
            IpAddr::V4(_) => Version::V4,
            IpAddr::V6(_) => Version::V6,
        }
    }
}
