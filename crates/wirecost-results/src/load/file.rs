//! A load with all data that its figures were computed from.

use serde::{Deserialize, Serialize};

use super::{Load, PhaseFigures};
use crate::cells;
use crate::figures::Interval;
use crate::folder::{ResultsError, RunFolder};
use crate::traffic::LoadTraffic;
use crate::usage::UsageRow;

/// `cells/<key>.json` of a load: its figures, and all data that they were computed from. Loads with the same key can be
/// added.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadFile {
    /// Its figures.
    pub load: Load,
    /// The counts, one interval for each phase and second, in order.
    pub intervals: Vec<Interval>,
    /// CPU and memory of both sides.
    #[serde(default)]
    pub usage: Vec<UsageRow>,
    /// The folded stacks of the target's CPU profile, if one was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Addresses that its devices came from.
    #[serde(default)]
    pub source_addresses: Vec<String>,
    /// Program and version of the real server that was started, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What its first devices did, packet by packet; absent where no packet could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<LoadTraffic>,
}

impl LoadFile {
    /// Whether the load is complete.
    pub const fn is_complete(&self) -> bool {
        !self.load.interrupted && self.load.aborted.is_none()
    }

    /// Messages and handshakes that were sent, warm-up included.
    pub fn sent_in_all(&self) -> u64 {
        let offers = |phase: u32| {
            self.load
                .phases
                .get(phase as usize)
                .is_some_and(PhaseFigures::has_offer)
        };
        let offered = self.intervals.iter().filter(|interval| offers(interval.phase));
        offered.map(|interval| interval.sent).sum()
    }

    /// The intervals of the phase with this index.
    pub fn phase(&self, phase: u32) -> impl Iterator<Item = &Interval> {
        self.intervals
            .iter()
            .filter(move |interval| interval.phase == phase)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write(&self, folder: &RunFolder) -> Result<(), ResultsError> {
        folder.write_json(&cells::name(&self.load.key), self)
    }

    /// Reads the load with this key; `None` if the folder does not hold it.
    ///
    /// # Errors
    /// The file cannot be read, or another version wrote it.
    pub fn read(folder: &RunFolder, key: &str) -> Result<Option<Self>, ResultsError> {
        let name = cells::name(key);
        if !folder.file(&name).exists() {
            return Ok(None);
        }
        folder.read_json(&name).map(Some)
    }
}
