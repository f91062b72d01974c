//! What the commands tell of a file or a folder: `cost` and, of a capture, `what-if`, with the options of the page that they have.

use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, Instant};

use wirecost_lab::compare::simulated::{CellResult, simulate};
use wirecost_report::own::{OwnPart, OwnTable};
use wirecost_results::{Cell, Summary};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::Plan;

use super::file::Capture;
use crate::arguments::{Command, CostArguments, WhatIfArguments};
use crate::commands::choose;
use crate::commands::command_line::quoted;
use crate::commands::cost::lives::Within;
use crate::commands::cost::traffic::Source;
use crate::commands::cost::{self, capture, table};
use crate::commands::job::at_once;
use crate::commands::told::{Told, ToldTable};
use crate::commands::ui::asked::{self, too_large};
use crate::commands::ui::state::{self, State};
use crate::commands::what_if::{self, today::Today};
use crate::exit::Failure;

/// The longest time that is simulated for a file.
const LONGEST: Duration = Duration::from_mins(1);
/// What is about the question and not about what was recorded, and what `cost` takes for another source only.
const OF_QUESTIONS: [&str; 6] = ["every", "count", "seed", "keep-alive", "session-lifetime", "nat"];

/// What the commands are asked with.
pub(super) struct Asked<'a> {
    /// The options of the page.
    pub(super) state: &'a State,
    /// The file or the folder.
    pub(super) source: &'a Path,
    /// Whether nobody waits any more.
    pub(super) is_gone: &'a dyn Fn() -> bool,
}

