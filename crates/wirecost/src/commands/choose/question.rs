//! A choice whose simulations somebody else makes and keeps: the same rows, words and pictures as those of `wirecost choose`.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use wirecost_report::choice::Choice;
use wirecost_scenario::options::compare::Options;

pub use super::explain::Explained;
pub(in crate::commands) use super::others::Alone;
use super::rows::{self, Recorded, Row};
pub(in crate::commands) use super::simulated::{Found, Lookup, Simulated};
use super::{Decision, Inputs, Security, explain, further, page, quantum, sentence, table};
use super::{inputs, options};
use crate::arguments::ChooseArguments;
use crate::exit::Failure;

/// The arguments of `wirecost choose`, of which it is known that they can be answered.
pub(in crate::commands) struct Question(ChooseArguments);

/// What is known of the cells of a comparison, in the order of its plan.
pub(in crate::commands) type Known = [Arc<Simulated>];

/// The answer.
pub(in crate::commands) struct Answer {
    /// The question in a line.
    pub title: String,
    /// What was asked, in the words of the terminal.
    pub asked: String,
    /// The choice as its pages have it.
    pub choice: Choice,
    /// The choice as `--json` has it.
    pub json: Value,
    /// What the security of 2030 adds to that of today; empty where it was not asked for.
    pub added: Vec<String>,
    /// The account of a row, where it was asked for.
    pub explained: Option<Explained>,
    /// The cells of what it says beyond its ranking.
    pub cells: Vec<Alone>,
    /// How many of them are not known yet.
    pub open: usize,
}

impl Question {
    /// A question, unless it cannot be answered.
    ///
    /// # Errors
    /// What the command line refuses, too.
    pub fn new(arguments: ChooseArguments) -> Result<Self, Failure> {
        options(&inputs(&arguments)?)?;
        Ok(Self(arguments))
    }

    /// What is simulated for it: the comparison of the ranking, and that with the security of today, where 2030 is asked for.
    ///
    /// # Errors
    /// None for a question that can be answered.
    pub fn comparisons(&self) -> Result<Vec<Options>, Failure> {
        let inputs = inputs(&self.0)?;
        let options = options(&inputs)?;
        let today = (self.0.security == Security::Y2030).then(|| Options {
            handshake: inputs.handshake,
            ..options.clone()
        });
        Ok([options].into_iter().chain(today).collect())
    }

    /// Whether it needs cells beyond those of its ranking.
    pub fn has_more(&self) -> bool {
        self.0.sensitivity
    }

    /// The answer by what is known of its comparisons, and the account of the row with this number. `further` finds the cells of what it
    /// says beyond its ranking, which waits for all of that.
    ///
    /// # Errors
    /// There is no such row, or the packets of a cell cannot be read.
    pub fn answer(
        &self,
        ranking: &Known,
        today: Option<&Known>,
        row: Option<u32>,
        further: Option<&Lookup<'_>>,
    ) -> Result<Answer, Failure> {
        let inputs = inputs(&self.0)?;
        let rows = ranked(&inputs, ranking)?;
        let today = today.map(|today| ranked(&inputs, today)).transpose()?;
        let cells = || ranking.iter().map(|simulated| &simulated.cell);
        let recorded = recorded(ranking);
        let made = further.map(|lookup| further::make(&inputs, &rows, cells(), &*recorded, lookup));
        let made = made.transpose()?;
        let (further, more, open) =
            made.map_or_else(Default::default, |made| (made.further, made.cells, made.open));
        let decision = Decision {
            name: None,
            further,
            added: today.map_or_else(Vec::new, |today| quantum::added(&today, &rows)),
            rows,
            inputs,
            verified: Vec::new(),
        };
        let cells = ranking.iter().map(|simulated| &simulated.cell);
        let explained = row.map(|row| explain::account(&decision, row, cells, &*recorded));
        let inputs = &decision.inputs;
        Ok(Answer {
            title: sentence::title(inputs),
            asked: sentence::asked(inputs),
            choice: Choice {
                // Its files are those of a results folder.
                files: Vec::new(),
                ..page::choice(&decision, "")
            },
            json: table::json(&decision),
            added: quantum::lines(inputs, &decision.added),
            explained: explained.transpose()?,
            cells: more,
            open,
        })
    }
}

fn ranked(inputs: &Inputs<'_>, known: &Known) -> Result<Vec<Row>, Failure> {
    let cells = known.iter().map(|simulated| &simulated.cell);
    let mut rows = rows::rows(inputs, cells, &*recorded(known))?;
    rows::rank(&mut rows, inputs.arguments.by);
    Ok(rows)
}

/// The packets of the cells that are known.
fn recorded(known: &Known) -> Box<Recorded<'_>> {
    Box::new(|cell| {
        let found = known.iter().find(|simulated| simulated.cell.key == cell.key)?;
        found.traffic.as_ref().map(Cow::Borrowed)
    })
}
