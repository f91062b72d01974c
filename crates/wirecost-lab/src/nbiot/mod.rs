//! Reports in NB-IoT cells: populations of devices whose endpoints talk to servers over the air interface of `wirecost_nbiot`.
//!
//! - [`options`]: what is run
//! - `device`: the world of one device: the client of a stack, its server, and a TCP as the study had it
//! - `population`: devices come, send one report each, and leave; one run is one curve at one load with one seed
//! - `figures`: from devices to runs, and from runs to points; [`energy`]: energy and battery life
//! - [`recorded`]: the IP packets of one device of each curve, and what was on the air for it
//! - [`checks`]: the study's statements; [`validation`]: the model against closed forms and published figures

pub mod checks;
mod device;
pub mod energy;
mod figures;
pub mod options;
mod population;
pub mod recorded;
pub mod validation;

use std::sync::atomic::{AtomicBool, Ordering};

use wirecost_nbiot::ConfigError;
use wirecost_results::nbiot::{FORMAT, NbiotSummary, Point, RunFigures, Setting};
use wirecost_stack::{Credentials, Stack};

use crate::compare::simulated::side_by_side;
pub use device::DeviceError;
use device::Maker;
pub use options::Options;
use options::WhatIf;
use recorded::Recorded;

/// Why a run in the cells failed.
#[derive(Debug, thiserror::Error)]
pub enum NbiotError {
    /// A parameter of the network.
    #[error(transparent)]
    Network(#[from] ConfigError),
    /// The devices cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The user stopped it.
    #[error("the runs were stopped")]
    Stopped,
}

/// One curve: a stack with a size of report, in the network or in a changed one.
struct Curve {
    stack: Stack,
    size_bytes: usize,
    what_if: Option<WhatIf>,
    options: Options,
    maker: Maker,
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
    curves: Vec<Curve>,
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
    /// The runs of `options`.
    ///
    /// # Errors
    /// A stack cannot send such a report.
    pub fn new(options: &Options) -> Result<Self, NbiotError> {
        let credentials = Credentials::simulated(options.seed).map_err(DeviceError::from)?;
        let variants = std::iter::once(None).chain(options.what_ifs.iter().copied().map(Some));
        let mut curves = Vec::new();
        for what_if in variants {
            let config = what_if.map(|change| change.applied(&options.config));
            let options = Options {
                config: config.unwrap_or_else(|| options.config.clone()),
                ..options.clone()
            };
            for (size_bytes, stack) in pairs(&options) {
                let maker = Maker::new(&options, stack, size_bytes, &credentials)?;
                curves.push(Curve {
                    stack,
                    size_bytes,
                    what_if,
                    options: options.clone(),
                    maker,
                });
            }
        }
        let mut runs = Vec::new();
        for (curve, load) in
            (0..curves.len()).flat_map(|curve| options.loads.iter().map(move |load| (curve, *load)))
        {
            runs.extend((0..options.seeds).map(|replication| PlannedRun {
                curve,
                load,
                replication,
            }));
        }
        Ok(Self {
            options: options.clone(),
            curves,
            runs,
        })
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

    /// The stack and the size of a run's reports, as text.
    pub fn curve_text(&self, index: usize) -> String {
        let curve = &self.curves[self.runs[index].curve];
        let what_if = curve.what_if.map(|change| format!(" ({})", change.name()));
        let what_if = what_if.unwrap_or_default();
        format!("{}{what_if}, {} B", curve.stack, curve.size_bytes)
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
        let stopped = AtomicBool::new(false);
        let stop = || {
            stopped.fetch_or(stop(), Ordering::Relaxed);
            stopped.load(Ordering::Relaxed)
        };
        side_by_side(runs, jobs, &|index| self.run(index, &stopped), on_run, &stop)
    }

    fn run(&self, index: usize, stopped: &AtomicBool) -> Result<FinishedRun, NbiotError> {
        let run = self.runs[index];
        let curve = &self.curves[run.curve];
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
        let mut points = Vec::new();
        let seeds = self.options.seeds as usize;
        for (number, group) in self.runs.chunks(seeds.max(1)).enumerate() {
            let indices = number * seeds..number * seeds + group.len();
            let runs = finished.iter().filter(|run| indices.contains(&run.index));
            let figures: Vec<RunFigures> = runs.map(|run| run.figures.clone()).collect();
            points.extend(self.point(group[0], figures));
        }
        NbiotSummary {
            format: FORMAT.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            setting: self.setting(),
            points,
            checks: Vec::new(),
            interrupted: finished.len() < self.runs.len(),
        }
    }

    fn point(&self, run: PlannedRun, figures: Vec<RunFigures>) -> Option<Point> {
        let curve = &self.curves[run.curve];
        let stack = match curve.what_if {
            Some(change) => format!("{} ({})", curve.stack, change.name()),
            None => curve.stack.to_string(),
        };
        let (energy, interval) = (&self.options.energy, self.options.interval);
        figures::point(stack, curve.size_bytes, run.load, figures, energy, interval)
    }

    /// What is run.
    pub fn setting(&self) -> Setting {
        let options = &self.options;
        let level = options.config.levels.all()[0];
        let period = f64::from(level.npdcch_rmax) * level.npdcch_g;
        Setting {
            cells: options.config.scenario.cells(),
            seeds: options.seeds,
            seed: options.seed,
            duration_s: options.duration.as_secs_f64(),
            warm_up_s: options.warm_up.as_secs_f64(),
            deadline_s: options.deadline.as_secs_f64(),
            interval_s: options.interval.as_secs_f64(),
            ipv6: options.ipv6,
            resource: options.resource.clone(),
            dci_spacing_ms: period / f64::from(options.config.mac.dci_per_npdcch_period),
            network: serde_json::to_value(&options.config).unwrap_or_default(),
        }
    }
}

/// Sizes and stacks, size by size.
fn pairs(options: &Options) -> Vec<(usize, Stack)> {
    let sizes = options.sizes.iter();
    sizes
        .flat_map(|size| options.stacks.iter().map(move |stack| (*size, *stack)))
        .collect()
}