impl Asked<'_> {
    /// The account of a capture.
    pub(super) fn account_of_capture(&self, capture: &Capture) -> OwnPart {
        self.account(|arguments, device| {
            capture::timed(&arguments.source, &capture.sightings)?;
            let packets = (&capture.reading, &capture.sightings);
            capture::of_packets(arguments, device, packets)?.with_rows(arguments)
        })
    }

    /// The account of a folder.
    pub(super) fn account_of_folder(&self) -> OwnPart {
        self.account(Source::read)
    }

    /// The account of a comparison of which the summary alone is there: its lives are simulated.
    pub(super) fn account_of_summary(&self, summary: &Summary) -> OwnPart {
        let part = self.account(|arguments, device| {
            let mut scenario = serde_json::to_value(&summary.scenario).map_err(Failure::internal)?;
            // A summary has the keys of a resolved scenario without the version of their format.
            scenario["wirecost"] = wirecost_scenario::VERSION.into();
            let run = cost::lives::options_in(&scenario.to_string(), &arguments.source)?;
            asked::bounded_run(&run)?;
            let began = Instant::now();
            let within = Within {
                check: &asked::bounded_payload,
                stop: &|| began.elapsed() > LONGEST || (self.is_gone)(),
            };
            let mut source = Source::default();
            source.lived_again(arguments, &run, device, &within)?;
            source.with_rows(arguments)
        });
        OwnPart {
            // That of the folder, which may have recorded the lives of its devices.
            command: String::new(),
            ..part
        }
    }

    fn account(
        &self,
        read: impl FnOnce(&CostArguments, Option<&wirecost_energy::Device>) -> Result<Source, Failure>,
    ) -> OwnPart {
        let words = self.words("cost", &[]);
        let told = || {
            let arguments = match state::parsed(&words)? {
                Command::Cost(arguments) => arguments,
                _ => {
                    return Err(Failure::internal(
                        "the options of cost are those of another command",
                    ));
                }
            };
            let prices = cost::prices(&arguments)?;
            let terms = prices.terms();
            let source = read(&arguments, terms.device)?;
            let figures = cost::figures(&terms, &source);
            Ok((table::told(&arguments, &terms, &source, &figures), Vec::new()))
        };
        part("The account", &words, told())
    }

    /// The readings of a capture over other stacks.
    pub(super) fn what_if(&self, capture: &Capture) -> OwnPart {
        let named = self.state.stacks();
        let stacks: Vec<&str> = match named.is_empty() {
            true => choose::STACKS.to_vec(),
            false => named,
        };
        let words = self.words("what-if", &stacks);
        let told = || {
            let arguments = match state::parsed(&words)? {
                Command::WhatIf(arguments) => arguments,
                _ => {
                    return Err(Failure::internal(
                        "the options of what-if are those of another command",
                    ));
                }
            };
            self.simulated(&arguments, capture)
        };
        part("What if it had been another stack", &words, told())
    }

    fn simulated(&self, arguments: &WhatIfArguments, capture: &Capture) -> Result<Layered, Failure> {
        capture::timed(&arguments.capture, &capture.sightings)?;
        let prices = what_if::prices(arguments)?;
        let terms = prices.terms();
        let packets = (&capture.reading, &capture.sightings);
        let today = Today::of_packets(arguments, terms.device, packets)?;
        let mut options = what_if::options(arguments, &today)?;
        asked::bounded_run(&options)?;
        // Nobody reads a capture of it.
        options.keys = false;
        options.record_hosts = 0;
        let plan = Plan::new(&options);
        asked::bounded_payload(&options, &plan)?;
        let cells = self.played(&options, &plan)?;
        let recorded = |cell: &Cell| {
            let found = cells.iter().find(|result| result.cell.key == cell.key)?;
            found.traffic.as_ref().map(Cow::Borrowed)
        };
        let simulated = cells.iter().map(|result| &result.cell);
        what_if::told(today, &terms, (&options, simulated, &recorded))
    }

    /// Every cell of a plan.
    fn played(&self, options: &Options, plan: &Plan) -> Result<Vec<CellResult>, Failure> {
        let began = Instant::now();
        let stop = || began.elapsed() > LONGEST || (self.is_gone)();
        let indices: Vec<usize> = (0..plan.cells.len()).collect();
        let mut cells = Vec::new();
        let mut take = |result| cells.push(result);
        simulate(options, plan, &indices, at_once(None), &mut take, &stop)
            .map_err(|error| Failure::internal(format_args!("a life cannot be simulated: {error}")))?;
        match cells.len() == indices.len() {
            true => Ok(cells),
            false => Err(too_large(format_args!(
                "stacks that take more than {} s to simulate",
                LONGEST.as_secs()
            ))),
        }
    }

    /// The words of a command about the source, with the options of the page that it has.
    fn words(&self, command: &str, further: &[&str]) -> Vec<String> {
        let without: &[&str] = match command {
            // Its keep-alive is that of the stacks that are simulated, and so is its seed.
            "what-if" => &["every", "count"],
            _ => &OF_QUESTIONS,
        };
        let source = self.source.display().to_string();
        let further = further.iter().map(|word| (*word).to_owned());
        [command.to_owned(), source]
            .into_iter()
            .chain(further)
            .chain(self.state.shared(command, without))
            .collect()
    }
}

/// What a command tells, and bytes by layer to draw.
type Layered = (Told, what_if::ByLayer);

/// A part of the page.
fn part(heading: &'static str, words: &[String], told: Result<Layered, Failure>) -> OwnPart {
    let command = quoted(words.iter().cloned());
    let (told, layers) = match told {
        Ok(told) => told,
        Err(failure) => {
            return OwnPart {
                heading,
                refused: failure.to_string(),
                hint: failure.hint().unwrap_or_default().to_owned(),
                ..OwnPart::default()
            };
        }
    };
    let table = |ToldTable {
                     caption,
                     listing,
                     note,
                 }| OwnTable {
        caption: match caption {
            // A region of a page needs a name that no other has.
            "" => heading.to_owned(),
            caption => caption.to_owned(),
        },
        heads: listing.heads.iter().map(|head| head.text().to_owned()).collect(),
        rows: listing.rows,
        note: note.to_owned(),
    };
    OwnPart {
        heading,
        answers: told.answers,
        about: told.heading,
        tables: told.tables.into_iter().map(table).collect(),
        notes: told.notes,
        layers,
        command,
        ..OwnPart::default()
    }
}
