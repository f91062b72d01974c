//! The run in sentences.

use wirecost_results::nbiot::{NbiotSummary, Point};

use super::choices::{Choice, Curve, load_words};
use crate::names::{distinct, few};
use crate::number;

/// The share of reports that a load must serve to count as carried.
const CARRIED: f64 = 0.95;
/// Above this number of curves, sentences name counts.
const NAMED: usize = 4;

/// The question of the run.
pub(super) fn asked(summary: &NbiotSummary) -> String {
    let setting = &summary.setting;
    let cells = match setting.cells {
        1 => "one NB-IoT cell".to_owned(),
        cells => format!("{cells} NB-IoT cells"),
    };
    let names = distinct(summary.points.iter().map(stack_of));
    let stacks = few(&names, NAMED, ", ", "stacks");
    let sizes = distinct(
        summary
            .points
            .iter()
            .map(|point| format!("{} B", point.size_bytes)),
    );
    let sizes = few(&sizes, NAMED, " or ", "sizes");
    format!("How many reports of {sizes} over {stacks} do {cells} carry, how fast, and what does one take?")
        .replace("do one NB-IoT cell", "does one NB-IoT cell")
}

fn stack_of(point: &Point) -> &str {
    super::choices::stack_and_change(point).0
}

/// The conclusion: which load is carried, and what a report takes.
pub(super) fn conclusion(summary: &NbiotSummary, choices: &[Choice<'_>]) -> Vec<String> {
    let choice = &choices[0];
    let sentences = [carried(summary, choice), energies(choice), changed(choices)];
    sentences.into_iter().flatten().collect()
}

/// Which curves serve enough reports up to which load, by the means over seeds.
fn carried(summary: &NbiotSummary, choice: &Choice<'_>) -> Option<String> {
    let loads = choice.loads();
    let (first, last) = (*loads.first()?, *loads.last()?);
    let knee = |curve: &Curve<'_>| {
        let carried = curve.points.iter();
        // Up to the first that falls short: a higher load that serves enough again is chance.
        let carried = carried.take_while(|point| point.served.mean >= CARRIED);
        carried.last().map(|point| point.load)
    };
    let of = |load: Option<f64>| {
        let own = choice.curves.iter().filter(|curve| knee(curve) == load);
        let own: Vec<&str> = own.map(|curve| curve.label.as_str()).collect();
        (!own.is_empty()).then(|| names(&own))
    };
    let part = |load: f64| {
        let beyond = if load == last { ", the highest load" } else { "" };
        Some(format!("up to {}{beyond}: {}", load_words(load), of(Some(load))?))
    };
    let none = of(None).map(|names| format!("not even at {}: {names}", load_words(first)));
    let parts: Vec<String> = loads
        .iter()
        .rev()
        .filter_map(|load| part(*load))
        .chain(none)
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "At least {} % of reports arrive within {} s {}.",
            CARRIED * 100.0,
            summary.setting.deadline_s,
            parts.join("; ")
        )
    })
}

fn names(all: &[&str]) -> String {
    match all.len() {
        0..=NAMED => all.join(", "),
        count => format!("{}, and {} more", all[..NAMED - 1].join(", "), count - NAMED + 1),
    }
}

/// The stacks that take least and most energy at the lowest load.
fn energies(choice: &Choice<'_>) -> Option<String> {
    let load = *choice.loads().first()?;
    let points = choice.curves.iter();
    let points = points.filter_map(|curve| Some((curve.label.as_str(), curve.at(load)?.energy_mj)));
    let mut points: Vec<(&str, f64)> = points.collect();
    points.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(least, least_mj), .., (most, most_mj)] = points.as_slice() else {
        return None;
    };
    let [least_text, most_text] = [*least_mj, *most_mj].map(|energy| number::digits(energy, 3));
    let at = load_words(load);
    // As they are shown: two numbers that look alike must not be called least and most.
    Some(match least_text == most_text {
        true => format!("At {at} a report takes {least_text} mJ over every stack (modelled)."),
        false => {
            format!(
                "At {at} a report takes {least_text} mJ over {least} and {most_text} mJ over {most} (modelled)."
            )
        }
    })
}

/// What each change does to the share served, at the highest load, where changes were run.
fn changed(choices: &[Choice<'_>]) -> Option<String> {
    let choice = choices.get(1)?;
    let load = *choice.loads().last()?;
    let part = |curve: &Curve<'_>| {
        let point = curve.at(load)?;
        let served = number::percent(round(point.served.mean));
        Some(format!(
            "{} {served} and {} mJ",
            curve.label,
            number::digits(point.energy_mj, 3)
        ))
    };
    let parts: Vec<String> = choice.curves.iter().filter_map(part).collect();
    Some(format!(
        "{} at {}, served and energy: {}.",
        choice.name,
        load_words(load),
        parts.join("; ")
    ))
}

/// A share with three places.
fn round(share: f64) -> f64 {
    (share * 1e3).round() / 1e3
}

/// What was run, as names and texts.
pub(super) fn conditions(summary: &NbiotSummary) -> Vec<(&'static str, String)> {
    let setting = &summary.setting;
    let scenario = &setting.network["scenario"];
    let distance = scenario["isd_m"].as_f64();
    let cells = match (setting.cells, distance) {
        (1, _) | (_, None) => setting.cells.to_string(),
        (cells, Some(metres)) => format!("{cells}, sites {} m apart", number::trimmed(metres, 0)),
    };
    let spacing = number::trimmed(setting.dci_spacing_ms, 1);
    let window = format!(
        "{} s of reports after {} s of warm-up",
        number::trimmed(setting.duration_s, 1),
        number::trimmed(setting.warm_up_s, 1)
    );
    let reports = summary.points.iter().map(|point| point.reports).sum();
    vec![
        ("cells", cells),
        ("DCI occasions", format!("one per {spacing} ms at level 0")),
        ("seeds", format!("{} from seed {}", setting.seeds, setting.seed)),
        ("measured", window),
        ("reports", number::grouped(reports)),
        ("IP", if setting.ipv6 { "IPv6" } else { "IPv4" }.to_owned()),
        ("resource", number::plain(&setting.resource)),
    ]
}

/// What whiskers stand for, or why there are none.
pub(super) fn intervals(summary: &NbiotSummary) -> String {
    match summary.setting.seeds {
        1 => "One seed was run: there are no intervals over seeds.".to_owned(),
        seeds => format!(
            "Points are means over {seeds} seeds, whiskers their 95 % intervals. A point without one has too few seeds for an interval, or \
             seeds with one value; a whisker that is longer than the figure ends at its edge, and its ends are in the table."
        ),
    }
}
