//! The same rows with an input changed: from the packets of the question where these stay the same, and from those of cells that are
//! simulated by themselves where they do not.

use std::borrow::Cow;
use std::cell::{Cell as Slot, RefCell};
use std::sync::Arc;

use wirecost_account::spaced;
use wirecost_results::Cell;
use wirecost_results::traffic::CellTraffic;
use wirecost_scenario::options::compare::{Options, Schedule};
use wirecost_scenario::options::content::{Content, Contents, ReadingsLists};
use wirecost_scenario::plan::{Plan, PlannedCell, identity};

use super::input::Change;
use super::rows::{self, Recorded, Row};
use super::simulated::{Found, Lookup};
use super::{Inputs, options, valid, ways};
use crate::exit::Failure;

/// A cell to simulate: the only one of its comparison.
pub(in crate::commands) struct Alone {
    pub(in crate::commands) options: Options,
    pub(in crate::commands) plan: Plan,
    pub(in crate::commands) key: String,
}

/// The cells that are looked up, and whether one of them is not known yet.
pub(super) struct Named<'a> {
    lookup: &'a Lookup<'a>,
    all: RefCell<Vec<Alone>>,
    open: Slot<usize>,
}

impl<'a> Named<'a> {
    pub(super) fn new(lookup: &'a Lookup<'a>) -> Self {
        Self {
            lookup,
            all: RefCell::default(),
            open: Slot::default(),
        }
    }

    /// What is known of a cell.
    fn find(&self, alone: Alone) -> Option<Found> {
        let found = (self.lookup)(&alone.key);
        let mut all = self.all.borrow_mut();
        if !all.iter().any(|other| other.key == alone.key) {
            self.open.set(self.open.get() + usize::from(found.is_none()));
            all.push(alone);
        }
        found
    }

    /// All of them, and how many are not known.
    pub(super) fn finish(self) -> (Vec<Alone>, usize) {
        (self.all.into_inner(), self.open.get())
    }
}

/// A row of the ranking with what it was made from.
pub(super) struct Contender<'a> {
    pub(super) row: &'a Row,
    planned: PlannedCell,
    cell: &'a Cell,
    traffic: Cow<'a, CellTraffic>,
}

/// A row of a changed question.
pub(super) enum Other {
    /// It is known.
    Row(Box<Row>),
    /// Its cell is to be simulated.
    Open,
    /// Its cell cannot be simulated.
    Failed(Arc<str>),
}

/// The rows of a question that are asked about.
pub(super) struct Contenders<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    options: Options,
    all: Vec<Contender<'a>>,
}

impl<'a> Contenders<'a> {
    /// Those of some rows, whose packets are known.
    ///
    /// # Errors
    /// None for a question that has been answered.
    pub(super) fn new<'c: 'a>(
        inputs: &'a Inputs<'a>,
        rows: &[&'a Row],
        cells: impl Iterator<Item = &'c Cell>,
        recorded: &Recorded<'a>,
    ) -> Result<Self, Failure> {
        let options = options(inputs)?;
        let plan = Plan::new(&options);
        let cells: Vec<&Cell> = cells.collect();
        let contender = |row: &&'a Row| {
            // A key takes longer to make than to rule out.
            let mut alike = plan
                .cells
                .iter()
                .filter(|cell| cell.stack == row.stack && cell.start == row.way.start);
            let planned = alike.find(|cell| identity::key(&options, cell, "sim") == row.key)?;
            let cell = *cells.iter().find(|cell| cell.key == row.key)?;
            Some(Contender {
                row,
                planned: planned.clone(),
                cell,
                traffic: recorded(cell)?,
            })
        };
        Ok(Self {
            inputs,
            all: rows.iter().filter_map(contender).collect(),
            options,
        })
    }

