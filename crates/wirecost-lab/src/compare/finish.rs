//! Everything that a comparison has left, into its results folder: from the files of its cells, whichever run wrote them.

use std::collections::BTreeMap;

use wirecost_live::environment::{Environment as Machine, Load};
use wirecost_stats::hgrm::Hgrm;
use wirecost_stats::{Histogram, Sample};

use super::agreement;
use super::analysis::Analysis;
use super::live::{Run, RunError};
use super::options::{Engine, Options};
use super::plan::{Plan, identity};
use super::sweep::LiveFacts;
use crate::results::environment::Emulator;
use crate::results::journal::{self, Entry};
use crate::results::summary::{SCHEMA, Warning};
use crate::results::{Cell, CellFile, Environment, Ladder, ResultsError, RunFolder, SampleRow, Summary};
use crate::scenario::ResolvedScenario;

/// The machine before a run, to be compared with the machine after it.
#[derive(Debug)]
pub struct Before {
    machine: Machine,
    load: Load,
    started_at: std::time::SystemTime,
    started: std::time::Instant,
}

impl Before {
    /// Looks at the machine.
    pub fn look() -> Self {
        Self {
            machine: Machine::read(),
            load: Load::read(),
            started_at: std::time::SystemTime::now(),
            started: std::time::Instant::now(),
        }
    }
}

/// What a results folder is written from, beside its cells.
pub(super) struct Assembly<'a> {
    /// What was asked for.
    pub(super) options: &'a Options,
    /// The cells in their order.
    pub(super) plan: &'a Plan,
    /// The folder that holds them.
    pub(super) folder: &'a RunFolder,
    /// The command that repeats the run.
    pub(super) command: String,
    /// What of its live batches belongs to the machine.
    pub(super) live: &'a [LiveFacts],
    /// The machine before it.
    pub(super) before: &'a Before,
    /// Whether cells are missing.
    pub(super) ended_early: bool,
}

/// Writes the scenario: what a later run that goes on is held against.
///
/// # Errors
/// The file system refuses.
pub fn write_scenario(folder: &RunFolder, scenario: &ResolvedScenario) -> Result<(), ResultsError> {
    // A scenario is strings, numbers and lists: there is nothing that YAML cannot hold.
    let yaml = serde_saphyr::to_string(scenario)
        .unwrap_or_else(|error| format!("# not writable as YAML: {error}\n"));
    folder.write("scenario.resolved.yaml", yaml.as_bytes())
}

/// Writes `summary.json`, `env.json`, `ladder.json`, `samples.csv` and `latency/*.hgrm` from the files of the cells.
///
/// # Errors
/// A cell cannot be read back, or a file cannot be written. What was written before stays.
pub(super) fn assemble(assembly: &Assembly<'_>) -> Result<Summary, RunError> {
    let Assembly { options, folder, .. } = *assembly;
    let mut collected = Collected::default();
    folder.clear_distributions()?;
    for planned in &assembly.plan.cells {
        let mut simulated = None;
        for engine in options.engine.of_cells() {
            let key = identity::key(options, planned, engine);
            let Some(mut file) = CellFile::read(folder, &key)? else {
                continue;
            };
            if options.target.is_builtin() && *engine == Engine::Live.name() {
                agree(&mut file.cell, simulated.as_ref());
            }
            simulated = Some(file.cell.clone());
            collected.take(folder, file)?;
        }
    }
    let Collected {
        cells,
        ladders,
        samples,
    } = collected;
    folder.write_json("env.json", &environment(assembly))?;
    folder.write_json("ladder.json", &ladders)?;
    folder.write("samples.csv", samples.as_bytes())?;
    let summary = Summary {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: assembly.command.clone(),
        scenario: options.to_scenario(),
        seed: options.seed,
        interrupted: assembly.ended_early,
        cells,
    };
    folder.write_json("summary.json", &summary)?;
    let ended = Entry::Ended {
        at: rfc3339(std::time::SystemTime::now()),
        interrupted: summary.interrupted,
    };
    journal::append(folder, &ended)?;
    Ok(summary)
}

/// Holds a live cell against the simulated one, where both were run. What differs is a warning, not a fault.
fn agree(live: &mut Cell, simulated: Option<&Cell>) {
    let ran = |cell: &Cell| cell.not_run.is_none() && cell.message.is_some();
    let Some(simulated) = simulated.filter(|simulated| ran(simulated) && ran(live)) else {
        return;
    };
    let agreement = agreement::compare(live, simulated);
    if let Some(difference) = &agreement.first_difference {
        live.warnings.push(Warning {
            kind: "simulation-differs".into(),
            text: format!("the simulation says otherwise: {difference}"),
            invalidates: false,
        });
    }
    live.agreement = Some(agreement);
}

/// What the files of the cells hold, in the order of the summary.
struct Collected {
    cells: Vec<Cell>,
    ladders: Vec<Ladder>,
    /// `samples.csv`.
    samples: String,
}

