//! The keys of a comparison's options as a summary has them, for its JSON Schema. A test of `wirecost-formats` holds them against the
//! options' rows.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::link_text::LinkText;

/// A scenario with every default filled in, as in `scenario.resolved.yaml`. Quantities have their units.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
pub(super) struct Keys {
    /// `auto`, `sim` or `live`.
    #[schemars(with = "crate::words::AskedEngine")]
    engine: String,
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
    /// Samples (devices) per cell.
    samples: u64,
    /// Quiet time after each step of a sample, e.g. `1s`.
    settle: String,
    /// Time-out of an acknowledgement, e.g. `30s`.
    timeout: String,
    /// Whether devices speak IPv6.
    ipv6: bool,
    /// Seed of every random decision.
    seed: u64,
    /// What messages are sent to: MQTT topic, CoAP and HTTP path, AMQP target.
    resource: String,
    /// Keep-alive of MQTT with its unit, e.g. `60s`.
    keep_alive: String,
    /// What a device does when its connection has ended before its last message: `as-needed` or `never`. A folder that does
    /// not say it was written when devices never reconnected.
    #[serde(default)]
    #[schemars(with = "crate::words::Reconnect")]
    reconnect: String,
    /// Messages per connection, the warm-up message not counted.
    messages_per_connection: u64,
    /// Whether a message goes before the measured ones on each connection.
    #[serde(default)]
    warm_up: bool,
    /// Whether servers demand a certificate of devices.
    #[serde(default)]
    client_certificates: bool,
    /// Whether DTLS servers ask for a cookie.
    #[serde(default)]
    dtls_cookie: bool,
    /// Key and signatures of the certificates; absent where it is `p256`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::words::CertificateKey>")]
    certificate: Option<String>,
    /// Certificates that an end sends; absent where it is `leaf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::words::Chain>")]
    chain: Option<String>,
    /// Groups of the devices' key exchange with commas between them, the best first; absent where it is `x25519`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// Groups of the server; absent where they are those of the devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_group: Option<String>,
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
    /// `tun` or `veth`; absent if wirecost chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::words::PacketPath>")]
    packet_path: Option<String>,
    /// The link layer whose headers count in the figures of frames; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::words::Framing>")]
    framing: Option<String>,
    /// Command line of the program that ran in place of stacks; absent in comparisons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// Whether link and hosts share one CPU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    one_cpu: bool,
    /// The bytes of each message; absent where they are pseudo-random bytes of the sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Payload>,
    /// The most bytes that a device gives to TCP at once, e.g. `1kB`; absent where a message is one write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chunk: Option<String>,
    /// Whether sockets left Nagle's algorithm on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    nagle: bool,
    /// The congestion control of TCP at both ends of the link; absent where it is cubic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    congestion: Option<String>,
    /// Whether clients sent behind their request to connect, without waiting for its answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pipelined_connect: bool,
    /// The largest frame that both ends of AMQP accepted, e.g. `2kB`; absent where it is the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amqp_frame_size: Option<String>,
    /// Whether packets were captured behind segmentation offload, so that they are not packets on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    offload: bool,
    /// Further header fields of each HTTP request in the form of HTTP/1.1, e.g. `60B`; absent where requests have the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_headers: Option<String>,
    /// Content of the server's HTTP answer to a message, e.g. `15kB`; absent where answers have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response_body: Option<String>,
    /// Whether a message is a GET with its payload in the query.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reading_in_query: bool,
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
