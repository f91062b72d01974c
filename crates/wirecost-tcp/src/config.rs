//! The configuration of an end: the rules in which implementations of TCP differ.

use core::time::Duration;

use crate::fast_open::Cookie;
use crate::receive::ReceiveConfig;
use crate::recovery::RecoveryConfig;
use crate::timers::Granularity;

/// The configuration of one end, which any number of connections share.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The largest segment that this end accepts: the path's MTU less IP and TCP headers without options.
    pub maximum_segment_size: u16,
    /// Whether timestamps are offered and accepted (RFC 7323).
    pub timestamps: bool,
    /// Whether selective acknowledgments are offered and accepted (RFC 2018).
    pub selective_acknowledgments: bool,
    /// How often and how long a handshake is tried.
    pub handshake: HandshakeConfig,
    /// The rounding of timers.
    pub granularity: Granularity,
    /// How many segments leave at once, the last of them with PSH; `None` if each leaves by itself.
    pub burst: Option<BurstConfig>,
    /// Whether a segment that is not full waits while an earlier one that was not full is unacknowledged: Nagle's algorithm
    /// (RFC 9293, section 3.7.4), which looks at small segments alone, as Linux does without `TCP_NODELAY`.
    pub nagle: bool,
    /// The size of the send buffer.
    pub send_buffer: SendBufferConfig,
    /// How long TIME-WAIT lasts: twice the maximum segment lifetime (RFC 9293, section 3.6.1).
    pub time_wait: Duration,
    /// How long a connection that its application has closed waits in FIN-WAIT-2.
    pub fin_wait_2: Duration,
    /// When an idle connection is probed (RFC 9293, section 3.8.4); `None`: never.
    pub keep_alive: Option<KeepAliveConfig>,
    /// The longest time between two probes of a zero window (RFC 9293, section 3.8.6.1). Probes carry no byte, as in Linux.
    pub maximum_persist: Duration,
    /// Congestion control, loss recovery and the retransmission time-out.
    pub recovery: RecoveryConfig,
    /// Acknowledgments and the window offered.
    pub receive: ReceiveConfig,
}

/// What a connection has of its own. From a number: a connection with this initial sequence number, whose host's clock starts with the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionStart {
    /// The initial sequence number of this end.
    pub sequence: u32,
    /// The host's clock at the start of the run, which determines its ticks. Ends on one machine share it.
    pub clock_phase: Duration,
    /// Whether data may be in a SYN (RFC 7413); `None`: never.
    pub fast_open: Option<FastOpen>,
}

impl From<u32> for ConnectionStart {
    fn from(sequence: u32) -> Self {
        Self {
            sequence,
            ..Self::default()
        }
    }
}

/// When an end probes a peer from which nothing has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAliveConfig {
    /// The time since the peer was heard last after which the first probe leaves.
    pub idle: Duration,
    /// The time between two probes.
    pub interval: Duration,
    /// Unanswered probes after which the connection ends.
    pub probes: u8,
}

impl KeepAliveConfig {
    /// The probes of the Linux kernel (net.ipv4.tcp_keepalive_intvl, tcp_keepalive_probes) after `idle`.
    pub const fn linux(idle: Duration) -> Self {
        Self {
            idle,
            interval: Duration::from_secs(75),
            probes: 9,
        }
    }
}

/// TCP Fast Open (RFC 7413).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastOpen {
    /// To an end that connects: the cookie that the server gave it earlier, with which its SYN waits for data; `None` asks for one. To
    /// an end that accepts: the cookie of the peer's address.
    pub cookie: Option<Cookie>,
}

/// How often and how long a handshake is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeConfig {
    /// The first retransmission time-out (RFC 6298, section 2.1).
    pub initial_timeout: Duration,
    /// The longest retransmission time-out.
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
    /// The smallest size.
    pub minimum: usize,
    /// The largest size.
    pub maximum: usize,
    /// Bytes per segment of the congestion window, with which the buffer grows.
    pub per_segment: usize,
    /// Bytes for the bookkeeping of each packet (several segments that leave at once).
    pub per_packet: usize,
}

/// How many segments leave at once (Linux: TCP segmentation offload, in software if the device has none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstConfig {
    /// Segments that may always leave at once.
    pub minimum_segments: u32,
    /// The largest number of bytes that leave at once.
    pub maximum_bytes: u32,
}

impl Config {
    /// The Linux kernel, 6.18 at 250 Hz, under the settings of the emulated link (ARCHITECTURE.md, docs/models/tcp.md)
    /// and with `TCP_NODELAY`, as the drivers set it.
    pub fn linux(maximum_segment_size: u16) -> Self {
        Self {
            maximum_segment_size,
            timestamps: true,
            selective_acknowledgments: true,
            handshake: HandshakeConfig {
                initial_timeout: Duration::from_secs(1),
                maximum_timeout: Duration::from_secs(120),
                // net.ipv4.tcp_syn_linear_timeouts, tcp_syn_retries, tcp_synack_retries.
                linear_syn_timeouts: 4,
                syn_retries: 6 + 4,
                syn_ack_retries: 5,
            },
            granularity: Granularity::Wheel(Duration::from_millis(4)),
            // net.ipv4.tcp_min_tso_segs; GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER and 1.
            burst: Some(BurstConfig {
                minimum_segments: 2,
                maximum_bytes: 65_536 - 193,
            }),
            nagle: false,
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
            keep_alive: None,
            maximum_persist: Duration::from_secs(120),
            recovery: RecoveryConfig::linux(),
            receive: ReceiveConfig::linux(),
        }
    }

    /// The same with another first retransmission time-out: of the handshake, of data before a round trip is measured, and of data
    /// after a handshake that was retransmitted, which is never below 3 s (RFC 6298, sections 2.1 and 5.7). A handshake measures the
    /// round trip, or is retransmitted: the first of the three is the one that acts.
    #[must_use]
    pub fn with_initial_timeout(self, timeout: Duration) -> Self {
        Self {
            handshake: HandshakeConfig {
                initial_timeout: timeout,
                ..self.handshake
            },
            recovery: RecoveryConfig {
                initial_rto: timeout,
                fallback_rto: timeout.max(Duration::from_secs(3)),
                ..self.recovery
            },
            ..self
        }
    }

    /// The TCP that A. Larmo, A. Ratilainen and J. Saarinen describe in "Impact of CoAP and MQTT on NB-IoT System
    /// Performance" (Sensors 19(1), 2019): an initial window of 3 segments, a congestion window of at most 10, an initial
    /// time-out of 1 s. The RFCs decide what the paper leaves open.
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
