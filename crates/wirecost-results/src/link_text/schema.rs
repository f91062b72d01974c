//! The tables that a link is written as, for the JSON Schema of `summary.json`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::LinkText;

impl JsonSchema for LinkText {
    fn schema_name() -> Cow<'static, str> {
        "LinkText".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        LinkTable::json_schema(generator)
    }
}

/// One link, quantities with units.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
struct LinkTable {
    /// From the device to the server.
    up: DirectionTable,
    /// From the server to the device.
    down: DirectionTable,
    /// The name of the parameters of a modelled NB-IoT cell; both directions are then those of the internet behind it. Absent on an
    /// emulated link.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<String>,
    /// Reports of other devices per second and modelled cell, e.g. `1/s`, or `unloaded`; absent on an emulated link.
    #[serde(skip_serializing_if = "Option::is_none")]
    cell_load: Option<String>,
    /// Coupling loss between device and modelled cell, e.g. `123dB`; absent on an emulated link.
    #[serde(skip_serializing_if = "Option::is_none")]
    coupling_loss: Option<String>,
    /// How long the address translator keeps a mapping that no packet uses, by transport; absent: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    nat_timeout: Option<NatTable>,
    /// `new-port`: the address translator gives another port to a UDP port that it has forgotten; absent: the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    nat: Option<crate::words::NewNatPort>,
}

/// How long an address translator keeps a mapping that no packet uses.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
struct NatTable {
    /// Of UDP, with its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<String>,
    /// Of TCP, with its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<String>,
}

/// One direction of a link, quantities with units.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
struct DirectionTable {
    /// One-way delay, e.g. `12500us`.
    delay: String,
    /// Delay variation, e.g. `2ms` (uniform, plus or minus) or `normal 2ms`; `0ms` for none.
    delay_variation: String,
    /// Loss in percent, e.g. `5%`, or `gilbert-elliott 1% 25% 0% 100%`.
    loss: String,
    /// Reordering in percent.
    reorder: String,
    /// Duplication in percent.
    duplicate: String,
    /// Bit corruption in percent of packets.
    corrupt: String,
    /// Rate per second, e.g. `50kbit`, or `unlimited`.
    rate: String,
    /// Queue limit, e.g. `64 packets` or `256KiB`, or `auto`.
    queue: String,
    /// Largest IP packet, e.g. `1500B`.
    mtu: String,
}
