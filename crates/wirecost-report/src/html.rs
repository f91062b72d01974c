//! `report.html`: one file that asks nothing of the network and works without scripts.
//!
//! Figures are SVG, each in two widths, of which the style sheet shows one. Names come from files and URLs: the
//! template escapes every text, and `chart::svg` every attribute and text of a figure.

pub(crate) mod cards;
pub(crate) mod charts;
mod connect;
pub(crate) mod controls;
pub(crate) mod facts;
pub(crate) mod grid;
mod heat;
pub(crate) mod interval;
mod ladder;
pub(crate) mod listing;
pub(crate) mod samples;
pub(crate) mod scope;
mod selection;
pub(crate) mod shown;
mod sweep;

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use wirecost_proto::Layer;
use wirecost_results::{Cell, Results, Summary};

use crate::ReportError;
use crate::conclusion;
use crate::figures;
use crate::groups::Group;
use crate::names::{Names, distinct, few, is_modelled};
use crate::per::Per;
use crate::readings;
use crate::settings;
use cards::Card;
use charts::{CHARTS, OfGroup};
use connect::Matrix;
use facts::Facts;
use grid::Grid;
use heat::HeatMaps;
use interval::Intervals;
pub(crate) use interval::pays_off;
use ladder::Ladders;
use samples::Samples;
use selection::Selection;
use shown::Shown;
use sweep::Sweep;

/// Above this number of cells, figures show some cells only, and tables are collapsed.
pub(crate) const MANY: usize = 24;

/// The style sheet that all pages share: colours for light and dark, cards, tables, figures.
pub const STYLE: &str = include_str!("../templates/style.css");

/// The report as one HTML file.
///
/// # Errors
/// The template does not fit the results, which is a fault of this crate.
pub fn report(results: &Results) -> Result<String, ReportError> {
    let mut environment = environment()?;
    environment.add_template("report.html", include_str!("../templates/report.html"))?;
    let all = Group::all(&results.summary);
    // A sweep of thousands of cells would make a page that no browser opens.
    let selection = Selection::from_groups(&all);
    let samples = Samples::from_rows(&results.samples);
    let sweep = Sweep::from_summary(&results.summary);
    let maps = HeatMaps::from_sweep(&sweep);
    let intervals = Intervals::from_summary(&results.summary, &sweep);
    let drawn = selection.drawn.iter();
    let groups: Vec<GroupView> = drawn
        .map(|group| GroupView::from_group(group, &results.summary, &samples))
        .collect();
    let page = Page {
        css: STYLE,
        js: include_str!("../templates/report.js"),
        asked: asked(results),
        conclusion: conclusion::sentences(&results.summary, Per::Message, pays_off(&results.summary)),
        conditions: conditions(&results.summary),
        cards: cards::all(&all),
        summary: &results.summary,
        further: shown::own_sections(CHARTS, groups.iter().flat_map(|group| &group.charts)),
        groups,
        drawn: selection.words,
        count: all.len(),
        rules: controls::rules(
            maps.controls()
                .chain(intervals.iter().flat_map(Intervals::controls)),
        ),
        maps,
        intervals,
        tables: tables(&all),
        differences: differences(&results.summary),
        readings: beside(&results.summary),
        is_long: results.summary.cells.len() > MANY,
        ladders: Ladders::from_ladders(&results.ladders, &all),
        facts: facts::all(results),
        scenario: listing::write(&results.summary.scenario),
        layers: Layer::ALL.map(Layer::name),
    };
    Ok(environment.get_template("report.html")?.render(Serde(&page))?)
}

/// What the tables do not say of readings, settings and programs.
fn beside(summary: &Summary) -> Vec<String> {
    let names = Names::from_summary(summary);
    let readings = readings::lines(&names, &summary.cells);
    readings
        .into_iter()
        .chain(settings::lines(&names, summary))
        .collect()
}

