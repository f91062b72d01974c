//! A question with the cells that its answer is made of, within what a page simulates.

use std::fmt::Arguments;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wirecost_lab::compare::simulated::Prepared;
use wirecost_proto::ByteSize;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::content::Contents;
use wirecost_scenario::plan::{Plan, identity};

use super::state::State;
use crate::arguments::ChooseArguments;
use crate::commands::choose::MOST_PAYLOAD;
use crate::commands::choose::question::{Alone, Question};
use crate::exit::Failure;

/// The most cells of a question.
const MOST_CELLS: usize = 300;
/// The most stacks, and the most values of another list.
const MOST_STACKS: usize = 60;
const MOST_LISTED: usize = 6;
/// The largest reading in bytes, and the most readings of a message.
const MOST_SIZE: u64 = 100_000;
const MOST_READINGS: u32 = 1_000;
/// The most devices of a cell.
const MOST_DEVICES: u32 = 100;

/// A question with its cells.
pub(super) struct Asked {
    /// The state of the page that asks it.
    pub(super) state: State,
    /// The question.
    pub(super) question: Arc<Question>,
    /// Its comparisons: that of the ranking, and that of today where the security of 2030 is asked for, then those with another input.
    pub(super) comparisons: Vec<Arc<Comparison>>,
    /// How many of them are those of the ranking and of today.
    pub(super) ranked: usize,
}

/// The cells of a comparison.
pub(super) struct Comparison {
    /// Its options.
    pub(super) options: Options,
    /// Its cells.
    pub(super) plan: Plan,
    /// The key of each cell.
    pub(super) keys: Vec<String>,
    /// What its simulations share.
    pub(super) prepared: Prepared,
}

impl Comparison {
    fn new(options: Options, plan: Plan, keys: Vec<String>) -> Arc<Self> {
        Arc::new(Self {
            options,
            plan,
            keys,
            prepared: Prepared::default(),
        })
    }
}

/// Some cells of one stack to simulate.
pub(super) struct Job {
    /// The question.
    pub(super) asked: Arc<Asked>,
    /// The number of its comparison.
    pub(super) comparison: usize,
    /// Their indices in the plan.
    pub(super) cells: Vec<usize>,
    /// Their keys.
    pub(super) keys: Vec<String>,
    /// Set where nobody waits for them any more.
    pub(super) stopped: Arc<AtomicBool>,
}

impl Asked {
    /// The question of a state with its cells.
    ///
    /// # Errors
    /// What the command line refuses, and more cells, devices or bytes than the page simulates.
    pub(super) fn new(state: State) -> Result<Self, Failure> {
        let arguments = state.arguments()?;
        // Before anything is made of them: a payload of its size, and a cell for each combination.
        bounded(&arguments)?;
        let question = Question::new(arguments)?;
        let comparisons = question.comparisons()?.into_iter().map(|mut options| {
            // Nobody reads the capture.
            options.keys = false;
            options.record_hosts = 0;
            let plan = Plan::new(&options);
            let cells = plan.cells.iter();
            let keys = cells.map(|cell| identity::key(&options, cell, "sim")).collect();
            Comparison::new(options, plan, keys)
        });
        let comparisons: Vec<Arc<Comparison>> = comparisons.collect();
        let asked = Self {
            state,
            ranked: comparisons.len(),
            comparisons,
            question: Arc::new(question),
        };
        asked.check()?;
        Ok(asked)
    }

    /// The same question with these cells beyond those of its ranking.
    pub(super) fn with(&self, cells: Vec<Alone>) -> Self {
        let alone = |cell: Alone| {
            let Alone { options, plan, key } = cell;
            Comparison::new(options, plan, vec![key])
        };
        self.beside(cells.into_iter().map(alone))
    }

    /// The same question with the cells of another one beyond those of its ranking, where both have the same ranking.
    pub(super) fn with_those_of(&self, other: &Self) -> Self {
        let is_same = self.ranked_keys().eq(other.ranked_keys()) && self.question.has_more();
        let more = other.comparisons.iter().skip(other.ranked).cloned();
        self.beside(more.filter(|_| is_same))
    }

    fn beside(&self, more: impl Iterator<Item = Arc<Comparison>>) -> Self {
        let own = self.comparisons.iter().take(self.ranked).cloned();
        Self {
            state: self.state.clone(),
            question: Arc::clone(&self.question),
            ranked: self.ranked,
            comparisons: own.chain(more).collect(),
        }
    }

    fn ranked_keys(&self) -> impl Iterator<Item = &String> {
        let ranked = self.comparisons.iter().take(self.ranked);
        ranked.flat_map(|comparison| &comparison.keys)
    }

    fn check(&self) -> Result<(), Failure> {
        let cells = self.keys().count();
        if cells > MOST_CELLS {
            return Err(too_large(format_args!(
                "{cells} stacks and ways, and this page simulates {MOST_CELLS}"
            )));
        }
        for comparison in &self.comparisons {
            bounded_payload(&comparison.options, &comparison.plan)?;
        }
        Ok(())
    }

