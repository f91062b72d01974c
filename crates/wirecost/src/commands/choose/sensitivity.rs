//! `--sensitivity`: which input, changed by at most 10 %, changes the order of the first two rows.

use std::sync::Arc;

use serde_json::{Value, json};
use wirecost_report::choice;
use wirecost_report::terminal::listing::{Head, Listing};

use super::Inputs;
use super::input::{Change, Input};
use super::others::{Contender, Contenders, Named, Other};
use super::rows::{self, Row};
use crate::commands::cost::table::number;
use crate::exit::Failure;

/// The largest change, in per cent.
const MOST: i32 = 10;

/// What each input does to the order of two rows.
pub(super) struct Sensitivity {
    first: String,
    /// `None` where there is no second row.
    second: Option<String>,
    lines: Vec<Line>,
}

struct Line {
    input: String,
    now: String,
    outcome: Outcome,
}

/// What an input does.
enum Outcome {
    /// It has no part in the order.
    NoPart,
    /// The smallest changes, down and up, with which the second row is the first; none where it stays the second.
    Changes(Vec<Change>),
    /// Cells are still to be simulated.
    Open,
    /// A cell cannot be simulated.
    Failed(Arc<str>),
}

/// The order of the two rows with an input changed.
enum Order {
    Same,
    Other(Change),
    Open,
    Failed(Arc<str>),
}

impl Sensitivity {
    /// That of the first two rows.
    ///
    /// # Errors
    /// The packets of a cell cannot be read.
    pub(super) fn new(contenders: &Contenders<'_>, rows: &[Row], named: &Named<'_>) -> Result<Self, Failure> {
        let name = |row: &Row| format!("{} ({})", row.stack, row.way.name());
        let first = rows.first().map_or_else(String::new, name);
        let pair = rows.first().zip(rows.get(1));
        let pair =
            pair.and_then(|(first, second)| Some([contenders.of_row(first)?, contenders.of_row(second)?]));
        let Some(pair) = pair else {
            return Ok(Self {
                first,
                second: None,
                lines: Vec::new(),
            });
        };
        let asked = Two {
            contenders,
            pair,
            named,
        };
        let lines = Input::all(contenders.inputs)
            .into_iter()
            .map(|input| asked.line(input));
        Ok(Self {
            first,
            second: rows.get(1).map(name),
            lines: lines.collect::<Result<_, _>>()?,
        })
    }

    /// As a table of texts.
    pub(super) fn shown(&self) -> choice::Sensitivity {
        let Some(second) = &self.second else {
            return choice::Sensitivity {
                caption: "There are no two rows whose order an input could change.".to_owned(),
                ..choice::Sensitivity::default()
            };
        };
        choice::Sensitivity {
            caption: format!(
                "Which input, changed by at most {MOST} %, puts {second} before {}",
                self.first
            ),
            heads: ["input", "asked", "changes the order"]
                .map(str::to_owned)
                .to_vec(),
            rows: self.lines.iter().map(Line::texts).collect(),
            notes: vec![format!(
                "each input by itself, in steps of 1 %: the least change with which the order is the other one, of those that change it \
                 at {MOST} %; what has other packets was simulated again with the same seed"
            )],
        }
    }

    /// For the terminal.
    pub(super) fn text(&self, width: usize) -> String {
        use wirecost_report::terminal::paragraph;
        let choice::Sensitivity {
            caption,
            heads,
            rows,
            notes,
        } = self.shown();
        let mut text = paragraph(&caption, width);
        if !rows.is_empty() {
            let heads = heads.into_iter().map(Head::name).collect();
            text += &Listing { heads, rows }.draw(width, "choice.md");
        }
        for note in notes {
            text += &paragraph(&note, width);
        }
        text
    }

    /// As JSON.
    pub(super) fn json(&self) -> Value {
        let change = |change: &Change| json!({"percent": change.percent, "value": change.value});
        let line = |line: &Line| {
            let (changes, has_part, failed) = match &line.outcome {
                Outcome::NoPart => (Some(Vec::new()), false, None),
                Outcome::Changes(changes) => (Some(changes.iter().map(change).collect()), true, None),
                Outcome::Open => (None, true, None),
                Outcome::Failed(why) => (None, true, Some(why.as_ref())),
            };
            json!({"input": line.input, "asked": line.now, "has_part": has_part, "changes_order_at": changes, "failed": failed})
        };
        json!({
            "first": self.first,
            "second": self.second,
            "within_percent": MOST,
            "inputs": self.lines.iter().map(line).collect::<Vec<Value>>(),
        })
    }
}

