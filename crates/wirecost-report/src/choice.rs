//! `choice.html` and `choice.md`: which stack was chosen, for a design document.
//!
//! The page has the requirements, the ranking, its evidence, what it assumes, and the command that repeats it. It is one file that
//! asks nothing of the network and has no script. `wirecost ui` shows the part of a use case, which is a [`fragment`].

mod bars;
mod current;
mod intervals;

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use wirecost_results::Cell;

use crate::ReportError;
use crate::csv;
use crate::export::escaped;
use crate::figures;
use crate::html::shown::{self, Chart, Shown, Subject};

pub use current::{Current, Step};
pub use intervals::{CostByInterval, CostLine, CostPoint};

/// The charts of a use case, in the order of the page.
///
/// A new one is a file beside these with a `Chart`, and its lines here.
const CHARTS: &[Chart<Cases>] = &[
    bars::BYTES,
    bars::YEARS,
    bars::LAYERS,
    current::READING,
    current::DAY,
    intervals::COST,
];

/// The style of the part of a use case, beside that of all pages.
pub const STYLE: &str = include_str!("../templates/choice.css");

/// Bytes of one message by layer, up and down: the layers in the order of `Layer::ALL`.
pub type Layers = [[f64; 5]; 2];

/// The bytes of one message of a cell, mean per sample; `None` where none was measured.
pub fn layers_of(cell: &Cell) -> Option<Layers> {
    figures::message_bytes(cell).map(|bytes| [bytes.up.0, bytes.down.0])
}

/// The most break-even points in Markdown; the page and its data have all.
const MOST_BREAK_EVEN: usize = 10;

/// The use cases of a page.
struct Cases;

impl Subject for Cases {
    type Of<'a> = Choice;
}

/// The choices of one or more use cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Choices {
    /// Version of wirecost.
    pub version: String,
    /// The title.
    pub title: String,
    /// A row for each of several use cases, under its heads; empty for one.
    pub matrix: Vec<Vec<String>>,
    /// The heads of the matrix.
    pub matrix_heads: Vec<String>,
    /// Each use case.
    pub cases: Vec<Choice>,
    /// The command that repeats the choice.
    pub command: String,
}

/// The choice for one use case.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Choice {
    /// The name of the use case; empty where there is one.
    pub name: String,
    /// The answer in a few words, e.g. the stack and how it uses its connections.
    pub answer: String,
    /// What the answer costs, how many stacks meet the requirements, and which cannot be told apart from it.
    pub reasons: Vec<String>,
    /// The time that bytes and money are of: `month`.
    pub per: &'static str,
    /// The requirements: name and text.
    pub requirements: Vec<(&'static str, String)>,
    /// The heads of the ranking: its first three are those of the number, the stack and the connection.
    pub heads: Vec<String>,
    /// The ranking.
    pub rows: Vec<Ranked>,
    /// The current of a reading of the first row; `None` without a device.
    pub current: Option<Current>,
    /// That of its day; `None` without a device, and where a day has too many packets to be drawn.
    pub day: Option<Current>,
    /// The cost of rows against the interval; `None` where no row was run.
    pub intervals: Option<CostByInterval>,
    /// Which input changes the order of the first two rows; empty where it was not asked for.
    pub sensitivity: Sensitivity,
    /// What was simulated and measured, and where it is.
    pub evidence: Vec<String>,
    /// Files of the evidence, relative to the page: name and path.
    pub files: Vec<(&'static str, String)>,
    /// What the figures assume.
    pub assumptions: Vec<String>,
}

/// Which input changes the order of the first two rows, as texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sensitivity {
    /// What the table is.
    pub caption: String,
    /// The heads of its columns.
    pub heads: Vec<String>,
    /// A row for each input.
    pub rows: Vec<Vec<String>>,
    /// What is to be known about it.
    pub notes: Vec<String>,
}

/// A line of the ranking.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ranked {
    /// A text for each head.
    pub texts: Vec<String>,
    /// Whether it meets the requirements.
    pub is_met: bool,
    /// Whether it is in the first table; the others differ only in how their connections start.
    pub is_shown: bool,
    /// Bytes of connects and closes, of messages, and of keep-alives in the time asked for. All 0 if it was not run.
    pub parts: [f64; 3],
    /// The bytes of one message, without its share of everything else; `None` if it was not run.
    pub layers: Option<Layers>,
    /// Years until the battery is empty, and the ends of their spread; `None` without a battery.
    pub years: Option<[f64; 3]>,
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    css: &'static str,
    own: &'static str,
    #[serde(flatten)]
    choices: &'a Choices,
    /// The charts of each use case, each with the anchor of its section.
    drawn: Vec<Vec<(&'static str, Shown)>>,
    /// Anchor and title of each section that charts have of their own.
    further: Vec<(&'static str, &'static str)>,
    /// The columns of each use case's ranking that the picture above it has.
    hidden: Vec<Vec<usize>>,
}

/// The choices as one HTML file.
///
/// # Errors
/// The template does not fit the choices, which is a fault of this crate.
pub fn html(choices: &Choices) -> Result<String, ReportError> {
    let mut environment = environment()?;
    environment.add_template("choice.html", include_str!("../templates/choice.html"))?;
    let cases = choices.cases.iter();
    let drawn: Vec<_> = cases.map(|case| shown::all(CHARTS, case)).collect();
    let page = Page {
        css: crate::html::STYLE,
        own: STYLE,
        choices,
        further: shown::own_sections(CHARTS, drawn.iter().flatten()),
        drawn,
        hidden: choices.cases.iter().map(|case| hidden(&case.heads)).collect(),
    };
    Ok(environment.get_template("choice.html")?.render(Serde(&page))?)
}

