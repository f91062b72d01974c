//! The tables of a terminal, held against the figures to the last digit that they print.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_proto::shown::{amount, number, time};

use super::{Figures, OF_SUMS, Way, readings};

/// The lines of the first table after a line whose first cell is `first`: the texts of each by the names of the columns.
fn table(text: &str, first: &str) -> Vec<BTreeMap<String, String>> {
    let cells = |line: &str| -> Vec<String> {
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut lines = text
        .lines()
        .skip_while(|line| cells(line).first().is_none_or(|cell| cell != first));
    let heads = cells(
        lines
            .next()
            .unwrap_or_else(|| panic!("no table of {first}:\n{text}")),
    );
    // A remark that wraps goes on below its row.
    lines
        .take_while(|line| line.starts_with(' ') || cells(line).len() > 2)
        .map(cells)
        .filter(|cells| cells.len() > 2)
        .map(|cells| heads.iter().cloned().zip(cells).collect())
        .collect()
}

/// Whether a cell has a figure as it is printed. Sums in another order differ in the last bit, also where the next digit is a 5.
fn assert_has(
    (place, way): (&str, &Way),
    row: &BTreeMap<String, String>,
    head: &str,
    print: impl Fn(f64) -> String,
) {
    let cell = row
        .get(head)
        .unwrap_or_else(|| panic!("{place}: no {head} of {way:?}: {row:?}"));
    let [low, high] = [-OF_SUMS, OF_SUMS].map(|slack| print(1.0 + slack));
    assert!(
        *cell == low || *cell == high,
        "{place}: {head} of {way:?}: {cell}, expected {low}"
    );
}

fn has_all(
    place: &str,
    rows: &[BTreeMap<String, String>],
    heads: [&str; 2],
    all: &BTreeMap<Way, Figures>,
    rounds: bool,
) {
    assert!(!rows.is_empty(), "{place}");
    for row in rows {
        let way = (row[heads[0]].clone(), readings(&row[heads[1]]));
        let of = all.get(&way).unwrap_or_else(|| panic!("{place}: {way:?}"));
        let at = (place, &way);
        assert_has(at, row, "bytes", |slack| match rounds {
            // One device of each way was simulated.
            true => format!("{} (no interval)", number((of["bytes"] * slack).round())),
            false => number(of["bytes"] * slack),
        });
        assert_has(at, row, "MB/month", |slack| number(of["month"] / 1e6 * slack));
        let power = if rounds { "mW*" } else { "mean mW*" };
        assert_has(at, row, power, |slack| number(of["watts"] * 1e3 * slack));
        assert_has(at, row, "USD/month*", |slack| amount(of["money"] * slack));
        assert_has(at, row, "time", |slack| {
            time(Duration::from_secs_f64(of["time"] * slack))
        });
    }
}

/// The years of a row, whose range in parentheses begins with the low end.
fn years(
    place: &str,
    rows: &[BTreeMap<String, String>],
    heads: [&str; 3],
    all: &BTreeMap<Way, Figures>,
    print: impl Fn(f64, f64) -> String,
) {
    for row in rows {
        let way = (row[heads[0]].clone(), readings(&row[heads[1]]));
        let of = &all[&way];
        let cell = &row[heads[2]];
        let [low, high] =
            [-OF_SUMS, OF_SUMS].map(|slack| print(of["years"] * (1.0 + slack), of["low"] * (1.0 + slack)));
        assert!(
            cell.starts_with(&low) || cell.starts_with(&high),
            "{place}: years of {way:?}: {cell}, expected {low}"
        );
    }
}

/// Years as `cost` and `what-if` print them.
fn with_digits(years: f64, low: f64) -> String {
    format!("{} ({} to ", number(years), number(low))
}

/// The table of `cost`.
pub(crate) fn of_cost(place: &str, text: &str, all: &BTreeMap<Way, Figures>) {
    let rows = table(text, "traffic");
    let heads = ["traffic", "repeated"];
    has_all(place, &rows, heads, all, false);
    years(
        place,
        &rows,
        [heads[0], heads[1], "battery years*"],
        all,
        with_digits,
    );
    for row in &rows {
        let way = (row["traffic"].clone(), readings(&row["repeated"]));
        assert_has((place, &way), row, "mJ*", |slack| {
            number(all[&way]["joules"] * 1e3 * slack)
        });
    }
}

/// The table of `choose`.
pub(crate) fn of_choose(place: &str, text: &str, all: &BTreeMap<Way, Figures>) {
    let rows = table(text, "row");
    let heads = ["stack", "connection"];
    has_all(place, &rows, heads, all, true);
    years(
        place,
        &rows,
        [heads[0], heads[1], "battery*"],
        all,
        |years, low| format!("{years:.1} y ({low:.1} to "),
    );
}

/// The first table of `what-if`, without today.
pub(crate) fn of_what_if(place: &str, text: &str, all: &BTreeMap<Way, Figures>) {
    let mut rows = table(text, "stack");
    rows.retain(|row| row["stack"] != "today");
    let heads = ["stack", "connection"];
    has_all(place, &rows, heads, all, false);
    years(
        place,
        &rows,
        [heads[0], heads[1], "battery years*"],
        all,
        with_digits,
    );
}
