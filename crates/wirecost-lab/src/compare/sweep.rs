//! Runs a comparison from its plan to its results folder: in virtual time cell by cell, live in batches. Each cell is
//! written to disk as soon as it has figures, so that an interrupted run can continue.
//!
//! - `store`: finished cells, their journal, the packets of simulated cells
//! - `batch`: a batch of cells on kernel sockets
//! - `captures`: the packets of simulated cells in one capture

mod batch;
mod captures;
mod store;

use std::cell::RefCell;
use std::thread;
use std::time::Duration;

use wirecost_live::EnvironmentError;
use wirecost_live::emulation::EmulationError;
use wirecost_live::provenance::Before;
use wirecost_live::topology::prepare;
use wirecost_proto::units::counted;
use wirecost_results::resume::Earlier;
use wirecost_results::{Cell, CellFile, ResultsError, RunFolder, Summary};
use wirecost_scenario::options::compare::{Engine, MAX_DEVICES, Options, ServerPath};
use wirecost_scenario::plan::{Plan, identity};
use wirecost_scenario::thresholds::Thresholds;

use super::finish::{self, LiveFacts};
use super::live::reach::Reached;
use super::live::{self, Progress, RunError};
use super::shared_link::{self, Pace, SharedLinkResult};
use super::simulated::{CellResult, SimulationError, simulate};
use store::Store;

/// Receives progress notifications while cells are measured.
pub trait SweepProgress: Progress {
    /// The number of simulated cells, and of all cells.
    fn simulating(&mut self, done: usize, of: usize);

    /// A simulated cell has its figures.
    fn simulated(&mut self, cell: &Cell);

    /// The analysis of a live batch goes on.
    fn analysing(&mut self);

    /// The virtual time of a cell on a shared link so far, and in total.
    fn in_virtual_time(&mut self, at: Duration, of: Duration);
}

/// The comparison to run, and its results folder.
#[derive(Debug)]
pub struct Sweep<'a> {
    /// The options.
    pub options: &'a Options,
    /// The results folder.
    pub folder: &'a RunFolder,
    /// The results of an earlier run in the folder.
    pub earlier: Earlier,
    /// How many cells may be simulated in parallel.
    pub jobs: usize,
    /// The thresholds of the figures.
    pub thresholds: &'a Thresholds,
}

/// The results of a sweep on disk, cell by cell.
#[derive(Debug)]
pub struct Measured<'a> {
    options: &'a Options,
    folder: &'a RunFolder,
    plan: Plan,
    live: Live,
    interrupted: bool,
    thresholds: &'a Thresholds,
    jobs: usize,
}

/// The result of a comparison.
#[derive(Debug)]
pub struct Outcome {
    /// The contents of `summary.json`.
    pub summary: Summary,
    /// Whether the user ended it early.
    pub interrupted: bool,
    /// Why it, or a capture, ended early, unless the user ended it.
    pub failure: Option<String>,
    /// Why nothing ran live, if the machine refused a live run.
    pub not_live: Option<RunError>,
    /// Why the sweep ended early.
    pub error: Option<RunError>,
}

/// The results of the live cells.
#[derive(Debug, Default)]
struct Live {
    facts: Vec<LiveFacts>,
    interrupted: bool,
    failure: Option<String>,
    refused: Option<RunError>,
    error: Option<RunError>,
}

/// A longer live run is announced.
const LONG: Duration = Duration::from_secs(60);

