//! The points of a run, one row each, under what was run.

use std::fmt::Write as _;

use wirecost_results::nbiot::sensitivity::UNSERVED_AT_KNEE;
use wirecost_results::nbiot::{Estimate, Knee, NbiotSummary, Point, Setting};

use super::what_if;

/// The widest table, in columns. A table that would be wider has the name of each curve on a line of its own.
const WIDTH: usize = 100;
/// The columns; the deadline is in the third.
const HEADINGS: [&str; 10] = [
    "load",
    "stack",
    "served",
    "p50",
    "p95",
    "bytes up/down",
    "DCI use",
    "UL use",
    "energy/report*",
    "battery*",
];
/// The columns of words; those of figures end at the right.
const OF_WORDS: usize = 2;

/// The table of a run.
pub fn table(summary: &NbiotSummary) -> String {
    let mut headings = HEADINGS.map(str::to_owned);
    headings[2] = format!("served <{} s", summary.setting.deadline_s);
    let mut rows = vec![headings];
    rows.extend(summary.points.iter().map(cells));
    let text = headline(summary);
    let body = match laid_out(&rows, true) {
        Some(body) => body,
        None => by_curve(&rows, &summary.points),
    };
    let mut not_run = String::new();
    what_if::not_run(&mut not_run, &summary.not_run);
    let hours = summary.setting.interval_s / 3_600.0;
    format!(
        "{text}{body}{not_run}* modelled from the time in each state; 5 Wh, a report every {hours} h, paging as idle.mode has it\n"
    )
}

/// The network, the reports, and what was calibrated.
fn headline(summary: &NbiotSummary) -> String {
    let setting = &summary.setting;
    let isd = setting
        .network
        .pointer("/scenario/isd_m")
        .and_then(serde_json::Value::as_f64);
    let isd = isd.map_or_else(String::new, |isd| format!(", ISD {isd} m"));
    let is_varied = summary
        .points
        .iter()
        .any(|point| point.dci_spacing_ms != setting.dci_spacing_ms);
    let occasions = match is_varied {
        true => "NPDCCH occasions as varied".to_owned(),
        false => format!(
            "one NPDCCH occasion per {} ms (--sensitivity shows the knee against it)",
            setting.dci_spacing_ms
        ),
    };
    let cells = match setting.cells {
        1 => "1 cell".to_owned(),
        cells => format!("{cells} cells"),
    };
    let seeds = match setting.seeds {
        1 => "1 seed".to_owned(),
        seeds => format!("{seeds} seeds"),
    };
    format!(
        "{cells}{isd}, {}{} s of reports, {seeds}\n{occasions}{}\n",
        spacings(setting),
        setting.duration_s,
        levels(&summary.points)
    )
}

/// `; 97.1, 2.6 and 0.3 % of the devices in coverage levels 0, 1 and 2`; nothing without a device.
fn levels(points: &[Point]) -> String {
    let count = |level: usize| -> u64 {
        points
            .iter()
            .map(|point| point.delay_by_level[level].measured)
            .sum()
    };
    let counts = [0, 1, 2].map(count);
    let all: u64 = counts.iter().sum();
    let [normal, robust, extreme] =
        counts.map(|count| format!("{:.1}", 100.0 * count as f64 / all.max(1) as f64));
    match all {
        0 => String::new(),
        _ => format!("; {normal}, {robust} and {extreme} % of the devices in coverage levels 0, 1 and 2"),
    }
}

/// The subcarrier spacings of the uplink: `3.75/15 kHz, `.
fn spacings(setting: &Setting) -> String {
    let tones = setting
        .network
        .pointer("/mac/npusch_tones")
        .and_then(serde_json::Value::as_array);
    let tones = || tones.into_iter().flatten().filter_map(serde_json::Value::as_str);
    let known = ["3.75", "15"];
    let used = known.into_iter().filter(|spacing| {
        let ending = format!("x{spacing}kHz");
        tones().any(|tone| tone.ends_with(&ending))
    });
    let used: Vec<&str> = used.collect();
    match used.is_empty() {
        true => String::new(),
        false => format!("{} kHz, ", used.join("/")),
    }
}

/// The values of a row, as text. A point without a report has no figures.
fn cells(point: &Point) -> [String; 10] {
    let figures = match point.reports {
        0 => ["-"; 8].map(str::to_owned),
        _ => [
            percent(&point.served),
            seconds(point.delay_p50_s),
            seconds(point.delay_p95_s),
            bytes(point),
            share(&point.dci_use),
            share(&point.uplink_use),
            format!("{:.2} J", point.energy_mj / 1e3),
            format!("{:.1} y", point.life_years()),
        ],
    };
    let mut figures = figures.into_iter();
    let words = [format!("{}/s", point.load), name(point)];
    let mut words = words.into_iter();
    std::array::from_fn(|_| words.next().or_else(|| figures.next()).unwrap_or_default())
}

/// Bytes of IP packets, and beside them those on the air where they are others.
fn bytes(point: &Point) -> String {
    let both = |up: f64, down: f64| format!("{up:.0} / {down:.0}");
    let (ip, air) = (
        both(point.bytes_up, point.bytes_down),
        both(point.air_bytes_up, point.air_bytes_down),
    );
    match ip == air {
        true => ip,
        false => format!("{ip}, air {air}"),
    }
}

fn name(point: &Point) -> String {
    format!("{} {} B", point.stack, point.size_bytes)
}

