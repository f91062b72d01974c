//! `summary.json`: one entry per cell, one section per phase.
//!
//! - `link`: the link of a cell, as configured and as achieved
//! - `section`: the figures of a phase: times, bytes, causes
//! - `outcomes`: how the offered messages ended

mod link;
mod outcomes;
mod section;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::threshold::Threshold;
use crate::readings::Readings;
use crate::resolved::Asked;
use crate::warning::Warning;
pub use link::{Achieved, Link, LinkCell, LinkDirection};
pub use outcomes::Outcomes;
pub use section::{Bytes, CauseBytes, Count, Section, Times};

/// The version of the format of `summary.json`.
pub const SCHEMA: u32 = 1;

/// The contents of `summary.json`: what a run measured, one entry per cell. Times are in nanoseconds, sizes in bytes of IP
/// packets, rates in bit/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "summary.json of wirecost, schema 1", extend("$id" = "urn:wirecost:summary:1")))]
pub struct Summary {
    /// Version of this format: 1.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Version of wirecost.
    pub version: String,
    /// The command that repeats the run.
    pub command: String,
    /// The scenario with every default filled in.
    pub scenario: Asked,
    /// Seed of every random decision.
    pub seed: u64,
    /// Whether the run was interrupted before every cell had its samples; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// One entry per cell, in the order asked for.
    pub cells: Vec<Cell>,
    /// The judged thresholds; absent where nothing was demanded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
}

/// One stack x start x payload size x link x engine x target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// Name of the stack.
    pub stack: String,
    /// How its connections start: `cold`, `resumed`, `0rtt`, `edhoc` or `edhoc-by-value`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Start"))]
    pub start: String,
    /// Payload of a message in bytes.
    pub payload_bytes: u64,
    /// The readings that the payload holds; absent where it holds pseudo-random bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readings: Option<Readings>,
    /// `live` or `sim`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Engine"))]
    pub engine: String,
    /// `builtin`, the name of a real server, or a URL.
    pub target: String,
    /// The key of the cell: equal for the same resolved cell, engine, version and seed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Its dimensions with their values, as selectors name them: the same in every version, while the key is of one. Empty in
    /// results that were written before cells had them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Measured messages of a connection.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub messages_per_connection: u64,
    /// Time between the intended sends of one device's messages; null where each one settles.
    #[serde(default)]
    pub interval_ns: Option<u64>,
    /// Seconds between keep-alives; absent where they are those of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_alive_s: Option<u64>,
    /// For a live cell, the comparison with the simulated cell; null if there is none.
    #[serde(default)]
    pub agreement: Option<Agreement>,
    /// Whether the figures may be used; `warnings` hold the reasons.
    pub valid: bool,
    /// Reasons to look before trusting the figures.
    pub warnings: Vec<Warning>,
    /// Why the cell could not be run; every section is null in this case. Absent where it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// The link as configured and as achieved.
    pub link: Link,
    /// From the first packet until the client may send application data; null for stacks without a connect.
    pub connect: Option<Section>,
    /// Round trips from the start of the connect until the first message was acknowledged, or had arrived where nothing
    /// answers; null under loss.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub first_message_round_trips: Option<f64>,
    /// From the start of the connect until the first message was acknowledged, or had arrived where nothing answers, without
    /// the pause between the two, in nanoseconds; absent if no first message ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_message_time_ns: Option<Times>,
    /// Whether the measured message left before the connect was over, as early data or behind the request of a pipelined connect: it
    /// shares packets with the connect, whose headers count as connect.
    /// Absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early_message: bool,
    /// The measured message: all bytes between its send and the end of its settle.
    pub message: Option<Section>,
    /// Keep-alive packets such as PINGREQ; null if none was sent.
    pub keep_alive: Option<Section>,
    /// The close by the client; null for stacks without one.
    pub close: Option<Section>,
    /// The link of the subscriber; null where there is none.
    pub delivery: Option<Section>,
    /// IP bytes per message with the shares of connects, keep-alive and closes; null where no message was sent.
    #[serde(default)]
    pub all_in: Option<AllIn>,
    /// Bytes of a session as a sniffer counts them, with the headers of the link layer; absent where the run did not ask for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// CPU time of both sides; null in sections that were not measured.
    pub cpu: Cpu,
    /// What a program of another maker cost, which ran in place of a stack; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramFigures>,
    /// How the offered messages ended.
    pub outcomes: Outcomes,
}

const fn one() -> u64 {
    1
}

