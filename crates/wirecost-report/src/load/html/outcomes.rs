//! The outcomes of the messages of each second, stacked.

use wirecost_results::seconds::SecondRow;

use super::bands::{Band, Slot, middle};
use super::timeline::per_second;
use super::timeplot::{Scale, TimePlot};
use crate::html::Figure;
use crate::html::svg::Anchor;
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
        let mut plot = TimePlot::new(bands, Scale::linear(most), "messages/s", width);
        for slot in slots {
            bar(&mut plot, slot, &present);
        }
        for (index, (name, _)) in present.iter().rev().enumerate() {
            let y = 40.0 + 16.0 * index as f64;
            let x = plot.right + 8.0;
            plot.svg
                .rect(&format!("outcome {name}"), [x, y - 8.0, 9.0, 9.0], "");
            plot.svg.text("tick", Anchor::Start, [x + 13.0, y], name);
        }
        plot.svg
            .finish("Outcomes by second", &description(slots, &present))
    };
    Figure::new(draw, csv(slots, &present))
}

fn bar(plot: &mut TimePlot, slot: &Slot, present: &[(&str, Count)]) {
    let [begin, end] = slot.drawn();
    let [left, right] = [plot.x(begin), plot.x(end)];
    let mut below = 0.0;
    for (name, count) in present {
        let count = count(&slot.row);
        let Some(height) = per_second(slot.offering, count).filter(|height| *height > 0.0) else {
            continue;
        };
        let above = below + height;
        let (top, bottom) = (plot.y(above), plot.y(below));
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
