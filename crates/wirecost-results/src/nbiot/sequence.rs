//! One device over the air: `sequence.json`, a list of transmissions in the order in which they begin.

use serde::{Deserialize, Serialize};

/// The file of a results folder.
pub const FILE: &str = "sequence.json";

/// One transmission to or from a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AirTransmission {
    /// When its first subframe begins, in ms from the generation of the report.
    pub at_ms: f64,
    /// From the begin of its first subframe to the end of its last one, in ms.
    pub duration_ms: f64,
    /// The physical channel: `NPRACH`, `NPDCCH`, `NPDSCH`, `NPUSCH format 1` or `NPUSCH format 2` (TS 36.211).
    pub channel: String,
    /// `up`: the device sends; `down`: the cell does.
    pub direction: String,
    /// Bytes of its transport block; `null`: it has none.
    #[serde(default)]
    pub bytes: Option<u32>,
    /// Repetitions on the air; `null`: not told.
    #[serde(default)]
    pub repetitions: Option<u32>,
    /// What it carries, as words.
    pub what: String,
    /// The IP packets of which it carries bytes, as words; `null`: none.
    #[serde(default)]
    pub packet: Option<String>,
    /// How long nothing of the device was on the air before it, in ms, from the end of the transmission before; of the first one,
    /// from the generation of the report.
    #[serde(default)]
    pub waited_ms: f64,
    /// Whether the receiver decoded or detected it.
    #[serde(default)]
    pub is_received: bool,
}
