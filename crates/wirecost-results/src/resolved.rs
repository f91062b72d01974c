//! The scenario of a comparison with every default filled in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::link_text::LinkText;

/// A scenario with every default filled in, as in `scenario.resolved.yaml`. Quantities have their units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedScenario {
    /// `auto`, `sim` or `live`.
    pub engine: String,
    /// `builtin`, the name of a real server, or the URL of a server that was running already.
    pub target: String,
    /// How devices reached a server that was running already: `real` (no emulated link) or `relay` (a relay at the end of the
    /// emulated link); absent where wirecost started the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A file with the certificate authorities of a server that was running already; absent for those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// Whether any certificate of a server that was running already was accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// Names of the stacks, in order.
    pub stacks: Vec<String>,
    /// How connections start.
    pub start: Vec<String>,
    /// Payload sizes, e.g. `128B`; empty where messages carry readings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub size: Vec<String>,
    /// Readings per message; empty where messages carry pseudo-random bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<u32>,
    /// Encodings of readings; empty for the default, `json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encoding: Vec<String>,
    /// Compressions of readings; empty for the default, `none`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compression: Vec<String>,
    /// Every link.
    pub links: Vec<LinkText>,
    /// Samples (devices) per cell.
    pub samples: u64,
    /// Quiet time after each step of a sample, e.g. `1s`.
    pub settle: String,
    /// Time-out of an acknowledgement, e.g. `30s`.
    pub timeout: String,
    /// Whether devices speak IPv6.
    pub ipv6: bool,
    /// Seed of every random decision.
    pub seed: u64,
    /// MQTT topic, CoAP path.
    pub resource: String,
    /// The time between keep-alives of a connection, e.g. `60s`.
    pub keep_alive: String,
    /// What a device does when its connection has ended before its last message: `as-needed` or `never`. A folder that does
    /// not say it was written when devices never reconnected.
    #[serde(default = "never")]
    pub reconnect: String,
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
    /// Schedules, if there are several. The fields above are those of the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<ResolvedSchedule>,
    /// Whether all devices of a cell share one link and one server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_link: bool,
    /// Time over which the starts of devices that share a link are spread; absent where it is the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    /// `tun` or `veth`; absent if wirecost chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_path: Option<String>,
    /// Whether link and hosts share one CPU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_cpu: bool,
    /// The payload, if it is not pseudo-random bytes of the sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<ResolvedPayload>,
    /// The most bytes that a device gives to TCP at once, e.g. `1kB`; absent where a message is one write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<String>,
    /// Whether sockets left Nagle's algorithm on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nagle: bool,
    /// Whether packets were captured behind segmentation offload, so that they are not packets on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offload: bool,
    /// Further header fields of each HTTP request in the form of HTTP/1.1, e.g. `60B`; absent where requests have the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_headers: Option<String>,
    /// Content of the server's HTTP answer to a message, e.g. `15kB`; absent where answers have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
    /// Contents of the capture.
    #[serde(default, skip_serializing_if = "ResolvedRecord::is_default")]
    pub record: ResolvedRecord,
    /// Excluded cells: a cell is excluded if it has one of the values of each named dimension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<BTreeMap<String, Vec<String>>>,
}

/// The bytes of each message of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedPayload {
    /// Pairs of hexadecimal digits.
    pub hex: String,
}

impl ResolvedPayload {
    /// The payload of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// Contents of the capture of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedRecord {
    /// Whether it holds the secrets of its connections.
    pub keys: bool,
    /// Recorded devices per cell, in a run that is too long to record all.
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

/// The messages of one connection and their times, with units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedSchedule {
    /// Messages per connection, the warm-up message not counted.
    pub messages_per_connection: u64,
    /// Whether a message goes before the measured ones on each connection.
    pub warm_up: bool,
    /// Time between the intended sends of one device's messages; absent in the settled case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Time between keep-alives; absent where it is that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<String>,
}

fn never() -> String {
    "never".into()
}

const fn yes() -> bool {
    true
}
