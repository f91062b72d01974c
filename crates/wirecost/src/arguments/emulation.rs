//! The arguments that say what the emulated link is like.

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
/// A queue in front of a rate; `None` is chosen by rate and delay.
type QueueSetting = Option<QueueLimit>;
/// A delay variation; `None` is none.
type VariationSetting = Option<DelayVariation>;

/// The link of comparisons and programs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link")]
pub struct LinkArguments {
    /// Rate per direction, of IP packets [default: unlimited]
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate, allow_hyphen_values = true)]
    pub rate: Vec<RateSetting>,

    /// Everything else.
    #[command(flatten)]
    pub shape: LinkShapeArguments,
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
    pub shape: LinkShapeArguments,
}

impl LoadLinkArguments {
    /// Whether there is to be a link.
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

/// What a link is like, but for its rate.
#[derive(Debug, Default, Args)]
pub struct LinkShapeArguments {
    /// Round-trip time, half of it each way [default: 25ms]
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = parse_duration, allow_hyphen_values = true)]
    pub rtt: Vec<Duration>,

    /// Packet loss per direction [default: 0%]
    #[arg(long, value_name = "P", value_delimiter = ',', value_parser = loss, allow_hyphen_values = true)]
    pub loss: Vec<LossSetting>,

    /// Mean length of a burst of losses in packets: Gilbert-Elliott instead of independent loss
    #[arg(long, value_name = "PACKETS", value_parser = burst, allow_hyphen_values = true)]
    pub loss_burst: Option<f64>,

    /// Queue in front of the rate: packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    #[arg(long, value_name = "LIMIT", value_parser = queue, allow_hyphen_values = true)]
    pub queue: Option<QueueSetting>,

    /// Delay variation per direction, uniform in plus or minus TIME, or 'normal TIME' for a standard deviation
    #[arg(long, value_name = "TIME", value_parser = delay_variation, allow_hyphen_values = true)]
    pub delay_variation: Option<VariationSetting>,

    /// Probability that a packet is held back behind later ones [default: 0%]
    #[arg(long, value_name = "P", value_parser = reorder, allow_hyphen_values = true)]
    pub reorder: Option<ReorderSetting>,

    /// Probability that a packet arrives twice [default: 0%]
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub duplicate: Option<Probability>,

    /// Probability that a packet arrives with a flipped bit [default: 0%]
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub corrupt: Option<Probability>,

    /// Largest IP packet [default: 1500B]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = mtu, allow_hyphen_values = true)]
    pub mtu: Vec<u16>,

    /// What differs in the direction from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub up: Option<String>,

    /// What differs in the direction from server to device
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub down: Option<String>,
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
