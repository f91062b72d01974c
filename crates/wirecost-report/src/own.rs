//! A reader's own run or capture as a part of the page of `wirecost ui`: bytes by layer and by cause, as the pages of a comparison and of a
//! program's run have them, and what `wirecost cost` and `wirecost what-if` tell of it.

use minijinja::value::Serde;
use serde::Serialize;
use wirecost_proto::{Cause, Layer};
use wirecost_results::Results;
use wirecost_results::summary::CauseBytes;

use crate::ReportError;
use crate::capture::{CaptureShown, Phases};
use crate::chart::Figure;
use crate::chart::bars::{BarChart, Part as BarPart, Row};
use crate::csv::quoted;
use crate::html::charts::causes;
use crate::html::shown::Shown;
use crate::number;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub enum Pictured<'a> {
    /// The report of a capture, as `wirecost pcap --json` writes it.
    Capture(&'a CaptureShown),
    /// The results of a comparison; samples and packets may be missing.
    Run(&'a Results),
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OwnTable {
    /// What it shows.
    pub caption: String,
    /// Its heads.
    pub heads: Vec<String>,
    /// Its rows. A row of fewer texts than heads ends with words.
    pub rows: Vec<Vec<String>>,
    /// How to read it; may be empty.
    pub note: String,
}

/// What a command tells of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OwnPart {
    /// Its heading.
    pub heading: &'static str,
    /// Why it tells nothing; empty otherwise.
    pub refused: String,
    /// What to do then.
    pub hint: String,
    /// The answer in sentences.
    pub answers: Vec<String>,
    /// What the tables are of.
    pub about: String,
    /// The tables.
    pub tables: Vec<OwnTable>,
    /// What to know about the figures.
    pub notes: Vec<String>,
    /// Bytes of a reading by layer, in the order of [`Layer::ALL`], each with a name; drawn unless it is empty.
    pub layers: Vec<(String, [f64; 5])>,
    /// The command line that tells the same; empty where there is none.
    pub command: String,
}

/// The data of a part.
#[derive(Serialize)]
struct PartView<'a> {
    #[serde(flatten)]
    part: &'a OwnPart,
    drawn: Vec<(&'static str, Shown)>,
}

/// The data of the template.
#[derive(Serialize)]
struct View<'a> {
    alarms: &'a [String],
    conclusion: Vec<String>,
    report: Option<&'a CaptureShown>,
    /// IP bytes of the longest bar.
    largest: u64,
    drawn: Vec<(&'static str, Shown)>,
    run: Option<crate::html::Part>,
    parts: Vec<PartView<'a>>,
    layers: [&'static str; 5],
}

/// The part as HTML, for an element of another page, which has the style of all pages, of [`crate::choice`] and of [`crate::link`].
/// `alarms` are sentences that stand before everything else.
///
/// # Errors
/// The template does not fit the content, which is a fault of this crate.
pub fn fragment(content: Pictured<'_>, alarms: &[String], parts: &[OwnPart]) -> Result<String, ReportError> {
    let (report, run) = match content {
        Pictured::Capture(report) => (Some(report), None),
        Pictured::Run(results) => (None, Some(crate::html::Part::from_results(results))),
    };
    let conclusion = match (report, &run) {
        (Some(report), _) => vec![crate::link::conclusion(report)],
        (None, Some(run)) => run.conclusion.clone(),
        (None, None) => Vec::new(),
    };
    let drawn = |part| PartView {
        part,
        drawn: layers(part).into_iter().map(|chart| ("layers", chart)).collect(),
    };
    let view = View {
        alarms,
        conclusion,
        largest: report.map_or(1, CaptureShown::largest),
        drawn: report
            .map(|report| ("causes", causes_of(report)))
            .into_iter()
            .collect(),
        report,
        run,
        parts: parts.iter().map(drawn).collect(),
        layers: Layer::ALL.map(Layer::name),
    };
    let mut environment = crate::link::environment()?;
    environment.add_template("own.html", include_str!("../templates/own.html"))?;
    Ok(environment.get_template("own.html")?.render(Serde(&view))?)
}

/// The bytes of a capture by cause, a bar for each phase.
fn causes_of(report: &CaptureShown) -> Shown {
    let Phases {
        all,
        connect,
        message,
        keep_alive,
        close,
    } = &report.total;
    let phases = [
        ("connect", connect),
        ("message", message),
        ("keep-alive", keep_alive),
        ("close", close),
        ("all", all),
    ];
    let rows = phases.map(|(name, section)| {
        let of_cause = |cause| CauseBytes {
            up: section.up.of_cause(cause) as f64,
            down: section.down.of_cause(cause) as f64,
        };
        (name.to_owned(), Cause::ALL.map(of_cause))
    });
    let words = "IP bytes by cause: what goes up to the right, what comes down to the left";
    causes::by_cause("IP bytes by cause".to_owned(), &rows, words)
}

/// The bytes of a reading by layer; `None` where there are none.
fn layers(part: &OwnPart) -> Option<Shown> {
    if part.layers.is_empty() {
        return None;
    }
    let title = "IP bytes of a reading by layer".to_owned();
    let chart = BarChart {
        name: title.clone(),
        unit: "B",
        sides: [""; 2],
        rows: part.layers.iter().map(row).collect(),
    };
    let mut csv = format!("name,{}\n", Layer::ALL.map(Layer::name).join(","));
    for (name, bytes) in &part.layers {
        let bytes = bytes.map(|bytes| bytes.to_string()).join(",");
        csv += &format!("{},{bytes}\n", quoted(name));
    }
    let words =
        "IP bytes of a reading by layer, both ways, with its share of connects, keep-alives and closes";
    Some(Shown {
        title,
        legend: Layer::ALL
            .map(|layer| (layer.name().to_owned(), layer.name().to_owned()))
            .to_vec(),
        ..Shown::new(Figure::new(|width| chart.draw(width), csv), words)
    })
}

fn row((name, bytes): &(String, [f64; 5])) -> Row {
    let total = number::bytes(bytes.iter().sum());
    let parts = Layer::ALL.into_iter().zip(bytes).rev();
    Row {
        told: format!("{name}: {total} B"),
        label: name.clone(),
        left: Vec::new(),
        right: parts
            .map(|(layer, bytes)| BarPart {
                class: layer.name().to_owned(),
                value: *bytes,
                text: number::bytes(*bytes),
                title: format!("{name}: {} {} B", layer.name(), number::bytes(*bytes)),
            })
            .collect(),
        totals: [String::new(), total],
    }
}
