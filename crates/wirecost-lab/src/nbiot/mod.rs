//! Reports in NB-IoT cells: populations of devices whose endpoints talk to servers over the air interface of `wirecost_nbiot`.
//!
//! - `Options`: what is run; [`grids`]: the same as a scenario asks for it, in varied networks; [`memory`]: whether it fits
//! - `variant`: what a change of the endpoints makes of a stack
//! - `device`: makes devices: the client of a stack, its server, and a TCP as the study had it
//! - `way`: a device with its world, prepared over an ideal link before it comes to the cells; `reporter`: what it does
//! - `air`: what of a packet crosses the air
//! - [`fit`]: settings of the network under which given points come out
//! - `population`: devices come, send one report each, and leave; one run is one curve at one load with one seed
//! - `figures`: from devices to runs, and from runs to points; [`energy`]: energy and battery life; `map`: where devices were
//! - [`recorded`]: the IP packets of one device of each curve, and what was on the air for it
//! - [`validation`]: the model against closed forms and published figures

mod air;
pub mod changes;
mod device;
pub mod energy;
mod figures;
pub mod fit;
pub mod grids;
mod map;
pub mod memory;
#[cfg(test)]
mod parity;
mod population;
pub mod recorded;
mod reporter;
pub mod validation;
mod variant;
mod way;

use std::sync::atomic::{AtomicBool, Ordering};

use wirecost_energy::Device as EnergyDevice;
use wirecost_nbiot::{Config, ConfigError};
use wirecost_proto::ByteSize;
use wirecost_results::nbiot::{KIND, NbiotSummary, NotRun, Point, RunFigures, SCHEMA, Setting};
use wirecost_scenario::options::nbiot::DEADLINE;
pub use wirecost_scenario::options::nbiot::NbiotOptions as Options;
use wirecost_scenario::options::what_if::WhatIf;
use wirecost_scenario::spent::{self, NoEnergy};
use wirecost_stack::{Credentials, Stack};

use crate::compare::simulated::side_by_side;
pub use device::DeviceError;
use device::Maker;
use energy::Lifetime;
use recorded::Recorded;
use variant::Variant;
pub use way::Unprepared;

/// Why a run in the cells failed.
#[derive(Debug, thiserror::Error)]
pub enum NbiotError {
    /// A parameter of the network.
    #[error(transparent)]
    Network(#[from] ConfigError),
    /// The device file.
    #[error("the device file of the powers: {0}")]
    Powers(#[from] NoEnergy),
    /// The devices cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The user stopped it.
    #[error("the runs were stopped")]
    Stopped,
}

/// One curve: a stack with a size of report, as given or with a change of the network or of the endpoints.
struct Curve {
    stack: Stack,
    size_bytes: usize,
    what_if: Option<WhatIf>,
    options: Options,
    maker: Maker,
    /// The index of the curve without the change; `None` for that one, and where it could not be run.
    base: Option<usize>,
}

impl Curve {
    /// What the life of the batteries of its devices follows from.
    fn life<'a>(&'a self, device: &'a EnergyDevice) -> Lifetime<'a> {
        Lifetime {
            device,
            config: &self.options.network,
            interval: self.options.interval,
        }
    }

    /// Its stack, with its change in parentheses.
    fn name(&self) -> String {
        name(self.stack, self.what_if)
    }
}

/// A stack, with its change in parentheses.
fn name(stack: Stack, what_if: Option<WhatIf>) -> String {
    match what_if {
        Some(change) => format!("{stack} ({})", change.name()),
        None => stack.to_string(),
    }
}

/// One run of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PlannedRun {
    curve: usize,
    load: f64,
    replication: u32,
}

/// The runs of a grid: every curve at every load with every seed.
pub struct Grid {
    options: Options,
    /// The powers of every device.
    powers: EnergyDevice,
    curves: Vec<Curve>,
    not_run: Vec<NotRun>,
    runs: Vec<PlannedRun>,
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    /// Its index in the grid.
    pub index: usize,
    /// Its figures.
    pub figures: RunFigures,
    /// Its first measured device, in the first run of each curve.
    pub recorded: Option<Recorded>,
}

impl Grid {
    /// The runs of `options`: each stack as given, and then with each change.
    ///
    /// # Errors
    /// A stack cannot send such a report.
    pub fn new(options: &Options) -> Result<Self, NbiotError> {
        let credentials = Credentials::simulated(options.seed).map_err(DeviceError::from)?;
        let mut grid = Self {
            options: options.clone(),
            powers: spent::built_in(energy::DEVICE)?,
            curves: Vec::new(),
            not_run: Vec::new(),
            runs: Vec::new(),
        };
        for (size_bytes, stack) in pairs(options) {
            let mut base = None;
            for what_if in std::iter::once(None).chain(options.what_ifs.iter().copied().map(Some)) {
                let added = grid.add((stack, size_bytes), what_if, base, &credentials)?;
                // The curve as given, with which each change is paired.
                if what_if.is_none() {
                    base = added;
                }
            }
        }
        for (curve, load) in
            (0..grid.curves.len()).flat_map(|curve| options.loads.iter().map(move |load| (curve, *load)))
        {
            grid.runs.extend((0..options.seeds).map(|replication| PlannedRun {
                curve,
                load,
                replication,
            }));
        }
        Ok(grid)
    }