/// What a part of another page shows of a comparison.
#[derive(Serialize)]
pub(crate) struct Part {
    /// The question, and what the figures say of it.
    pub(crate) asked: String,
    pub(crate) conclusion: Vec<String>,
    conditions: Vec<(&'static str, String)>,
    cards: Vec<Card>,
    groups: Vec<GroupView>,
    /// The text that says which groups are drawn, if not all are.
    drawn: Option<String>,
    tables: Vec<Grid>,
}

impl Part {
    pub(crate) fn from_results(results: &Results) -> Self {
        let summary = &results.summary;
        let all = Group::all(summary);
        let selection = Selection::from_groups(&all);
        let samples = Samples::from_rows(&results.samples);
        let drawn = selection.drawn.iter();
        Self {
            asked: asked(results),
            conclusion: conclusion::sentences(summary, Per::Message, pays_off(summary)),
            conditions: conditions(summary),
            cards: cards::all(&all),
            groups: drawn
                .map(|group| GroupView::from_group(group, summary, &samples))
                .collect(),
            tables: tables(&all),
            drawn: selection.words,
        }
    }
}

/// The templates that all pages share: their head, figures, and tables that scroll where they do not fit.
///
/// # Errors
/// A template cannot be read, which is a fault of this crate.
pub fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.add_template("head.html", include_str!("../templates/head.html"))?;
    environment.add_template("figure.html", include_str!("../templates/figure.html"))?;
    Ok(environment)
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    css: &'static str,
    js: &'static str,
    asked: String,
    /// The conclusion in words; empty without a valid cell.
    conclusion: Vec<String>,
    /// Size, link, loss and samples as names and texts.
    conditions: Vec<(&'static str, String)>,
    cards: Vec<Card>,
    summary: &'a Summary,
    groups: Vec<GroupView>,
    /// Anchor and title of each section that charts have of their own.
    further: Vec<(&'static str, &'static str)>,
    /// The number of groups.
    count: usize,
    /// Style of the panels that buttons choose.
    rules: String,
    maps: HeatMaps,
    intervals: Option<Intervals>,
    /// The text that says which groups are drawn, if not all are.
    drawn: Option<String>,
    tables: Vec<Grid>,
    /// Sentences about batches and compression.
    readings: Vec<String>,
    /// The first differences between live and simulated cells: number, difference, cells.
    differences: Vec<(String, String, String)>,
    /// Whether tables are collapsed.
    is_long: bool,
    ladders: Ladders,
    facts: Facts,
    scenario: String,
    layers: [&'static str; 5],
}

/// The section of one group.
#[derive(Serialize)]
struct GroupView {
    heading: String,
    /// The text that says which engine the figures show; empty if there is one engine.
    engine: &'static str,
    connects: Matrix,
    /// Its charts, each with the anchor of its section.
    charts: Vec<(&'static str, Shown)>,
}

impl GroupView {
    fn from_group<'a>(group: &Group<'a>, summary: &'a Summary, samples: &'a Samples<'a>) -> Self {
        let engine = match (group.has_both_engines(), group.charted().iter().any(is_modelled)) {
            (false, _) => "",
            (true, false) => "The figures show the measured cells; the simulated ones are in the table.",
            (true, true) => "The figures show the simulated cells, as none was measured.",
        };
        let group = group.charted();
        Self {
            heading: group.heading.clone(),
            engine,
            connects: Matrix::from_group(&group),
            charts: shown::all(
                CHARTS,
                &OfGroup {
                    group,
                    summary,
                    samples,
                },
            ),
        }
    }
}

/// The table of each group, up to a total number of rows.
fn tables(groups: &[Group<'_>]) -> Vec<Grid> {
    let mut rows = 0;
    let has_place = |group: &&Group<'_>| {
        rows += group.cells.len();
        rows <= grid::ROWS || rows == group.cells.len()
    };
    groups.iter().take_while(has_place).map(grid::figures).collect()
}

/// The footnotes of the agreement column.
fn differences(summary: &Summary) -> Vec<(String, String, String)> {
    /// The largest number of cells that are named.
    const NAMED: usize = 6;
    let names = Names::from_summary(summary);
    let note = |(number, text, cells): (String, String, Vec<&Cell>)| {
        let named: Vec<String> = cells.iter().take(NAMED).map(|cell| names.label(cell)).collect();
        let beyond = match cells.len().saturating_sub(NAMED) {
            0 => String::new(),
            beyond => format!(" and {beyond} more cells"),
        };
        (number, text, named.join(", ") + &beyond)
    };
    names.differences(&summary.cells).into_iter().map(note).collect()
}

/// What the cells have in common and what varies, and the samples.
fn conditions(summary: &Summary) -> Vec<(&'static str, String)> {
    let samples = [("samples", figures::samples(&summary.scenario))];
    sweep::conditions(summary).into_iter().chain(samples).collect()
}

/// The readings of the run's messages.
fn batches(summary: &Summary) -> String {
    const NAMED: usize = 2;
    let all = distinct(
        summary
            .cells
            .iter()
            .filter_map(|cell| Some(cell.readings.as_ref()?.to_string())),
    );
    few(&all, NAMED, " or ", "batches of readings")
}

/// The question of the run, in one sentence.
fn asked(results: &Results) -> String {
    /// The largest number of sizes, stacks or links that are named.
    const NAMED: usize = 4;
    let summary = &results.summary;
    let scenario = &summary.scenario;
    let links = distinct(summary.cells.iter().map(|cell| figures::link_words(&cell.link)));
    let sizes = match scenario.sizes().len() {
        // Without sizes the messages carry readings.
        0 => batches(summary),
        _ => few(&scenario.sizes(), NAMED, " or ", "sizes"),
    };
    let links = match links.len() {
        0..=NAMED => format!("a link with {}", links.join(" or with ")),
        links => format!("{links} links"),
    };
    let engines = match scenario.engine() {
        "auto" => "simulated, then measured live".to_owned(),
        "sim" => "simulated".to_owned(),
        engine => format!("measured {engine}"),
    };
    let stacks = few(&scenario.stacks(), NAMED, ", ", "stacks");
    format!(
        "What does one message of {sizes} cost over {stacks} on {links}, {engines}, {}?",
        figures::samples(scenario),
    )
}

#[cfg(test)]
mod tests {
    const TEMPLATES: [(&str, &str); 8] = [
        ("capture.html", include_str!("../templates/capture.html")),
        ("choice.html", include_str!("../templates/choice.html")),
        ("figure.html", include_str!("../templates/figure.html")),
        ("link.html", include_str!("../templates/link.html")),
        ("load.html", include_str!("../templates/load.html")),
        ("nbiot.html", include_str!("../templates/nbiot.html")),
        ("own.html", include_str!("../templates/own.html")),
        ("report.html", include_str!("../templates/report.html")),
    ];

    #[test]
    fn the_report_shows_every_chart_of_its_list() {
        super::shown::assert_shown(include_str!("../templates/report.html"), super::CHARTS);
    }

    #[test]
    fn every_table_of_every_page_scrolls_where_it_does_not_fit() {
        for (name, text) in TEMPLATES {
            let mut before = text.split("<table").collect::<Vec<_>>();
            before.pop();
            for before in before {
                let call = before.rsplit_once("{% call scroll(").map(|(_, call)| call);
                let is_within = call.is_some_and(|call| call.ends_with(") %}") && !call.contains('<'));
                assert!(
                    is_within,
                    "{name}: a table is not within {{% call scroll(..) %}}: …{}",
                    &before[before.len().saturating_sub(80)..]
                );
            }
        }
    }
}
