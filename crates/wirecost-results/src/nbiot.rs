//! The results of reports in NB-IoT cells: `summary.json` and the files of the runs, `cells/KEY.json`.
//!
//! - [`map`]: where devices were; [`sequence`]: one device over the air
//! - [`sensitivity`]: the load at which reports are no longer served, against the distance of DCI occasions

pub mod map;
pub mod sensitivity;
pub mod sequence;
mod what_if;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wirecost_proto::battery;

use crate::folder::{ResultsError, RunFolder};
use crate::threshold::Threshold;
pub use sensitivity::Knee;

pub use what_if::{Difference, KeepAlives, KeptConnections, NotRun};

/// The version of the format of `summary.json`.
pub const SCHEMA: u32 = 1;
/// What tells its summary from those of comparisons and loads.
pub const KIND: &str = "nbiot";
/// The sub-folders of its results folder.
pub const FOLDERS: [&str; 1] = [crate::folder::CELLS];

/// Whether a folder holds reports in NB-IoT cells, by the kind that its summary names.
pub fn is_nbiot(folder: &RunFolder) -> bool {
    let summary: Result<serde_json::Value, ResultsError> = folder.read_json("summary.json");
    summary.is_ok_and(|summary| summary.get("kind").and_then(|kind| kind.as_str()) == Some(KIND))
}

/// Delays in milliseconds, with three significant digits, and how many reports had each.
pub type Delays = BTreeMap<u32, u64>;

/// `summary.json` of `wirecost nbiot`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "summary.json of reports in NB-IoT cells by wirecost, schema 1", extend("$id" = "urn:wirecost:nbiot-summary:1")))]
pub struct NbiotSummary {
    /// Version of this format: 1.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// `nbiot`, which tells it from the summaries of comparisons and loads.
    #[cfg_attr(feature = "schema", schemars(extend("const" = KIND)))]
    pub kind: String,
    /// The program's version.
    pub version: String,
    /// The command that repeats the run.
    #[serde(default)]
    pub command: String,
    /// The scenario's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What was run.
    pub setting: Setting,
    /// One point per curve and load, in the order of the command line.
    pub points: Vec<Point>,
    /// Curves that could not be run, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<NotRun>,
    /// The knees of all curves, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitivity: Vec<Knee>,
    /// What was demanded of the figures, and whether they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// Whether the user stopped it before the end; points without a run are missing.
    #[serde(default)]
    pub interrupted: bool,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Cells of the network.
    pub cells: usize,
    /// The profile that the network's parameters started from.
    #[serde(default)]
    pub profile: String,
    /// Replications of each point.
    pub seeds: u32,
    /// The seed that all random streams follow from.
    pub seed: u64,
    /// How long reports are measured, in seconds; by when they were generated.
    pub duration_s: f64,
    /// How long reports are generated before, in seconds.
    pub warm_up_s: f64,
    /// Delay within which a report counts as served, in seconds.
    pub deadline_s: f64,
    /// Time between two reports of a device, in seconds; for battery life.
    pub interval_s: f64,
    /// Voltage at which the powers of the devices are currents; `null` in folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supply_volts: Option<f64>,
    /// How the connections of reports start: `cold`, `resumed` or `0rtt`.
    #[serde(default = "cold", skip_serializing_if = "is_cold")]
    pub start: String,
    /// The time without traffic after which a kept connection is kept alive, in seconds; where connections are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_alive_s: Option<f64>,
    /// Whether hosts have IPv6 addresses.
    pub ipv6: bool,
    /// Topic or path of the reports.
    pub resource: String,
    /// Distance between DCI occasions of coverage level 0, in milliseconds: search space period over DCIs in it.
    pub dci_spacing_ms: f64,
    /// Every parameter of the network.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "serde_json::Map<String, serde_json::Value>")
    )]
    pub network: serde_json::Value,
}

fn cold() -> String {
    "cold".into()
}

fn is_cold(start: &str) -> bool {
    start == "cold"
}

/// A mean over replications with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The interval's lower end; `null` where the replications are too few for one.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
}