impl Default for Collected {
    fn default() -> Self {
        Self {
            cells: Vec::new(),
            ladders: Vec::new(),
            samples: SampleRow::COLUMNS.join(",") + "\n",
        }
    }
}

impl Collected {
    /// Takes a cell; its response times go to `latency/<cell>-<stack>-<bytes>B.hgrm`.
    fn take(&mut self, folder: &RunFolder, file: CellFile) -> Result<(), ResultsError> {
        let index = self.cells.len();
        let rows = file.rows(folder, index)?;
        if let Some(distribution) = file.distribution.clone().or_else(|| distribution(&rows)) {
            let name = format!(
                "latency/{index:03}-{}-{}B.hgrm",
                file.cell.stack, file.cell.payload_bytes
            );
            folder.write_derived(&name, distribution.as_bytes())?;
        }
        for row in &rows {
            self.samples += &row.to_csv();
            self.samples.push('\n');
        }
        self.cells.push(file.cell);
        self.ladders.extend(file.ladder.map(|ladder| Ladder {
            cell: Some(index as u64),
            ..ladder
        }));
        Ok(())
    }
}

/// The distribution of the response times of devices as a `.hgrm` file; `None` where there are none.
fn distribution(rows: &[SampleRow]) -> Option<String> {
    let mut histogram = Histogram::new();
    rows.iter()
        .filter_map(|row| row.response_time_ns)
        .for_each(|nanos| histogram.record(nanos));
    (!histogram.is_empty()).then(|| Hgrm(&histogram).to_string())
}

/// The machine, and of its live batches the last one: settings and medium are the same for all.
fn environment(assembly: &Assembly<'_>) -> Environment {
    let (before, live) = (assembly.before, assembly.live);
    let machine = &before.machine;
    let after = Load::read();
    let last = live.last();
    let server = last.and_then(|facts| facts.server.as_ref());
    let network = last.map(|facts| &facts.network);
    let settings = |of: fn(&super::live::NetworkFacts) -> &BTreeMap<String, String>| {
        network.map(of).cloned().unwrap_or_default()
    };
    let name = |program: &String| program.split('/').next_back().unwrap_or(program).to_owned();
    Environment {
        started_at: rfc3339(before.started_at),
        duration_s: before.started.elapsed().as_secs_f64(),
        wirecost_version: env!("CARGO_PKG_VERSION").into(),
        kernel: machine.kernel.clone(),
        cpu_model: machine.cpu_model.clone().unwrap_or_else(|| "unknown".into()),
        cpus: machine.cores as u64,
        cpu_governor: machine.governor.clone(),
        memory_bytes: machine.memory_bytes,
        clock_source: machine.clock_source.clone(),
        clock_resolution_ns: machine.clock.resolution.as_nanos() as u64,
        clock_read_ns: machine.clock.read_cost.as_nanos() as u64,
        cpu_clock_read_ns: machine.cpu_clock.read_cost.as_nanos() as u64,
        load_average: [before.load.average[0], after.average[0]],
        steal: Some(after.steal_share_since(&before.load)),
        packet_path: network.map_or("none", |network| network.packet_path).into(),
        device_network: settings(|network| &network.device_settings),
        server_network: settings(|network| &network.server_settings),
        emulator: last.and_then(|facts| facts.emulator.clone()),
        servers: server
            .iter()
            .map(|server| (name(&server.version), server.version.clone()))
            .collect(),
        server_resident_bytes: server.and_then(|server| server.resident_bytes),
        unattributed_packets: live.iter().map(|facts| facts.unattributed_packets).sum(),
        dropped_packets: live.iter().map(|facts| facts.dropped_packets).sum(),
    }
}

/// How the emulator kept its deadlines in a run.
pub(super) fn emulator(analysis: &Analysis, run: &Run) -> Option<Emulator> {
    let sample = Sample::new(analysis.lateness_ns.clone())?;
    let quantile = |probability| sample.quantile(probability).map_or(0, |quantile| quantile.value);
    Some(Emulator {
        packets: analysis.lateness_ns.len() as u64,
        lateness_p50_ns: quantile(0.5),
        lateness_p99_ns: quantile(0.99),
        lateness_max_ns: analysis.lateness_ns.last().copied().unwrap_or(0),
        cpu_ns: run.forwarder.statistics.cpu.as_nanos() as u64,
        head_start_ns: run.forwarder.head_start.as_nanos() as u64,
        priority: run.forwarder.priority.to_string(),
    })
}

/// A time as RFC 3339 writes it, in UTC, whole seconds.
pub fn rfc3339(time: std::time::SystemTime) -> String {
    let seconds = time
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_from_days(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

/// The Gregorian date of a day counted from 1970-01-01, by counting in eras of 400 years that begin in March.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_written_as_rfc_3339_writes_them() {
        let at = |seconds| rfc3339(std::time::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_181_696), "2026-11-20T13:34:56Z");
    }
}
