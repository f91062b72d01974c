//! The runs of a scenario: a grid for each combination of the varied parameters of the network.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use wirecost_results::nbiot::map::DeviceMap;
use wirecost_results::nbiot::{NbiotSummary, NotRun, Point};
use wirecost_results::shard::Shard;
use wirecost_scenario::options::nbiot::{MAX_POINTS, VariedNetwork};
use wirecost_scenario::parameter::ParameterError;

use super::memory::Need;
use super::{FinishedRun, Grid, NbiotError, Options};

/// Why a scenario cannot be run in the cells.
#[derive(Debug, thiserror::Error)]
pub enum GridsError {
    /// A parameter of the network.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The scenario has more points than one run can have.
    #[error("there are {0} points, more than {MAX_POINTS}: shorten the lists")]
    TooMany(usize),
    /// A grid cannot be made.
    #[error(transparent)]
    Grid(#[from] NbiotError),
}

/// The grid of one network.
struct NetworkGrid {
    /// The varied parameters with their values.
    values: BTreeMap<String, String>,
    grid: Grid,
}

/// The runs of a scenario.
pub struct Grids {
    asked: Options,
    grids: Vec<NetworkGrid>,
}

impl Grids {
    /// The runs of a scenario.
    ///
    /// # Errors
    /// A value is not allowed, or a stack cannot send such a report.
    pub fn new(asked: &Options) -> Result<Self, GridsError> {
        // Before the networks are made: a few lists multiply to more than fits in memory.
        if asked.points() > MAX_POINTS {
            return Err(GridsError::TooMany(asked.points()));
        }
        let mut grids = Vec::new();
        for VariedNetwork { values, config } in asked.networks()? {
            let grid = Grid::new(&Options {
                network: config,
                ..asked.clone()
            })?;
            grids.push(NetworkGrid { values, grid });
        }
        Ok(Self {
            asked: asked.clone(),
            grids,
        })
    }

    /// The curves that cannot be run in one of the networks, with the reasons.
    pub fn not_run(&self) -> Vec<NotRun> {
        let mut all: Vec<NotRun> = Vec::new();
        for curve in self.grids.iter().flat_map(|one| one.grid.not_run()) {
            if !all.contains(curve) {
                all.push(curve.clone());
            }
        }
        all
    }

    /// The number of runs, those of other shards included.
    pub fn len(&self) -> usize {
        self.grids.iter().map(|one| one.grid.len()).sum()
    }

    /// Whether there is no run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The runs of this shard; of all where there is none. A shard holds all replications of a point.
    pub fn planned(&self) -> Vec<usize> {
        let holds = |index: usize| match self.asked.shard {
            Some(shard) => shard_holds(shard, &self.key(index)),
            None => true,
        };
        (0..self.len()).filter(|index| holds(*index)).collect()
    }

    /// The memory that the largest of these runs need at the same time.
    pub fn memory(&self, runs: &[usize], jobs: usize) -> Need {
        let each = runs.iter().map(|index| {
            let (one, within) = self.place(*index);
            one.grid.memory_of(within)
        });
        Need::from_runs(each.collect(), jobs)
    }

    /// The grid of a run, and the run's index in it.
    fn place(&self, index: usize) -> (&NetworkGrid, usize) {
        let mut rest = index;
        for one in &self.grids {
            if rest < one.grid.len() {
                return (one, rest);
            }
            rest -= one.grid.len();
        }
        unreachable!("run {index} is not in the grids")
    }

    /// The name of a run's file, without its ending.
    pub fn key(&self, index: usize) -> String {
        let (one, index) = self.place(index);
        let key = one.grid.key(index);
        let values = one.values.iter().map(|(path, value)| format!("-{path}={value}"));
        let values: String = values.collect::<String>().replace(['/', ' ', '"'], "");
        match key.rsplit_once("-seed") {
            Some((point, seed)) => format!("{point}{values}-seed{seed}"),
            None => key + &values,
        }
    }

    /// The stack of a run, and the bytes of its report.
    pub fn curve(&self, index: usize) -> (String, usize) {
        let (one, within) = self.place(index);
        let curve = &one.grid.curves[one.grid.runs[within].curve];
        (curve.stack.to_string(), curve.size_bytes)
    }

