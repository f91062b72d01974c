//! The first stacks of a ranking, measured live beside their simulation.

use std::path::Path;

use wirecost_live::signals::Interrupt;
use wirecost_scenario::Scenario;
use wirecost_scenario::options::compare::{Engine, Options, Schedule};
use wirecost_security::Start;
use wirecost_stack::Stack;

use super::rows::Row;
use super::{Inputs, play};
use crate::exit::Failure;

/// Stacks that are measured.
const STACKS: usize = 3;
/// Devices of each.
const DEVICES: u32 = 20;

/// A stack that was measured live: whether its bytes are those of the simulation.
pub struct Verified {
    /// Its name.
    pub stack: String,
    /// `None` if it did not run live, otherwise the first difference, if there is one.
    pub difference: Option<Option<String>>,
    /// Why it was not measured.
    pub reason: Option<String>,
}

/// Measures the first stacks live: a connect, a message and a close on the same link, beside the same in virtual time.
pub(super) fn verify(
    inputs: &Inputs<'_>,
    options: &Options,
    rows: &[Row],
    out: &Path,
    interrupt: Interrupt,
) -> Result<Vec<Verified>, Failure> {
    if !inputs.arguments.verify {
        return Ok(Vec::new());
    }
    let mut stacks: Vec<Stack> = Vec::new();
    for row in rows.iter().filter(|row| row.is_met()) {
        if !stacks.contains(&row.stack) && stacks.len() < STACKS {
            stacks.push(row.stack);
        }
    }
    if stacks.is_empty() {
        return Ok(Vec::new());
    }
    let live = Options {
        // Where the machine allows no live run, the ranking stands with a note and without an error.
        engine: Engine::Auto,
        handshake: options.handshake.among(&stacks),
        stacks,
        samples: DEVICES,
        // Connect and message of a cold start are what both engines must agree on; starts and lives follow from these.
        starts: vec![Start::Cold],
        exclude: Vec::new(),
        // A day at real time would take a day.
        schedules: vec![Schedule::default()],
        ..options.clone()
    };
    live.validate()
        .map_err(|refusal| crate::arguments::of_flags("choose", &refusal))?;
    let scenario = Scenario::comparison(live.clone());
    let (summary, _) = play(
        inputs.arguments.quiet,
        None,
        (&live, &scenario),
        &out.join("verify"),
        interrupt,
    )?;
    let verified = live.stacks.iter().map(|stack| {
        let stack = stack.to_string();
        let cell = summary
            .cells
            .iter()
            .find(|cell| cell.stack == stack && cell.engine == "live");
        let agreement = cell.and_then(|cell| cell.agreement.as_ref());
        Verified {
            difference: agreement.map(|agreement| agreement.first_difference.clone()),
            reason: match cell {
                None => Some("the machine allows no live run; wirecost doctor says why".to_owned()),
                Some(cell) => cell.not_run.clone(),
            },
            stack,
        }
    });
    Ok(verified.collect())
}
