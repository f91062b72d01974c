//! The judged thresholds of a run.

use wirecost_results::threshold::Threshold;
use wirecost_results::thresholds::figure_text;

use super::style::Style;
use crate::names::INVALID_FAILS;
use crate::number;

/// One line for each threshold, with the worst figure; no lines without thresholds. `has_invalid` says whether the run
/// has invalid figures.
pub(super) fn lines(thresholds: &[Threshold], has_invalid: bool, style: &Style, width: usize) -> Vec<String> {
    if thresholds.is_empty() {
        return Vec::new();
    }
    let longest = |of: fn(&Threshold) -> &String| {
        let lengths = thresholds.iter().map(|one| of(one).chars().count());
        lengths.max().unwrap_or(0)
    };
    let widths = [longest(|one| &one.metric), longest(|one| &one.expression)];
    let mut lines = vec![String::new(), "thresholds".to_owned()];
    lines.extend(thresholds.iter().map(|one| line(one, widths, style, width)));
    if has_invalid && thresholds.iter().any(|one| !one.pass) {
        lines.push(number::clipped(&format!("  {INVALID_FAILS}"), width));
    }
    lines
}

fn line(one: &Threshold, [metric, expression]: [usize; 2], style: &Style, width: usize) -> String {
    let verdict = if one.pass { "pass" } else { "FAIL" };
    let figure = |actual| {
        let interval = one.interval.map_or(String::new(), |[low, high]| {
            format!(" ({} to {})", figure_text(one, low), figure_text(one, high))
        });
        figure_text(one, actual) + &interval
    };
    let text = format!(
        "  {verdict}  {:metric$}  {:expression$}  {}",
        number::plain(&one.metric),
        number::plain(&one.expression),
        one.actual.map_or_else(|| "no figure".into(), figure)
    );
    let text = number::clipped(&text, width);
    if one.pass { text } else { style.alarm(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threshold(metric: &str, expression: &str, actual: Option<f64>, pass: bool) -> Threshold {
        Threshold {
            metric: metric.into(),
            expression: expression.into(),
            actual,
            interval: None,
            pass,
        }
    }

    fn text(thresholds: &[Threshold], has_invalid: bool) -> String {
        lines(thresholds, has_invalid, &Style::new(false), 100).join("\n")
    }

    #[test]
    fn the_table_shows_thresholds_and_figures() {
        let slow = threshold(
            "response_time{stack=tcp}",
            "p(99)<3*link.rtt",
            Some(0.0811),
            false,
        );
        let small = threshold("bytes_per_msg", "mean<500B", Some(312.5), true);
        let lost = threshold("messages_lost", "rate<=1%", None, false);
        let expected = "\nthresholds\n  \
            FAIL  response_time{stack=tcp}  p(99)<3*link.rtt  81.1 ms\n  \
            pass  bytes_per_msg             mean<500B         312.5 B\n  \
            FAIL  messages_lost             rate<=1%          no figure";
        assert_eq!(text(&[slow, small.clone(), lost], false), expected);
        assert_eq!(text(&[], true), "");
        assert!(!text(&[small], true).contains("INVALID"));
    }

    #[test]
    fn an_invalid_figure_says_why_it_fails() {
        let lost = threshold("messages_lost", "count==0", Some(0.0), false);
        let said = text(&[lost], true);
        assert!(said.contains("an INVALID figure does not pass"), "{said}");
    }
}
