//! The keys of a comparison's options that are read with others, as a summary has them, for its JSON Schema. `wirecost-formats` adds the
//! other ones from the options' rows.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::link_text::LinkText;

/// A scenario with every default filled in, as in `scenario.resolved.yaml`. Quantities have their units.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
pub(super) struct Keys {
    /// `builtin`, the name of a real server, or the URL of a server that was running already.
    target: String,
    /// How devices reached a server that was running already: `real` (no emulated link) or `relay` (a relay at the end of the
    /// emulated link); absent where wirecost started the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::words::ServerPath>")]
    path: Option<String>,
    /// A file with the certificate authorities of a server that was running already; absent for those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ca: Option<String>,
    /// Whether any certificate of a server that was running already was accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    insecure: bool,
    /// Names of the stacks, in order.
    stacks: Vec<String>,
    /// How connections start.
    #[schemars(with = "Vec<crate::words::Start>")]
    start: Vec<String>,
    /// Payload sizes with their unit, e.g. `128B`; absent where messages carry readings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    size: Vec<String>,
    /// Readings per message; absent where messages carry pseudo-random bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<core::num::NonZeroU32>")]
    readings: Vec<u32>,
    /// Encodings of readings; absent for the default, `json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<crate::words::Encoding>")]
    encoding: Vec<String>,
    /// Compressions of readings; absent for the default, `none`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<crate::words::Compression>")]
    compression: Vec<String>,
    /// Every link.
    links: Vec<LinkText>,
    /// Messages per connection, the warm-up message not counted.
    messages_per_connection: u64,
    /// Whether a message goes before the measured ones on each connection.
    #[serde(default)]
    warm_up: bool,
    /// Time between the intended sends of one device's messages; absent in the settled case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<String>,
    /// Schedules, if there are several. The fields above are those of the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    schedules: Vec<Schedule>,
    /// Whether all devices of a cell share one link and one server; absent where each has its own link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shared_link: bool,
    /// Time over which the starts of devices that share a link are spread; absent where it is the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spread: Option<String>,
    /// Command line of the program that ran in place of stacks; absent in comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// The bytes of each message; absent where they are pseudo-random bytes of the sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Payload>,
    /// What the capture holds; absent where it is keys and one host.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<Record>,
    /// Excluded cells: a cell is excluded if it has one of the values of each named dimension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exclude: Vec<BTreeMap<String, Vec<String>>>,
}

/// The bytes of each message of a comparison.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
struct Payload {
    /// Pairs of hexadecimal digits.
    hex: String,
}

/// Contents of the capture of a comparison.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
struct Record {
    /// Whether it holds the secrets of its connections.
    keys: bool,
    /// Recorded devices per cell, in a run that is too long to record all.
    hosts: u32,
}

/// The messages of one connection and their times, with units.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
struct Schedule {
    /// Messages per connection, the warm-up message not counted.
    #[schemars(range(min = 1))]
    messages_per_connection: u64,
    /// Whether a message goes before the measured ones on each connection.
    warm_up: bool,
    /// Time between the intended sends of one device's messages; absent in the settled case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<String>,
    /// Time between keep-alives; absent where it is that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keep_alive: Option<String>,
}
