//! Tables: all points, what changes of the network change.

use wirecost_results::nbiot::{Estimate, NbiotSummary, Point, RunFigures};
use wirecost_stats::mean::MeanInterval;

use super::choices::{Choice, load_words};
use crate::html::grid::{Grid, ValueColumn};
use crate::number;

/// Every point with its figures.
pub(super) fn points(summary: &NbiotSummary) -> Grid {
    let columns: [ValueColumn<&Point>; 14] = [
        ("load", "1/s", |point| point.load.to_string()),
        ("reports", "", |point| number::grouped(point.reports)),
        ("served", "%", |point| share(&point.served)),
        ("p50", "s", |point| seconds(point.delay_p50_s)),
        ("p95", "s", |point| seconds(point.delay_p95_s)),
        ("bytes up", "B", |point| number::trimmed(point.bytes_up, 1)),
        ("bytes down", "B", |point| number::trimmed(point.bytes_down, 1)),
        ("DCI use", "%", |point| share(&point.dci_use)),
        ("downlink use", "%", |point| share(&point.downlink_use)),
        ("uplink use", "%", |point| share(&point.uplink_use)),
        ("preambles", "", |point| format!("{:.2}", point.device.preambles)),
        ("collisions", "", |point| {
            format!("{:.2}", point.device.collisions)
        }),
        ("energy*", "mJ", |point| number::digits(point.energy_mj, 3)),
        ("battery*", "years", |point| format!("{:.1}", point.life_years())),
    ];
    let rows = summary
        .points
        .iter()
        .map(|point| (format!("{} {} B", point.stack, point.size_bytes), point));
    Grid::from_rows("Figures of every point", "stack", &columns, rows)
}

/// Each change beside the network as given, load by load.
pub(super) fn changes(choices: &[Choice<'_>]) -> Grid {
    let columns: [ValueColumn<(&Point, &Point)>; 7] = [
        ("served", "%", |(given, changed)| {
            beside(share(&given.served), share(&changed.served))
        }),
        ("more served", "points", |(given, changed)| {
            more_served(given, changed)
        }),
        ("p95", "s", |(given, changed)| {
            beside(seconds(given.delay_p95_s), seconds(changed.delay_p95_s))
        }),
        ("DCIs per report", "", |(given, changed)| {
            beside(dcis(given), dcis(changed))
        }),
        ("bytes up", "B", |(given, changed)| {
            beside(
                number::trimmed(given.bytes_up, 1),
                number::trimmed(changed.bytes_up, 1),
            )
        }),
        ("bytes down", "B", |(given, changed)| {
            beside(
                number::trimmed(given.bytes_down, 1),
                number::trimmed(changed.bytes_down, 1),
            )
        }),
        ("energy*", "mJ", |(given, changed)| {
            beside(
                number::digits(given.energy_mj, 3),
                number::digits(changed.energy_mj, 3),
            )
        }),
    ];
    let mut rows = Vec::new();
    for choice in &choices[1..] {
        let (given, changed) = (&choice.curves[0], &choice.curves[1..]);
        for curve in changed {
            for point in &curve.points {
                let name = format!("{}, {} at {}", choice.name, curve.label, load_words(point.load));
                // A run that was cut off may lack the network as given at this load: then there is nothing to compare with.
                rows.extend(given.at(point.load).map(|given| (name, (given, *point))));
            }
        }
    }
    let caption = "The network as given, then with the change; what differs is paired: the same reports at the same places";
    Grid::from_rows(caption, "stack and change", &columns, rows.into_iter())
}

fn beside(given: String, changed: String) -> String {
    match given == changed {
        true => given,
        false => format!("{given} → {changed}"),
    }
}

/// The difference of the shares served in per cent points, replication by replication, with its interval.
fn more_served(given: &Point, changed: &Point) -> String {
    let served = |run: &RunFigures| 100.0 * run.served as f64 / run.reports.max(1) as f64;
    let pairs = given.runs.iter().filter_map(|run| {
        let mut runs = changed.runs.iter();
        let same = runs.find(|other| other.replication == run.replication)?;
        Some(served(same) - served(run))
    });
    let differences: Vec<f64> = pairs.collect();
    number::optional(MeanInterval::from_values(&differences), |interval| {
        let mean = format!("{:+.1}", interval.mean);
        match interval.low.zip(interval.high) {
            Some((low, high)) => format!("{mean} ({low:+.1} to {high:+.1})"),
            None => mean,
        }
    })
}

fn dcis(point: &Point) -> String {
    let sum: f64 = point.runs.iter().map(|run| run.dci_per_report).sum();
    format!("{:.2}", sum / point.runs.len().max(1) as f64)
}

/// A share in per cent with its interval.
fn share(share: &Estimate) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    match (share.low, share.high) {
        (Some(low), Some(high)) => {
            format!("{} ({} to {})", percent(share.mean), percent(low), percent(high))
        }
        _ => percent(share.mean),
    }
}

fn seconds(seconds: Option<f64>) -> String {
    number::optional(seconds, |seconds| format!("{seconds:.2}"))
}
