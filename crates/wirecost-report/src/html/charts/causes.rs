//! Stacked bars of bytes by cause: why they were sent, whatever layer they belong to.

use wirecost_proto::Cause;
use wirecost_results::Cell;
use wirecost_results::summary::CauseBytes;

use super::Drawn;
use crate::chart::Figure;
use crate::chart::bars::{BarChart, Part, Row};
use crate::csv::quoted;
use crate::html::shown::{Chart, Section, Shown};
use crate::number;

/// The bytes of connection and message of each cell.
pub(super) const CAUSES: Chart<Drawn> = Chart {
    section: Section::Own("causes", "Bytes by cause"),
    show: |of| {
        let cells = of.group.iter().filter(|cell| cell.message.is_some());
        let rows: Vec<Bar> = cells
            .map(|cell| (of.group.names.marked_label(cell), of_cell(cell)))
            .collect();
        let name = format!("IP bytes by cause, {}", of.group.heading);
        let words = "IP bytes of one connection with one message by cause, mean per sample: what goes up to the right, what comes down to the left";
        (!rows.is_empty()).then(|| by_cause(name, &rows, words))
    },
};

/// A name and its bytes of each cause, in the order of [`Cause::ALL`].
pub(crate) type Bar = (String, [CauseBytes; 4]);

/// The chart of these bytes, under this name.
pub(crate) fn by_cause(name: String, rows: &[Bar], words: &str) -> Shown {
    let chart = BarChart {
        name,
        unit: "B",
        sides: ["← down", "up →"],
        rows: rows.iter().map(row).collect(),
    };
    let legend = Cause::ALL.map(|cause| (class(cause).to_owned(), cause.name().to_owned()));
    Shown {
        legend: legend.to_vec(),
        ..Shown::new(Figure::new(|width| chart.draw(width), data(rows)), words)
    }
}

/// The colour of a cause.
const fn class(cause: Cause) -> &'static str {
    match cause {
        Cause::Original => "message",
        Cause::Acknowledgement => "connect",
        Cause::Retransmission => "security",
        Cause::Probe => "keep",
    }
}

fn of_cell(cell: &Cell) -> [CauseBytes; 4] {
    let close = cell.close_of_a_connection();
    let sections = [&cell.connect, &cell.message, &close];
    Cause::ALL.map(|cause| {
        let sections = sections.iter().filter_map(|section| section.as_ref());
        let bytes = sections.filter_map(|section| section.by_cause.get(cause.name()));
        bytes.fold(CauseBytes { up: 0.0, down: 0.0 }, |sum, bytes| CauseBytes {
            up: sum.up + bytes.up,
            down: sum.down + bytes.down,
        })
    })
}

fn row((label, bytes): &Bar) -> Row {
    let parts = |way: fn(&CauseBytes) -> f64, direction: &str| -> Vec<Part> {
        let each = Cause::ALL.into_iter().zip(bytes);
        each.map(|(cause, bytes)| Part {
            class: class(cause).to_owned(),
            value: way(bytes),
            text: number::bytes(way(bytes)),
            title: format!(
                "{label}: {} {} B {direction}",
                cause.name(),
                number::bytes(way(bytes))
            ),
        })
        .collect()
    };
    let sum = |way: fn(&CauseBytes) -> f64| bytes.iter().map(way).sum::<f64>();
    let (up, down) = (sum(|bytes| bytes.up), sum(|bytes| bytes.down));
    let text = |bytes: f64| match bytes > 0.0 {
        true => number::bytes(bytes),
        false => String::new(),
    };
    Row {
        told: format!(
            "{label}: {} B up, {} B down",
            number::bytes(up),
            number::bytes(down)
        ),
        label: label.clone(),
        left: parts(|bytes| bytes.down, "down"),
        right: parts(|bytes| bytes.up, "up"),
        totals: [text(down), text(up)],
    }
}

fn data(rows: &[Bar]) -> String {
    let mut csv = format!("name,direction,{}\n", Cause::ALL.map(Cause::name).join(","));
    for (label, bytes) in rows {
        for (direction, way) in [
            ("up", (|bytes| bytes.up) as fn(&CauseBytes) -> f64),
            ("down", |bytes| bytes.down),
        ] {
            let bytes = bytes.each_ref().map(|bytes| way(bytes).to_string()).join(",");
            csv += &format!("{},{direction},{bytes}\n", quoted(label));
        }
    }
    csv
}
