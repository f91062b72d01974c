//! What the page is told: words, tables and pictures that are ready to be put in place.

use serde::Serialize;
use wirecost_report::choice::{self, Choices};
use wirecost_report::standalone;
use wirecost_scenario::Scenario;

use super::asked::Asked;
use super::simulations::Seen;
use super::state::{self, State};
use crate::commands::choose::question::{Answer, Explained, Lookup};
use crate::exit::Failure;

/// Who asks without a name.
const SOMEBODY: &str = "somebody";
/// The longest name of who asks.
const LONGEST_NAME: usize = 64;

/// A request: options of the state, and what is asked of them.
pub(super) struct Request {
    /// Who asks: the page draws a name when it is loaded.
    pub(super) client: String,
    /// How many cells the page knows already.
    pub(super) done: usize,
    /// How many of them are in the picture that it shows; 0 where it shows none of this question.
    drawn: usize,
    /// The number of the row whose account is asked for.
    row: Option<u32>,
    /// Whether files are asked for as well.
    with_files: bool,
    pairs: Vec<(String, String)>,
}

impl Request {
    /// Reads a query.
    ///
    /// # Errors
    /// A number is none.
    pub(super) fn read(query: &str) -> Result<Self, Failure> {
        let mut request = Self {
            client: SOMEBODY.to_owned(),
            done: 0,
            drawn: 0,
            row: None,
            with_files: false,
            pairs: Vec::new(),
        };
        for (key, value) in state::pairs(query) {
            let number = || {
                let number = value.parse::<u32>();
                number.map_err(|_| Failure::usage(format!("{key} is a number, not {value:?}")))
            };
            match key.as_str() {
                "client" if !value.is_empty() => request.client = value.chars().take(LONGEST_NAME).collect(),
                "done" => request.done = number()? as usize,
                "drawn" => request.drawn = number()? as usize,
                "row" => request.row = Some(number()?),
                "files" => request.with_files = true,
                _ => request.pairs.push((key, value)),
            }
        }
        Ok(request)
    }

    /// The first value of a key, which is no option.
    pub(super) fn take(&mut self, key: &str) -> Option<String> {
        let place = self.pairs.iter().position(|(other, _)| other == key)?;
        Some(self.pairs.remove(place).1)
    }

    /// The state that is asked about.
    ///
    /// # Errors
    /// It is none of this page.
    pub(super) fn state(&self) -> Result<State, Failure> {
        State::read(&self.pairs)
    }

    /// Whether a picture of what is known is to be made: a page that shows one gets the next one where there is something new and where
    /// pictures may be made again.
    pub(super) fn wants_picture(&self, seen: &Seen) -> bool {
        let has_rows = seen.known.first().is_some_and(|ranking| !ranking.is_empty());
        has_rows && (self.with_files || self.drawn == 0 || seen.done > self.drawn && seen.is_due)
    }
}

/// What is known of a question.
#[derive(Serialize)]
struct Told {
    /// The query of a link to it.
    link: String,
    /// The command line that prints the same figures.
    command: String,
    /// How many stacks and ways are simulated, of how many. All 0 where another question has taken its place.
    done: usize,
    of: usize,
    /// How many questions of others have their turn before its next cell.
    before: usize,
    /// Whether the order of the rows is known; what is beyond it may not be.
    is_ranked: bool,
    /// Why some could not be simulated.
    failed: Vec<String>,
    /// What is known; `None` as long as nothing is, and where the page keeps what it shows.
    known: Option<Known>,
}

/// The answer by what is simulated so far.
#[derive(Serialize)]
struct Known {
    title: String,
    asked: String,
    /// The part of `choice.html`, as HTML.
    part: String,
    /// The table, as text.
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    /// What the security of 2030 adds, line by line.
    added: Vec<String>,
    account: Option<Account>,
    /// Where they were asked for: name, type and content.
    files: Vec<File>,
}