    /// Adds a curve. Returns its index; `None` for a curve that cannot be run, which is added to `not_run` with its reason.
    fn add(
        &mut self,
        (stack, size_bytes): (Stack, usize),
        what_if: Option<WhatIf>,
        base: Option<usize>,
        credentials: &Credentials,
    ) -> Result<Option<usize>, NbiotError> {
        let config = what_if.map(|change| changes::applied(change, &self.options.network, stack));
        let options = Options {
            network: config.unwrap_or_else(|| self.options.network.clone()),
            ..self.options.clone()
        };
        let refused = air::refusal(&options.network.bearer, stack).map(str::to_owned);
        let variant = refused.map_or_else(|| Variant::from_stack(stack, options.start, what_if), Err);
        let made = match variant {
            Err(reason) => Err(reason),
            Ok(variant) => match Maker::new(&options, variant, size_bytes, credentials) {
                Ok(maker) => Ok(maker),
                Err(DeviceError::Unprepared { why, .. }) => Err(why.to_string()),
                // A change that one stack cannot have leaves the others: only a stack that cannot run as given ends the command.
                Err(error) if what_if.is_some() => Err(error.to_string()),
                Err(error) => return Err(error.into()),
            },
        };
        match made {
            Ok(maker) => {
                self.curves.push(Curve {
                    stack,
                    size_bytes,
                    what_if,
                    options,
                    maker,
                    base,
                });
                Ok(Some(self.curves.len() - 1))
            }
            Err(reason) => {
                let stack = name(stack, what_if);
                self.not_run.push(NotRun {
                    stack,
                    size_bytes,
                    reason,
                });
                Ok(None)
            }
        }
    }

    /// The curves that cannot be run, with the reasons.
    pub fn not_run(&self) -> &[NotRun] {
        &self.not_run
    }

    /// The number of runs.
    pub const fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there is no run.
    pub const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The name of a run's file, without its ending.
    pub fn key(&self, index: usize) -> String {
        let run = self.runs[index];
        let curve = &self.curves[run.curve];
        let what_if = curve.what_if.map(|change| format!("+{}", change.name()));
        let what_if = what_if.unwrap_or_default();
        format!(
            "{}{what_if}-{}b-{}-seed{}",
            curve.stack, curve.size_bytes, run.load, run.replication
        )
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
        play(
            runs,
            jobs,
            &|index, stopped| self.run(index, stopped),
            on_run,
            stop,
        )
    }

    /// The memory of a run's devices when none of them is served.
    fn memory_of(&self, index: usize) -> memory::RunNeed {
        let run = self.runs[index];
        let curve = &self.curves[run.curve];
        let cells = curve.options.network.scenario.cells();
        memory::RunNeed::estimate(curve.stack, run.load, cells)
    }

    fn run(&self, index: usize, stopped: &AtomicBool) -> Result<FinishedRun, NbiotError> {
        let run = self.runs[index];
        let curve = &self.curves[run.curve];
        // One recording per curve, of its first run: they are large, and serve to look at one report.
        let is_first = |other: &PlannedRun| other.curve == run.curve;
        let (figures, recorded) = population::run(&population::RunInput {
            options: &curve.options,
            maker: &curve.maker,
            size_bytes: curve.size_bytes,
            load: run.load,
            replication: run.replication,
            stopped,
            is_recorded: self.runs.iter().position(is_first) == Some(index),
        })?;
        let figures = RunFigures {
            replication: run.replication,
            ..figures
        };
        Ok(FinishedRun {
            index,
            figures,
            recorded,
        })
    }

