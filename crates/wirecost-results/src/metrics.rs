//! Counts of loads as metrics: the text format 0.0.4 of Prometheus, and OpenMetrics 1.0.
//!
//! Names have base units: seconds, bytes, ratios of 1. Counters and histograms add up over the seconds of a phase.
//! Labels identify a phase by name and, as a load may have several of one name, by index. While a load runs,
//! [`Metrics::second`] counts everything; afterwards [`Metrics::add`] builds the same metrics from a results folder,
//! without warm-up, with validity and CPU time.

mod families;
mod text;

use std::collections::BTreeMap;

use super::figures::Interval;
use crate::load::{LoadFile, ProcessUse};
pub use text::Format;

/// The counts of any number of loads.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    loads: Vec<LoadMetrics>,
}

/// The counts of one load.
#[derive(Clone, Debug, Default)]
struct LoadMetrics {
    /// Which load it is, from 0.
    number: String,
    stack: String,
    target: String,
    clients: u64,
    /// Everything counted, by the phase's index.
    phases: BTreeMap<usize, PhaseMetrics>,
    /// Names of the phases by their indexes.
    names: Vec<String>,
    /// While it runs.
    connected: Option<u64>,
    /// While it runs: generator and target.
    usage: [Option<Usage>; 2],
    /// Afterwards: generator and target.
    used: [Option<ProcessUse>; 2],
    /// Afterwards.
    valid: Option<bool>,
}

/// The counts of one phase.
#[derive(Clone, Debug, Default)]
struct PhaseMetrics {
    name: String,
    /// Which phase of its load it is, from 0.
    index: String,
    counted: Interval,
}

impl Metrics {
    /// Adds load number `index`, which is over.
    pub fn add(&mut self, file: &LoadFile, index: usize) {
        self.loads.push(LoadMetrics::from_number(index, file));
    }

    /// Adds the loads of others.
    pub(crate) fn append(&mut self, others: &Self) {
        self.loads.extend_from_slice(&others.loads);
    }

    /// All metrics as text.
    pub fn text(&self, format: Format) -> String {
        families::write(&self.loads, format)
    }
}

impl LoadMetrics {
    fn from_number(number: usize, file: &LoadFile) -> Self {
        let load = &file.load;
        let mut metrics = Self {
            number: number.to_string(),
            stack: load.stack.clone(),
            target: load.target.clone(),
            clients: load.clients,
            names: load.phases.iter().map(|phase| phase.name.clone()).collect(),
            used: [load.generator.clone(), load.target_use.clone()],
            valid: Some(load.valid),
            ..Self::default()
        };
        for interval in file.intervals.iter().filter(|interval| !interval.warm_up) {
            metrics.add(interval.phase as usize, interval);
        }
        metrics
    }

    fn add(&mut self, index: usize, counted: &Interval) {
        let phase = self.phases.entry(index).or_insert_with(|| PhaseMetrics {
            name: self.names.get(index).cloned().unwrap_or_default(),
            index: index.to_string(),
            counted: Interval::default(),
        });
        phase.counted.add(counted);
    }
}

/// The last load is the running one.
impl Metrics {
    /// Begins a load: the name of its stack, its target, its clients, the names of its phases.
    pub fn begin(&mut self, stack: &str, target: &str, clients: u64, phases: &[String]) {
        self.loads.push(LoadMetrics {
            number: self.loads.len().to_string(),
            stack: stack.to_owned(),
            target: target.to_owned(),
            clients,
            names: phases.to_vec(),
            ..LoadMetrics::default()
        });
    }

    /// Adds a second of a phase: counts, connected devices, CPU and memory of generator and target.
    pub fn second(&mut self, phase: usize, counted: &Interval, connected: u64, usage: [Option<Usage>; 2]) {
        let Some(load) = self.loads.last_mut() else {
            return;
        };
        load.add(phase, counted);
        load.connected = Some(connected);
        load.usage = usage;
    }

    /// Ends the load.
    pub fn end(&mut self) {
        if let Some(load) = self.loads.last_mut() {
            load.connected = None;
            load.usage = [None, None];
        }
    }
}

/// CPU and memory of one side over the last second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time divided by wall time: 1 is one CPU.
    pub cpu_share: f64,
    /// CPU time of the busiest thread divided by wall time; null if threads are not told apart.
    pub busiest_thread_share: Option<f64>,
    /// Resident memory of all its processes, in bytes.
    pub resident_bytes: u64,
    /// Its processes.
    pub processes: u32,
}

#[cfg(test)]
mod tests;
