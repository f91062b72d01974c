//! What a world is like, beside its hosts and links.

use wirecost_proto::Rng;
use wirecost_tcp::Config;

use crate::workers::Workers;

/// When an application finds out what several segments that arrive at one instant have for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wake {
    /// After each of them.
    EachSegment,
    /// When TCP has taken all of them, as on a machine where link and hosts share a CPU.
    AfterBurst,
    /// When TCP has taken all of them, or ten; after each of those that follow: as on a machine with a CPU for each.
    #[default]
    Beside,
}

/// What a world is like, beside its hosts and links.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How devices' TCP behaves.
    pub device_tcp: Config,
    /// How servers' TCP behaves.
    pub server_tcp: Config,
    /// The largest IP packet that hosts send, in bytes: larger datagrams are fragmented.
    pub mtu: u16,
    /// Ports, initial sequence numbers and IP identifications.
    pub rng: Rng,
    /// Whether what the endpoints say of their bytes is kept until the end, for the ledger.
    pub keeps_logs: bool,
    /// When applications wake.
    pub wake: Wake,
    /// The workers of the servers; without workers the servers answer at once.
    pub workers: Option<Workers>,
}

impl Settings {
    /// Hosts that run Linux on links of `mtu` bytes; logs are kept.
    pub fn linux(mtu: u16, ipv6: bool, rng: Rng) -> Self {
        let ip = if ipv6 {
            wirecost_wire::ipv6::HEADER_BYTES
        } else {
            wirecost_wire::ipv4::HEADER_BYTES
        };
        let headers = u16::try_from(ip + wirecost_wire::tcp::HEADER_BYTES).unwrap_or(u16::MAX);
        let tcp = Config::linux(mtu.saturating_sub(headers));
        Self {
            device_tcp: tcp.clone(),
            server_tcp: tcp,
            mtu,
            rng,
            keeps_logs: true,
            wake: Wake::default(),
            workers: None,
        }
    }
}
