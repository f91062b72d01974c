//! Writes the results folder of a comparison from the files of its cells, whichever run wrote them.

use std::collections::BTreeMap;

use wirecost_live::foreign::ForeignReport;
use wirecost_live::provenance::Before;
use wirecost_results::assemble::{Collected, Part, agree_with};
use wirecost_results::environment::{Emulator, MachineEnergy, PowerSamples};
use wirecost_results::journal::{self, Entry};
use wirecost_results::resolved::Asked;
use wirecost_results::summary::SCHEMA;
use wirecost_results::time::rfc3339;
use wirecost_results::{CellFile, Environment, RunFolder, Summary};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{Plan, identity};
use wirecost_scenario::thresholds::Thresholds;
use wirecost_stats::Sample;

use super::analysis::Analysis;
use super::live::{NetworkFacts, Run, RunError};
use super::simulated::side_by_side;

/// The facts about the machine from a batch.
#[derive(Debug)]
pub(super) struct LiveFacts {
    /// Settings and medium.
    pub(super) network: NetworkFacts,
    /// How the emulator kept its deadlines.
    pub(super) emulator: Option<Emulator>,
    /// The report of the foreign server.
    pub(super) server: Option<ForeignReport>,
    /// Messages that its devices offered.
    pub(super) messages: u64,
    /// The power of the machine.
    pub(super) power: PowerSamples,
    /// Packets of no cell.
    pub(super) unattributed_packets: u64,
    /// Packets that the machine dropped.
    pub(super) dropped_packets: u64,
    /// Whether the user ended it early.
    pub(super) interrupted: bool,
    /// Why it or its capture ended early, unless the user ended it.
    pub(super) failure: Option<String>,
}

/// The input of a results folder, apart from its cells.
pub(super) struct Assembly<'a> {
    /// The options.
    pub(super) options: &'a Options,
    /// The cells in order.
    pub(super) plan: &'a Plan,
    /// The results folder.
    pub(super) folder: &'a RunFolder,
    /// The command that repeats the run.
    pub(super) command: String,
    /// The facts about the machine from its live batches.
    pub(super) live: &'a [LiveFacts],
    /// The state of the machine before the run.
    pub(super) before: &'a Before,
    /// How many cells may be read in parallel.
    pub(super) jobs: usize,
    /// Whether cells are missing.
    pub(super) ended_early: bool,
    /// The thresholds of the figures.
    pub(super) thresholds: &'a Thresholds,
}

/// Writes `summary.json`, `env.json`, `ladder.json`, `samples.csv` and `latency/*.hgrm` from the files of the cells.
///
/// # Errors
/// A cell cannot be read back, or a file cannot be written. Files written before stay.
pub(super) fn assemble(assembly: &Assembly<'_>) -> Result<Summary, RunError> {
    let Assembly { options, folder, .. } = *assembly;
    // A resumed run may have other cells: files of cells that are gone must not stay beside those of this run.
    folder.clear_distributions()?;
    let found = finished(assembly);
    let order: Vec<usize> = (0..found.len()).collect();
    let part = |index: usize| Part::read(folder, index, &found[index]);
    let mut collected = Collected::default();
    let mut add = |mut part: Part| {
        if options.target.is_builtin() {
            // A cell of virtual time is followed by its live twin, with which it must agree.
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
    folder.write_environment(environment(assembly))?;
    folder.write_json("ladder.json", &ladders)?;
    folder.write("samples.csv", samples.as_bytes())?;
    let mut summary = Summary {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: assembly.command.clone(),
        scenario: Asked::from_options(options),
        seed: options.seed,
        interrupted: assembly.ended_early,
        cells,
        thresholds: Vec::new(),
    };
    // Thresholds may name frames: they are counted before.
    summary.count_frames();
    summary.thresholds = assembly.thresholds.of_comparison(options, &summary, folder);
    folder.write_json("summary.json", &summary)?;
    let ended = Entry::Ended {
        at: rfc3339(std::time::SystemTime::now()),
        interrupted: summary.interrupted,
    };
    // Last of all: the folder counts as complete only when every file is written.
    journal::append(folder, &ended)?;
    Ok(summary)
}

/// The files of the finished cells, in the order of the summary.
fn finished(assembly: &Assembly<'_>) -> Vec<String> {
    let Assembly { options, folder, .. } = *assembly;
    let keys = assembly.plan.cells.iter().flat_map(|planned| {
        let key = |engine: &&'static str| identity::key(options, planned, engine);
        options.engine.of_cells().iter().map(key).collect::<Vec<_>>()
    });
    keys.filter(|key| CellFile::is_there(folder, key)).collect()
}

/// The machine, and the last one of its live batches: settings and medium are the same for all.
fn environment(assembly: &Assembly<'_>) -> Environment {
    let live = assembly.live;
    let messages = live.iter().map(|facts| facts.messages).sum();
    let power: Vec<&PowerSamples> = live.iter().map(|facts| &facts.power).collect();
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
        machine_energy: MachineEnergy::sum(&power, messages),
        server_resident_bytes: server.and_then(|server| server.resident_bytes),
        unattributed_packets: live.iter().map(|facts| facts.unattributed_packets).sum(),
        dropped_packets: live.iter().map(|facts| facts.dropped_packets).sum(),
        ..assembly.before.environment()
    }
}

/// How the emulator kept its deadlines in a run; `None` without an emulated link.
pub(super) fn emulator(analysis: &Analysis, run: &Run) -> Option<Emulator> {
    // On a real path nothing is delayed here, so that nothing can be late.
    let worked = run.seen.forwarder.as_ref()?;
    let sample = Sample::new(analysis.lateness_ns.clone())?;
    let quantile = |probability| sample.quantile(probability).map_or(0, |quantile| quantile.value);
    Some(Emulator {
        packets: analysis.lateness_ns.len() as u64,
        lateness_p50_ns: quantile(0.5),
        lateness_p99_ns: quantile(0.99),
        lateness_max_ns: analysis.lateness_ns.last().copied().unwrap_or(0),
        cpu_ns: worked.cpu.as_nanos() as u64,
        head_start_ns: worked.head_start.as_nanos() as u64,
        priority: worked.priority.clone(),
        idle_cpus: worked.idle_cpus.clone(),
    })
}
