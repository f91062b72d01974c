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

use crate::capture::CaptureShown;
use crate::{ReportError, number};

/// The report as one HTML file; `summary` is the content of `link.json`.
///
/// # Errors
/// The summary is of another version, or the template does not fit it, which is a fault of this crate.
pub fn report(summary: &Value) -> Result<String, ReportError> {
    let mut environment = environment()?;
    environment.add_template("link.html", include_str!("../templates/link.html"))?;
    let link = LinkText::deserialize(&summary["link"]).map_err(ReportError::Link)?;
    let capture = CaptureShown::deserialize(&summary["report"]).map_err(ReportError::Capture)?;
    let page = Page {
        css: crate::html::STYLE,
        own: STYLE,
        summary,
        link: words(&link),
        conclusion: conclusion(&capture),
        layers: Layer::ALL.map(Layer::name),
        largest: capture.largest(),
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
pub(crate) fn conclusion(report: &CaptureShown) -> String {
    let all = &report.total.all;
    let payload = all.up.payload.get().saturating_add(all.down.payload.get());
    let flows = report.groups.iter().map(|group| group.flows.get());
    let mut words = format!(
        "{} IP bytes in {}: {} up, {} down, {} of them payload",
        number::grouped(all.wire()),
        counted(flows.fold(0, u64::saturating_add), "connection"),
        number::grouped(all.up.wire.get()),
        number::grouped(all.down.wire.get()),
        number::grouped(payload),
    );
    let largest = report.groups.iter().max_by_key(|group| group.all.wire());
    // With one server all of it is that one's.
    if let Some(largest) = largest.filter(|_| report.groups.len() > 1) {
        let server = largest.server.as_deref().unwrap_or("other servers");
        words += &format!("; most with {server}: {}", number::grouped(largest.all.wire()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn capture(wire: u64) -> Result<CaptureShown, serde_json::Error> {
        let names = Layer::ALL.map(Layer::name).into_iter();
        let names = names.chain(wirecost_proto::Cause::ALL.map(wirecost_proto::Cause::name));
        let mut way: serde_json::Map<String, Value> = names.map(|name| (name.to_owned(), json!(7))).collect();
        way.extend([("packets".to_owned(), json!(1)), ("wire".to_owned(), json!(wire))]);
        let section = json!({"up": way, "down": way});
        let group =
            json!({"server": null, "transport": "tcp", "protocol": "mqtt", "flows": wire, "all": section});
        let phases = ["all", "connect", "message", "keep_alive", "close"];
        let total: serde_json::Map<String, Value> = phases
            .into_iter()
            .map(|phase| (phase.to_owned(), section.clone()))
            .collect();
        CaptureShown::deserialize(json!({"total": total, "groups": vec![group; 5_000], "unattributed": []}))
    }

    #[test]
    fn sums_of_the_largest_figures_overflow_nothing() {
        let largest = capture(1 << 53).expect("a report");
        let words = conclusion(&largest);
        assert!(
            words.starts_with("18,014,398,509,481,984 IP bytes in 18,446,744,073,709,551,615 connections: "),
            "{words}"
        );
        assert_eq!(largest.largest(), 1 << 53);
        for larger in [(1 << 53) + 1, u64::MAX] {
            let error = capture(larger).expect_err("too large").to_string();
            assert_eq!(error, format!("{larger} is more than any capture has"));
        }
    }
}