/// The agreement of a live cell with the simulated one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// Whether packets and bytes by phase, direction and layer are equal.
    pub equal: bool,
    /// The first difference as text: phase, direction, quantity, live and simulated figure.
    pub first_difference: Option<String>,
    /// Median response time of the message, live by simulated; null where either has none.
    pub median_ratio: Option<f64>,
}

/// The IP bytes of the devices of a cell, divided by their messages: (connect + messages + keep-alive + close) /
/// messages. Connects include the repeated ones, where a connection was made again. Each part is the sum over devices,
/// so a connect counts as often as it took place. Warm-up messages and connections for a ticket count nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllIn {
    /// The messages that the bytes are divided by: the measured ones that were sent.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub messages: u64,
    /// From the device to the server, in bytes per message.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub up: f64,
    /// From the server to the device, in bytes per message.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub down: f64,
}

/// Connect, messages and close of a device as a sniffer counts them: every packet with the header of its link layer, without padding
/// and check sequence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// The link layer: `ethernet` or `wifi`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::LinkLayer"))]
    pub framing: String,
    /// What it adds to each packet, in bytes.
    pub header_bytes: u64,
    /// From the device to the server: mean bytes of connect, a message and close; null where no message was measured.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub up: Option<f64>,
    /// From the server to the device: mean bytes of connect, a message and close; null where no message was measured.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub down: Option<f64>,
}

/// What runs of a program cost beside bytes and packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramFigures {
    /// Its command line, without the passwords of URLs.
    pub command: String,
    /// From its start to its end, in nanoseconds.
    pub time_ns: Times,
    /// CPU time of it and of the processes that it waited for, in nanoseconds.
    pub cpu_ns: Times,
}

/// CPU time per sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Our client: endpoint and socket calls, thread clock; null where not measured.
    pub client: Option<CpuSide>,
    /// The server: thread clock of the built-in one, schedstat of a foreign one; null where not measured.
    pub server: Option<CpuSide>,
    /// Why a side, or a figure of a side, is null; null where all were measured.
    pub reason: Option<String>,
}

/// CPU time of one side per sample, in nanoseconds: mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuSide {
    /// All of the life of a device: connect, both messages, close; in nanoseconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub device_ns: f64,
    /// The connect, until the client may send application data, in nanoseconds; null where its CPU time is mixed with that of other work.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub connect_ns: Option<f64>,
    /// The measured message, in nanoseconds; null where its CPU time is mixed with that of other work.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub message_ns: Option<f64>,
}

impl Cell {
    /// The close of one connection. The means of `close` are of a device, which has several connections if it connected
    /// again.
    pub fn close_of_a_connection(&self) -> Option<Section> {
        let close = self.close.as_ref()?;
        let connects = self.connect.as_ref().map_or(0, |connect| connect.samples);
        // Without a second connect there is one close for each device already.
        let factor = match connects > close.samples {
            true => close.samples as f64 / connects as f64,
            false => 1.0,
        };
        Some(Section {
            up: close.up.scaled(factor),
            down: close.down.scaled(factor),
            wire_ci95: close.wire_ci95.map(|ends| ends.map(|end| end * factor)),
            by_cause: close
                .by_cause
                .iter()
                .map(|(cause, bytes)| (cause.clone(), bytes.scaled(factor)))
                .collect(),
            ..close.clone()
        })
    }

    /// Whether every offered message reached its server, as far as the stack can tell.
    pub const fn all_arrived(&self) -> bool {
        self.outcomes.offered == self.outcomes.acknowledged + self.outcomes.delivered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(samples: u64, wire_mean: f64) -> Section {
        let wire = Count {
            mean: wire_mean,
            ..Count::default()
        };
        Section {
            samples,
            up: Bytes {
                wire,
                ..Bytes::default()
            },
            ..Section::default()
        }
    }

    #[test]
    fn a_device_that_connected_again_has_several_closes() {
        let mut cell = Cell {
            connect: Some(section(40, 500.0)),
            close: Some(section(10, 400.0)),
            ..Cell::default()
        };
        let mean = |cell: &Cell| cell.close_of_a_connection().expect("a close").up.wire.mean;
        assert!(
            (mean(&cell) - 100.0).abs() < 1e-9,
            "four connections of each device"
        );
        cell.connect = Some(section(10, 500.0));
        assert!((mean(&cell) - 400.0).abs() < 1e-9);
        cell.connect = None;
        assert!((mean(&cell) - 400.0).abs() < 1e-9);
    }
}