impl Line {
    fn texts(&self) -> Vec<String> {
        let at = |change: &Change| {
            let sign = if change.percent < 0.0 { "-" } else { "+" };
            let percent = number((change.percent.abs() * 10.0).round() / 10.0);
            match change.value.is_empty() {
                true => format!("at {sign}{percent} %"),
                false => format!("at {} ({sign}{percent} %)", change.value),
            }
        };
        let outcome = match &self.outcome {
            Outcome::NoPart => "no part in the order".to_owned(),
            Outcome::Changes(changes) if changes.is_empty() => format!("none within {MOST} %"),
            Outcome::Changes(changes) => changes.iter().map(at).collect::<Vec<_>>().join("; "),
            Outcome::Open => "not simulated yet".to_owned(),
            Outcome::Failed(why) => format!("not known: {why}"),
        };
        vec![self.input.clone(), self.now.clone(), outcome]
    }
}

/// The first two rows, and what is asked about them.
struct Two<'a> {
    contenders: &'a Contenders<'a>,
    pair: [&'a Contender<'a>; 2],
    named: &'a Named<'a>,
}

impl Two<'_> {
    fn inputs(&self) -> &Inputs<'_> {
        self.contenders.inputs
    }

    fn line(&self, input: Input) -> Result<Line, Failure> {
        let now = input.changed(self.inputs(), 0);
        Ok(Line {
            input: input.name(self.inputs()),
            now: now.map_or_else(String::new, |now| now.value),
            outcome: match input.has_part(self.inputs()) {
                true => self.outcome(input)?,
                false => Outcome::NoPart,
            },
        })
    }

    fn outcome(&self, input: Input) -> Result<Outcome, Failure> {
        let mut changes = Vec::new();
        let mut is_open = false;
        // Both ways before what is found decides, so that the cells of both are simulated at once.
        let both = [self.least(input, -1)?, self.least(input, 1)?];
        for order in both {
            match order {
                Order::Same => {}
                Order::Other(change) => changes.push(change),
                Order::Open => is_open = true,
                Order::Failed(why) => return Ok(Outcome::Failed(why)),
            }
        }
        Ok(match is_open {
            true => Outcome::Open,
            false => Outcome::Changes(changes),
        })
    }

    /// The least change one way that changes the order, if the largest does.
    fn least(&self, input: Input, sign: i32) -> Result<Order, Failure> {
        let mut found = match self.order(input, sign * MOST)? {
            Order::Other(change) => change,
            other @ (Order::Same | Order::Open | Order::Failed(_)) => return Ok(other),
        };
        let (mut same, mut changed) = (0, MOST);
        while changed - same > 1 {
            let middle = i32::midpoint(same, changed);
            match self.order(input, sign * middle)? {
                Order::Same => same = middle,
                Order::Other(change) => (changed, found) = (middle, change),
                other @ (Order::Open | Order::Failed(_)) => return Ok(other),
            }
        }
        Ok(Order::Other(found))
    }

    fn order(&self, input: Input, percent: i32) -> Result<Order, Failure> {
        let Some(change) = input.changed(self.inputs(), percent) else {
            return Ok(Order::Same);
        };
        let mut rows = Vec::new();
        let mut is_open = false;
        for contender in self.pair {
            match self.contenders.other(contender, &change, self.named, |_| {})? {
                Other::Row(row) => rows.push(*row),
                Other::Open => is_open = true,
                Other::Failed(why) => return Ok(Order::Failed(why)),
            }
        }
        if is_open {
            return Ok(Order::Open);
        }
        let is_first = |row: &Row| {
            let first = self.pair[0].row;
            row.stack == first.stack
                && row.way.start == first.way.start
                && row.way.keep_alive == first.way.keep_alive
                && row.way.readings == first.way.readings
                && row.way.is_kept() == first.way.is_kept()
        };
        rows::rank(&mut rows, self.inputs().arguments.by);
        Ok(match rows.first().is_some_and(is_first) {
            true => Order::Same,
            false => Order::Other(change),
        })
    }
}
