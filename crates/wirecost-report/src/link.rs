//! `report.html` of a run of `wirecost link`: how the program ended, its link, and its bytes by server, phase and
//! layer.
//!
//! The figures are those of `link.json`; the packets are in the capture. There is no ladder, because reading a capture
//! does not keep single packets.

use minijinja::Environment;
use minijinja::value::Serde;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;
use wirecost_proto::Layer;
use wirecost_proto::units::counted;
use wirecost_results::link_text::{LinkShown, LinkText};

use crate::{ReportError, number};

/// The report as one HTML file; `summary` is the content of `link.json`.
///
/// # Errors
/// The summary is of another version, or the template does not fit it, which is a fault of this crate.
pub fn report(summary: &Value) -> Result<String, ReportError> {
    let mut environment = environment()?;
    environment.add_template("link.html", include_str!("../templates/link.html"))?;
    let link = LinkText::deserialize(&summary["link"]).map_err(ReportError::Link)?;
    let page = Page {
        css: crate::html::STYLE,
        own: STYLE,
        summary,
        link: words(&link),
        conclusion: conclusion(&summary["report"]),
        layers: Layer::ALL.map(Layer::name),
        largest: largest(&summary["report"]),
        seconds: format!("{:.3}", summary["duration_ns"].as_f64().unwrap_or_default() / 1e9),
    };
    Ok(environment.get_template("link.html")?.render(Serde(&page))?)
}

/// The style of the tables of a capture, beside that of all pages.
pub const STYLE: &str = include_str!("../templates/capture.css");

/// The templates of the tables of a capture.
pub(crate) fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = crate::html::environment()?;
    environment.add_filter("grouped", number::grouped);
    environment.add_template("capture.html", include_str!("../templates/capture.html"))?;
    Ok(environment)
}

/// IP bytes of the longest bar of a capture's report.
pub(crate) fn largest(report: &Value) -> u64 {
    let sections = ["connect", "message", "keep_alive", "close"].map(|name| &report["total"][name]);
    let ways = sections
        .iter()
        .flat_map(|section| [&section["up"], &section["down"]]);
    let largest = ways.filter_map(|way| way["wire"].as_u64()).max();
    // Bars are shares of it: a capture without a packet must not divide by zero.
    largest.unwrap_or(0).max(1)
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    css: &'static str,
    own: &'static str,
    summary: &'a Value,
    /// The link as text.
    link: String,
    /// The bytes of all connections in one sentence.
    conclusion: String,
    layers: [&'static str; 5],
    /// IP bytes of the longest bar.
    largest: u64,
    /// From the program's start to its end.
    seconds: String,
}

/// The link as text, which says so if it loses nothing.
fn words(link: &LinkText) -> String {
    let text = LinkShown(link.0).to_string();
    if text.contains(", loss ") {
        text
    } else {
        text + ", no loss"
    }
}

/// The bytes of all connections in one sentence, with the largest server.
pub(crate) fn conclusion(report: &Value) -> String {
    let bytes = |section: &Value, way: &str| section["all"][way]["wire"].as_u64().unwrap_or_default();
    let both = |section: &Value| bytes(section, "up") + bytes(section, "down");
    let total = &report["total"];
    let payload: u64 = ["up", "down"]
        .iter()
        .filter_map(|way| total["all"][way]["payload"].as_u64())
        .sum();
    let groups = report["groups"].as_array().map_or(&[][..], Vec::as_slice);
    let flows: u64 = groups.iter().filter_map(|group| group["flows"].as_u64()).sum();
    let mut words = format!(
        "{} IP bytes in {}: {} up, {} down, {} of them payload",
        number::grouped(both(total)),
        counted(flows, "connection"),
        number::grouped(bytes(total, "up")),
        number::grouped(bytes(total, "down")),
        number::grouped(payload),
    );
    let largest = groups.iter().max_by_key(|group| both(group));
    // With one server all of it is that one's.
    if let Some(largest) = largest.filter(|_| groups.len() > 1) {
        let server = largest["server"].as_str().unwrap_or("other servers");
        words += &format!("; most with {server}: {}", number::grouped(both(largest)));
    }
    words
}
