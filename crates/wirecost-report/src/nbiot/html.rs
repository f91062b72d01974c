//! `report.html` of reports in NB-IoT cells: the figures against load, delays per coverage level, what a report takes, the map, one
//! device over the air.

mod choices;
mod current;
mod delays;
mod map;
mod parts;
mod quantities;
mod sequence;
mod tables;
mod words;

use minijinja::value::Serde;
use serde::Serialize;
use wirecost_results::nbiot::NbiotSummary;
use wirecost_results::nbiot::map::{self as places, DeviceMap};
use wirecost_results::nbiot::sequence::{self as air, AirTransmission};
use wirecost_results::{ResultsError, RunFolder};

use crate::chart::Figure;
use crate::html::controls::{self, Control};
use crate::html::environment;
use crate::html::grid::Grid;
use crate::html::shown::{self, Chart, Shown, Subject};
use crate::{ReportError, number};
use choices::Choice;
use map::Maps;

/// The charts of the page that are drawn once; those against load are lists of `quantities`.
///
/// A new one is a file beside this with a `Chart`, and its lines here.
const CHARTS: &[Chart<Cells>] = &[sequence::SEQUENCE, current::READING, current::DAY];

/// Reports in NB-IoT cells.
struct Cells;

impl Subject for Cells {
    type Of<'a> = OfCells<'a>;
}

/// What the charts of the page are made of.
struct OfCells<'a> {
    summary: &'a NbiotSummary,
    /// The transmissions of one device.
    transmissions: &'a [AirTransmission],
}

/// The report of `summary` as one HTML file, with the map and the transmissions of one device where they are there.
///
/// # Errors
/// The template does not fit the results, which is a fault of this crate.
pub fn page(
    summary: &NbiotSummary,
    map: Option<&DeviceMap>,
    transmissions: &[AirTransmission],
) -> Result<String, ReportError> {
    let mut environment = environment()?;
    environment.add_template("nbiot.html", include_str!("../../templates/nbiot.html"))?;
    let choices = Choice::all(&summary.points);
    let study = quantities::Panels::from_choices("study", &choices, &quantities::study(summary));
    let usage = quantities::Panels::from_choices("use", &choices, &quantities::usage());
    let report = quantities::Panels::from_choices("report", &choices, &quantities::report());
    let delays = delays::Delays::from_summary(summary, &choices);
    let parts = parts::Parts::from_choices(&choices);
    let maps = map.and_then(|map| Maps::from_summary(summary, map));
    let all: Vec<&Control> = [&study.controls, &usage.controls, &report.controls]
        .into_iter()
        .chain([&delays.controls, &parts.controls])
        .chain(maps.as_ref().map(|maps| &maps.controls))
        .flatten()
        .collect();
    let of = OfCells {
        summary,
        transmissions,
    };
    let charts = shown::all(CHARTS, &of);
    let page = Page {
        css: [crate::html::STYLE, include_str!("../../templates/nbiot.css")],
        js: include_str!("../../templates/report.js"),
        rules: controls::rules(all.into_iter()),
        version: &summary.version,
        is_interrupted: summary.interrupted,
        asked: words::asked(summary),
        conclusion: words::conclusion(summary, &choices),
        conditions: words::conditions(summary),
        intervals: words::intervals(summary),
        deadline_s: number::trimmed(summary.setting.deadline_s, 3),
        hours: number::trimmed(summary.setting.interval_s / 3_600.0, 3),
        study,
        usage,
        report,
        delays,
        parts,
        changes: tables::changes(&choices),
        maps,
        further: shown::own_sections(CHARTS, &charts),
        drawn: charts,
        table: tables::points(summary),
        // All parameters, so that the page alone is enough to run it again.
        network: serde_json::to_string_pretty(&summary.setting.network).unwrap_or_default(),
    };
    Ok(environment.get_template("nbiot.html")?.render(Serde(&page))?)
}

/// Reads a results folder of reports in NB-IoT cells and writes its `report.html`.
///
/// # Errors
/// A file of the folder is missing, of another version or unreadable; the folder cannot be written to.
pub fn write_page(folder: &RunFolder) -> Result<(), ReportError> {
    let summary: NbiotSummary = folder.read_json("summary.json")?;
    let map: Option<DeviceMap> = optional(folder, places::FILE)?;
    let transmissions: Option<Vec<AirTransmission>> = optional(folder, air::FILE)?;
    let html = page(&summary, map.as_ref(), &transmissions.unwrap_or_default())?;
    folder.write_derived("report.html", html.as_bytes())?;
    Ok(())
}

/// A file that may be missing.
fn optional<T: serde::de::DeserializeOwned>(
    folder: &RunFolder,
    name: &str,
) -> Result<Option<T>, ResultsError> {
    match folder.file(name).exists() {
        true => folder.read_json(name).map(Some),
        false => Ok(None),
    }
}

/// A figure with its caption and the table behind it.
#[derive(Serialize)]
struct Plotted {
    title: String,
    words: String,
    figure: Figure,
    table: Grid,
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    css: [&'static str; 2],
    js: &'static str,
    /// Style of the panels that buttons choose.
    rules: String,
    version: &'a str,
    is_interrupted: bool,
    asked: String,
    conclusion: Vec<String>,
    conditions: Vec<(&'static str, String)>,
    /// What the whiskers are.
    intervals: String,
    deadline_s: String,
    /// Hours between two reports of a device.
    hours: String,
    /// The four figures of the study.
    study: quantities::Panels,
    /// How much of the cells is used.
    usage: quantities::Panels,
    /// What a report takes.
    report: quantities::Panels,
    delays: delays::Delays,
    parts: parts::Parts,
    /// What each change of the network changes.
    changes: Grid,
    maps: Option<Maps>,
    /// Anchor and title of each section that charts have of their own.
    further: Vec<(&'static str, &'static str)>,
    /// The charts, each with the anchor of its section.
    drawn: Vec<(&'static str, Shown)>,
    table: Grid,
    /// Every parameter of the network.
    network: String,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_shows_every_chart_of_its_list() {
        crate::html::shown::assert_shown(include_str!("../../templates/nbiot.html"), super::CHARTS);
    }
}
