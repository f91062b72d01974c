//! The arguments of the emulated link.

use clap::{Args, ValueEnum};
use wirecost_scenario::link::{LinkLists, RateSetting, rate};
use wirecost_scenario::options::compare::Medium;

/// The link of comparisons and programs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link")]
pub struct LinkArguments {
    /// Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate, allow_hyphen_values = true)]
    pub rate: Vec<RateSetting>,

    /// All other settings.
    #[command(flatten)]
    pub shape: LinkLists,
}

impl LinkArguments {
    /// Whether the user asked for a link.
    pub fn is_given(&self) -> bool {
        !self.rate.is_empty() || self.shape != LinkLists::default()
    }
}

/// The link of a load, which has a different name for the rate: `--rate` is the message rate.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Link between devices and the server of STACK, or a relay to URL; each of these options adds the link"
)]
pub struct LoadLinkArguments {
    /// Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate, allow_hyphen_values = true)]
    pub link_rate: Vec<RateSetting>,

    /// All other settings.
    #[command(flatten)]
    pub shape: LinkLists,
}

impl LoadLinkArguments {
    /// Whether the user asked for a link.
    pub fn is_given(&self) -> bool {
        !self.link_rate.is_empty() || self.shape != LinkLists::default()
    }
}

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
