//! What implementations of TCP differ in.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::receive::ReceiveConfig;
use crate::recovery::RecoveryConfig;
use crate::segment::Cookie;
use crate::timers::Granularity;

/// A named implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preset {
    /// The Linux kernel under the settings of the emulated link: [`Config::linux`].
    Linux,
    /// A microcontroller's lwIP as it comes: [`Config::lwip_small`].
    LwipSmall,
    /// The TCP of a published NB-IoT study: [`Config::larmo`].
    Larmo,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 3] = [Self::Linux, Self::LwipSmall, Self::Larmo];

    /// The preset's name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::LwipSmall => "lwip-small",
            Self::Larmo => "larmo",
        }
    }

    /// How one end behaves whose segments may carry up to `maximum_segment_size` bytes, options included.
    pub fn config(self, maximum_segment_size: u16) -> Config {
        match self {
            Self::Linux => Config::linux(maximum_segment_size),
            Self::LwipSmall => Config::lwip_small(maximum_segment_size),
            Self::Larmo => Config::larmo(maximum_segment_size),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No preset has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPreset;

impl fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TCP preset must be one of linux, lwip-small, larmo")
    }
}

impl core::error::Error for UnknownPreset {}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        Self::ALL
            .into_iter()
            .find(|preset| preset.name() == name)
            .ok_or(UnknownPreset)
    }
}

/// How one end behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The largest segment that this end accepts: the path's MTU less IP and TCP headers without options.
    pub maximum_segment_size: u16,
    /// Whether timestamps are offered and accepted (RFC 7323).
    pub timestamps: bool,
    /// Whether selective acknowledgments are offered and accepted (RFC 2018).
    pub selective_acknowledgments: bool,
    /// When small segments wait for an acknowledgment.
    pub nagle: Nagle,
    /// How often and how long a handshake is tried.
    pub handshake: HandshakeConfig,
    /// How timers are rounded.
    pub granularity: Granularity,
    /// How long the host's clock runs when the run starts: where its ticks stand. Ends on one machine share it.
    pub clock_phase: Duration,
    /// How many segments leave at once, the last of them with PSH; `None` where each is made by itself.
    pub burst: Option<BurstConfig>,
    /// Bytes of the send buffer.
    pub send_buffer: SendBufferConfig,
    /// How long TIME-WAIT lasts: twice the maximum segment lifetime (RFC 9293, section 3.6.1).
    pub time_wait: Duration,
    /// How long a connection that its application has let go of waits in FIN-WAIT-2.
    pub fin_wait_2: Duration,
    /// The longest time between two probes of a zero window (RFC 9293, section 3.8.6.1). Probes carry no byte, as Linux's,
    /// with every preset.
    pub maximum_persist: Duration,
    /// When an idle connection is probed; `None`: never, the default (RFC 9293, section 3.8.4).
    pub keep_alive: Option<KeepAlive>,
    /// How the handshake carries data (RFC 7413).
    pub fast_open: FastOpen,
    /// Congestion control, loss recovery and the retransmission time-out.
    pub recovery: RecoveryConfig,
    /// Acknowledgments and the window offered.
    pub receive: ReceiveConfig,
}

/// When a segment that is not full waits (RFC 9293, section 3.7.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nagle {
    /// Never: `TCP_NODELAY`.
    #[default]
    Off,
    /// While anything is in flight.
    Standard,
    /// While another segment that was not full is in flight (Minshall's variant; Linux: `tcp_nagle_check`).
    Minshall,
}

/// How often and how long a handshake is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeConfig {
    /// The first retransmission time-out (RFC 6298, section 2.1).
    pub initial_timeout: Duration,
    /// The longest.
    pub maximum_timeout: Duration,
    /// Retransmissions of the SYN before the time-out doubles.
    pub linear_syn_timeouts: u8,
    /// Retransmissions of the SYN, linear ones included, before the connection is given up.
    pub syn_retries: u8,
    /// Retransmissions of the SYN-ACK before the connection is given up.
    pub syn_ack_retries: u8,
}

/// The size of the send buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBufferConfig {
    /// What it takes at least.
    pub minimum: usize,
    /// What it grows to.
    pub maximum: usize,
    /// What it takes per segment of the congestion window, where it grows with it.
    pub per_segment: usize,
    /// What it takes for the bookkeeping of each packet, several segments that leave at once.
    pub per_packet: usize,
}

/// How many segments leave at once (Linux: TCP segmentation offload, in software where the device has none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstConfig {
    /// Segments that may always leave at once.
    pub minimum_segments: u32,
    /// Bytes that leave at once at most.
    pub maximum_bytes: u32,
}

/// When an idle connection is probed (RFC 9293, section 3.8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Probes without an answer after which the connection is given up.
    pub probes: u8,
}

/// How the handshake carries data (RFC 7413).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastOpen {
    /// It carries none.
    #[default]
    Off,
    /// A connecting end asks for a cookie.
    Request,
    /// A connecting end has this cookie: the connection counts as open, and its SYN leaves with the first write.
    Connect(Cookie),
    /// An accepting end gives this cookie and takes data that comes with it.
    Accept(Cookie),
}

