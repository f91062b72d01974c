//! A probe as a table: a row per step and direction, and the server's answers.

use std::fmt::Write as _;
use std::time::Duration;

use wirecost_probe::Report;
use wirecost_probe::notes::Step;
use wirecost_probe::report::{StepReport, Traffic};
use wirecost_proto::Layer;
use wirecost_report::number::plain;

/// The text of an unknown value.
const UNKNOWN: &str = "-";

/// The number of columns.
const COLUMNS: usize = 11;

const HEADING: [&str; COLUMNS] = [
    "step",
    "time",
    "trips",
    "",
    "packets",
    "ip",
    "transport",
    "security",
    "application",
    "payload",
    "bytes",
];

type Row = [String; COLUMNS];

/// The report for a terminal. Every line ends with a line end.
pub fn table(report: &Report) -> String {
    let mut text = header(report);
    if !report.steps.is_empty() {
        text.push('\n');
        draw(&rows(report), &mut text);
    }
    let facts: Vec<[&str; 2]> = report
        .facts
        .iter()
        .map(|fact| [fact.about, fact.text.as_str()])
        .collect();
    if !facts.is_empty() {
        text.push('\n');
    }
    let width = facts.iter().map(|[about, _]| about.len()).max().unwrap_or(0);
    for [about, said] in facts {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{about:<width$}  {}", plain(said));
    }
    text
}

fn header(report: &Report) -> String {
    let mut text = plain(&report.url);
    if let Some(address) = report.address {
        let _ = write!(text, " at {address}");
    }
    if let Some(interface) = &report.interface {
        let _ = write!(text, " via {}", plain(interface));
    }
    if report.insecure {
        text.push_str(", certificate not checked (--insecure)");
    }
    text.push('\n');
    text
}

fn rows(report: &Report) -> Vec<Row> {
    let mut rows = vec![HEADING.map(str::to_owned)];
    let seen = report.captured;
    for step in &report.steps {
        rows.extend(step_rows(step, seen));
    }
    let total = &report.total;
    let time_of_all = time(total.time);
    let mut both = total.up;
    both += &total.down;
    rows.push(row(["total", &time_of_all, "", "up"], &total.up, seen));
    rows.push(row(["", "", "", "down"], &total.down, seen));
    rows.push(row(["", "", "", "both"], &both, seen));
    rows
}

fn step_rows(step: &StepReport, seen: bool) -> Vec<Row> {
    let name = step.step.name();
    let time = time(step.time);
    if step.step == Step::Dns {
        let mut cells = [name, &time].into_iter();
        return vec![std::array::from_fn(|_| {
            cells.next().unwrap_or_default().to_owned()
        })];
    }
    let trips = step
        .round_trips
        .map_or_else(|| UNKNOWN.to_owned(), |trips| format!("{trips}"));
    vec![
        row([name, &time, &trips, "up"], &step.up, seen),
        row(["", "", "", "down"], &step.down, seen),
    ]
}

fn row(labels: [&str; 4], way: &Traffic, seen: bool) -> Row {
    let counted = |bytes: u64| match bytes {
        // Without the right to see packets nothing is known of them; bytes above come from the endpoints.
        0 if !seen => UNKNOWN.to_owned(),
        bytes => bytes.to_string(),
    };
    let cells = [
        counted(way.packets()),
        counted(way.bytes(Layer::Ip)),
        counted(way.bytes(Layer::Transport)),
        way.bytes(Layer::Security).to_string(),
        way.bytes(Layer::Application).to_string(),
        way.bytes(Layer::Payload).to_string(),
        way.wire_bytes().to_string(),
    ];
    let mut all = labels.map(str::to_owned).into_iter().chain(cells);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

/// Names aligned to the left, figures to the right, each column as wide as its widest cell.
fn draw(rows: &[Row], text: &mut String) {
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = match column {
                0 | 3 => write!(line, "{cell:<width$}  "),
                _ => write!(line, "{cell:>width$}  "),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// A time in milliseconds, or in seconds from 10 s on.
pub fn time(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match millis {
        millis if millis < 100.0 => format!("{millis:.2} ms"),
        millis if millis < 10_000.0 => format!("{millis:.0} ms"),
        millis => format!("{:.1} s", millis / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use wirecost_proto::{Cause, Phase, Span};

    use super::*;

    #[test]
    fn an_unknown_value_is_not_shown_as_zero() {
        let mut way = Traffic::default();
        way.add_span(&Span {
            len: 5,
            layer: Layer::Security,
            phase: Phase::Connect,
            cause: Cause::Original,
        });
        assert_eq!(row(["", "", "", "up"], &way, false)[4..8], ["-", "-", "-", "5"]);
        assert_eq!(row(["", "", "", "up"], &way, true)[4..8], ["0", "0", "0", "5"]);
    }

    #[test]
    fn a_servers_answers_cannot_control_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
    }

    #[test]
    fn times_have_a_unit() {
        let written = [0.000_05, 0.25, 12.0].map(|seconds| time(Duration::from_secs_f64(seconds)));
        assert_eq!(written, ["0.05 ms", "250 ms", "12.0 s"]);
    }
}
