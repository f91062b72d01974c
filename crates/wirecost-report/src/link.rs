//! `report.html` of a program's run: how it ended, on which link, and its bytes by server, phase and layer.
//!
//! What the page says is in `link.json`, the packets themselves are in the capture. There is no ladder: reading a capture
//! adds up the spans of its packets and keeps none.

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;
use wirecost_lab::link_run::LinkSummary;
use wirecost_proto::Layer;

use crate::ReportError;

/// The report as one HTML file.
///
/// # Errors
/// The template does not fit the results, which is a fault of this crate.
pub fn report(summary: &LinkSummary) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.add_filter("grouped", grouped);
    environment.add_template("link.html", include_str!("../templates/link.html"))?;
    let total = &summary.report.total;
    let sections = [&total.connect, &total.message, &total.keep_alive, &total.close];
    let ways = sections.iter().flat_map(|section| [&section.up, &section.down]);
    let page = Page {
        css: include_str!("../templates/style.css"),
        summary,
        link: summary.link.to_string(),
        layers: Layer::ALL.map(Layer::name),
        largest: ways.map(|way| way.wire).max().unwrap_or(0).max(1),
        seconds: format!("{:.3}", summary.duration_ns as f64 / 1e9),
    };
    Ok(environment.get_template("link.html")?.render(Serde(&page))?)
}

/// What the template reads.
#[derive(Serialize)]
struct Page<'a> {
    css: &'static str,
    summary: &'a LinkSummary,
    /// The link in words.
    link: String,
    layers: [&'static str; 5],
    /// Wire bytes of the longest bar.
    largest: u64,
    /// From the program's start to its end.
    seconds: String,
}

/// A number with its thousands apart, so that a page of digits can be read.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let (first, rest) = digits.split_at(head);
    let mut parts: Vec<&str> = rest
        .as_bytes()
        .chunks(3)
        .filter_map(|part| str::from_utf8(part).ok())
        .collect();
    if !first.is_empty() {
        parts.insert(0, first);
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
