//! What the readings of a capture cost over each stack.

use wirecost_account::Way;
use wirecost_proto::Layer;
use wirecost_results::summary::{Bytes, Count};
use wirecost_results::{Cell, Summary};

use super::today::Today;

/// What the readings cost over a stack.
pub struct Row {
    /// Its name.
    pub stack: String,
    /// How it uses its connections.
    pub way: String,
    /// Bytes of IP packets per reading by layer, both ways, or why there are none.
    pub layers: Result<[f64; 5], String>,
}

impl Row {
    /// Bytes of IP packets per reading, both ways.
    pub fn bytes(&self) -> Option<f64> {
        self.layers.as_ref().ok().map(|layers| layers.iter().sum())
    }
}

/// A row for each stack and way: the mean over the sizes, each weighed with its readings. Without a connection both ways are the
/// same, and the one with more readings stands.
pub fn rows(today: &Today, summary: &Summary) -> Vec<Row> {
    let mut cells: Vec<(String, &Cell)> = Vec::new();
    for cell in &summary.cells {
        let way = Way::of(cell).to_string();
        let is_twin = |(other_way, other): &(String, &Cell)| {
            (&other.stack, other.payload_bytes, other_way) == (&cell.stack, cell.payload_bytes, &way)
        };
        match cells.iter().position(is_twin) {
            Some(twin) => cells[twin] = (way, cell),
            None => cells.push((way, cell)),
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for (way, cell) in cells {
        let readings = today.sizes.iter().find(|(size, _)| *size == cell.payload_bytes);
        let share = readings.map_or(0.0, |(_, readings)| *readings as f64 / today.readings as f64);
        let layers = layers(cell).map(|layers| layers.map(|bytes| bytes * share));
        let same = rows
            .iter_mut()
            .find(|row| row.stack == cell.stack && row.way == way);
        match same {
            Some(row) => row.add(layers),
            None => rows.push(Row {
                stack: cell.stack.clone(),
                way,
                layers,
            }),
        }
    }
    rows
}

impl Row {
    fn add(&mut self, more: Result<[f64; 5], String>) {
        match (&mut self.layers, more) {
            (Ok(layers), Ok(more)) => {
                for (bytes, more) in layers.iter_mut().zip(more) {
                    *bytes += more;
                }
            }
            (Ok(_), Err(why)) => self.layers = Err(why),
            (Err(_), _) => {}
        }
    }
}

/// Bytes per reading by layer, of a device's whole life in the cell.
fn layers(cell: &Cell) -> Result<[f64; 5], String> {
    let messages = cell.message.as_ref().map_or(0, |message| message.samples);
    if messages == 0 {
        let why = cell.not_run.clone();
        return Err(why.unwrap_or_else(|| "the device did not finish".to_owned()));
    }
    let sections = [&cell.connect, &cell.message, &cell.keep_alive, &cell.close];
    let sections = || sections.iter().copied().flatten();
    Ok(Layer::ALL.map(|layer| {
        let bytes = sections().map(|section| of(&section.up, layer).sum + of(&section.down, layer).sum);
        bytes.sum::<u64>() as f64 / messages as f64
    }))
}

const fn of(bytes: &Bytes, layer: Layer) -> &Count {
    match layer {
        Layer::Ip => &bytes.ip,
        Layer::Transport => &bytes.transport,
        Layer::Security => &bytes.security,
        Layer::Application => &bytes.application,
        Layer::Payload => &bytes.payload,
    }
}
