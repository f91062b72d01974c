//! What the report says about readings: where compression saves bytes, what it costs, and what batching costs in time.

use std::collections::BTreeSet;

use wirecost_proto::units::counted;
use wirecost_results::{Cell, Readings};
use wirecost_stats::Estimate;

use crate::figures::time;
use crate::names::Names;
use crate::number::whole_bytes;

/// The all-in bytes of a cell by its readings, both directions; `None` where messages carry no readings.
pub(crate) fn bytes_per_reading(cell: &Cell) -> Option<Estimate> {
    let readings = cell.readings.as_ref()?;
    Some(cell.all_in_bytes()?.scaled(1.0 / readings.count.max(1) as f64))
}

/// The sentences about the readings of a run, each once.
pub(crate) fn lines(names: &Names, cells: &[Cell]) -> Vec<String> {
    let ran: Vec<&Cell> = cells.iter().filter(|cell| cell.not_run.is_none()).collect();
    let of_each = |say: fn(&Readings) -> Option<String>| {
        let said = ran.iter().filter_map(|cell| say(cell.readings.as_ref()?));
        once(said)
    };
    [
        once(ran.iter().filter_map(|cell| batching(names, cell, &ran))),
        of_each(border),
        of_each(wait),
        of_each(cpu),
    ]
    .concat()
}

fn once(said: impl Iterator<Item = String>) -> Vec<String> {
    let mut told = BTreeSet::new();
    said.filter(|line| told.insert(line.clone())).collect()
}

/// What the largest batch of a stack saves by the smallest one, under the same conditions.
fn batching(names: &Names, cell: &Cell, cells: &[&Cell]) -> Option<String> {
    let of = cell.readings.as_ref()?;
    let is_alike = |other: &&&Cell| {
        let same = |readings: &Readings| {
            (&readings.encoding, &readings.compression) == (&of.encoding, &of.compression)
        };
        other.readings.as_ref().is_some_and(same)
            && (&other.stack, &other.start, &other.engine) == (&cell.stack, &cell.start, &cell.engine)
            && other.link == cell.link
            && other.messages_per_connection == cell.messages_per_connection
            && other.interval_ns == cell.interval_ns
    };
    let count = |other: &&&Cell| other.readings.as_ref().map_or(0, |readings| readings.count);
    let alike: Vec<&&Cell> = cells.iter().filter(is_alike).collect();
    let least = alike.iter().copied().min_by_key(count)?;
    let most = alike.iter().copied().max_by_key(count)?;
    // Told once, at the smallest batch.
    if count(&least) == count(&most) || *least != cell {
        return None;
    }
    let [few, many] = [least, most].map(|cell| bytes_per_reading(cell).map(|bytes| whole_bytes(bytes.value)));
    Some(format!(
        "{} takes {} a reading with {}, and {} with {}",
        names.label(cell),
        few?,
        of,
        many?,
        counted(count(&most), "reading")
    ))
}

/// From which number of readings on compression makes the payload smaller.
fn border(readings: &Readings) -> Option<String> {
    if readings.compression == "none" {
        return None;
    }
    let what = format!("{} of {}", readings.compression, readings.encoding);
    Some(match readings.saves_from {
        None => format!("{what} makes no payload of up to 200 readings smaller"),
        Some(0 | 1) => format!("{what} makes the payload smaller from 1 reading per message on"),
        Some(from) => format!(
            "{what} makes the payload smaller from {from} readings per message on; with fewer it adds bytes or saves none"
        ),
    })
}

/// How long the first reading of a batch waits.
fn wait(readings: &Readings) -> Option<String> {
    let waits = readings.first_waits_ns.filter(|nanos| *nanos > 0)?;
    Some(format!(
        "of {} in a message, the first one waits {} for the last one; response times do not include this",
        counted(readings.count, "reading"),
        time(waits)
    ))
}

/// The CPU time of compression.
fn cpu(readings: &Readings) -> Option<String> {
    let nanos = readings.compression_cpu_ns?;
    Some(format!(
        "compression of {} took {} µs of CPU time on this machine, before the message is sent: response times do not include it",
        readings,
        nanos.div_ceil(1_000)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(count: u64, compression: &str) -> Readings {
        Readings {
            count,
            encoding: "json".into(),
            compression: compression.into(),
            saves_from: (compression != "none").then_some(2),
            first_waits_ns: Some(54_000_000_000),
            ..Readings::default()
        }
    }

    #[test]
    fn a_border_is_told_where_something_is_compressed() {
        assert_eq!(border(&readings(10, "none")), None);
        let expected = "gzip of json makes the payload smaller from 2 readings per message on; with fewer it adds bytes or saves none";
        assert_eq!(border(&readings(10, "gzip")).as_deref(), Some(expected));
        let never = Readings {
            saves_from: None,
            ..readings(1, "zstd")
        };
        let expected = "zstd of json makes no payload of up to 200 readings smaller";
        assert_eq!(border(&never).as_deref(), Some(expected));
    }

    #[test]
    fn the_wait_of_the_first_reading_is_told() {
        let expected = "of 10 readings in a message, the first one waits 54 s for the last one; response times do not include this";
        assert_eq!(wait(&readings(10, "none")).as_deref(), Some(expected));
        let none = Readings {
            first_waits_ns: None,
            ..readings(10, "none")
        };
        assert_eq!(wait(&none), None);
    }
}