/// One curve at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// The stack; a change of the network and varied parameters follow in parentheses.
    pub stack: String,
    /// The change of the network; absent in the network as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_if: Option<String>,
    /// The varied parameters of the network with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub varied: BTreeMap<String, String>,
    /// Distance between DCI occasions of coverage level 0, in milliseconds.
    #[serde(default)]
    pub dci_spacing_ms: f64,
    /// Bytes of the report, the application's header included.
    pub size_bytes: usize,
    /// Reports per second and cell.
    pub load: f64,
    /// Reports that were measured, over all replications.
    pub reports: u64,
    /// Share of reports that arrived within the deadline.
    pub served: Estimate,
    /// Median delay from generation to arrival at the server of reports that arrived, in seconds; `null` where none did.
    pub delay_p50_s: Option<f64>,
    /// 95 % quantile of that delay, in seconds.
    pub delay_p95_s: Option<f64>,
    /// The same two quantiles by coverage level, and the number of reports.
    pub delay_by_level: [LevelDelay; 3],
    /// Mean of report size over delay, in bit/s; reports that arrived.
    pub device_throughput_bit_s: Option<Estimate>,
    /// Bits of reports that were served within the deadline, per second and cell.
    pub cell_throughput_bit_s: Estimate,
    /// Path gain that 1 % of the served devices are below, in dB, of the devices that are the same at every load: the mean over
    /// replications; `null` where these are fewer than 100.
    pub lowest_served_path_gain_db: Option<Estimate>,
    /// Share served of the 5 % with the lowest path gains, of the devices that are the same at every load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deep_served: Option<Estimate>,
    /// Bytes of IP packets per report that devices send.
    pub bytes_up: f64,
    /// Bytes of IP packets per report that servers send.
    pub bytes_down: f64,
    /// Bytes of them that cross the air, up: without compression and with IP, those of the packets.
    #[serde(default)]
    pub air_bytes_up: f64,
    /// Bytes of them that cross the air, down.
    #[serde(default)]
    pub air_bytes_down: f64,
    /// Share of the DCI occasions of level 0 that are used.
    pub dci_use: Estimate,
    /// Share of usable downlink subframes with NPDCCH or NPDSCH.
    pub downlink_use: Estimate,
    /// Share of the uplink carrier with NPUSCH.
    pub uplink_use: Estimate,
    /// Mean times and counts of a device and its report.
    pub device: DeviceMeans,
    /// Energy of a report in mJ, that of the keep-alives between two reports included. Modelled from state times.
    pub energy_mj: f64,
    /// Energy of a day at the setting's interval in mJ: reports, sleep, paging occasions, tracking area updates. Modelled.
    #[serde(default)]
    pub day_mj: f64,
    /// The same by state.
    pub energy_by_state_mj: EnergyByState,
    /// The same as a mean over replications, each of which counts alike.
    pub energy_over_seeds_mj: Estimate,
    /// Years in which the device empties 5 Wh at the setting's interval, by the measure of TR 45.820. Modelled.
    pub battery_years: f64,
    /// The connections that devices keep, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptConnections>,
    /// The point of a change beside that of its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// The replications.
    pub runs: Vec<RunFigures>,
}

impl Point {
    /// The stack alone, without what follows in parentheses.
    pub fn stack_alone(&self) -> &str {
        self.stack.split(" (").next().unwrap_or_default()
    }

    /// What a cell of 5 Wh lives with this device, in years: it loses charge by itself, and stays good for its shelf life.
    /// `battery_years` is the measure of TR 45.820, which has neither.
    pub fn life_years(&self) -> f64 {
        battery::life(
            self.battery_years,
            battery::SELF_DISCHARGE,
            battery::SHELF_LIFE_YEARS,
        )
    }

    /// DCIs per report: the mean over replications; `None` without one.
    pub fn dci_per_report(&self) -> Option<f64> {
        let runs = self.runs.len();
        let sum: f64 = self.runs.iter().map(|run| run.dci_per_report).sum();
        (runs > 0).then(|| sum / runs as f64)
    }
}

/// Energy of a report by state, in mJ. Modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergyByState {
    /// While the device transmits.
    pub transmit: f64,
    /// While it receives what is for it.
    pub receive: f64,
    /// While it monitors search spaces.
    pub monitor: f64,
    /// While it waits without receiver within a connection.
    pub wait: f64,
    /// While it synchronises before the report.
    pub synchronisation: f64,
    /// In the active time after the report, in power saving mode.
    #[serde(default)]
    pub active: f64,
    /// For the keep-alives between two reports.
    #[serde(default)]
    pub keep_alive: f64,
}

impl EnergyByState {
    /// The states' names and their energies.
    pub const fn parts(&self) -> [(&'static str, f64); 7] {
        [
            ("transmit", self.transmit),
            ("receive", self.receive),
            ("monitor", self.monitor),
            ("wait", self.wait),
            ("synchronise", self.synchronisation),
            ("active", self.active),
            ("keep-alive", self.keep_alive),
        ]
    }

    /// The energy of the report.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, energy)| energy).sum()
    }
}

/// Delays of one coverage level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelDelay {
    /// Reports of devices of this level.
    pub measured: u64,
    /// Reports that arrived.
    pub reports: u64,
    /// Median, in seconds.
    pub p50_s: Option<f64>,
    /// 95 % quantile, in seconds.
    pub p95_s: Option<f64>,
    /// More quantiles, ascending; none without a delay.
    pub quantiles: Vec<DelayQuantile>,
}

