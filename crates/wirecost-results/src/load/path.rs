//! The links and hops that the packets of a load crossed.

use serde::{Deserialize, Serialize};

use crate::environment::Emulator;
use crate::summary::Link;

/// The emulated link of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkFigures {
    /// The link as configured and as achieved, over the whole load.
    #[serde(flatten)]
    pub link: Link,
    /// The packet path: `tun` or `veth`; `virtual` in virtual time.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::LoadPacketPath"))]
    pub packet_path: String,
    /// The lateness of the link over the whole load; absent in virtual time, which is never late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator: Option<Emulator>,
    /// Packets that an interface dropped or refused. Any such packet makes the load invalid.
    pub dropped_packets: u64,
    /// The address of the target to which a relay at the end of the link passed everything on; absent where the target was
    /// started at the end of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
}

/// A hop of a load with sites: the link between two of them, and what crossed it over the whole load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopFigures {
    /// The two sites, joined by `-`. Up is from devices to their server, and between two servers from the first site to the second.
    pub hop: String,
    /// Its packets and bytes, warm-up included.
    pub used: WireUse,
    /// The link as configured and as achieved.
    pub link: Link,
}

/// IP packets on the real path in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireUse {
    /// To the target, as they leave this machine.
    pub up: WireWay,
    /// From the target, as they arrive.
    pub down: WireWay,
}

impl WireUse {
    /// Adds the packets of another generator.
    pub const fn add(&mut self, other: &Self) {
        let Self { up, down } = other;
        self.up.add(up);
        self.down.add(down);
    }
}

impl WireWay {
    const fn add(&mut self, other: &Self) {
        let Self { packets, bytes } = other;
        self.packets += *packets;
        self.bytes += *bytes;
    }
}

/// One direction of the real path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireWay {
    /// IP packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}
