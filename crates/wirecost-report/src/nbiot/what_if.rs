//! Changes beside their base, kept connections, and what could not be run.

use std::fmt::Write as _;

use wirecost_results::nbiot::{Difference, Estimate, NotRun, Point};
use wirecost_stats::Judgement;

/// The columns of the differences and their widths.
const HEADINGS: [(&str, usize); 6] = [
    ("load", 7),
    ("change", 38),
    ("DCI", 26),
    ("bytes up/down", 24),
    ("energy*", 28),
    ("served", 30),
];

/// A row for each curve that could not be run, with the reason.
pub(super) fn not_run(text: &mut String, curves: &[NotRun]) {
    for curve in curves {
        let (stack, size, why) = (&curve.stack, curve.size_bytes, &curve.reason);
        writeln!(text, "{:<7}{stack} {size} B  not run: {why}", "-").ok();
    }
}

/// What the connections are that devices keep.
pub(super) fn kept(text: &mut String, points: &[Point]) {
    let mut is_headed = false;
    for point in points {
        // Most stacks make a connection for each report, or have none.
        let Some(kept) = &point.kept else { continue };
        if !is_headed {
            is_headed = true;
            writeln!(
                text,
                "kept connections: made before the run, off the air; kept alive after {} min without traffic, {:.0} times between two reports; energy and battery include it",
                kept.keep_alive_s / 60.0,
                kept.per_report,
            )
            .ok();
        }
        let energy = match (kept.energy_mj, kept.per_report > 0.0) {
            (Some(energy), _) => format!("{:.2} J* each", energy / 1e3),
            // Left out in silence, the battery of a kept connection would look better than it is.
            (None, true) => "none was measured: energy and battery lack them".into(),
            (None, false) => "none is due".into(),
        };
        writeln!(
            text,
            "  {}/s  {} {} B: {:.0} connections per cell, {} keep-alives, {} answered, {energy}",
            point.load, point.stack, point.size_bytes, kept.devices, kept.sent, kept.answered,
        )
        .ok();
    }
}

/// A row for each change, with its differences from its base.
pub(super) fn differences(text: &mut String, points: &[Point]) {
    let changes = points
        .iter()
        .filter_map(|point| Some((point, point.difference.as_ref()?)));
    let mut changes = changes.peekable();
    if changes.peek().is_none() {
        return;
    }
    writeln!(
        text,
        "per report, against the same stack without the change, paired over seeds:"
    )
    .ok();
    row(text, &HEADINGS.map(|(heading, _)| heading.to_owned()));
    for (point, difference) in changes {
        row(text, &cells(point, difference));
    }
}

fn cells(point: &Point, difference: &Difference) -> [String; 6] {
    let bytes = [
        (&difference.bytes_up, point.bytes_up),
        (&difference.bytes_down, point.bytes_down),
    ];
    let hidden = |(bytes, changed): (&Estimate, f64)| {
        bytes.low?;
        undecided(bytes.judged_beside(changed))
    };
    let bytes = match bytes.map(hidden) {
        // The one of which less is known.
        [Some(up), Some(down)] => if up == EQUAL { down } else { up }.to_owned(),
        _ => format!(
            "{:+.0} / {:+.0}",
            difference.bytes_up.mean, difference.bytes_down.mean
        ),
    };
    let dci = point.dci_per_report().unwrap_or_default();
    [
        format!("{}/s", point.load),
        format!("{} {} B", point.stack, point.size_bytes),
        signed(&difference.dci, dci, 1.0, ""),
        bytes,
        signed(&difference.energy_mj, point.energy_over_seeds_mj.mean, 1e-3, " J"),
        signed(&difference.served, point.served.mean, 100.0, " %pt"),
    ]
}

/// A difference with its interval beside the figure of the change, or that there is none of note, or that too few samples tell. Where
/// there is no interval, because replications are too few for their skewness, the mean alone is no conclusion.
fn signed(difference: &Estimate, changed: f64, factor: f64, unit: &str) -> String {
    let mean = difference.mean * factor;
    let Some((low, high)) = difference.low.zip(difference.high) else {
        return format!("{mean:+.2} (no interval){unit}");
    };
    if let Some(words) = undecided(difference.judged_beside(changed)) {
        return words.to_owned();
    }
    let [low, high] = [low, high].map(|end| end * factor);
    format!("{mean:+.2} ({low:+.2} to {high:+.2}){unit}")
}

const EQUAL: &str = Judgement::Equal.words();

/// The words of a judgement that tells no direction.
const fn undecided(judgement: Judgement) -> Option<&'static str> {
    match judgement {
        Judgement::Less | Judgement::More => None,
        Judgement::Equal | Judgement::Alike | Judgement::TooFew => Some(judgement.words()),
    }
}

fn row(text: &mut String, cells: &[String; 6]) {
    let mut line = String::new();
    for (index, (cell, (_, width))) in cells.iter().zip(HEADINGS).enumerate() {
        match index {
            0 | 1 => write!(line, "{cell:<width$}").ok(),
            _ => write!(line, "{cell:>width$}").ok(),
        };
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn estimate(mean: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            mean,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn a_difference_is_told_in_figures_where_the_pairs_tell_it_and_else_in_words() {
        let said = |difference: &Estimate, changed| signed(difference, changed, 1.0, "");
        assert_eq!(said(&estimate(-3.0, -3.2, -2.8), 7.0), "-3.00 (-3.20 to -2.80)");
        assert_eq!(said(&estimate(-3.0, -6.2, 0.2), 7.0), "too few samples to tell");
        assert_eq!(said(&estimate(-0.1, -0.3, 0.1), 100.0), "no difference of note");
        assert_eq!(said(&estimate(0.0, 0.0, 0.0), 7.0), "equal");
        assert_eq!(
            said(&estimate(-1.0, -1.0, -1.0), 100.0),
            "-1.00 (-1.00 to -1.00)",
            "every pair has it"
        );
        let one_seed = Estimate {
            mean: 1.0,
            low: None,
            high: None,
        };
        assert_eq!(signed(&one_seed, 1.0, 1.0, " J"), "+1.00 (no interval) J");
    }

    #[test]
    fn a_curve_that_is_not_run_has_a_row_with_the_reason() {
        let mut text = String::new();
        let curve = NotRun {
            stack: "udp (fast-open)".into(),
            size_bytes: 25,
            reason: "udp runs over UDP".into(),
        };
        not_run(&mut text, &[curve]);
        assert_eq!(text, "-      udp (fast-open) 25 B  not run: udp runs over UDP\n");
    }
}
