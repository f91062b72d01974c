//! Use and accuracy of the emulated links of loads.

use wirecost_results::link_use::DirectionUse;
use wirecost_results::load::Load;

use super::tables::phases;
use crate::html::grid::{Grid, ValueColumn};
use crate::load::words;
use crate::number;

/// The use of each link in each phase and direction; `None` without links.
pub(super) fn table(loads: &[Load], labels: &[String]) -> Option<Grid> {
    let columns: [ValueColumn<DirectionUse>; 5] = [
        ("packets", "", |used| number::grouped(used.packets)),
        ("of", "B", |used| number::grouped(used.bytes)),
        ("lost", "", |used| number::grouped(used.lost)),
        ("dropped", "by its full queue", |used| {
            number::grouped(used.queue_dropped)
        }),
        ("rate in use", "of the time", |used| {
            number::optional(used.utilisation, number::percent)
        }),
    ];
    let used = phases(loads, labels).flat_map(|(_, name, phase)| {
        let all = phase.link.map(|used| (name.clone(), used));
        let hops = phase.hops.iter();
        let hops = hops.map(|hop| (format!("{name} {}", hop.hop), hop.used));
        all.into_iter().chain(hops).collect::<Vec<_>>()
    });
    let rows: Vec<(String, DirectionUse)> = used
        .flat_map(|(name, used)| {
            [
                (format!("{name} up"), used.up),
                (format!("{name} down"), used.down),
            ]
        })
        .collect();
    let title = "What the emulated link did";
    (!rows.is_empty()).then(|| Grid::from_rows(title, "load, phase, direction", &columns, rows.into_iter()))
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