/// A delay that a share of the reports that arrived does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayQuantile {
    /// The share, from 0 to 1.
    pub share: f64,
    /// The delay, in seconds.
    pub delay_s: f64,
}

impl DelayQuantile {
    /// The shares that results hold.
    pub const SHARES: [f64; 12] = [
        0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0,
    ];
}

/// Mean times and counts of a device, from its arrival until it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceMeans {
    /// It transmits, in ms.
    pub transmit_ms: f64,
    /// It receives what is for it, in ms.
    pub receive_ms: f64,
    /// It monitors search spaces, in ms.
    pub monitor_ms: f64,
    /// It waits without receiver within a connection, in ms.
    pub wait_ms: f64,
    /// Preambles, in ms of air time.
    pub nprach_ms: f64,
    /// DCIs for it, in ms of air time.
    pub npdcch_ms: f64,
    /// Downlink blocks for it, in ms of air time.
    pub npdsch_ms: f64,
    /// Uplink blocks, in ms of air time.
    pub npusch_ms: f64,
    /// HARQ-ACKs, in ms of air time.
    pub ack_ms: f64,
    /// Preambles.
    pub preambles: f64,
    /// Preambles lost in collisions.
    pub collisions: f64,
    /// Connections.
    pub connections: f64,
    /// Retransmissions of blocks.
    pub harq_retransmissions: f64,
    /// Retransmissions of RLC packet data units.
    pub rlc_retransmissions: f64,
}

/// One replication of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunFigures {
    /// The replication, from 0.
    pub replication: u32,
    /// Reports that were generated in the window.
    pub reports: u64,
    /// Reports that arrived within the deadline.
    pub served: u64,
    /// Reports that arrived later.
    pub late: u64,
    /// Reports of devices that have left, by coverage level, whether they arrived or not.
    pub reports_by_level: [u64; 3],
    /// Delays by coverage level.
    pub delays_ms: [Delays; 3],
    /// Mean of report size over delay, in bit/s; `null` where no report arrived.
    pub device_throughput_bit_s: Option<f64>,
    /// Bits of served reports per second and cell.
    pub cell_throughput_bit_s: f64,
    /// Path gain that 1 % of the served devices are below, in dB, of the devices that are the same at every load; `null` where these are
    /// fewer than 100.
    pub lowest_served_path_gain_db: Option<f64>,
    /// Share served of the 5 % of these devices with the lowest path gains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deep_served: Option<f64>,
    /// Bytes of IP packets per report, up and down.
    pub bytes: [f64; 2],
    /// Bytes of them that cross the air, up and down.
    #[serde(default)]
    pub air_bytes: [f64; 2],
    /// Shares of DCI occasions of level 0, of the downlink and of the uplink.
    pub use_of: [f64; 3],
    /// DCIs in the window per report that was generated in it.
    pub dci_per_report: f64,
    /// Means of devices.
    pub device: DeviceMeans,
    /// Most devices in the cells at once.
    pub most_devices: usize,
    /// Events of the air.
    pub air_events: u64,
    /// The keep-alives of kept connections, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_alives: Option<KeepAlives>,
    /// Some of the devices, in the file of the first replication; the summary leaves them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub places: Option<map::PlaceSample>,
}

impl RunFigures {
    /// The share of reports that arrived within the deadline; `None` without a report.
    pub fn served_share(&self) -> Option<f64> {
        (self.reports > 0).then(|| self.served as f64 / self.reports as f64)
    }
}

/// The value that the share `probability` of delays does not exceed, in seconds; `None` without a delay.
pub fn quantile_s<'a>(delays: impl Iterator<Item = &'a Delays>, probability: f64) -> Option<f64> {
    let mut merged = Delays::new();
    for delays in delays {
        for (ms, count) in delays {
            *merged.entry(*ms).or_default() += count;
        }
    }
    let total: u64 = merged.values().sum();
    // At least the first: the share 0 is the shortest delay.
    let rank = ((total as f64 * probability).ceil() as u64).max(1);
    let mut seen = 0;
    merged.into_iter().find_map(|(ms, count)| {
        seen += count;
        (seen >= rank).then(|| f64::from(ms) / 1e3)
    })
}

/// A figure of the model beside what it must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What it is.
    pub name: String,
    /// The unit of its numbers.
    pub unit: String,
    /// What the model gives.
    pub value: f64,
    /// The closed form or the published figure.
    pub expected: f64,
    /// What is allowed.
    pub bounds: TargetBounds,
    /// Whether it is within them.
    pub passed: bool,
}

/// The values that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetBounds {
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}
