//! What a run is asked to do, every default filled in.

use serde::{Deserialize, Serialize};

/// A scenario without anything left open: what `scenario.resolved.yaml` holds. Quantities carry their units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedScenario {
    /// `live` or `sim`.
    pub engine: String,
    /// `builtin` or the name of a real server.
    pub target: String,
    /// Names of the stacks, in the order asked for.
    pub stacks: Vec<String>,
    /// How connections start.
    pub start: Vec<String>,
    /// Payload sizes, e.g. `128B`.
    pub size: Vec<String>,
    /// The links: every combination asked for.
    pub links: Vec<ResolvedLink>,
    /// Samples (devices) per cell.
    pub samples: u64,
    /// Quiet time after each step of a sample, e.g. `1s`.
    pub settle: String,
    /// Time after which an acknowledgement is late, e.g. `30s`.
    pub timeout: String,
    /// Whether devices speak IPv6.
    pub ipv6: bool,
    /// Seed of every random decision.
    pub seed: u64,
    /// MQTT topic, CoAP path.
    pub resource: String,
    /// MQTT client id prefix and keep-alive, e.g. `60s`.
    pub keep_alive: String,
    /// Messages per connection, the warm-up message not counted.
    pub messages_per_connection: u64,
    /// Time between the intended sends of one device's messages; absent in the settled case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
}

/// One link, quantities with units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedLink {
    /// Device to server.
    pub up: ResolvedDirection,
    /// Server to device.
    pub down: ResolvedDirection,
}

/// One direction of a link, quantities with units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedDirection {
    /// One-way delay, e.g. `12500us`.
    pub delay: String,
    /// Delay variation, e.g. `2ms` (uniform, plus or minus) or `normal 2ms`; `0ms` for none.
    pub delay_variation: String,
    /// Loss, e.g. `5%`, or `gilbert-elliott 1% 25% 0% 100%`.
    pub loss: String,
    /// Reordering, e.g. `1%`.
    pub reorder: String,
    /// Duplication.
    pub duplicate: String,
    /// Bit corruption.
    pub corrupt: String,
    /// Rate, e.g. `50kbit`, or `unlimited`.
    pub rate: String,
    /// Queue limit, e.g. `64 packets` or `256KiB`; `auto` for the larger of 1 BDP and 64 packets.
    pub queue: String,
    /// Largest IP packet, e.g. `1500B`.
    pub mtu: String,
}