impl<'a> Sweep<'a> {
    /// Runs the missing cells and writes each to disk when it has figures. Call it before any thread starts.
    ///
    /// # Errors
    /// A cell cannot be simulated, a file cannot be written, or a live run was required and none of its cells has
    /// figures.
    pub fn run(self, progress: &mut dyn SweepProgress) -> Result<Measured<'a>, RunError> {
        let plan = Plan::new(self.options);
        let mut store = Store::new(self.folder, self.options, self.earlier.finished.clone());
        store.plan()?;
        // Virtual time first: it takes seconds, and a machine that refuses to go live leaves these figures.
        if self.options.engine.simulates() {
            self.simulate(&plan, &mut store, progress)?;
        }
        let mut live = Live::default();
        if self.options.engine.goes_live() && !progress.is_interrupted() {
            live = self.go_live(&plan, &mut store, progress);
        }
        // With figures of any cell, the folder is written before the error is told.
        if let Some(error) = live.error.take_if(|_| store.is_empty()) {
            return Err(error);
        }
        Ok(Measured {
            options: self.options,
            folder: self.folder,
            thresholds: self.thresholds,
            jobs: self.jobs,
            interrupted: live.interrupted || progress.is_interrupted(),
            plan,
            live,
        })
    }

    fn simulate(
        &self,
        plan: &Plan,
        store: &mut Store<'_>,
        progress: &mut dyn SweepProgress,
    ) -> Result<(), RunError> {
        // Cells that an earlier run left are not run again.
        let cells = store.missing(plan, "sim");
        let taker = RefCell::new(Taker {
            plan,
            store,
            progress,
            done: 0,
            of: cells.len(),
            refused: None,
        });
        let stop = || taker.borrow_mut().is_over();
        let simulated = match self.options.shared_link {
            None => {
                let mut take = |result| taker.borrow_mut().take(&result);
                simulate(self.options, plan, &cells, self.jobs, &mut take, &stop)
            }
            Some(_) => self.simulate_shared_links(plan, &cells, &taker),
        };
        match taker.into_inner().refused {
            Some(refused) => Err(refused.into()),
            None => simulated.map_err(run_error),
        }
    }

    fn simulate_shared_links(
        &self,
        plan: &Plan,
        cells: &[usize],
        taker: &RefCell<Taker<'_, '_>>,
    ) -> Result<(), SimulationError> {
        let pace = Pace::default();
        let durations = cells
            .iter()
            .map(|cell| shared_link::duration(self.options, &plan.cells[*cell]));
        let longest = durations.max().unwrap_or_default();
        let mut take = |result| taker.borrow_mut().take_shared_link(result);
        let stop = || {
            let mut taker = taker.borrow_mut();
            taker.progress.in_virtual_time(pace.at(), longest);
            taker.is_over()
        };
        shared_link::simulate(self.options, plan, cells, self.jobs, &pace, &mut take, &stop)
    }

    fn go_live(&self, plan: &Plan, store: &mut Store<'_>, progress: &mut dyn SweepProgress) -> Live {
        let mut live = Live::default();
        let mut reached = match self.reach(plan, progress) {
            Ok(reached) => reached,
            Err(error) => {
                live.error = Some(error);
                return live;
            }
        };
        let cells = store.missing(plan, "live");
        let batches = batch::batches(self.options, plan, &cells, MAX_DEVICES);
        let pace = plan.starts_take(cells.iter().copied(), self.options);
        if pace > LONG {
            let minutes = pace.as_secs() / 60;
            progress.note(&format!(
                "live: {} in {minutes} min or more; Ctrl-C keeps what there is, --engine sim does without",
                counted(cells.len() as u64, "cell")
            ));
        }
        let count = batches.len();
        for (number, cells) in (1..).zip(&batches) {
            if count > 1 {
                progress.note(&format!(
                    "batch {number} of {count}: {}",
                    counted(cells.len() as u64, "cell")
                ));
            }
            match self.batch(plan, cells, store, reached.as_mut(), progress) {
                Ok(facts) => {
                    live.interrupted |= facts.interrupted;
                    live.failure = live.failure.or_else(|| facts.failure.clone());
                    live.facts.push(facts);
                }
                // The interruption ended the wait: the target is missing for no other reason.
                Err(RunError::Target(_)) if progress.is_interrupted() => live.interrupted = true,
                // Nobody asked for live figures by name: the simulated ones are an answer, with a note.
                Err(error) if self.options.engine == Engine::Auto && is_refusal(&error) => {
                    live.refused = Some(error);
                }
                Err(error) => live.error = Some(error),
            }
            if live.has_ended() {
                break;
            }
        }
        live
    }

    /// Finds the server that runs already, if there is one. Its relay stays in the namespace that the program is in now.
    fn reach(&self, plan: &Plan, progress: &mut dyn SweepProgress) -> Result<Option<Reached>, RunError> {
        if self.options.path() == Some(ServerPath::Relay) {
            // While there is one thread: the relay is another.
            prepare()?;
        }
        Reached::find(self.options, plan, &|| progress.is_interrupted())
    }

    fn batch(
        &self,
        plan: &Plan,
        cells: &[usize],
        store: &mut Store<'_>,
        reached: Option<&mut Reached>,
        progress: &mut dyn SweepProgress,
    ) -> Result<LiveFacts, RunError> {
        let (options, part) = plan.part(self.options, cells);
        // Before the network is built: a batch that fails halfway would have to be run again as a whole.
        batch::check_open_files(&options, &part)?;
        // The network's namespaces can be made while there is one thread only.
        batch::wait_until_alone();
        let run = live::run(&options, part, self.folder, reached, progress)?;
        let capture = store.next_capture();
        let (results, facts) = analysed(progress, || batch::figures(&options, run, self.folder, &capture))?;
        for (file, index) in results.into_iter().zip(cells) {
            store.put(*index, file)?;
        }
        Ok(facts)
    }
}

