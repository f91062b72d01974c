//! The arguments of the emulated link.

use std::time::Duration;

use clap::{Args, ValueEnum};
use wirecost_proto::units::parse_duration;
use wirecost_proto::{BitRate, Probability};
use wirecost_scenario::link::{
    LossSetting, ReorderSetting, burst, delay_variation, loss, mtu, queue, rate, reorder,
};
use wirecost_scenario::options::compare::{DelayVariation, Medium, QueueLimit};

/// A rate; `None` is unlimited.
pub type RateSetting = Option<BitRate>;
/// A queue in front of a rate; `None` derives it from rate and delay.
type QueueSetting = Option<QueueLimit>;
/// A delay variation; `None` means none.
type VariationSetting = Option<DelayVariation>;

/// The link of comparisons and programs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link")]
pub struct LinkArguments {
    /// Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate, allow_hyphen_values = true)]
    pub rate: Vec<RateSetting>,

    /// All other settings.
    #[command(flatten)]
    pub shape: LinkShapeArguments,
}

/// The link of a load, which has a different name for the rate: `--rate` is the message rate.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Link between devices and the server of STACK; each of these options adds the link"
)]
pub struct LoadLinkArguments {
    /// Rate in each direction, in bits of IP packets per second: 50kbit, 1Mbit [default: unlimited]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate, allow_hyphen_values = true)]
    pub link_rate: Vec<RateSetting>,

    /// All other settings.
    #[command(flatten)]
    pub shape: LinkShapeArguments,
}

impl LoadLinkArguments {
    /// Whether the user asked for a link.
    pub fn is_given(&self) -> bool {
        let LinkShapeArguments {
            rtt,
            loss,
            loss_burst,
            queue,
            delay_variation,
            reorder,
            duplicate,
            corrupt,
            mtu,
            up,
            down,
        } = &self.shape;
        let is_list_given =
            !(self.link_rate.is_empty() && rtt.is_empty() && loss.is_empty() && mtu.is_empty());
        let is_way_given = up.is_some() || down.is_some() || queue.is_some();
        let is_chance_given =
            loss_burst.is_some() || reorder.is_some() || duplicate.is_some() || corrupt.is_some();
        is_list_given || is_way_given || is_chance_given || delay_variation.is_some()
    }
}

/// The settings of a link, apart from its rate.
#[derive(Debug, Default, Args)]
pub struct LinkShapeArguments {
    /// Round-trip time; half of it in each direction [default: 25ms]
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = parse_duration, allow_hyphen_values = true)]
    pub rtt: Vec<Duration>,

    /// Share of packets lost in each direction [default: 0%]
    #[arg(long, value_name = "P", value_delimiter = ',', value_parser = loss, allow_hyphen_values = true)]
    pub loss: Vec<LossSetting>,

    /// Mean number of packets in a burst of losses: uses the Gilbert-Elliott model instead of independent losses
    #[arg(long, value_name = "PACKETS", value_parser = burst, allow_hyphen_values = true)]
    pub loss_burst: Option<f64>,

    /// Size of the queue in front of the rate, in packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    #[arg(long, value_name = "LIMIT", value_parser = queue, allow_hyphen_values = true)]
    pub queue: Option<QueueSetting>,

    /// Variation of the delay in each direction: uniform within plus or minus TIME, or 'normal TIME' with this standard
    /// deviation
    #[arg(long, value_name = "TIME", value_parser = delay_variation, allow_hyphen_values = true)]
    pub delay_variation: Option<VariationSetting>,

    /// Probability that a packet is delayed until later ones have passed [default: 0%]
    #[arg(long, value_name = "P", value_parser = reorder, allow_hyphen_values = true)]
    pub reorder: Option<ReorderSetting>,

    /// Probability that a packet arrives twice [default: 0%]
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub duplicate: Option<Probability>,

    /// Probability that a packet arrives with a flipped bit [default: 0%]
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub corrupt: Option<Probability>,

    /// Size of the largest IP packet [default: 1500B]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = mtu, allow_hyphen_values = true)]
    pub mtu: Vec<u16>,

    /// Different settings for the direction from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub up: Option<String>,

    /// Different settings for the direction from server to device
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub down: Option<String>,
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
