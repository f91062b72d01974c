//! What the readings of a capture cost over each stack.

use wirecost_account::{Cycle, Figures, Terms, Traffic, Way, life};
use wirecost_energy::Device;
use wirecost_proto::Layer;
use wirecost_results::Cell;
use wirecost_results::summary::{Bytes, Count};
use wirecost_scenario::tariff;

use super::today::Today;
use crate::commands::choose::Recorded;
use crate::commands::cost::lives;
use crate::exit::Failure;

/// What the readings cost over a stack.
pub struct Row {
    /// Its name.
    pub stack: String,
    /// How it uses its connections.
    pub way: String,
    /// What it costs, or why that is not known.
    pub cost: Result<Cost, String>,
}

/// What readings cost.
pub struct Cost {
    /// Bytes of IP packets per reading by layer, both ways.
    pub layers: [f64; 5],
    /// The whole account.
    pub figures: Figures,
}

impl Cost {
    /// Bytes of IP packets per reading, both ways.
    pub fn bytes(&self) -> f64 {
        self.figures
            .of_message()
            .map_or(0.0, |message| message.usage.wire_bytes())
    }
}

/// What the readings cost today.
pub fn of_today(today: &Today, terms: &Terms<'_>) -> Result<Cost, Failure> {
    Ok(Cost {
        layers: today.layers,
        figures: tariff::figures(terms, &today.traffic),
    })
}

/// A row for each stack and way: the lives of all sizes, each as often as its readings. Without a connection both ways are the same,
/// and the one with more readings stands.
pub fn rows<'c>(
    today: &Today,
    simulated: impl IntoIterator<Item = &'c Cell>,
    recorded: &Recorded<'_>,
    terms: &Terms<'_>,
) -> Result<Vec<Row>, Failure> {
    let mut cells: Vec<(String, &Cell)> = Vec::new();
    for cell in simulated {
        let way = Way::from_cell(cell).to_string();
        let is_twin = |(other_way, other): &(String, &Cell)| {
            (&other.stack, other.payload_bytes, other_way) == (&cell.stack, cell.payload_bytes, &way)
        };
        match cells.iter().position(is_twin) {
            // The later cell has more readings: the plan has them in that order.
            Some(twin) => cells[twin] = (way, cell),
            None => cells.push((way, cell)),
        }
    }
    let mut mixes: Vec<(String, String, Result<Mix, String>)> = Vec::new();
    for (way, cell) in cells {
        let readings = today.sizes.iter().find(|(size, _)| *size == cell.payload_bytes);
        let share = readings.map_or(0.0, |(_, readings)| *readings as f64 / today.readings as f64);
        let part = part(cell, share, recorded, terms.device)?;
        let same = mixes
            .iter_mut()
            .find(|(stack, other, _)| *stack == cell.stack && *other == way);
        match same {
            Some((.., mix)) => *mix = both(std::mem::replace(mix, Err(String::new())), part),
            None => mixes.push((cell.stack.clone(), way, part)),
        }
    }
    let cost = |mix: Mix| -> Result<Cost, Failure> {
        Ok(Cost {
            figures: tariff::figures(terms, &mix.traffic),
            layers: mix.layers,
        })
    };
    let rows = mixes.into_iter().map(|(stack, way, mix)| {
        let cost = match mix {
            Ok(mix) => Ok(cost(mix)?),
            Err(why) => Err(why),
        };
        Ok(Row { stack, way, cost })
    });
    rows.collect()
}

/// Readings of several sizes.
struct Mix {
    traffic: Traffic,
    layers: [f64; 5],
}

/// The part of the readings that a cell has, or why it has none.
fn part(
    cell: &Cell,
    share: f64,
    recorded: &Recorded<'_>,
    device: Option<&Device>,
) -> Result<Result<Mix, String>, Failure> {
    let messages = cell.message.as_ref().map_or(0, |message| message.samples);
    let recorded = recorded(cell).filter(|_| messages > 0);
    let Some(recorded) = recorded else {
        let why = cell.not_run.clone();
        return Ok(Err(why.unwrap_or_else(|| "the device did not finish".to_owned())));
    };
    let lives = lives::cycles(&recorded, cell, device)?;
    let mut traffic = life::of_mean_device(cell.stack.clone(), cell, &lives, device);
    for cycle in &mut traffic.cycles {
        // A size that is a third of the readings comes a third as often.
        cycle.every /= share;
    }
    Ok(Ok(Mix {
        traffic,
        layers: layers(cell, messages).map(|bytes| bytes * share),
    }))
}

/// Two parts together. No percentile of the times of both was simulated.
fn both(one: Result<Mix, String>, other: Result<Mix, String>) -> Result<Mix, String> {
    let (one, other) = (one?, other?);
    let cycles: Vec<Cycle> = one
        .traffic
        .cycles
        .into_iter()
        .chain(other.traffic.cycles)
        .collect();
    let mut layers = one.layers;
    for (bytes, more) in layers.iter_mut().zip(other.layers) {
        *bytes += more;
    }
    Ok(Mix {
        traffic: Traffic {
            cycles,
            time: None,
            ..one.traffic
        },
        layers,
    })
}

/// Bytes per reading by layer, of a device's whole life in the cell.
fn layers(cell: &Cell, messages: u64) -> [f64; 5] {
    let sections = [&cell.connect, &cell.message, &cell.keep_alive, &cell.close];
    let sections = || sections.iter().copied().flatten();
    Layer::ALL.map(|layer| {
        let bytes = sections().map(|section| pick(&section.up, layer).sum + pick(&section.down, layer).sum);
        bytes.sum::<u64>() as f64 / messages as f64
    })
}

const fn pick(bytes: &Bytes, layer: Layer) -> &Count {
    match layer {
        Layer::Ip => &bytes.ip,
        Layer::Transport => &bytes.transport,
        Layer::Security => &bytes.security,
        Layer::Application => &bytes.application,
        Layer::Payload => &bytes.payload,
    }
}