impl Measured<'_> {
    /// Writes the results folder's files about all cells, whichever run measured them.
    ///
    /// # Errors
    /// A cell cannot be read back, or a file cannot be written.
    pub fn write(mut self, before: &Before, command: String) -> Result<Outcome, RunError> {
        let (options, plan) = (self.options, &self.plan);
        let simulated = plan.cells.iter().map(|cell| identity::key(options, cell, "sim"));
        // One capture per cell is written while threads work side by side; a reader wants one file in the order of the plan.
        let capture = captures::merge(self.folder, simulated);
        let cut_short = |error| format!("the capture of virtual time is cut short: {error}");
        let failure = self.live.failure.take().or_else(|| capture.err().map(cut_short));
        let summary = finish::assemble(&finish::Assembly {
            options,
            plan,
            folder: self.folder,
            command,
            live: &self.live.facts,
            before,
            thresholds: self.thresholds,
            jobs: self.jobs,
            ended_early: self.interrupted || failure.is_some() || self.live.error.is_some(),
        })?;
        Ok(Outcome {
            summary,
            interrupted: self.interrupted,
            failure,
            not_live: self.live.refused,
            error: self.live.error,
        })
    }
}

impl Live {
    const fn has_ended(&self) -> bool {
        self.interrupted || self.failure.is_some() || self.refused.is_some() || self.error.is_some()
    }
}

/// Runs an analysis on its own thread, and reports progress meanwhile.
fn analysed<T: Send>(
    progress: &mut dyn SweepProgress,
    work: impl FnOnce() -> Result<T, RunError> + Send,
) -> Result<T, RunError> {
    const TICK: Duration = Duration::from_millis(20);
    thread::scope(|scope| {
        // The display and the signal of an interrupt stay alive while a long recording is analysed.
        let analysis = scope.spawn(work);
        while !analysis.is_finished() {
            thread::sleep(TICK);
            progress.analysing();
        }
        analysis
            .join()
            .unwrap_or(Err(EmulationError::Panicked("analysis").into()))
    })
}

/// Whether the machine refuses live runs in general, apart from the requested server.
const fn is_refusal(error: &RunError) -> bool {
    match error {
        RunError::OpenFiles { .. } => true,
        RunError::Emulation(EmulationError::Environment(error)) => !matches!(
            error,
            EnvironmentError::ServerNotFound { .. }
                | EnvironmentError::ServerDied { .. }
                | EnvironmentError::ServerNotReady { .. }
        ),
        _ => false,
    }
}

/// Receives simulated cells.
struct Taker<'a, 'b> {
    plan: &'a Plan,
    store: &'a mut Store<'b>,
    progress: &'a mut dyn SweepProgress,
    done: usize,
    of: usize,
    refused: Option<ResultsError>,
}

impl Taker<'_, '_> {
    fn take(&mut self, result: &CellResult) {
        if self.refused.is_none() {
            self.refused = self.store.put_simulated(self.plan, result).err();
            self.taken(&result.cell);
        }
    }

    fn take_shared_link(&mut self, result: SharedLinkResult) {
        if self.refused.is_none() {
            let file = CellFile::new(result.cell.clone(), result.times, &[], None);
            self.refused = self.store.put(result.index, file).err();
            self.taken(&result.cell);
        }
    }

    fn taken(&mut self, cell: &Cell) {
        self.done += 1;
        self.progress.simulated(cell);
        self.progress.simulating(self.done, self.of);
    }

    fn is_over(&mut self) -> bool {
        self.progress.simulating(self.done, self.of);
        self.refused.is_some() || self.progress.is_interrupted()
    }
}

fn run_error(error: SimulationError) -> RunError {
    match error {
        SimulationError::Client(error) => error.into(),
        SimulationError::Credentials(error) => error.into(),
        error => RunError::Simulation(error),
    }
}
