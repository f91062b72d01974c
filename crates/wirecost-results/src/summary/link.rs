//! The link of a cell, as configured and as achieved.

use serde::{Deserialize, Serialize};

/// The link of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// From the device to the server.
    pub up: LinkDirection,
    /// From the server to the device.
    pub down: LinkDirection,
    /// After how long without a packet the address translator forgets a UDP port, in nanoseconds; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub nat_udp_timeout_ns: Option<u64>,
    /// After how long without a packet the address translator forgets a TCP connection, in nanoseconds; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub nat_tcp_timeout_ns: Option<u64>,
    /// Which port that translator gives to a UDP port that it has forgotten: `same-port` or `new-port`; absent where it forgets
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::words::NatPort>"))]
    pub nat_port: Option<String>,
    /// Measurements of the link before and during the run; null if it was not checked.
    pub achieved: Option<Achieved>,
    /// How devices reached a server that was running already: `real`, where no link was emulated and both directions are
    /// placeholders, or `relay`, where a relay was at the end of the link; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::words::ServerPath>"))]
    pub path: Option<String>,
    /// The modelled NB-IoT cell that carried the packets in place of an emulated link; both directions are then those of the
    /// internet behind it. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbiot_cell: Option<LinkCell>,
}

/// A modelled NB-IoT cell as a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkCell {
    /// The named parameters of the network.
    pub profile: String,
    /// Reports of other devices per second and cell; 0: the device is alone, without neighbouring cells.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub load_per_s: f64,
    /// Coupling loss between the device and its cell, in dB.
    pub coupling_loss_db: f64,
}

/// One direction of the link, as configured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkDirection {
    /// One-way propagation delay, in nanoseconds.
    pub delay_ns: u64,
    /// Half width (uniform) or standard deviation (normal) of the delay variation, in nanoseconds.
    pub delay_variation_ns: u64,
    /// Stationary probability that a packet is lost, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub loss: f64,
    /// Probability that a packet is held back behind later ones, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub reorder: f64,
    /// Probability that a packet is delivered twice, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub duplicate: f64,
    /// Probability that one bit of a packet is flipped, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub corrupt: f64,
    /// Serialisation rate in bit/s; null for none.
    pub rate_bps: Option<u64>,
    /// Limit of the queue in bytes; null where it is not byte-limited.
    pub queue_bytes: Option<u64>,
    /// Limit of the queue in packets; null where it is not packet-limited.
    pub queue_packets: Option<u64>,
    /// Largest IP packet in bytes.
    pub mtu_bytes: u64,
}

/// The achieved properties of the link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Achieved {
    /// Median round-trip time of ICMP echo requests before the measurement, in nanoseconds; null where none was sent.
    pub rtt_p50_ns: Option<u64>,
    /// Echo replies that the median is of.
    pub rtt_samples: u64,
    /// Share of packets lost by the link's own decisions in the cell's run, up, 0 to 1; null without packets.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub loss_up: Option<f64>,
    /// Share of packets lost by the link's own decisions in the cell's run, down, 0 to 1; null without packets.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub loss_down: Option<f64>,
    /// Packets that these shares are of, both directions.
    pub packets: u64,
    /// Rate that back-to-back packets left the link at, up, in bit/s; null where not measured.
    pub rate_up_bps: Option<u64>,
    /// Rate that back-to-back packets left the link at, down, in bit/s; null where not measured.
    pub rate_down_bps: Option<u64>,
    /// Packets that found the queue full in the cell's run, up; absent where nothing queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_dropped_up: Option<u64>,
    /// Packets that found the queue full in the cell's run, down; absent where nothing queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_dropped_down: Option<u64>,
}
