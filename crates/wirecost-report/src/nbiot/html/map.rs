//! The map: cells, and the devices that were served and those that were not.

use std::fmt::Write as _;

use serde::Serialize;
use wirecost_results::nbiot::NbiotSummary;
use wirecost_results::nbiot::map::{DeviceMap, DevicePlace, MappedRun};

use super::choices::load_words;
use crate::chart::svg::{Anchor, Svg};
use crate::html::controls::{Control, Controls, panel_classes};
use crate::html::grid::{Grid, GridRow};
use crate::number;

/// Width and height of the map.
const SIDE: f64 = 640.0;
/// Half the side of a mark.
const MARK: f64 = 3.0;

/// The maps of a run: a panel per curve and load.
#[derive(Serialize)]
pub(super) struct Maps {
    pub(super) controls: Vec<Control>,
    panels: Vec<Panel>,
    /// The marks and what they stand for.
    legend: Vec<(String, String)>,
    /// Whether the cells have copies all around.
    has_copies: bool,
    cells: usize,
}

#[derive(Serialize)]
struct Panel {
    classes: String,
    svg: String,
    words: String,
    levels: Grid,
    cells: Grid,
}

impl Maps {
    /// The maps; `None` where no device was kept.
    pub(super) fn from_summary(summary: &NbiotSummary, map: &DeviceMap) -> Option<Self> {
        let mut curves: Vec<String> = Vec::new();
        let mut loads: Vec<f64> = Vec::new();
        // A change of the network stands in parentheses behind the stack; the map shows the network as given.
        for run in map.runs.iter().filter(|run| !run.stack.contains(" (")) {
            if !curves.contains(&name_of(run)) {
                curves.push(name_of(run));
            }
            if !loads.contains(&run.load) {
                loads.push(run.load);
            }
        }
        loads.sort_by(f64::total_cmp);
        let frame = Frame::from_map(map);
        let deadline_ms = summary.setting.deadline_s * 1e3;
        let panel = |run: &MappedRun| {
            let row = loads.iter().position(|load| *load == run.load)?;
            let column = curves.iter().position(|curve| *curve == name_of(run))?;
            Some(Panel {
                classes: panel_classes(&[row, column]),
                svg: draw(map, run, &frame, deadline_ms),
                words: words(run, deadline_ms),
                levels: by_level(run, deadline_ms),
                cells: by_cell(map, run, deadline_ms),
            })
        };
        let panels: Vec<Panel> = map.runs.iter().filter_map(panel).collect();
        let mut controls = Controls::new("map", 0);
        let last = loads.len().saturating_sub(1);
        let names = loads.iter().map(|load| load_words(*load));
        controls.choose_from("reports per second and cell", names, last);
        let worst = worst(map, &curves, loads.last().copied(), deadline_ms);
        controls.choose_from("stack", curves.into_iter(), worst);
        (!panels.is_empty()).then(|| Self {
            controls: controls.finish(),
            panels,
            legend: legend(),
            has_copies: !map.copies.is_empty(),
            cells: map.cells.len(),
        })
    }
}

/// The curve of which fewest devices are served at a load: its map is shown first.
fn worst(map: &DeviceMap, curves: &[String], load: Option<f64>, deadline_ms: f64) -> usize {
    let unserved = |curve: &String| {
        let runs = map.runs.iter();
        let mut own = runs.filter(|run| Some(run.load) == load && name_of(run) == *curve);
        own.next().map_or(0, |run| {
            let devices = run.sample.devices.iter();
            devices.filter(|place| !is_served(place, deadline_ms)).count()
        })
    };
    let all = curves.iter().enumerate().rev();
    all.max_by_key(|(_, curve)| unserved(curve))
        .map_or(0, |(index, _)| index)
}

fn name_of(run: &MappedRun) -> String {
    format!("{} {} B", run.stack, run.size_bytes)
}

fn is_served(place: &DevicePlace, deadline_ms: f64) -> bool {
    place
        .delay_ms
        .is_some_and(|delay| f64::from(delay) <= deadline_ms)
}

/// From metres to pixels.
struct Frame {
    centre: [f64; 2],
    /// Pixels per metre.
    scale: f64,
}

impl Frame {
    /// All cells, with some room around them for their copies.
    fn from_map(map: &DeviceMap) -> Self {
        let corners = || map.cells.iter().flat_map(|cell| &cell.corners);
        let range = |axis: usize| {
            let values = corners().map(|corner| corner[axis]);
            values.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], value| {
                [least.min(value), most.max(value)]
            })
        };
        let ranges = [range(0), range(1)];
        let extent = ranges
            .map(|[least, most]| most - least)
            .into_iter()
            .fold(1.0, f64::max);
        let room = if map.copies.is_empty() { 1.04 } else { 1.22 };
        Self {
            centre: ranges.map(|[least, most]| least.midpoint(most)),
            scale: SIDE / (extent * room),
        }
    }

    /// North is upwards.
    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let half = SIDE / 2.0;
        [
            half + (x - self.centre[0]) * self.scale,
            half - (y - self.centre[1]) * self.scale,
        ]
    }
}