    /// The keys of all cells.
    pub(super) fn keys(&self) -> impl Iterator<Item = &String> {
        self.comparisons.iter().flat_map(|comparison| &comparison.keys)
    }

    /// The next cells of one stack, `most` of them, of which nothing is known and which nobody simulates.
    pub(super) fn next(asked: &Arc<Self>, most: usize, is_open: impl Fn(&String) -> bool) -> Option<Job> {
        for (number, comparison) in asked.comparisons.iter().enumerate() {
            let cells = comparison.plan.cells.iter().zip(&comparison.keys).enumerate();
            let mut open = cells.filter(|(_, (_, key))| is_open(key));
            let Some((_, (first, _))) = open.clone().next() else {
                continue;
            };
            let stack = first.stack;
            let of_stack = open.by_ref().filter(|(_, (cell, _))| cell.stack == stack);
            let of_stack = of_stack.take(most);
            let (cells, keys) = of_stack.map(|(index, (_, key))| (index, key.clone())).unzip();
            return Some(Job {
                asked: Arc::clone(asked),
                comparison: number,
                cells,
                keys,
                stopped: Arc::default(),
            });
        }
        None
    }
}

/// Refuses a plan that would send more than a page simulates.
pub(super) fn bounded_payload(options: &Options, plan: &Plan) -> Result<(), Failure> {
    let devices = options.samples;
    let sent = |bytes: u64, messages: u64| bytes.saturating_mul(messages).saturating_mul(devices.into());
    let payloads = plan.cells.iter();
    let payloads = payloads.map(|cell| sent(cell.payload.len() as u64, cell.schedule.messages));
    match payloads.max().filter(|most| *most > MOST_PAYLOAD) {
        None => Ok(()),
        Some(most) => Err(too_large(format_args!(
            "{} MB of payload in a way, and this page simulates {} MB",
            most / 1_000_000,
            MOST_PAYLOAD / 1_000_000
        ))),
    }
}

/// Refuses a comparison of a stranger's file that would make more than a page simulates, before anything is made of it.
pub(super) fn bounded_run(options: &Options) -> Result<(), Failure> {
    let (sizes, batches): (&[ByteSize], &[u32]) = match &options.contents {
        Contents::Sizes(sizes) => (sizes, &[]),
        Contents::Readings(lists) => (&[], &lists.readings),
    };
    if let Some(size) = sizes.iter().find(|size| size.bytes() > MOST_SIZE) {
        return Err(too_large(format_args!(
            "{size} for a reading, and this page sends at most {} kB",
            MOST_SIZE / 1_000
        )));
    }
    if let Some(most) = batches.iter().max().filter(|most| **most > MOST_READINGS) {
        return Err(too_large(format_args!(
            "{most} readings in a message, and this page sends at most {MOST_READINGS}"
        )));
    }
    // A connection each, and one that is kept.
    let ways = options.schedules.len().max(2);
    let lists = [
        options.stacks.len(),
        options.starts.len(),
        options.contents.count(),
        options.links.len(),
        ways,
    ];
    let cells = lists.into_iter().fold(1, usize::saturating_mul);
    match cells > MOST_CELLS {
        true => Err(too_large(format_args!(
            "{cells} stacks and ways, and this page simulates {MOST_CELLS}"
        ))),
        false => Ok(()),
    }
}

/// Refuses arguments that would make more than is worth to look at.
fn bounded(arguments: &ChooseArguments) -> Result<(), Failure> {
    let size = arguments.size.bytes();
    if size > MOST_SIZE {
        return Err(too_large(format_args!(
            "{} for a reading, and this page sends at most {} kB",
            arguments.size,
            MOST_SIZE / 1_000
        )));
    }
    let batches = &arguments.readings.readings;
    if let Some(most) = batches.iter().max().filter(|most| **most > MOST_READINGS) {
        return Err(too_large(format_args!(
            "{most} readings in a message, and this page sends at most {MOST_READINGS}"
        )));
    }
    if arguments.count > MOST_DEVICES {
        let devices = arguments.count;
        return Err(too_large(format_args!(
            "{devices} devices of each way, and this page simulates {MOST_DEVICES}"
        )));
    }
    let lists = [
        ("stacks", arguments.stacks.len(), MOST_STACKS),
        ("numbers of readings", batches.len(), MOST_LISTED),
        ("keep-alives", arguments.keep_alive.len(), MOST_LISTED),
        ("starts", arguments.start.len(), MOST_LISTED),
    ];
    match lists.into_iter().find(|(_, count, most)| count > most) {
        Some((what, count, most)) => Err(too_large(format_args!(
            "{count} {what}, and this page takes {most}"
        ))),
        None => Ok(()),
    }
}

pub(super) fn too_large(what: Arguments<'_>) -> Failure {
    Failure::usage(format_args!("this question has {what}"))
        .with_hint("ask less here, or ask it on the command line, which has no such limit")
}
