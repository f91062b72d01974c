//! Use and accuracy of the emulated links of loads.

use wirecost_results::link_use::DirectionUse;
use wirecost_results::load::Load;

use crate::html::grid::{Grid, GridRow};
use crate::load::words;
use crate::number;

/// The use of each link in each phase and direction; `None` without links.
pub(super) fn table(loads: &[Load], labels: &[String]) -> Option<Grid> {
    let head = [
        ("load, phase, direction", ""),
        ("packets", ""),
        ("of", "B"),
        ("lost", ""),
        ("dropped", "by its full queue"),
        ("rate in use", "of the time"),
    ];
    let rows: Vec<GridRow> = loads
        .iter()
        .zip(labels)
        .flat_map(|(load, label)| rows(load, label, loads.len() == 1))
        .collect();
    (!rows.is_empty()).then(|| Grid::new("What the emulated link did", &head, rows))
}

fn rows(load: &Load, label: &str, is_alone: bool) -> Vec<GridRow> {
    let phases = load.phases.iter().filter_map(|phase| Some((phase, phase.link?)));
    phases
        .flat_map(|(phase, used)| {
            let name = match is_alone {
                true => phase.name.clone(),
                false => format!("{label}: {}", phase.name),
            };
            [("up", used.up), ("down", used.down)]
                .map(|(way, of)| GridRow::plain(format!("{name} {way}"), values(&of)))
        })
        .collect()
}

fn values(used: &DirectionUse) -> Vec<String> {
    let mut values: Vec<String> = [used.packets, used.bytes, used.lost, used.queue_dropped]
        .into_iter()
        .map(number::grouped)
        .collect();
    values.push(number::optional(used.utilisation, number::percent));
    values
}

/// The accuracy of each link, as text.
pub(super) fn kept(loads: &[Load], labels: &[String]) -> Vec<(String, String)> {
    let one = |(load, label): (&Load, &String)| {
        let figures = load.link.as_ref()?;
        let asked = words::link(load)?;
        let text = format!("{asked}: {}", words::link_kept(figures));
        Some((label.clone(), number::plain(&text)))
    };
    loads.iter().zip(labels).filter_map(one).collect()
}