impl Config {
    /// The Linux kernel, 6.18 at 250 Hz, under the settings of the emulated link (ARCHITECTURE.md, docs/models/tcp.md)
    /// and with `TCP_NODELAY`, as the drivers set it.
    pub fn linux(maximum_segment_size: u16) -> Self {
        Self {
            maximum_segment_size,
            timestamps: true,
            selective_acknowledgments: true,
            nagle: Nagle::Off,
            handshake: HandshakeConfig {
                initial_timeout: Duration::from_secs(1),
                maximum_timeout: Duration::from_secs(120),
                // net.ipv4.tcp_syn_linear_timeouts, tcp_syn_retries, tcp_synack_retries.
                linear_syn_timeouts: 4,
                syn_retries: 6 + 4,
                syn_ack_retries: 5,
            },
            granularity: Granularity::Wheel(Duration::from_millis(4)),
            clock_phase: Duration::ZERO,
            // net.ipv4.tcp_min_tso_segs; GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER and 1.
            burst: Some(BurstConfig {
                minimum_segments: 2,
                maximum_bytes: 65_536 - 193,
            }),
            send_buffer: SendBufferConfig {
                // net.ipv4.tcp_wmem; twice a segment with its bookkeeping for each of the congestion window
                // (tcp_sndbuf_expand); the truesize of an empty packet (tcp_stream_alloc_skb).
                minimum: 16_384,
                maximum: 4_194_304,
                per_segment: 2 * 2_304,
                per_packet: 832,
            },
            // TCP_TIMEWAIT_LEN and net.ipv4.tcp_fin_timeout.
            time_wait: Duration::from_secs(60),
            fin_wait_2: Duration::from_secs(60),
            maximum_persist: Duration::from_secs(120),
            keep_alive: None,
            fast_open: FastOpen::Off,
            recovery: RecoveryConfig::linux(),
            receive: ReceiveConfig::linux(),
        }
    }

    /// lwIP 2.2 with the defaults of its `opt.h`, as on a microcontroller: segments of at most 536 bytes, two of them in
    /// the send buffer and four in the window, no options but the segment size, timers of 500 ms and 250 ms.
    pub fn lwip_small(maximum_segment_size: u16) -> Self {
        // TCP_MSS.
        let maximum_segment_size = maximum_segment_size.min(536);
        let send_buffer = 2 * usize::from(maximum_segment_size);
        Self {
            maximum_segment_size,
            timestamps: false,
            selective_acknowledgments: false,
            nagle: Nagle::Off,
            handshake: HandshakeConfig {
                // LWIP_TCP_RTO_TIME; TCP_SYNMAXRTX, without doubling; what TCP_SYN_RCVD_TIMEOUT, 20 s, leaves time for.
                initial_timeout: Duration::from_secs(3),
                maximum_timeout: Duration::from_secs(60),
                linear_syn_timeouts: 6,
                syn_retries: 6,
                syn_ack_retries: 2,
            },
            // TCP_SLOW_INTERVAL.
            granularity: Granularity::Ticks(Duration::from_millis(500)),
            clock_phase: Duration::ZERO,
            burst: None,
            // TCP_SND_BUF.
            send_buffer: SendBufferConfig {
                minimum: send_buffer,
                maximum: send_buffer,
                per_segment: 0,
                per_packet: 0,
            },
            // Twice TCP_MSL.
            time_wait: Duration::from_secs(120),
            // TCP_FIN_WAIT_TIMEOUT.
            fin_wait_2: Duration::from_secs(20),
            maximum_persist: Duration::from_secs(60),
            keep_alive: None,
            fast_open: FastOpen::Off,
            recovery: RecoveryConfig::lwip_small(),
            receive: ReceiveConfig::lwip_small(),
        }
    }

    /// The TCP that A. Larmo, A. Ratilainen and J. Saarinen describe in "Impact of CoAP and MQTT on NB-IoT System
    /// Performance" (Sensors 19(1), 2019): an initial window of 3 segments, a congestion window of at most 10, an initial
    /// time-out of 1 s. What the paper leaves open is as the RFCs have it.
    pub fn larmo(maximum_segment_size: u16) -> Self {
        Self {
            granularity: Granularity::Exact,
            burst: None,
            handshake: HandshakeConfig {
                linear_syn_timeouts: 0,
                syn_retries: 6,
                ..Self::linux(maximum_segment_size).handshake
            },
            timestamps: false,
            selective_acknowledgments: false,
            // Twice the two minutes of RFC 9293, section 3.4.2.
            time_wait: Duration::from_secs(240),
            recovery: RecoveryConfig::larmo(),
            receive: ReceiveConfig::larmo(),
            ..Self::linux(maximum_segment_size)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn presets_survive_print_and_parse() {
        for preset in Preset::ALL {
            assert_eq!(preset.to_string().parse(), Ok(preset));
        }
        assert_eq!("bsd".parse::<Preset>(), Err(UnknownPreset));
    }

    #[test]
    fn a_microcontroller_sends_small_segments_whatever_the_path_takes() {
        assert_eq!(Preset::LwipSmall.config(1460).maximum_segment_size, 536);
        assert_eq!(Preset::LwipSmall.config(400).maximum_segment_size, 400);
        assert_eq!(Preset::Linux.config(1460).maximum_segment_size, 1460);
    }
}
