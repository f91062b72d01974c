//! CPU and memory of generator and target over the time of a load.

use wirecost_results::usage::UsageRow;

use super::bands::POINTS;
use super::timeplot::{self, Quantity};
use crate::chart::lines::Curve;
use crate::chart::plot::Band;
use crate::chart::{Figure, Scale, ends};
use crate::number;

/// Reads the value of a line.
pub(super) type Value = fn(&UsageRow) -> Option<f64>;

/// CPU time by wall time; `None` if unknown.
pub(super) fn cpu(bands: &[Band], rows: &[UsageRow]) -> Option<Figure> {
    let cpu: [(&str, usize, Value); 4] = [
        ("generator", 0, |row| share(row, Some(row.generator_cpu_ns))),
        ("its busiest", ends::again(0), |row| {
            share(row, row.generator_busiest_ns)
        }),
        ("target", 1, |row| share(row, row.target_cpu_ns)),
        ("its busiest", ends::again(1), |row| {
            share(row, row.target_busiest_ns)
        }),
    ];
    figure(bands, rows, &cpu, "CPU time by wall time", "% of a CPU")
}

/// Resident memory; `None` if unknown.
pub(super) fn memory(bands: &[Band], rows: &[UsageRow]) -> Option<Figure> {
    let memory: [(&str, usize, Value); 2] = [
        ("generator", 0, |row| {
            Some(row.generator_resident_bytes as f64 / 1e6)
        }),
        ("target", 1, |row| Some(row.target_resident_bytes? as f64 / 1e6)),
    ];
    figure(bands, rows, &memory, "Resident memory", "MB")
}

/// The points of one quantity of load number `index`.
pub(super) fn points(all: &[UsageRow], index: usize, value: Value) -> Vec<(f64, Option<f64>)> {
    rows(all, index)
        .iter()
        .map(|row| (middle(row), value(row)))
        .collect()
}

/// CPU time by wall time, in per cent.
pub(super) fn share(row: &UsageRow, cpu_ns: Option<u64>) -> Option<f64> {
    (row.span_ns > 0).then_some(cpu_ns? as f64 / row.span_ns as f64 * 100.0)
}

/// The rows of a load, merged if there are too many.
pub(super) fn rows(all: &[UsageRow], index: usize) -> Vec<UsageRow> {
    let own: Vec<&UsageRow> = all.iter().filter(|row| row.load == index as u64).collect();
    own.chunks(own.len().div_ceil(POINTS).max(1))
        .filter_map(|rows| {
            let (first, more) = rows.split_first()?;
            let mut sum = (*first).clone();
            more.iter().for_each(|row| add(&mut sum, row));
            Some(sum)
        })
        .collect()
}

fn add(sum: &mut UsageRow, more: &UsageRow) {
    sum.elapsed_ns = more.elapsed_ns;
    sum.span_ns += more.span_ns;
    sum.generator_cpu_ns += more.generator_cpu_ns;
    // Memory at two times is no sum.
    sum.generator_resident_bytes = sum.generator_resident_bytes.max(more.generator_resident_bytes);
    sum.target_resident_bytes = sum.target_resident_bytes.max(more.target_resident_bytes);
    for (sum, more) in [
        (&mut sum.generator_busiest_ns, more.generator_busiest_ns),
        (&mut sum.target_cpu_ns, more.target_cpu_ns),
        (&mut sum.target_busiest_ns, more.target_busiest_ns),
    ] {
        // One part unknown makes the sum unknown: without it the curve would fall to half.
        *sum = sum.zip(more).map(|(one, other)| one + other);
    }
}

fn figure(
    bands: &[Band],
    rows: &[UsageRow],
    of: &[(&'static str, usize, Value)],
    name: &str,
    unit: &str,
) -> Option<Figure> {
    let line = |(label, number, value): &(&'static str, usize, Value)| {
        let points = rows.iter().map(|row| (middle(row), value(row)));
        timeplot::line(label, *number, points.collect())
    };
    let mut lines: Vec<Curve> = of.iter().map(line).collect();
    lines.retain(|line| line.points.iter().any(|(_, value)| value.is_some()));
    let [_, most] = timeplot::range_of(&lines)?;
    let quantity = Quantity {
        name,
        scale: Scale::from_zero(most),
        unit,
        write: &|value| format!("{} {unit}", number::trimmed(value, 1)),
    };
    Some(timeplot::figure(&quantity, bands, lines))
}

/// The middle of a row's time, in seconds from the start of the load.
fn middle(row: &UsageRow) -> f64 {
    (row.elapsed_ns as f64 - row.span_ns as f64 / 2.0) / 1e9
}