fn draw(map: &DeviceMap, run: &MappedRun, frame: &Frame, deadline_ms: f64) -> String {
    let mut svg = Svg::new(SIDE, SIDE);
    copies(&mut svg, map, frame);
    for cell in &map.cells {
        svg.path("cell", &outline(frame, &cell.corners, [0.0; 2]), "");
    }
    // One path for all marks of a kind: an element for each device makes the page too large to open.
    for (kind, symbol) in KINDS {
        let own = run.sample.devices.iter();
        let own = own.filter(|place| kind.holds(place, deadline_ms));
        let mut path = String::new();
        let mut count = 0;
        for place in own {
            count += 1;
            symbol(
                &mut path,
                frame.place([f64::from(place.x_m), f64::from(place.y_m)]),
            );
        }
        if count > 0 {
            let title = format!("{}: {}", kind.words(), number::grouped(count));
            svg.path(&kind.class(), &path, &title);
        }
    }
    for (index, cell) in map.cells.iter().enumerate() {
        let corners = cell.corners.len() as f64;
        let sum = |axis: usize| cell.corners.iter().map(|corner| corner[axis]).sum::<f64>();
        let [x, y] = frame.place([sum(0) / corners, sum(1) / corners]);
        svg.text("cell-number", Anchor::Middle, [x, y + 4.0], &index.to_string());
    }
    for site in &map.sites {
        svg.circle("site", frame.place(*site), 4.0, "site");
    }
    let name = format!("Map of {} at {}", name_of(run), load_words(run.load));
    svg.finish(&name, &words(run, deadline_ms))
}

/// Outlines of the nearest copies.
fn copies(svg: &mut Svg, map: &DeviceMap, frame: &Frame) {
    let is_near = |corners: &[[f64; 2]], shift: [f64; 2]| {
        corners.iter().any(|[x, y]| {
            let place = frame.place([x + shift[0], y + shift[1]]);
            place.iter().all(|pixel| (0.0..=SIDE).contains(pixel))
        })
    };
    for shift in &map.copies {
        for (index, cell) in map.cells.iter().enumerate() {
            if is_near(&cell.corners, *shift) {
                let title = format!("copy of cell {index}");
                svg.path("cell copy", &outline(frame, &cell.corners, *shift), &title);
            }
        }
    }
}

fn outline(frame: &Frame, corners: &[[f64; 2]], shift: [f64; 2]) -> String {
    let mut path = String::new();
    for (index, [x, y]) in corners.iter().enumerate() {
        let [x, y] = frame.place([x + shift[0], y + shift[1]]);
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{x:.0} {y:.0}");
    }
    path + "Z"
}

/// Devices with one mark.
#[derive(Clone, Copy)]
struct Kind {
    served: bool,
    level: u8,
}

impl Kind {
    fn holds(self, place: &DevicePlace, deadline_ms: f64) -> bool {
        is_served(place, deadline_ms) == self.served && place.level == self.level
    }

    fn class(self) -> String {
        let outcome = if self.served { "served" } else { "unserved" };
        format!("device {outcome} level{}", self.level)
    }

    fn words(self) -> String {
        let outcome = if self.served { "served" } else { "not served" };
        format!("{outcome}, coverage level {}", self.level)
    }
}

/// Adds a mark to a path.
type Symbol = fn(&mut String, [f64; 2]);

/// Those that were not served are drawn last.
const KINDS: [(Kind, Symbol); 6] = [
    (kind(true, 0), dot),
    (kind(true, 1), triangle),
    (kind(true, 2), square),
    (kind(false, 0), cross),
    (kind(false, 1), crossed_triangle),
    (kind(false, 2), crossed_square),
];

const fn kind(served: bool, level: u8) -> Kind {
    Kind { served, level }
}

/// A line of no length, which a round line cap makes a dot.
fn dot(path: &mut String, [x, y]: [f64; 2]) {
    let _ = write!(path, "M{x:.0} {y:.0}h0");
}

fn triangle(path: &mut String, [x, y]: [f64; 2]) {
    let _ = write!(
        path,
        "M{x:.0} {:.0}l{MARK} {}h-{}z",
        y - MARK,
        2.0 * MARK,
        2.0 * MARK
    );
}

