//! Reports in NB-IoT cells: tables, and `report.html`.

mod html;

use std::fmt::Write as _;

use wirecost_results::nbiot::{Check, Estimate, NbiotSummary, Point, Target, Verdict};

pub use html::{is_nbiot, page, write_page};

/// The columns and their widths.
const HEADINGS: [(&str, usize); 11] = [
    ("load", 7),
    ("stack", 24),
    ("served", 16),
    ("p50", 8),
    ("p95", 8),
    ("bytes up/down", 14),
    ("DCI use", 8),
    ("down use", 9),
    ("up use", 7),
    ("energy*", 8),
    ("battery*", 9),
];

/// The points of a run, one row each, under what was run.
pub fn table(summary: &NbiotSummary) -> String {
    let setting = &summary.setting;
    let mut text = format!(
        "{} cells, one DCI per {} ms at level 0, {} s of reports, {}, served within {} s\n",
        setting.cells,
        setting.dci_spacing_ms,
        setting.duration_s,
        match setting.seeds {
            1 => "1 seed".into(),
            seeds => format!("{seeds} seeds"),
        },
        setting.deadline_s,
    );
    row(&mut text, &HEADINGS.map(|(heading, _)| heading.to_owned()));
    for point in &summary.points {
        row(&mut text, &cells(point));
    }
    let hours = setting.interval_s / 3_600.0;
    writeln!(
        text,
        "* modelled from the time in each state; battery of 5 Wh, a report every {hours} h, sleep in between"
    )
    .ok();
    text
}

/// The values of a row, as text.
fn cells(point: &Point) -> [String; 11] {
    [
        format!("{}/s", point.load),
        format!("{} {} B", point.stack, point.size_bytes),
        percent(&point.served),
        seconds(point.delay_p50_s),
        seconds(point.delay_p95_s),
        format!("{:.0} / {:.0}", point.bytes_up, point.bytes_down),
        share(&point.dci_use),
        share(&point.downlink_use),
        share(&point.uplink_use),
        format!("{:.2} J", point.energy_mj / 1e3),
        format!("{:.1} y", point.battery_years),
    ]
}

fn row(text: &mut String, cells: &[String; 11]) {
    let mut line = String::new();
    for (index, (cell, (_, width))) in cells.iter().zip(HEADINGS).enumerate() {
        // Load and stack are words.
        match index {
            0 | 1 => write!(line, "{cell:<width$}").ok(),
            _ => write!(line, "{cell:>width$}").ok(),
        };
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// A share with half the width of its interval where it has one.
fn percent(share: &Estimate) -> String {
    match (share.low, share.high) {
        (Some(low), Some(high)) => format!("{:.1} % +-{:.1}", 100.0 * share.mean, 50.0 * (high - low)),
        _ => format!("{:.1} %", 100.0 * share.mean),
    }
}

fn share(share: &Estimate) -> String {
    format!("{:.0} %", 100.0 * share.mean)
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".into(), |seconds| format!("{seconds:.2} s"))
}

/// The statements with their verdicts, and how many hold.
pub fn checks(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let (id, verdict) = (&check.id, check.verdict.words());
        writeln!(
            text,
            "{id:<4}{verdict:<15}{}\n{:19}{}",
            check.statement, "", check.numbers
        )
        .ok();
    }
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    writeln!(
        text,
        "{} of {} hold, {} do not, {} are not separable, {} were not run",
        count(Verdict::Holds),
        checks.len(),
        count(Verdict::DoesNotHold),
        count(Verdict::NotSeparable),
        count(Verdict::NotRun),
    )
    .ok();
    text
}

/// The targets with their numbers.
pub fn targets(targets: &[Target]) -> String {
    let mut text = String::new();
    for target in targets {
        let verdict = if target.passed { "ok" } else { "fails" };
        let bounds = match target.bounds.most {
            f64::MAX => format!("at least {}", number(target.bounds.least)),
            most => format!("{} to {}", number(target.bounds.least), number(most)),
        };
        let value = format!("{} {}", number(target.value), target.unit);
        writeln!(
            text,
            "{verdict:<6}{:<52}{value:>18}   allowed: {bounds}",
            target.name
        )
        .ok();
    }
    let passed = targets.iter().filter(|target| target.passed).count();
    writeln!(text, "{passed} of {} targets are met", targets.len()).ok();
    text
}

/// A number with at most four places.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_results::nbiot::TargetBounds;

    #[test]
    fn a_target_shows_its_number_and_what_is_allowed() {
        let target = |value: f64, most| Target {
            name: "peak uplink, 12 tones".into(),
            unit: "kbit/s".into(),
            value,
            expected: 62.5,
            bounds: TargetBounds { least: 62.495, most },
            passed: value >= 62.495,
        };
        let text = targets(&[target(62.5, 62.505), target(60.0, f64::MAX)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("ok    peak uplink, 12 tones"), "{text}");
        assert!(
            lines[0].ends_with("62.5 kbit/s   allowed: 62.495 to 62.505"),
            "{text}"
        );
        assert!(
            lines[1].ends_with("60 kbit/s   allowed: at least 62.495"),
            "{text}"
        );
        assert_eq!(lines[2], "1 of 2 targets are met");
    }

    #[test]
    fn verdicts_are_counted() {
        let check = |verdict| Check {
            id: "A1".into(),
            statement: "one is above the other".into(),
            verdict,
            numbers: "1.2".into(),
        };
        let text = checks(&[check(Verdict::Holds), check(Verdict::NotSeparable)]);
        assert!(
            text.ends_with("1 of 2 hold, 0 do not, 1 are not separable, 0 were not run\n"),
            "{text}"
        );
    }
}
