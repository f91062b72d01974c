//! Stacked bars of bytes by layer: bytes down to the left of the axis, bytes up to the right, in the directions of the
//! arrows of the ladder. The payload is next to the axis, and the overhead is outside.

use wirecost_proto::{BothWays, Layer};
use wirecost_results::Cell;

use super::Drawn;
use crate::chart::Figure;
use crate::chart::bars::{BarChart, Part, Row};
use crate::columns::EARLY;
use crate::csv::quoted;
use crate::figures::{self, ByLayer};
use crate::groups::Group;
use crate::html::shown::{Chart, Section, Shown};
use crate::names::Names;
use crate::number;

/// The bytes of one message.
pub(super) const MESSAGE: Chart<Drawn> = Chart {
    section: Section::Of("message-bytes"),
    show: |of| {
        let figure = figure(&of.group, "IP bytes of one message", figures::message_bytes);
        let words = "IP bytes of one message by layer, mean per sample: what goes up to the right, what comes down to the left; \
                     ‡ marks early data, whose headers count as connection";
        Some(Shown::new(figure, words))
    },
};

/// The bytes of connect and close.
pub(super) const CONNECTION: Chart<Drawn> = Chart {
    section: Section::Of("connect"),
    show: |of| {
        let figure = figure(
            &of.group,
            "IP bytes of connect and close",
            figures::connection_bytes,
        );
        let words = "IP bytes of one connection by layer, connect and close together, up to the right, down to the left";
        Some(Shown::new(figure, words))
    },
};

/// The figure of the bytes that `of` finds in each cell of the group.
fn figure(group: &Group<'_>, name: &str, of: fn(&Cell) -> Option<BothWays<ByLayer>>) -> Figure {
    let rows: Vec<Bar> = group
        .iter()
        .filter_map(|cell| Some((name_of_cell(&group.names, cell), of(cell)?)))
        .collect();
    by_layer(format!("{name}, {}", group.heading), &rows)
}

/// The figure of these bytes, under this name.
pub(crate) fn by_layer(name: String, rows: &[Bar]) -> Figure {
    let chart = BarChart {
        name,
        unit: "B",
        sides: ["← down", "up →"],
        rows: rows.iter().map(row).collect(),
    };
    Figure::new(|width| chart.draw(width), data(rows))
}

fn name_of_cell(names: &Names, cell: &Cell) -> String {
    let early = if cell.early_message { EARLY } else { "" };
    names.marked_label(cell) + early
}

/// A name and its bytes.
pub(crate) type Bar = (String, BothWays<ByLayer>);

fn row((label, bytes): &Bar) -> Row {
    let [up, down] = [bytes.up.total(), bytes.down.total()].map(number::bytes);
    Row {
        label: label.clone(),
        left: parts(label, &bytes.down, "down"),
        right: parts(label, &bytes.up, "up"),
        told: format!("{label}: {up} B up, {down} B down"),
        totals: [
            if bytes.down.total() > 0.0 {
                down
            } else {
                String::new()
            },
            up,
        ],
    }
}

/// The bytes of one direction by layer, the payload first.
fn parts(label: &str, bytes: &ByLayer, direction: &str) -> Vec<Part> {
    let part = |(layer, count): (Layer, f64)| Part {
        class: layer.name().to_owned(),
        value: count,
        text: number::bytes(count),
        title: format!("{label}: {} {} B {direction}", layer.name(), number::bytes(count)),
    };
    bytes.iter().rev().map(part).collect()
}

fn data(rows: &[Bar]) -> String {
    let mut csv = format!("stack,direction,{},wire\n", Layer::ALL.map(Layer::name).join(","));
    for (label, bytes) in rows {
        for (direction, bytes) in [("up", &bytes.up), ("down", &bytes.down)] {
            let layers = bytes.0.map(|count| count.to_string()).join(",");
            csv += &format!("{},{direction},{layers},{}\n", quoted(label), bytes.total());
        }
    }
    csv
}