/// The rows in columns; `None` if they are too wide and must not be.
fn laid_out(rows: &[[String; 10]], must_fit: bool) -> Option<String> {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 10] = std::array::from_fn(width);
    let columns = widths.iter().filter(|width| **width > 0).count();
    let words: usize = widths.iter().sum();
    // Two where they fit: with one, words of several parts run into their neighbours.
    let gap = if words + 2 * (columns - 1) <= WIDTH { 2 } else { 1 };
    if must_fit && words + gap * (columns - 1) > WIDTH {
        return None;
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row
            .iter()
            .zip(widths)
            .enumerate()
            .filter(|(_, (_, width))| *width > 0)
        {
            match column < OF_WORDS {
                true => write!(line, "{cell:<width$}").ok(),
                false => write!(line, "{cell:>width$}").ok(),
            };
            line.push_str(&" ".repeat(gap));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    Some(text)
}

/// The rows of each curve below its name.
fn by_curve(rows: &[[String; 10]], points: &[Point]) -> String {
    let without_name = |row: &[String; 10]| {
        let mut row = row.clone();
        row[1].clear();
        row
    };
    let rows: Vec<[String; 10]> = rows.iter().map(without_name).collect();
    let text = laid_out(&rows, false).unwrap_or_default();
    let mut lines = text.lines();
    let mut whole = format!("{}\n", lines.next().unwrap_or_default());
    let mut before = String::new();
    for (line, point) in lines.zip(points) {
        let name = name(point);
        if name != before {
            whole += &format!("{name}\n");
            before = name;
        }
        whole += &format!("{line}\n");
    }
    whole
}

/// A share with half the width of its interval where it has one.
fn percent(share: &Estimate) -> String {
    match (share.low, share.high) {
        (Some(low), Some(high)) => format!("{:.1} % ±{:.1}", 100.0 * share.mean, 50.0 * (high - low)),
        _ => format!("{:.1} %", 100.0 * share.mean),
    }
}

fn share(share: &Estimate) -> String {
    format!("{:.0} %", 100.0 * share.mean)
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".into(), |seconds| format!("{seconds:.2} s"))
}

/// The knee of each curve against the distance of DCI occasions.
pub fn sensitivity(knees: &[Knee]) -> String {
    let mut spacings: Vec<f64> = knees.iter().map(|knee| knee.dci_spacing_ms).collect();
    spacings.sort_by(f64::total_cmp);
    // Each spacing has a knee for each curve.
    spacings.dedup();
    let curve = |knee: &Knee| {
        format!(
            "{} {} B",
            knee.stack.split(" (").next().unwrap_or_default(),
            knee.size_bytes
        )
    };
    let mut curves: Vec<String> = Vec::new();
    for knee in knees {
        if !curves.contains(&curve(knee)) {
            curves.push(curve(knee));
        }
    }
    let width = curves
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0)
        .max(16);
    let percent = 100.0 * UNSERVED_AT_KNEE;
    let mut text = format!("knee: the load per cell at which {percent:.0} % of reports are not served\n");
    write!(text, "{:<width$}", "NPDCCH occasion").ok();
    for spacing in &spacings {
        write!(text, "  {:>10}", format!("{spacing} ms")).ok();
    }
    text.push('\n');
    for name in curves {
        write!(text, "{name:<width$}").ok();
        for spacing in &spacings {
            // A curve that never falls short has no knee at this spacing.
            let found = knees
                .iter()
                .find(|knee| curve(knee) == name && knee.dci_spacing_ms == *spacing);
            write!(text, "  {:>10}", found.map_or_else(|| "-".into(), load_of)).ok();
        }
        text.push('\n');
    }
    text
}

/// The load of a knee, or the bound that the loads that were run give.
fn load_of(knee: &Knee) -> String {
    match (knee.load, knee.above, knee.below) {
        (Some(load), ..) => format!("{load:.2}/s"),
        (None, Some(above), _) => format!("> {above}/s"),
        (None, None, Some(below)) => format!("< {below}/s"),
        (None, None, None) => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knee(
        stack: &str,
        dci_spacing_ms: f64,
        load: Option<f64>,
        above: Option<f64>,
        below: Option<f64>,
    ) -> Knee {
        Knee {
            stack: stack.into(),
            size_bytes: 25,
            dci_spacing_ms,
            load,
            above,
            below,
        }
    }

    #[test]
    fn knees_stand_by_curve_and_distance_of_occasions() {
        let text = sensitivity(&[
            knee("tcp (npdcch_g=2)", 16.0, None, Some(4.0), None),
            knee("tcp (npdcch_g=4)", 32.0, Some(2.056), Some(2.0), Some(2.5)),
            knee("tcp (npdcch_g=8)", 64.0, None, None, Some(1.0)),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "NPDCCH occasion        16 ms       32 ms       64 ms");
        assert_eq!(lines[2], "tcp 25 B               > 4/s      2.06/s       < 1/s");
    }

    #[test]
    fn a_wide_table_has_its_curves_on_lines_of_their_own() {
        let row = |stack: &str| {
            let mut row = ["100.0 % ±10.0"; 10].map(str::to_owned);
            row[0] = "1/s".into();
            row[1] = stack.into();
            row
        };
        assert_eq!(laid_out(&[row("coap-con")], true), None);
        let narrow = HEADINGS.map(str::to_owned);
        let text = laid_out(&[narrow], true).expect("it fits");
        assert!(text.chars().count() <= WIDTH + 1, "{text}");
    }
}
