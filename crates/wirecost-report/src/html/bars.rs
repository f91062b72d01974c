//! Stacked bars of bytes by layer: bytes down to the left of the axis, bytes up to the right, in the directions of the
//! arrows of the ladder. The payload is next to the axis, and the overhead is outside.

use wirecost_proto::{BothWays, Layer};
use wirecost_results::Cell;

use super::Figure;
use super::svg::{Anchor, Svg, fitted, text_width};
use crate::columns::EARLY;
use crate::csv::quoted;
use crate::figures::ByLayer;
use crate::groups::Group;
use crate::names::Names;
use crate::number;

const TOP: f64 = 26.0;
const BOTTOM: f64 = 22.0;
const BAR: f64 = 20.0;
const FONT: f64 = 11.0;
const LABEL_FONT: f64 = 12.0;
const TOTAL: f64 = 44.0;

/// The figure of the bytes that `of` finds in each cell of the group.
pub(crate) fn figure(group: &Group<'_>, name: &str, of: fn(&Cell) -> Option<BothWays<ByLayer>>) -> Figure {
    let rows: Vec<Bar> = group
        .iter()
        .filter_map(|cell| Some((name_of_cell(&group.names, cell), of(cell)?)))
        .collect();
    Figure::new(|width| draw(&rows, name, &group.heading, width), data(&rows))
}

fn name_of_cell(names: &Names, cell: &Cell) -> String {
    let early = if cell.early_message { EARLY } else { "" };
    names.marked_label(cell) + early
}

type Bar = (String, BothWays<ByLayer>);

/// The geometry of a figure of one width.
struct Plot {
    width: f64,
    /// Pixels for the names beside the bars.
    names: f64,
    axis: f64,
    /// Bytes of the longest bar to the right.
    up: f64,
    /// Bytes of the longest bar to the left.
    down: f64,
    /// Pixels per byte.
    scale: f64,
    /// Whether names are above their bars, in a narrow figure.
    names_above: bool,
    rows: usize,
}

impl Plot {
    fn new(rows: &[Bar], width: f64) -> Self {
        let names_above = width < 500.0;
        let longest = rows
            .iter()
            .map(|(label, _)| text_width(label, LABEL_FONT))
            .fold(0.0, f64::max);
        let names = if names_above {
            0.0
        } else {
            (longest + 8.0).min(width / 3.0)
        };
        let most =
            |of: fn(&BothWays<ByLayer>) -> f64| rows.iter().map(|(_, bytes)| of(bytes)).fold(0.0, f64::max);
        let (up, down) = (most(|b| b.up.total()), most(|b| b.down.total()));
        let scale = (width - names - 2.0 * TOTAL) / (up + down).max(1.0);
        Self {
            width,
            names,
            axis: names + TOTAL + down * scale,
            up,
            down,
            scale,
            names_above,
            rows: rows.len(),
        }
    }

    const fn pitch(&self) -> f64 {
        if self.names_above { 42.0 } else { 30.0 }
    }

    const fn bar_top(&self, row: usize) -> f64 {
        let name = if self.names_above { 18.0 } else { 5.0 };
        TOP + row as f64 * self.pitch() + name
    }

    const fn bottom(&self) -> f64 {
        TOP + self.rows as f64 * self.pitch() + 4.0
    }
}

fn draw(rows: &[Bar], name: &str, heading: &str, width: f64) -> String {
    let plot = Plot::new(rows, width);
    let mut svg = Svg::new(width, plot.bottom() + BOTTOM);
    head(&mut svg, &plot);
    ticks(&mut svg, &plot);
    svg.line("axis", [plot.axis, TOP - 6.0], [plot.axis, plot.bottom()]);
    for (index, (label, bytes)) in rows.iter().enumerate() {
        name_of(&mut svg, &plot, index, label);
        side(&mut svg, &plot, index, label, &bytes.up, 1.0);
        side(&mut svg, &plot, index, label, &bytes.down, -1.0);
    }
    svg.finish(&format!("{name}, {heading}"), &description(rows))
}

fn head(svg: &mut Svg, plot: &Plot) {
    svg.text("muted", Anchor::End, [plot.axis - 8.0, 12.0], "← down");
    svg.text("muted", Anchor::Start, [plot.axis + 8.0, 12.0], "up →");
}

/// Grid lines at round numbers of bytes, up to the longest bar of each side.
fn ticks(svg: &mut Svg, plot: &Plot) {
    let step = number::nice_step(plot.width / plot.scale, plot.width / 70.0).max(1.0);
    for (sign, most) in [(1.0, plot.up), (-1.0, plot.down)] {
        let first = if sign > 0.0 { 0 } else { 1 };
        for tick in first..=(most / step).floor() as u64 {
            let bytes = tick as f64 * step;
            let x = plot.axis + sign * bytes * plot.scale;
            svg.line("grid", [x, TOP - 2.0], [x, plot.bottom()]);
            let unit = if tick == 0 { " B" } else { "" };
            let text = number::trimmed(bytes, 1) + unit;
            svg.text("tick", Anchor::Middle, [x, plot.bottom() + 14.0], &text);
        }
    }
}

fn name_of(svg: &mut Svg, plot: &Plot, index: usize, label: &str) {
    let top = plot.bar_top(index);
    let (room, at) = if plot.names_above {
        (plot.width, [2.0, top - 5.0])
    } else {
        (plot.names, [0.0, top + 14.5])
    };
    let name = fitted(label, LABEL_FONT, room);
    svg.text("name", Anchor::Start, at, &name);
}

/// One direction of one row: `sign` is 1 to the right, -1 to the left.
fn side(svg: &mut Svg, plot: &Plot, index: usize, label: &str, bytes: &ByLayer, sign: f64) {
    let top = plot.bar_top(index);
    let direction = if sign > 0.0 { "up" } else { "down" };
    let mut edge = plot.axis;
    for (layer, count) in bytes.iter().rev().filter(|(_, count)| *count > 0.0) {
        let width = count * plot.scale;
        let left = if sign > 0.0 { edge } else { edge - width };
        let text = number::bytes(count);
        let title = format!("{label}: {} {text} B {direction}", layer.name());
        svg.rect(&format!("seg {}", layer.name()), [left, top, width, BAR], &title);
        if width >= text_width(&text, FONT) + 3.0 {
            let class = format!("on {}", layer.name());
            svg.text(&class, Anchor::Middle, [left + width / 2.0, top + 14.0], &text);
        }
        edge += sign * width;
    }
    let (anchor, total) = (
        if sign > 0.0 { Anchor::Start } else { Anchor::End },
        bytes.total(),
    );
    if total > 0.0 || sign > 0.0 {
        svg.text(
            "total",
            anchor,
            [edge + sign * 5.0, top + 14.5],
            &number::bytes(total),
        );
    }
}

fn description(rows: &[Bar]) -> String {
    let row = |(label, bytes): &Bar| {
        let [up, down] = [bytes.up.total(), bytes.down.total()].map(number::bytes);
        format!("{label}: {up} B up, {down} B down.")
    };
    rows.iter().map(row).collect::<Vec<_>>().join(" ")
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

#[cfg(test)]
mod tests {
    use super::super::svg::escaped;
    use super::*;

    #[test]
    fn a_hostile_name_stays_text() {
        let rows = [("<script>".to_owned(), BothWays::default())];
        let svg = draw(&rows, "bytes", "any", 680.0);
        assert!(svg.contains(&escaped("<script>")) && !svg.contains("<script>"));
    }
}
