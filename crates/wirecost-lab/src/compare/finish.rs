//! Everything that a comparison has left, into its results folder: from the files of its cells, whichever run wrote them.

use std::collections::BTreeMap;

use wirecost_stats::hgrm::Hgrm;
use wirecost_stats::{Histogram, Sample};

use super::agreement;
use super::analysis::Analysis;
use super::live::{Run, RunError};
use super::options::Options;
use super::plan::{Plan, identity};
use super::simulated::side_by_side;
use super::sweep::LiveFacts;
use crate::provenance::Before;
use crate::results::environment::Emulator;
use crate::results::journal::{self, Entry};
use crate::results::summary::{SCHEMA, Warning};
use crate::results::time::rfc3339;
use crate::results::{Cell, CellFile, Environment, Ladder, ResultsError, RunFolder, SampleRow, Summary};
use crate::scenario::Scenario;
use crate::scenario::thresholds::Thresholds;

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
    /// Cells that may be read side by side.
    pub(super) jobs: usize,
    /// Whether cells are missing.
    pub(super) ended_early: bool,
    /// What is demanded of the figures.
    pub(super) thresholds: &'a Thresholds,
}

/// Writes the scenario: what a later run that goes on is held against.
///
/// # Errors
/// The file system refuses.
pub fn write_scenario(folder: &RunFolder, scenario: &Scenario) -> Result<(), ResultsError> {
    folder.write("scenario.resolved.yaml", scenario.to_yaml().as_bytes())
}

/// Writes `summary.json`, `env.json`, `ladder.json`, `samples.csv` and `latency/*.hgrm` from the files of the cells.
///
/// # Errors
/// A cell cannot be read back, or a file cannot be written. What was written before stays.
pub(super) fn assemble(assembly: &Assembly<'_>) -> Result<Summary, RunError> {
    let Assembly { options, folder, .. } = *assembly;
    folder.clear_distributions()?;
    let found = finished(assembly);
    let order: Vec<usize> = (0..found.len()).collect();
    let part = |index: usize| Part::read(folder, index, &found[index]);
    let mut collected = Collected::default();
    let mut add = |mut part: Part| {
        if options.target.is_builtin() {
            agree_with(&mut part.cell, collected.cells.last());
        }
        collected.add(part);
    };
    side_by_side(&order, assembly.jobs, &part, &mut add, &|| false)?;
    let Collected {
        cells,
        ladders,
        samples,
    } = collected;
    folder.write_json("env.json", &environment(assembly))?;
    folder.write_json("ladder.json", &ladders)?;
    folder.write("samples.csv", samples.as_bytes())?;
    let mut summary = Summary {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: assembly.command.clone(),
        scenario: options.to_scenario(),
        seed: options.seed,
        interrupted: assembly.ended_early,
        cells,
        thresholds: Vec::new(),
    };
    summary.thresholds = assembly.thresholds.of_comparison(options, &summary);
    folder.write_json("summary.json", &summary)?;
    let ended = Entry::Ended {
        at: rfc3339(std::time::SystemTime::now()),
        interrupted: summary.interrupted,
    };
    journal::append(folder, &ended)?;
    Ok(summary)
}

/// The files of the cells that have come to something, in the order of the summary.
fn finished(assembly: &Assembly<'_>) -> Vec<String> {
    let Assembly { options, folder, .. } = *assembly;
    let keys = assembly.plan.cells.iter().flat_map(|planned| {
        let key = |engine: &&'static str| identity::key(options, planned, engine);
        options.engine.of_cells().iter().map(key).collect::<Vec<_>>()
    });
    keys.filter(|key| CellFile::is_there(folder, key)).collect()
}

/// Holds a live cell against the cell before, where that is the simulated one of the same question.
pub(crate) fn agree_with(live: &mut Cell, before: Option<&Cell>) {
    let question = |cell: &Cell| {
        let (stack, start) = (cell.stack.clone(), cell.start.clone());
        let rhythm = (cell.messages_per_connection, cell.interval_ns);
        (
            stack,
            start,
            cell.payload_bytes,
            rhythm,
            cell.link.up.clone(),
            cell.link.down.clone(),
        )
    };
    let is_pair = |before: &&Cell| {
        let engines = (before.engine.as_str(), live.engine.as_str());
        engines == ("sim", "live") && live.target == before.target && question(before) == question(live)
    };
    let simulated = before.filter(is_pair);
    live.warnings.retain(|warning| warning.kind != DIFFERS);
    agree(live, simulated);
}

/// The kind of the warning that a simulation says otherwise.
const DIFFERS: &str = "simulation-differs";

/// Holds a live cell against the simulated one, where both were run. What differs is a warning, not a fault.
fn agree(live: &mut Cell, simulated: Option<&Cell>) {
    let ran = |cell: &Cell| cell.not_run.is_none() && cell.message.is_some();
    let Some(simulated) = simulated.filter(|simulated| ran(simulated) && ran(live)) else {
        return;
    };
    let agreement = agreement::compare(live, simulated);
    if let Some(difference) = &agreement.first_difference {
        live.warnings.push(Warning {
            kind: DIFFERS.into(),
            text: format!("the simulation says otherwise: {difference}"),
            invalidates: false,
        });
    }
    live.agreement = Some(agreement);
}

/// What the files of the cells hold, in the order of the summary.
pub(crate) struct Collected {
    pub(crate) cells: Vec<Cell>,
    pub(crate) ladders: Vec<Ladder>,
    /// `samples.csv`.
    pub(crate) samples: String,
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
    /// Takes a cell's part; parts come in the order of their cells.
    pub(crate) fn add(&mut self, part: Part) {
        self.cells.push(part.cell);
        self.ladders.extend(part.ladder);
        self.samples += &part.samples;
    }
}

/// What the file of one cell adds to the results folder.
pub(crate) struct Part {
    pub(crate) cell: Cell,
    ladder: Option<Ladder>,
    /// Its lines of `samples.csv`.
    samples: String,
}

impl Part {
    fn read(folder: &RunFolder, index: usize, key: &str) -> Result<Self, ResultsError> {
        Self::new(folder, index, CellFile::read(folder, key)?)
    }

    /// The part of cell `index`; its response times go to `latency/<cell>-<stack>-<bytes>B.hgrm`.
    ///
    /// # Errors
    /// A row has other columns than this version's, or the file system refuses.
    pub(crate) fn new(folder: &RunFolder, index: usize, file: CellFile) -> Result<Self, ResultsError> {
        let rows = file.rows(folder)?;
        if let Some(distribution) = file.distribution.clone().or_else(|| distribution(&rows)) {
            let name = format!(
                "latency/{index:03}-{}-{}B.hgrm",
                file.cell.stack, file.cell.payload_bytes
            );
            folder.write_derived(&name, distribution.as_bytes())?;
        }
        let samples = file.lines(index);
        let numbered = |ladder| Ladder {
            cell: Some(index as u64),
            ..ladder
        };
        Ok(Self {
            cell: file.cell,
            ladder: file.ladder.map(numbered),
            samples,
        })
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
    let live = assembly.live;
    let last = live.last();
    let server = last.and_then(|facts| facts.server.as_ref());
    let network = last.map(|facts| &facts.network);
    let settings = |of: fn(&super::live::NetworkFacts) -> &BTreeMap<String, String>| {
        network.map(of).cloned().unwrap_or_default()
    };
    let name = |program: &String| program.split('/').next_back().unwrap_or(program).to_owned();
    Environment {
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
        ..assembly.before.environment()
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
        idle_cpus: run.forwarder.idle_cpus.to_string(),
    })
}
