//! Where the energy goes: the shares of each row.

use wirecost_account::{Figures, Traffic, Way};
use wirecost_energy::{Device, Part, Purposes};
use wirecost_proto::{Cause, Layer, Phase};
use wirecost_report::terminal::listing::{Head, Listing};

use super::labels::own_label;
use crate::commands::told::ToldTable;

/// A share of the energy, by the heading of its column.
type Share = (&'static str, fn(&Purposes) -> f64);

/// Shares that sum to 100 %.
const PARTS: [Share; 7] = [
    ("security", |all| part(all, Part::Layer(Layer::Security))),
    ("other bytes", |all| {
        let others = [Layer::Ip, Layer::Transport, Layer::Application, Layer::Payload];
        let sum: f64 = others
            .into_iter()
            .map(|layer| part(all, Part::Layer(layer)))
            .sum();
        sum + part(all, Part::Compute)
    }),
    ("link", |all| part(all, Part::Link)),
    ("wake", |all| part(all, Part::Wake)),
    ("tail", |all| part(all, Part::Tail)),
    (ATTACH, |all| part(all, Part::Attach)),
    ("rest", |all| part(all, Part::Rest)),
];

/// The share that a device has which loses its network.
const ATTACH: &str = "attach";

/// Shares with their tails and wake-ups, which are also in the parts.
const WHOLES: [Share; 3] = [
    ("connect", |all| all.of_phase(Phase::Connect).joules),
    ("keep-alive", |all| all.of_phase(Phase::KeepAlive).joules),
    ("acknowledgement", |all| {
        all.of_cause(Cause::Acknowledgement).joules
    }),
];

/// The shares that times in each state tell apart: bytes of layers and causes of packets are in `link`.
const OF_TIMES: [&str; 6] = [ATTACH, "link", "wake", "tail", "rest", "keep-alive"];

fn part(all: &Purposes, part: Part) -> f64 {
    all.of_part(part).joules
}

/// The shares of all rows, whose label is without what all have `alike`.
pub fn table<'a>(
    device: &Device,
    rows: impl Iterator<Item = (&'a Traffic, &'a Figures)>,
    alike: &str,
) -> ToldTable {
    ToldTable {
        caption: "where the energy goes*",
        listing: Listing {
            heads: heads(device),
            rows: rows
                .map(|(traffic, outcome)| row(device, (traffic, alike), outcome))
                .collect(),
        },
        note: match device.attach {
            Some(_) => {
                "The first seven sum to 100 %; connect, keep-alive and acknowledgement contain their tails and wake-ups."
            }
            None => {
                "The first six sum to 100 %; connect, keep-alive and acknowledgement contain their tails and wake-ups."
            }
        },
    }
}

/// The parts that a device has: only one that loses its network attaches.
fn parts(device: &Device) -> impl Iterator<Item = &'static Share> {
    let is_losing = device.attach.is_some();
    PARTS.iter().filter(move |(name, _)| is_losing || *name != ATTACH)
}

/// The columns of the shares. Those of single causes give way first.
fn heads(device: &Device) -> Vec<Head> {
    let parts = parts(device).map(|(name, _)| Head::figure(*name).hidden_at(1));
    let wholes = WHOLES.iter().map(|(name, _)| Head::figure(*name).hidden_at(0));
    [Head::name("traffic"), Head::name("repeated")]
        .into_iter()
        .chain(parts)
        .chain(wholes)
        .collect()
}

fn row(device: &Device, (traffic, alike): (&Traffic, &str), outcome: &Figures) -> Vec<String> {
    let mut row = vec![own_label(traffic, alike), traffic.way.to_string()];
    if let Some(power) = &outcome.power {
        let whole = power.total().joules;
        let share = |(name, of): &Share| {
            let is_known = traffic.way != Way::InCells || OF_TIMES.contains(name);
            if whole > 0.0 && is_known {
                format!("{:.1} %", of(power) / whole * 100.0)
            } else {
                "-".to_owned()
            }
        };
        row.extend(parts(device).chain(&WHOLES).map(share));
    }
    row
}
