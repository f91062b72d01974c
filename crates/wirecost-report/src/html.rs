//! `report.html`: one file that asks nothing of the network and works without scripts.
//!
//! The figures are SVG drawn here, each in two widths of which the style sheet shows one. Names come from files and
//! URLs: the template escapes every text, `svg` every attribute and every text of a figure.

mod bars;
mod break_even;
mod cards;
mod connect;
mod curves;
mod ends;
mod facts;
mod grid;
mod ladder;
mod listing;
mod svg;

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use wirecost_lab::results::{Cell, Results, Summary};
use wirecost_proto::Layer;

use crate::ReportError;
use crate::figures::{self, BothWays};
use crate::groups::Group;
use break_even::BreakEven;
use cards::Card;
use connect::Matrix;
use facts::Facts;
use grid::Grid;
use ladder::LadderGroup;

/// The widths in CSS pixels that every figure is drawn in: for a desk and paper, and for a phone.
const WIDTHS: [f64; 2] = [680.0, 372.0];

/// The report as one HTML file.
///
/// # Errors
/// The template does not fit the results, which is a fault of this crate.
pub fn report(results: &Results) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.add_template("report.html", include_str!("../templates/report.html"))?;
    let page = Page {
        css: include_str!("../templates/style.css"),
        js: include_str!("../templates/report.js"),
        asked: asked(results),
        summary: &results.summary,
        groups: groups(results),
        ladders: ladder::groups(&results.ladders),
        facts: facts::all(results),
        scenario: listing::of(&results.summary.scenario),
        layers: Layer::ALL.map(Layer::name),
    };
    Ok(environment.get_template("report.html")?.render(Serde(&page))?)
}

/// What the template reads.
#[derive(Serialize)]
struct Page<'a> {
    css: &'static str,
    js: &'static str,
    asked: String,
    summary: &'a Summary,
    groups: Vec<GroupView>,
    ladders: Vec<LadderGroup>,
    facts: Facts,
    scenario: String,
    layers: [&'static str; 5],
}

/// A figure in both widths, and what is drawn in it as CSV.
#[derive(Serialize)]
struct Figure {
    wide: String,
    narrow: String,
    data: String,
}

impl Figure {
    fn new(draw: impl Fn(f64) -> String, data: String) -> Self {
        let [wide, narrow] = WIDTHS.map(draw);
        Self { wide, narrow, data }
    }
}

/// What is shown of the cells of one payload size and one link.
#[derive(Serialize)]
struct GroupView {
    heading: String,
    cards: Vec<Card>,
    message: Figure,
    connection: Figure,
    connects: Matrix,
    break_even: [BreakEven; 2],
    latency: Figure,
    tail: Figure,
    table: Grid,
}

fn groups(results: &Results) -> Vec<GroupView> {
    let view = |group: &Group<'_>| GroupView {
        heading: group.heading.clone(),
        cards: cards::all(group),
        message: bars::figure(group, "Wire bytes of one message", BothWays::of_message),
        connection: bars::figure(group, "Wire bytes of connect and close", BothWays::of_connection),
        connects: Matrix::of(group),
        break_even: [break_even::BYTES, break_even::TIME].map(|quantity| break_even::all(group, quantity)),
        latency: curves::figure(group, &results.samples, curves::Origin::Zero),
        tail: curves::figure(group, &results.samples, curves::Origin::Fastest),
        table: grid::figures(group),
    };
    Group::all(&results.summary).iter().map(view).collect()
}

/// What was asked, in one sentence.
fn asked(results: &Results) -> String {
    let summary = &results.summary;
    let scenario = &summary.scenario;
    let mut links: Vec<String> = Vec::new();
    for link in summary
        .cells
        .iter()
        .map(|cell: &Cell| figures::link_words(&cell.link))
    {
        if !links.contains(&link) {
            links.push(link);
        }
    }
    format!(
        "What does one message of {} cost over {} on a link with {}, measured {} times per cell ({} engine)?",
        scenario.size.join(" or "),
        scenario.stacks.join(", "),
        links.join(" or with "),
        scenario.samples,
        scenario.engine,
    )
}
