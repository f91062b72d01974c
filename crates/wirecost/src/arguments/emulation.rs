//! The arguments that say what the emulated link is like.

use clap::{Args, ValueEnum};
use wirecost_scenario::link::{LinkLists, RateSetting, rate};
use wirecost_scenario::options::compare::Medium;

/// The link of comparisons and programs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link")]
pub struct LinkArguments {
    /// Rate per direction, of IP packets [default: unlimited]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate, allow_hyphen_values = true)]
    pub rate: Vec<RateSetting>,

    /// Everything else.
    #[command(flatten)]
    pub shape: LinkLists,
}

/// The link of a load, whose `--rate` is that of its messages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link between devices and the server of STACK; each of these options adds it")]
pub struct LoadLinkArguments {
    /// Rate per direction, of IP packets [default: unlimited]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate, allow_hyphen_values = true)]
    pub link_rate: Vec<RateSetting>,

    /// Everything else.
    #[command(flatten)]
    pub shape: LinkLists,
}

impl LoadLinkArguments {
    /// Whether any flag of the link is given.
    pub fn is_given(&self) -> bool {
        !self.link_rate.is_empty() || self.shape != LinkLists::default()
    }
}

/// How packets leave the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PacketPath {
    /// TUN where it can be used, else veth
    Auto,
    /// TUN devices
    Tun,
    /// veth pairs
    Veth,
}

impl PacketPath {
    /// The medium that is asked for.
    pub const fn medium(self) -> Option<Medium> {
        match self {
            Self::Auto => None,
            Self::Tun => Some(Medium::Tun),
            Self::Veth => Some(Medium::Veth),
        }
    }
}
