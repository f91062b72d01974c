//! The settings of a world, apart from its hosts and links.

use std::sync::Arc;

use wirecost_proto::driver::Writing;
use wirecost_proto::{BothWays, Congestion, Rng};
use wirecost_tcp::Config;
use wirecost_tcp::receive::Reader;
use wirecost_tcp::recovery::CongestionControl;

use crate::workers::Workers;

/// When an application wakes if several segments arrive at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wake {
    /// After each segment.
    EachSegment,
    /// After TCP has handled all of them, as on a machine where link and hosts share a CPU.
    AfterBurst,
    /// After TCP has handled all of them, or ten, and then after each further segment: as on a machine with a CPU for each
    /// host and the link.
    #[default]
    Beside,
}

/// The settings of a world, apart from its hosts and links.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The TCP of devices.
    pub device_tcp: Config,
    /// The TCP of servers.
    pub server_tcp: Config,
    /// How devices hand the bytes of streams to TCP.
    pub device_writing: Writing,
    /// The key of the servers' cookies, where connections use TCP Fast Open (RFC 7413): each device has its cookie from before.
    pub fast_open: Option<[u64; 2]>,
    /// The largest IP packet that hosts send, in bytes. Hosts fragment larger datagrams.
    pub mtu: u16,
    /// The randomness of ports, initial sequence numbers and IP identifications.
    pub rng: Rng,
    /// Whether the spans of the endpoints are kept until the end, for the ledger.
    pub keeps_logs: bool,
    /// When applications wake.
    pub wake: Wake,
    /// The workers of the servers; `None`: the servers answer at once.
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
            device_writing: Writing::default(),
            fast_open: None,
            mtu,
            rng,
            keeps_logs: true,
            wake: Wake::default(),
            workers: None,
        }
    }

    /// The same, with devices that write in this way. Nagle's algorithm and the congestion control are those of both ends.
    #[must_use]
    pub fn with_writing(mut self, writing: Writing) -> Self {
        self.device_writing = writing;
        self.device_tcp.nagle = writing.nagle;
        self.server_tcp.nagle = writing.nagle;
        let control = control(writing.congestion);
        self.device_tcp.recovery.congestion_control = control;
        self.server_tcp.recovery.congestion_control = control;
        self
    }

    /// The TCP of the two ends, which all connections share, by the direction in which they send.
    pub(crate) fn shared_tcp(&self) -> BothWays<Arc<Config>> {
        let ends = BothWays {
            up: &self.device_tcp,
            down: &self.server_tcp,
        };
        ends.map(|config| {
            let mut config = config.clone();
            config.receive.reader = match self.wake {
                Wake::AfterBurst => Reader::After,
                Wake::EachSegment | Wake::Beside => Reader::Beside,
            };
            Arc::new(config)
        })
    }
}

/// The congestion control of a simulated end. Scenarios refuse what virtual time does not have ([`Congestion::is_simulated`]).
fn control(asked: Congestion) -> CongestionControl {
    debug_assert!(asked.is_simulated(), "{asked} is live only");
    match asked {
        Congestion::Reno => CongestionControl::NewReno,
        Congestion::Cubic | Congestion::Bbr => CongestionControl::Cubic { hystart: true },
    }
}