/// The templates of a use case.
fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = crate::html::environment()?;
    environment.add_template("case.html", include_str!("../templates/case.html"))?;
    Ok(environment)
}

/// The template of the part of a use case.
const PART: &str = r#"{% from "case.html" import body %}{{ body(case, own, further, hidden) }}"#;

/// The data of the part of a use case.
#[derive(Serialize)]
struct Fragment<'a> {
    case: &'a Choice,
    own: Vec<(&'static str, Shown)>,
    further: Vec<(&'static str, &'static str)>,
    hidden: Vec<usize>,
}

/// The part of a use case, as its page has it: for an element of another page, which has [`STYLE`] and that of all pages.
///
/// # Errors
/// The template does not fit the choice, which is a fault of this crate.
pub fn fragment(choice: &Choice) -> Result<String, ReportError> {
    let own = shown::all(CHARTS, choice);
    let part = Fragment {
        case: choice,
        further: shown::own_sections(CHARTS, &own),
        own,
        hidden: hidden(&choice.heads),
    };
    let mut environment = environment()?;
    environment.add_template("part.html", PART)?;
    Ok(environment.get_template("part.html")?.render(Serde(&part))?)
}

/// The ranking as CSV: the columns of the table, each row with its texts.
pub fn table_csv(choice: &Choice) -> String {
    let fields = |row: &Ranked| {
        let fields = choice.heads.iter().zip(&row.texts);
        fields.map(|(head, text)| csv::field(head, text)).collect()
    };
    csv::file(&choice.rows.iter().map(fields).collect::<Vec<_>>())
}

/// The columns that the picture has: bytes of the time asked for, and the power where there are years of a battery.
fn hidden(heads: &[String]) -> Vec<usize> {
    let has_years = heads.iter().any(|head| head.starts_with("battery"));
    let is_hidden = |head: &str| head.starts_with("MB/") || has_years && head.starts_with("mW");
    let indexed = heads.iter().enumerate();
    indexed
        .filter(|(_, head)| is_hidden(head))
        .map(|(index, _)| index)
        .collect()
}

/// The choices as Markdown.
pub fn markdown(choices: &Choices) -> String {
    let mut text = format!("# {}\n\n", escaped(&choices.title));
    if !choices.matrix.is_empty() {
        table(&choices.matrix_heads, choices.matrix.iter(), &mut text);
    }
    // The title has its name already.
    let is_alone = choices.cases.len() == 1;
    for case in &choices.cases {
        if !is_alone {
            text.push_str(&format!("## {}\n\n", escaped(&case.name)));
        }
        text.push_str(&format!("**{}**\n\n", escaped(&case.answer)));
        list(&case.reasons, &mut text);
        let requirements = case.requirements.iter();
        let lines: Vec<String> = requirements
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        list(&lines, &mut text);
        table(&case.heads, case.rows.iter().map(|row| &row.texts), &mut text);
        if !case.sensitivity.caption.is_empty() {
            text.push_str(&format!("{}\n\n", escaped(&case.sensitivity.caption)));
            table(&case.sensitivity.heads, case.sensitivity.rows.iter(), &mut text);
            list(&case.sensitivity.notes, &mut text);
        }
        let break_even = case.intervals.iter().flat_map(CostByInterval::break_even);
        list(&break_even.take(MOST_BREAK_EVEN).collect::<Vec<_>>(), &mut text);
        list(&case.evidence, &mut text);
        list(&case.assumptions, &mut text);
    }
    text.push_str(&format!("Repeat it with `{}`.\n", choices.command));
    text
}

fn list(lines: &[String], text: &mut String) {
    for line in lines {
        text.push_str(&format!("- {}\n", escaped(line)));
    }
    if !lines.is_empty() {
        text.push('\n');
    }
}

fn table<'a>(heads: &[String], rows: impl Iterator<Item = &'a Vec<String>>, text: &mut String) {
    if heads.is_empty() {
        return;
    }
    let line = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|text| escaped(text)).collect();
        format!("| {} |\n", texts.join(" | "))
    };
    text.push_str(&line(heads));
    text.push_str(&format!("|{}\n", "---|".repeat(heads.len())));
    for row in rows {
        text.push_str(&line(row));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_chart_of_its_list() {
        shown::assert_shown(include_str!("../templates/case.html"), CHARTS);
    }

    #[test]
    fn names_are_escaped_in_both_pages() {
        let case = Choice {
            name: "<i>a|b".to_owned(),
            heads: ["row", "stack", "connection"].map(str::to_owned).to_vec(),
            rows: vec![Ranked {
                texts: ["1", "<i>", "kept"].map(str::to_owned).to_vec(),
                is_met: true,
                is_shown: true,
                parts: [300.0, 100.0, 0.0],
                layers: Some([[20.0, 8.0, 0.0, 12.0, 64.0], [20.0, 8.0, 0.0, 4.0, 0.0]]),
                years: Some([2.0, 1.0, 3.0]),
            }],
            ..Choice::default()
        };
        let part = fragment(&case).expect("a part");
        assert!(
            !part.contains("<i>") && part.contains("&lt;i&gt; kept: 104 B up, 32 B down"),
            "{part}"
        );
        assert_eq!(table_csv(&case), "row,stack,connection\n1,<i>,kept\n");
        let choices = Choices {
            matrix: vec![vec!["a|b".to_owned()]],
            cases: vec![case.clone(), case],
            ..Choices::default()
        };
        let html = html(&choices).expect("a page");
        assert!(
            !html.contains("<i>") && html.contains("&lt;i&gt; kept: 400 B"),
            "{html}"
        );
        let text = markdown(&choices);
        assert!(
            text.contains("## &lt;i>a\\|b\n") && !text.contains("<i>"),
            "{text}"
        );
    }
}
