//! `usage.csv`: CPU and memory of both sides of a load, about once a second, in the order of time.
//!
//! A row covers the time since the row before. An empty field is unknown: a remote target cannot be inspected, and
//! threads are not always told apart.

use serde::{Deserialize, Serialize};

use super::columns::{Field, Row};

/// CPU and memory of both sides over about a second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// Index of the load in `summary.json`, from 0; unused in the file of a load.
    #[serde(default, skip_serializing)]
    pub load: u64,
    /// Index of the phase in its load, from 0.
    pub phase: u64,
    /// From the start of the load to the end of this time.
    pub elapsed_ns: u64,
    /// The length of this time.
    pub span_ns: u64,
    /// CPU time of the generator, all its processes together.
    pub generator_cpu_ns: u64,
    /// CPU time of its busiest loop.
    pub generator_busiest_ns: Option<u64>,
    /// Its resident memory at the end, in bytes.
    pub generator_resident_bytes: u64,
    /// CPU time of the target, all its processes together.
    pub target_cpu_ns: Option<u64>,
    /// CPU time of its busiest thread.
    pub target_busiest_ns: Option<u64>,
    /// Its resident memory at the end, in bytes.
    pub target_resident_bytes: Option<u64>,
}

impl Row for UsageRow {
    fn fields(&mut self, each: &mut dyn FnMut(&'static str, Field<'_>)) {
        use Field::{Count, Optional};
        each("load", Count(&mut self.load));
        each("phase", Count(&mut self.phase));
        each("elapsed_ns", Count(&mut self.elapsed_ns));
        each("span_ns", Count(&mut self.span_ns));
        each("generator_cpu_ns", Count(&mut self.generator_cpu_ns));
        each("generator_busiest_ns", Optional(&mut self.generator_busiest_ns));
        each(
            "generator_resident_bytes",
            Count(&mut self.generator_resident_bytes),
        );
        each("target_cpu_ns", Optional(&mut self.target_cpu_ns));
        each("target_busiest_ns", Optional(&mut self.target_busiest_ns));
        each("target_resident_bytes", Optional(&mut self.target_resident_bytes));
    }
}