    /// The stack and the size of a run's reports, as text.
    pub fn curve_text(&self, index: usize) -> String {
        let (one, within) = self.place(index);
        let curve = &one.grid.curves[one.grid.runs[within].curve];
        let (name, _) = named(&curve.name(), &one.values);
        format!("{name}, {} B", curve.size_bytes)
    }

    /// Plays `runs` on `jobs` threads and hands their figures over in this order, whatever the number of threads.
    ///
    /// # Errors
    /// The first run that failed, or [`NbiotError::Stopped`].
    pub fn play(
        &self,
        runs: &[usize],
        jobs: usize,
        on_run: &mut dyn FnMut(FinishedRun),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), NbiotError> {
        let run = |index: usize, stopped: &AtomicBool| {
            let (one, within) = self.place(index);
            let run = one.grid.run(within, stopped)?;
            Ok(FinishedRun { index, ..run })
        };
        super::play(runs, jobs, &run, on_run, stop)
    }

    /// Each grid with its runs among those that have ended, by their indices in it.
    fn each_with<'a>(
        &'a self,
        finished: &'a [FinishedRun],
    ) -> impl Iterator<Item = (&'a NetworkGrid, Vec<FinishedRun>)> {
        let mut first = 0;
        self.grids.iter().map(move |one| {
            let indices = first..first + one.grid.len();
            first = indices.end;
            let own = finished.iter().filter(|run| indices.contains(&run.index));
            let own = own.map(|run| FinishedRun {
                index: run.index - indices.start,
                ..run.clone()
            });
            (one, own.collect())
        })
    }

    /// The summary of the runs that have ended. It says interrupted where runs of this shard are missing.
    pub fn summary(&self, finished: &[FinishedRun]) -> NbiotSummary {
        let mut points = Vec::new();
        for (one, own) in self.each_with(finished) {
            let summary = one.grid.summary(&own);
            for mut point in summary.points {
                name(&mut point, &one.values);
                point.dci_spacing_ms = summary.setting.dci_spacing_ms;
                points.push(point);
            }
        }
        let missing = self.planned().len() > finished.len();
        self.joined(points, missing)
    }

    /// The cells, and where devices of the runs that have ended were.
    pub fn map(&self, finished: &[FinishedRun]) -> DeviceMap {
        let mut whole = self.grids[0].grid.map(&[]);
        for (one, own) in self.each_with(finished) {
            let map = one.grid.map(&own);
            whole.runs.extend(map.runs.into_iter().map(|mut run| {
                run.stack = named(&run.stack, &one.values).0;
                run
            }));
        }
        whole
    }

    /// The network of the setting is the one that is given, without the varied values.
    fn joined(&self, points: Vec<Point>, is_interrupted: bool) -> NbiotSummary {
        let given = &self.asked.network;
        let mut whole = self.grids[0].grid.summary(&[]);
        whole.not_run = self.not_run();
        whole.points = points;
        whole.setting.profile = self.asked.profile.clone();
        whole.setting.dci_spacing_ms = super::dci_spacing_ms(given);
        whole.setting.network = wirecost_scenario::parameter::tree_of(given);
        whole.interrupted = is_interrupted;
        whole
    }
}

/// Whether a shard holds a run: by the key of its point.
fn shard_holds(shard: Shard, key: &str) -> bool {
    shard.holds(key.rsplit_once("-seed").map_or(key, |(point, _)| point))
}

/// Names a point's change and its varied parameters.
fn name(point: &mut Point, values: &BTreeMap<String, String>) {
    let (name, change) = named(&point.stack, values);
    point.stack = name;
    point.what_if = change;
    point.varied = values.clone();
}

/// The name of a curve with its varied parameters, and its change.
fn named(curve: &str, values: &BTreeMap<String, String>) -> (String, Option<String>) {
    let (stack, change) = match curve.split_once(" (") {
        Some((stack, change)) => (stack.to_owned(), change.strip_suffix(')').map(str::to_owned)),
        None => (curve.to_owned(), None),
    };
    let short = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let is_alone = |path: &String| values.keys().filter(|other| short(other) == short(path)).count() == 1;
    let values_text = values.iter().map(|(path, value)| match is_alone(path) {
        true => format!("{}={value}", short(path)),
        false => format!("{path}={value}"),
    });
    let all: Vec<String> = change.iter().cloned().chain(values_text).collect();
    match all.is_empty() {
        true => (stack, change),
        false => (format!("{stack} ({})", all.join(", ")), change),
    }
}