    /// That of a row; `None` where its packets are not known.
    pub(super) fn of_row(&self, row: &Row) -> Option<&Contender<'a>> {
        self.all.iter().find(|contender| contender.row.key == row.key)
    }

    /// The row of a contender in the changed question, which is priced by what `stripped` leaves of its inputs.
    ///
    /// # Errors
    /// The packets of a cell cannot be read.
    pub(super) fn other(
        &self,
        contender: &Contender<'_>,
        change: &Change,
        named: &Named<'_>,
        stripped: fn(&mut Inputs<'_>),
    ) -> Result<Other, Failure> {
        let arguments = change.arguments(self.inputs.arguments);
        let mut inputs = change.inputs(self.inputs, &arguments);
        let alone = || self.alone(contender, change, &inputs);
        let known = match contender.with(change, &inputs) {
            Some((traffic, cell)) => Ok((traffic, cell)),
            None => Err(alone()),
        };
        let found = match known {
            Ok((traffic, cell)) => {
                stripped(&mut inputs);
                let row = rows::row(&inputs, &cell, Some(&traffic))?;
                return Ok(Other::Row(Box::new(row)));
            }
            Err(Err(why)) => return Ok(Other::Failed(why)),
            Err(Ok(alone)) => named.find(alone),
        };
        stripped(&mut inputs);
        Ok(match found {
            None => Other::Open,
            Some(Err(why)) => Other::Failed(why),
            Some(Ok(simulated)) => {
                let row = rows::row(&inputs, &simulated.cell, simulated.traffic.as_ref())?;
                Other::Row(Box::new(row))
            }
        })
    }

    /// The bytes of payload that all devices of a contender send in the changed question.
    pub(super) fn payload_at(&self, contender: &Contender<'_>, change: &Change) -> u64 {
        let arguments = change.arguments(self.inputs.arguments);
        let inputs = change.inputs(self.inputs, &arguments);
        let planned = &contender.planned;
        let schedule = schedule(planned.schedule, change, &inputs, contender.row.way.readings);
        let bytes = planned.payload.len() as u64;
        bytes
            .saturating_mul(schedule.messages)
            .saturating_mul(self.options.samples.into())
    }

    /// The cell of a contender in the changed question, or why it cannot be simulated.
    fn alone(
        &self,
        contender: &Contender<'_>,
        change: &Change,
        inputs: &Inputs<'_>,
    ) -> Result<Alone, Arc<str>> {
        let planned = &contender.planned;
        let schedule = schedule(planned.schedule, change, inputs, contender.row.way.readings);
        let options = Options {
            handshake: self.options.handshake.among(&[planned.stack]),
            stacks: vec![planned.stack],
            starts: vec![planned.start],
            contents: contents(planned.content, inputs),
            links: vec![inputs.link],
            schedules: vec![schedule],
            exclude: Vec::new(),
            // Nobody reads the capture.
            keys: false,
            record_hosts: 0,
            ..self.options.clone()
        };
        valid(&options).map_err(|failure| Arc::from(failure.to_string()))?;
        let plan = Plan::new(&options);
        let key = plan
            .cells
            .first()
            .map(|cell| identity::key(&options, cell, "sim"));
        Ok(Alone {
            key: key.ok_or("it has no cell")?,
            options,
            plan,
        })
    }
}

impl Contender<'_> {
    /// The packets and the cell of the changed question, where they follow from those that were simulated.
    fn with(&self, change: &Change, inputs: &Inputs<'_>) -> Option<(Cow<'_, CellTraffic>, Cow<'_, Cell>)> {
        if !change.has_other_packets() {
            return Some((Cow::Borrowed(&*self.traffic), Cow::Borrowed(self.cell)));
        }
        change.interval()?;
        let interval = ways::interval(inputs.arguments, self.row.way.readings);
        let (traffic, cell) = spaced(&self.traffic, self.cell, interval)?;
        Some((Cow::Owned(traffic), Cow::Owned(cell)))
    }
}

/// The schedule of a way in the changed question.
fn schedule(asked: Schedule, change: &Change, inputs: &Inputs<'_>, readings: u64) -> Schedule {
    if change.interval().is_none() {
        return asked;
    }
    let lives = Schedule::lives(ways::interval(inputs.arguments, readings), None);
    let is_kept = asked.messages > 1;
    let life = lives.into_iter().find(|life| (life.messages > 1) == is_kept);
    life.map_or(asked, |life| Schedule {
        keep_alive: asked.keep_alive,
        ..life
    })
}

/// What a message of a cell carries in the changed question.
fn contents(asked: Content, inputs: &Inputs<'_>) -> Contents {
    match asked {
        Content::Size(_) => Contents::Sizes(vec![inputs.arguments.size]),
        Content::Readings(batch) => Contents::Readings(ReadingsLists {
            readings: vec![batch.readings],
            encodings: vec![batch.encoding],
            compressions: vec![batch.compression],
        }),
    }
}
