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
use wirecost_results::link_text::LinkText;

use crate::{ReportError, number};

/// The report as one HTML file; `summary` is the content of `link.json`.
///
/// # Errors
/// The summary is of another version, or the template does not fit it, which is a fault of this crate.
pub fn report(summary: &Value) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.add_filter("grouped", number::grouped);
    environment.add_template("link.html", include_str!("../templates/link.html"))?;
    let total = &summary["report"]["total"];
    let sections = ["connect", "message", "keep_alive", "close"].map(|name| &total[name]);
    let ways = sections
        .iter()
        .flat_map(|section| [&section["up"], &section["down"]]);
    let link = LinkText::deserialize(&summary["link"]).map_err(ReportError::Link)?;
    let page = Page {
        css: include_str!("../templates/style.css"),
        summary,
        link: link.to_string(),
        layers: Layer::ALL.map(Layer::name),
        largest: ways
            .filter_map(|way| way["wire"].as_u64())
            .max()
            .unwrap_or(0)
            .max(1),
        seconds: format!("{:.3}", summary["duration_ns"].as_f64().unwrap_or_default() / 1e9),
    };
    Ok(environment.get_template("link.html")?.render(Serde(&page))?)
}

/// The data of the template.
#[derive(Serialize)]
struct Page<'a> {
    css: &'static str,
    summary: &'a Value,
    /// The link as text.
    link: String,
    layers: [&'static str; 5],
    /// Wire bytes of the longest bar.
    largest: u64,
    /// From the program's start to its end.
    seconds: String,
}