    /// The summary of the runs that have ended.
    pub fn summary(&self, finished: &[FinishedRun]) -> NbiotSummary {
        let mut points: Vec<Point> = Vec::new();
        // The place of each curve's point at each load among the points.
        let mut places = vec![None; self.curves.len() * self.options.loads.len()];
        let seeds = self.options.seeds as usize;
        for (number, group) in self.runs.chunks(seeds.max(1)).enumerate() {
            let indices = number * seeds..number * seeds + group.len();
            let runs = finished.iter().filter(|run| indices.contains(&run.index));
            let figures: Vec<RunFigures> = runs.map(|run| without_places(&run.figures)).collect();
            let Some(mut point) = self.point(group[0], figures) else {
                continue;
            };
            let loads = self.options.loads.len();
            let base = self.curves[group[0].curve].base;
            let base = base.and_then(|curve| places[curve * loads + number % loads]);
            let base: Option<&Point> = base.map(|place: usize| &points[place]);
            let curve = &self.curves[group[0].curve];
            let base_life = curve.base.map(|base| self.curves[base].life(&self.powers));
            let base = base.zip(base_life.as_ref());
            point.difference =
                base.and_then(|base| figures::difference(base, (&point, &curve.life(&self.powers))));
            // A group without a finished run has no point, so that points are not at the places of their groups.
            places[number] = Some(points.len());
            points.push(point);
        }
        NbiotSummary {
            schema: SCHEMA,
            kind: KIND.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            command: String::new(),
            name: None,
            setting: self.setting(),
            points,
            not_run: self.not_run.clone(),
            sensitivity: Vec::new(),
            thresholds: Vec::new(),
            interrupted: finished.len() < self.runs.len(),
        }
    }

    fn point(&self, run: PlannedRun, figures: Vec<RunFigures>) -> Option<Point> {
        let curve = &self.curves[run.curve];
        let (options, keeps) = (&curve.options, curve.maker.keeps_connections());
        let life = curve.life(&self.powers);
        figures::point(
            curve.name(),
            curve.size_bytes,
            run.load,
            figures,
            &life,
            options,
            keeps,
        )
    }

    /// What is run.
    pub fn setting(&self) -> Setting {
        let options = &self.options;
        let keeps = self.curves.iter().any(|curve| curve.maker.keeps_connections());
        Setting {
            cells: options.network.scenario.cells(),
            profile: String::new(),
            seeds: options.seeds,
            seed: options.seed,
            duration_s: options.duration.as_secs_f64(),
            warm_up_s: options.warm_up().as_secs_f64(),
            deadline_s: DEADLINE.as_secs_f64(),
            interval_s: options.interval.as_secs_f64(),
            supply_volts: Some(self.powers.volts),
            start: options.start.to_string(),
            keep_alive_s: keeps.then_some(options.keep_alive.as_secs_f64()),
            ipv6: options.ipv6,
            resource: options.resource.clone(),
            dci_spacing_ms: dci_spacing_ms(&options.network),
            network: serde_json::to_value(&options.network).unwrap_or_default(),
        }
    }
}

/// Distance between DCI occasions of coverage level 0, in ms: search space period over DCIs in it.
pub fn dci_spacing_ms(config: &Config) -> f64 {
    let level = config.levels.ce0;
    let period = f64::from(level.npdcch_rmax) * level.npdcch_g;
    period / f64::from(config.mac.dci_per_npdcch_period)
}

/// Plays runs by their indices on `jobs` threads and hands them over in this order. When `stop` says so, running ones end early.
fn play(
    runs: &[usize],
    jobs: usize,
    run: &(dyn Fn(usize, &AtomicBool) -> Result<FinishedRun, NbiotError> + Sync),
    on_run: &mut dyn FnMut(FinishedRun),
    stop: &dyn Fn() -> bool,
) -> Result<(), NbiotError> {
    let stopped = AtomicBool::new(false);
    let stop = || {
        stopped.fetch_or(stop(), Ordering::Relaxed);
        stopped.load(Ordering::Relaxed)
    };
    side_by_side(runs, jobs, &|index| run(index, &stopped), on_run, &stop)
}

/// The figures of a run as the summary has them: the places are in `map.json`.
fn without_places(figures: &RunFigures) -> RunFigures {
    RunFigures {
        places: None,
        ..figures.clone()
    }
}

/// Sizes and stacks, size by size.
fn pairs(options: &Options) -> Vec<(usize, Stack)> {
    let bytes = |size: &ByteSize| usize::try_from(size.bytes()).unwrap_or(usize::MAX);
    let sizes = options.sizes.iter().map(bytes);
    sizes
        .flat_map(|size| options.stacks.iter().map(move |stack| (size, *stack)))
        .collect()
}
