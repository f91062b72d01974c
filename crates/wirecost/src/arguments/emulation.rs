//! The choices of the emulated link's machinery.

use clap::ValueEnum;
use wirecost_scenario::options::compare::Medium;

/// How packets leave the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PacketPath {
    /// TUN if possible, or else veth
    Auto,
    /// TUN devices
    Tun,
    /// veth pairs
    Veth,
}

impl PacketPath {
    /// The requested medium.
    pub const fn medium(self) -> Option<Medium> {
        match self {
            Self::Auto => None,
            Self::Tun => Some(Medium::Tun),
            Self::Veth => Some(Medium::Veth),
        }
    }
}
