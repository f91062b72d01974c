//! `summary.csv` and `summary.md` of reports in NB-IoT cells: a row per point. Empty is "not measured"; `_low` and `_high` are the
//! ends of 95 % intervals over replications.
//!
//! Columns of the CSV are those of `points` in `summary.json` (docs/results-format.md), and `varied`.

use wirecost_results::catalogue::{Metric, Of};
use wirecost_results::nbiot::{Estimate, NbiotSummary, Point};

use super::{sensitivity, table};
use crate::csv::{self, Field, field, optional};
use crate::number;

/// The summary as CSV: a header, then one row per point.
pub fn csv(summary: &NbiotSummary) -> String {
    let rows: Vec<Vec<Field>> = summary.points.iter().map(row).collect();
    csv::file(&rows)
}

fn row(point: &Point) -> Vec<Field> {
    let varied: Vec<String> = point
        .varied
        .iter()
        .map(|(path, value)| format!("{path}={value}"))
        .collect();
    let mut fields = vec![
        field("stack", point.stack_alone()),
        field("size_bytes", point.size_bytes),
        field("load", point.load),
        optional("what_if", point.what_if.as_ref()),
        field("varied", varied.join(" ")),
        field("reports", point.reports),
    ];
    let delay = |name: &str, seconds: Option<f64>| optional(name, seconds);
    fields.extend(estimate("served", Some(&point.served)));
    fields.push(delay("delay_p50_s", point.delay_p50_s));
    fields.push(delay("delay_p95_s", point.delay_p95_s));
    fields.extend(estimate(
        "device_throughput_bit_s",
        point.device_throughput_bit_s.as_ref(),
    ));
    fields.extend(estimate(
        "cell_throughput_bit_s",
        Some(&point.cell_throughput_bit_s),
    ));
    fields.extend(estimate(
        "lowest_served_path_gain_db",
        point.lowest_served_path_gain_db.as_ref(),
    ));
    fields.push(field("bytes_up", point.bytes_up));
    fields.push(field("bytes_down", point.bytes_down));
    fields.push(field("air_bytes_up", point.air_bytes_up));
    fields.push(field("air_bytes_down", point.air_bytes_down));
    fields.push(optional("dci_per_report", point.dci_per_report()));
    fields.extend(estimate("dci_use", Some(&point.dci_use)));
    fields.extend(estimate("downlink_use", Some(&point.downlink_use)));
    fields.extend(estimate("uplink_use", Some(&point.uplink_use)));
    fields.push(field("energy_mj", point.energy_mj));
    fields.push(field("day_mj", point.day_mj));
    fields.push(field("battery_years", point.battery_years));
    let figures = Metric::csv(Of::Points);
    fields.extend(figures.map(|(metric, name)| optional(name, metric.of_point(point, metric.shown()))));
    fields
}

fn estimate(name: &str, estimate: Option<&Estimate>) -> [Field; 3] {
    [
        optional(name, estimate.map(|one| one.mean)),
        optional(&format!("{name}_low"), estimate.and_then(|one| one.low)),
        optional(&format!("{name}_high"), estimate.and_then(|one| one.high)),
    ]
}

/// The summary as GitHub-flavoured Markdown: the table of the terminal, and the command.
pub fn markdown(summary: &NbiotSummary) -> String {
    let name = summary.name.as_deref().unwrap_or("Reports in NB-IoT cells");
    let mut text = format!(
        "### {}\n\n```text\n{}",
        crate::export::escaped(name),
        table(summary)
    );
    if !summary.sensitivity.is_empty() {
        text = format!("{text}\n{}", sensitivity(&summary.sensitivity));
    }
    text += "```\n";
    if summary.interrupted {
        text += "\nInterrupted: runs are missing.\n";
    }
    if !summary.thresholds.is_empty() {
        text += "\n| | threshold | demanded | figure |\n|:--|:--|:--|--:|\n";
    }
    for one in &summary.thresholds {
        let verdict = if one.pass { "pass" } else { "**FAIL**" };
        let figure = one
            .actual
            .map(|figure| wirecost_results::thresholds::figure_text(one, figure));
        text += &format!(
            "| {verdict} | {} | {} | {} |\n",
            crate::export::escaped(&one.metric),
            crate::export::escaped(&one.expression),
            figure.unwrap_or_else(|| "no figure".into())
        );
    }
    let command = number::plain(&summary.command).replace("```", "'''");
    text + &format!("\n```sh\n{command}\n```\n")
}
