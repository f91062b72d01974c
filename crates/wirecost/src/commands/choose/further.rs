//! What a choice says beyond its ranking: the cost against the interval, and which input changes the order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use wirecost_lab::compare::simulated::{CellResult, SimulationError, simulate};
use wirecost_live::signals::Interrupt;
use wirecost_report::choice::CostByInterval;
use wirecost_results::Cell;

use super::Inputs;
use super::others::{Alone, Contenders, Named};
use super::rows::{Recorded, Row};
use super::sensitivity::Sensitivity;
use super::simulated::{Found, Lookup, Simulated};
use super::{at_once, intervals};
use crate::exit::Failure;
use crate::progress::Display;

/// How often the progress is shown, and whether the user has interrupted.
const TICK: Duration = Duration::from_millis(100);

/// What a choice says beyond its ranking.
#[derive(Default)]
pub(super) struct Further {
    /// The cost against the interval; `None` where no row was run.
    pub(super) intervals: Option<CostByInterval>,
    /// Which input changes the order; `None` where it was not asked for.
    pub(super) sensitivity: Option<Sensitivity>,
}

/// The same with the cells that it is made of.
pub(super) struct Made {
    pub(super) further: Further,
    /// The cells beyond those of the ranking.
    pub(super) cells: Vec<Alone>,
    /// How many of them are not known yet.
    pub(super) open: usize,
}

/// The rows that it is about.
fn asked_about(rows: &[Row], with_sensitivity: bool) -> Vec<&Row> {
    let mut asked = intervals::drawn(rows);
    if with_sensitivity {
        asked.extend(rows.iter().take(2));
    }
    let mut keys = BTreeSet::new();
    asked.retain(|row| keys.insert(row.key.as_str()));
    asked
}

/// What is said of a ranking by the cells that are known.
///
/// # Errors
/// The packets of a cell cannot be read.
pub(super) fn make<'a, 'c: 'a, 't: 'a>(
    inputs: &'a Inputs<'a>,
    rows: &'a [Row],
    cells: impl Iterator<Item = &'c Cell>,
    recorded: &'a Recorded<'t>,
    lookup: &Lookup<'_>,
) -> Result<Made, Failure> {
    let with_sensitivity = inputs.arguments.sensitivity;
    let asked = asked_about(rows, with_sensitivity);
    let contenders = Contenders::new(inputs, &asked, cells, &|cell| recorded(cell))?;
    from_contenders(&contenders, rows, lookup)
}

fn from_contenders(contenders: &Contenders<'_>, rows: &[Row], lookup: &Lookup<'_>) -> Result<Made, Failure> {
    let named = Named::new(lookup);
    let asked = contenders.inputs.arguments.sensitivity.then_some(&named);
    let sensitivity = asked.map(|named| Sensitivity::new(contenders, rows, named));
    let further = Further {
        sensitivity: sensitivity.transpose()?,
        intervals: intervals::cost(contenders, rows, asked)?,
    };
    let (cells, open) = named.finish();
    Ok(Made { further, cells, open })
}

/// The same for a command line, which simulates what is not known; `None` if interrupted.
///
/// # Errors
/// The packets of a cell cannot be read.
pub(super) fn simulated<'a, 'c: 'a>(
    inputs: &'a Inputs<'a>,
    rows: &'a [Row],
    cells: impl Iterator<Item = &'c Cell>,
    recorded: &Recorded<'a>,
    interrupt: Interrupt,
) -> Result<Option<Further>, Failure> {
    let with_sensitivity = inputs.arguments.sensitivity;
    let contenders = Contenders::new(inputs, &asked_about(rows, with_sensitivity), cells, recorded)?;
    let mut known: BTreeMap<String, Found> = BTreeMap::new();
    let mut display = Display::new(0, inputs.arguments.quiet);
    // Each turn asks for less: a search halves what is between two changes, and has few of them.
    loop {
        let made = from_contenders(&contenders, rows, &|key| known.get(key).cloned())?;
        if made.open == 0 {
            display.clear();
            return Ok(Some(made.further));
        }
        let open: Vec<Alone> = made
            .cells
            .into_iter()
            .filter(|alone| !known.contains_key(&alone.key))
            .collect();
        known.extend(side_by_side(&open, interrupt, &mut display));
        if interrupt.is_set() {
            display.clear();
            return Ok(None);
        }
    }
}

/// Simulates cells on all CPUs. Those that an interrupt has ended are not among what is found.
fn side_by_side(cells: &[Alone], interrupt: Interrupt, display: &mut Display) -> BTreeMap<String, Found> {
    let next = AtomicUsize::new(0);
    let done = AtomicU64::new(0);
    let found = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(alone) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = alone.simulate(&|| interrupt.is_set());
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.extend(result.map(|result| (alone.key.clone(), result)));
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once(None).min(cells.len()).max(1))
            .map(|_| scope.spawn(work))
            .collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            let done = done.load(Ordering::Relaxed);
            display.advance(done, cells.len() as u64, "cells with another input simulated");
            thread::sleep(TICK);
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Alone {
    /// What comes of its cell; `None` if it was stopped.
    fn simulate(&self, stop: &dyn Fn() -> bool) -> Option<Found> {
        let mut simulated = None;
        let mut take = |CellResult { cell, traffic, .. }: CellResult| {
            simulated = Some(Arc::new(Simulated { cell, traffic }));
        };
        let ended: Result<(), SimulationError> =
            simulate(&self.options, &self.plan, &[0], 1, &mut take, stop);
        match ended {
            Ok(()) => simulated.map(Ok),
            Err(error) => Some(Err(error.to_string().into())),
        }
    }
}