fn square(path: &mut String, [x, y]: [f64; 2]) {
    let side = 2.0 * MARK;
    let _ = write!(path, "M{:.0} {:.0}h{side}v{side}h-{side}z", x - MARK, y - MARK);
}

fn cross(path: &mut String, [x, y]: [f64; 2]) {
    let side = 2.0 * MARK;
    let _ = write!(
        path,
        "M{:.0} {:.0}l{side} {side}m0-{side}l-{side} {side}",
        x - MARK,
        y - MARK
    );
}

fn crossed_triangle(path: &mut String, at: [f64; 2]) {
    cross(path, at);
    let (half, height) = (2.0 * MARK, 4.0 * MARK);
    let [x, y] = at;
    let _ = write!(path, "M{x:.0} {:.0}l{half} {height}h-{height}z", y - half - 1.0);
}

fn crossed_square(path: &mut String, at: [f64; 2]) {
    cross(path, at);
    let (half, side) = (MARK + 2.0, 2.0 * MARK + 4.0);
    let [x, y] = at;
    let _ = write!(path, "M{:.0} {:.0}h{side}v{side}h-{side}z", x - half, y - half);
}

/// Each mark as a figure of its own, with what it stands for.
fn legend() -> Vec<(String, String)> {
    let entry = |(kind, symbol): (Kind, Symbol)| {
        let mut path = String::new();
        symbol(&mut path, [10.0, 10.0]);
        let svg = format!(
            r#"<svg class="symbol" viewBox="0 0 20 20" aria-hidden="true"><path class="{}" d="{path}"></path></svg>"#,
            kind.class()
        );
        (svg, kind.words())
    };
    KINDS.map(entry).into()
}

/// What the map shows, and of how many devices.
fn words(run: &MappedRun, deadline_ms: f64) -> String {
    let devices = &run.sample.devices;
    let served = devices
        .iter()
        .filter(|place| is_served(place, deadline_ms))
        .count();
    let sample = match run.sample.first {
        0 => "some reports".to_owned(),
        first if first <= devices.len() as u64 => format!("the first {} reports", number::grouped(first)),
        _ => "every report".to_owned(),
    };
    format!(
        "{} at {}: the devices of {sample} of seed {}, {} of {} served within {} s",
        name_of(run),
        load_words(run.load),
        run.replication,
        number::grouped(served as u64),
        number::grouped(devices.len() as u64),
        deadline_ms / 1e3,
    )
}

/// Devices and those served, of those that `holds`.
fn counted(run: &MappedRun, deadline_ms: f64, holds: impl Fn(&DevicePlace) -> bool) -> Vec<String> {
    let own: Vec<&DevicePlace> = run.sample.devices.iter().filter(|place| holds(place)).collect();
    let served = own.iter().filter(|place| is_served(place, deadline_ms)).count();
    let gains = own.iter().map(|place| place.path_gain_db);
    let lowest = gains.fold(None, |lowest: Option<f64>, gain| {
        Some(lowest.map_or(gain, |lowest| lowest.min(gain)))
    });
    let share = (!own.is_empty()).then(|| served as f64 / own.len() as f64);
    vec![
        number::grouped(own.len() as u64),
        number::grouped(served as u64),
        number::optional(share, number::percent),
        number::optional(lowest, |gain| format!("{gain:.1}")),
    ]
}

const HEAD: [(&str, &str); 4] = [
    ("devices drawn", ""),
    ("served", ""),
    ("share", ""),
    ("lowest path gain", "dB"),
];

fn by_level(run: &MappedRun, deadline_ms: f64) -> Grid {
    let head: Vec<(&str, &str)> = std::iter::once(("coverage level", "")).chain(HEAD).collect();
    let row = |level: u8| {
        let values = counted(run, deadline_ms, |place| place.level == level);
        GridRow::plain(level.to_string(), values)
    };
    let caption = format!(
        "Devices by coverage level, {} at {}",
        name_of(run),
        load_words(run.load)
    );
    Grid::new(&caption, &head, (0..3).map(row).collect())
}

fn by_cell(map: &DeviceMap, run: &MappedRun, deadline_ms: f64) -> Grid {
    let head: Vec<(&str, &str)> = std::iter::once(("cell", "")).chain(HEAD).collect();
    let row = |cell: usize| {
        let values = counted(run, deadline_ms, |place| usize::from(place.cell) == cell);
        GridRow::plain(cell.to_string(), values)
    };
    let caption = format!(
        "Devices by serving cell, {} at {}",
        name_of(run),
        load_words(run.load)
    );
    Grid::new(&caption, &head, (0..map.cells.len()).map(row).collect())
}