/// The account of a row, as text.
#[derive(Serialize)]
struct Account {
    heading: String,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

/// A file to keep.
#[derive(Serialize)]
struct File {
    name: String,
    content_type: &'static str,
    content: String,
}

/// The JSON of an answer with a picture of what is known. With it comes the same question with further cells, where its ranking shows
/// that it needs some.
///
/// # Errors
/// There is no row of the number that is asked for.
pub(super) fn picture(
    request: &Request,
    asked: &Asked,
    seen: &Seen,
) -> Result<(String, Option<Asked>), Failure> {
    let mut told = told(asked, seen);
    let mut known = seen.known.iter();
    let ranking = known.next().filter(|ranking| !ranking.is_empty());
    let today = known.next().map(Vec::as_slice);
    let Some(ranking) = ranking else {
        return Ok((json(&told)?, None));
    };
    let lookup: &Lookup<'_> = &|key| seen.further.get(key).cloned();
    let further = seen.is_ranked.then_some(lookup);
    let mut answer = asked.question.answer(ranking, today, request.row, further)?;
    let cells = std::mem::take(&mut answer.cells);
    if seen.is_ranked {
        let ranked = seen.of - asked.comparisons.len() + asked.ranked;
        told.of = ranked + cells.len();
        told.done = told.of - answer.open;
    }
    told.known = Some(known_of(request, asked, answer)?);
    let next = asked.with(cells);
    let is_other = seen.is_ranked && !next.keys().eq(asked.keys());
    Ok((json(&told)?, is_other.then_some(next)))
}

/// The same for a page that keeps the picture that it shows.
///
/// # Errors
/// None that is not a defect.
pub(super) fn progress(asked: &Asked, seen: &Seen) -> Result<String, Failure> {
    json(&told(asked, seen))
}

fn told(asked: &Asked, seen: &Seen) -> Told {
    Told {
        link: asked.state.query(),
        command: asked.state.command(),
        done: seen.done,
        of: seen.of,
        before: seen.before,
        is_ranked: seen.is_ranked,
        failed: seen.failed.iter().map(ToString::to_string).collect(),
        known: None,
    }
}

fn json(told: &Told) -> Result<String, Failure> {
    serde_json::to_string(told).map_err(Failure::internal)
}

fn known_of(request: &Request, asked: &Asked, answer: Answer) -> Result<Known, Failure> {
    let part = choice::fragment(&answer.choice).map_err(Failure::internal)?;
    let files = match request.with_files {
        true => files(asked, &answer, &part),
        false => Vec::new(),
    };
    Ok(Known {
        heads: answer.choice.heads.clone(),
        rows: answer.choice.rows.iter().map(|row| row.texts.clone()).collect(),
        title: answer.title,
        asked: answer.asked,
        added: answer.added,
        account: answer.explained.map(account),
        part,
        files,
    })
}

fn account(explained: Explained) -> Account {
    let heads = explained.listing.heads.iter();
    Account {
        heads: heads.map(|head| head.text().to_owned()).collect(),
        heading: explained.heading,
        rows: explained.listing.rows,
        notes: explained.notes,
    }
}

/// The table as CSV and Markdown, the choice as JSON, the scenario of the simulations, and the figures.
fn files(asked: &Asked, answer: &Answer, part: &str) -> Vec<File> {
    let file = |name: &str, content_type, content| File {
        name: name.to_owned(),
        content_type,
        content,
    };
    let choices = Choices {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        title: answer.title.clone(),
        cases: vec![answer.choice.clone()],
        command: asked.state.command(),
        ..Choices::default()
    };
    let comparisons = asked.question.comparisons().unwrap_or_default().into_iter();
    let scenario = comparisons
        .map(|options| Scenario::comparison(options).to_yaml())
        .next();
    let mut files = vec![
        file("choice.csv", "text/csv", choice::table_csv(&answer.choice)),
        file("choice.md", "text/markdown", choice::markdown(&choices)),
        file("choice.json", "application/json", format!("{:#}\n", answer.json)),
    ];
    files.extend(scenario.map(|text| file("scenario.yaml", "application/yaml", text)));
    let figures = standalone::figures(part).into_iter();
    files.extend(figures.map(|figure| file(&figure.file, "image/svg+xml", figure.svg)));
    files
}
