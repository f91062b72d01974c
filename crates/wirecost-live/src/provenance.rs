//! The measuring machine, before and after a run.

use std::time::{Instant, SystemTime};

use wirecost_results::Environment;
use wirecost_results::time::rfc3339;

use crate::environment::{Environment as Machine, Load};

/// The state of the machine before a run, for comparison with the state after it.
#[derive(Debug)]
pub struct Before {
    machine: Machine,
    load: Load,
    started_at: SystemTime,
    started: Instant,
}

impl Before {
    /// Reads the machine's state.
    pub fn look() -> Self {
        Self {
            machine: Machine::read(),
            load: Load::read(),
            started_at: SystemTime::now(),
            started: Instant::now(),
        }
    }

    /// The machine before the run, and its changes since. Fields of links and servers stay empty.
    pub fn environment(&self) -> Environment {
        let machine = &self.machine;
        let after = Load::read();
        Environment {
            started_at: rfc3339(self.started_at),
            duration_s: self.started.elapsed().as_secs_f64(),
            wirecost_version: env!("CARGO_PKG_VERSION").into(),
            kernel: machine.kernel.clone(),
            cpu_model: machine.cpu_model.clone().unwrap_or_else(|| "unknown".into()),
            cpus: machine.cores as u64,
            cpu_governor: machine.governor.clone(),
            memory_bytes: machine.memory_bytes,
            open_files_limit: machine.open_files,
            local_ports: machine.local_ports,
            clock_source: machine.clock_source.clone(),
            clock_resolution_ns: machine.clock.resolution.as_nanos() as u64,
            clock_read_ns: machine.clock.read_cost.as_nanos() as u64,
            cpu_clock_read_ns: machine.cpu_clock.read_cost.as_nanos() as u64,
            load_average: [self.load.average[0], after.average[0]],
            steal: Some(after.steal_share_since(&self.load)),
            packet_path: "none".into(),
            ..Environment::default()
        }
    }
}
