//! What a run is asked to do, every default filled in.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A scenario without anything left open: what `scenario.resolved.yaml` holds. Quantities carry their units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedScenario {
    /// `auto`, `sim` or `live`.
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
    /// Whether a message goes before the measured ones on each connection.
    #[serde(default = "yes")]
    pub warm_up: bool,
    /// Whether servers demand a certificate of devices.
    #[serde(default)]
    pub client_certificates: bool,
    /// Whether DTLS servers ask for a cookie.
    #[serde(default)]
    pub dtls_cookie: bool,
    /// Time between the intended sends of one device's messages; absent in the settled case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// How devices send, where several ways were asked for; the fields above are the first one's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<ResolvedSchedule>,
    /// Whether all devices of a cell share one link and one server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_link: bool,
    /// Time over which the starts of devices that share a link are spread; absent where it is the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    /// `tun` or `veth`; absent where the machine decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_path: Option<String>,
    /// Whether link and hosts share one CPU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_cpu: bool,
    /// What the capture holds.
    #[serde(default, skip_serializing_if = "ResolvedRecord::is_default")]
    pub record: ResolvedRecord,
    /// Cells that are left out: those that have one of the values of each dimension named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<BTreeMap<String, Vec<String>>>,
}

/// What the capture of a comparison holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedRecord {
    /// Whether it holds the secrets of its connections.
    pub keys: bool,
    /// Devices per cell whose packets it holds where a run is too long to hold all.
    pub hosts: u32,
}

impl Default for ResolvedRecord {
    fn default() -> Self {
        Self { keys: true, hosts: 1 }
    }
}

impl ResolvedRecord {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What devices send on one connection, and when, quantities with units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedSchedule {
    /// Messages per connection, the warm-up message not counted.
    pub messages_per_connection: u64,
    /// Whether a message goes before the measured ones on each connection.
    pub warm_up: bool,
    /// Time between the intended sends of one device's messages; absent in the settled case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
}

const fn yes() -> bool {
    true
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

impl fmt::Display for ResolvedLink {
    /// The link in words: what differs from a perfect one, once where both directions are alike.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (up, down) = (self.up.words(), self.down.words());
        for (index, ((name, up, perfect), (_, down, _))) in up.into_iter().zip(down).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match (up == down, up == perfect) {
                (true, true) => {}
                (true, false) => write!(f, "{comma}{name} {up}")?,
                (false, _) => write!(f, "{comma}{name} {up} up {down} down")?,
            }
        }
        Ok(())
    }
}

impl ResolvedDirection {
    /// Name, value and the value of a perfect link, of all that can be said. The delay is always said.
    fn words(&self) -> [(&'static str, &str, &'static str); 8] {
        [
            ("delay", &self.delay, ""),
            ("variation", &self.delay_variation, "0ms"),
            ("loss", &self.loss, "0%"),
            ("reorder", &self.reorder, "0%"),
            ("duplicate", &self.duplicate, "0%"),
            ("corrupt", &self.corrupt, "0%"),
            ("rate", &self.rate, "unlimited"),
            ("queue", &self.queue, "auto"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_described_by_what_it_does() {
        let up = ResolvedDirection {
            delay: "12500us".into(),
            delay_variation: "0ms".into(),
            loss: "5%".into(),
            reorder: "0%".into(),
            duplicate: "0%".into(),
            corrupt: "0%".into(),
            rate: "unlimited".into(),
            queue: "auto".into(),
            mtu: "1500B".into(),
        };
        let down = ResolvedDirection {
            loss: "0%".into(),
            ..up.clone()
        };
        let one_way = ResolvedLink { up: up.clone(), down };
        assert_eq!(one_way.to_string(), "delay 12500us, loss 5% up 0% down");
        let both = ResolvedLink {
            up: up.clone(),
            down: up,
        };
        assert_eq!(both.to_string(), "delay 12500us, loss 5%");
    }
}
