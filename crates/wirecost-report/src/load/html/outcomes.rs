//! The outcomes of the messages of each second, stacked.

use wirecost_results::seconds::SecondRow;

use super::bands::{Slot, middle, per_second};
use super::timeplot::seconds;
use crate::chart::lines::LOW;
use crate::chart::plot::{Axis, Band, Plot};
use crate::chart::{Figure, Scale};
use crate::number;

/// How an outcome is counted.
type Count = fn(&SecondRow) -> u64;

/// The outcomes from the bottom up: name, which is also the class, and count.
const OUTCOMES: [(&str, Count); 7] = [
    ("acknowledged", |row| row.outcomes.acknowledged),
    ("delivered", |row| row.outcomes.delivered),
    ("late", |row| row.outcomes.late),
    ("refused", |row| row.outcomes.refused),
    ("unknown", |row| row.outcomes.unknown),
    ("lost", |row| row.outcomes.lost),
    ("failed", |row| row.outcomes.failed),
];

/// The outcomes that occurred, by the second in which their messages were intended.
pub(super) fn figure(bands: &[Band], slots: &[Slot]) -> Figure {
    let present: Vec<(&str, Count)> = OUTCOMES
        .into_iter()
        .filter(|(_, count)| slots.iter().any(|slot| count(&slot.row) > 0))
        .collect();
    let sum = |slot: &Slot| present.iter().map(|(_, count)| count(&slot.row)).sum::<u64>();
    let most = slots
        .iter()
        .filter_map(|slot| per_second(slot.offering, sum(slot)))
        .fold(0.0, f64::max);
    let draw = |width: f64| {
        let axes = [&seconds(bands), &Axis::new(Scale::from_zero(most), "messages/s")];
        let names: Vec<&str> = present.iter().map(|(name, _)| *name).collect();
        let mut plot = Plot::new(axes, bands, &names, [width, LOW]);
        for slot in slots {
            bar(&mut plot, slot, &present);
        }
        let keys = present.iter().rev();
        plot.keys(keys.map(|(name, _)| (format!("outcome {name}"), *name)));
        plot.svg
            .finish("Outcomes by second", &description(slots, &present))
    };
    Figure::new(draw, csv(slots, &present))
}

fn bar(plot: &mut Plot, slot: &Slot, present: &[(&str, Count)]) {
    let [begin, end] = slot.drawn();
    let mut below = 0.0;
    for (name, count) in present {
        let count = count(&slot.row);
        let Some(height) = per_second(slot.offering, count).filter(|height| *height > 0.0) else {
            continue;
        };
        let above = below + height;
        let [[left, bottom], [right, top]] = [plot.place([begin, below]), plot.place([end, above])];
        let title = format!(
            "{} to {} s: {} {name}",
            number::trimmed(begin, 1),
            number::trimmed(end, 1),
            number::grouped(count)
        );
        // Slightly wider, so that neighbours leave no gap.
        let place = [left, top, right - left + 0.15, (bottom - top).max(0.6)];
        plot.svg.rect(&format!("outcome {name}"), place, &title);
        below = above;
    }
}

fn description(slots: &[Slot], present: &[(&str, Count)]) -> String {
    let told: Vec<String> = present
        .iter()
        .map(|(name, count)| {
            let all: u64 = slots.iter().map(|slot| count(&slot.row)).sum();
            format!("{} {name}", number::grouped(all))
        })
        .collect();
    let has_warm_up = slots.iter().any(|slot| slot.row.warm_up > 0);
    let of = if has_warm_up { ", warm-up included" } else { "" };
    format!("{}{of}", told.join(", "))
}

fn csv(slots: &[Slot], present: &[(&str, Count)]) -> String {
    let names: Vec<&str> = present.iter().map(|(name, _)| *name).collect();
    let mut text = format!("second,{}\n", names.join(","));
    for slot in slots {
        let values: Vec<String> = present
            .iter()
            .map(|(_, count)| count(&slot.row).to_string())
            .collect();
        text += &format!(
            "{},{}\n",
            number::trimmed(middle(slot.drawn()), 1),
            values.join(",")
        );
    }
    text
}
