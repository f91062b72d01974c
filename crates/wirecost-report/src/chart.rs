//! The kit of all charts: scales and their ticks, frames with axes, lines, bars, and the writer of SVG below them.
//!
//! - [`Scale`]: from a value to its place, and the round numbers at an axis
//! - [`plot`]: two axes with shades between them; [`lines`]: what most charts are, curves in such a frame, described as data
//! - `bars`: stacked bars beside their names
//! - [`strip`]: one axis with a bound, an interval and a number
//! - `down`: time downwards between two hosts, with the arrows of packets
//! - `svg`: elements, escaped text, and labels that do not overlap
//!
//! A new chart fills one of these descriptions and calls [`Figure::new`]. Its name, its description for screen readers, its
//! colours on light and dark pages and its file of its own (`standalone`) follow from that.

pub(crate) mod bars;
pub(crate) mod down;
pub(crate) mod ends;
pub mod lines;
pub mod plot;
mod scale;
pub mod strip;
pub(crate) mod svg;

use serde::Serialize;

pub use scale::{Scale, range};

/// The widths of every figure in CSS pixels: for a desktop and paper, and for a phone.
const WIDTHS: [f64; 2] = [680.0, 372.0];
/// Below this width, names stand above what they name instead of beside it.
const NARROW: f64 = 500.0;

/// A figure in both widths, of which the style sheet shows one, and its data as CSV.
#[derive(Serialize)]
pub struct Figure {
    wide: String,
    narrow: String,
    /// Its data as CSV.
    pub data: String,
}

impl Figure {
    /// What `draw` makes of each width.
    pub fn new(draw: impl Fn(f64) -> String, data: String) -> Self {
        let [wide, narrow] = WIDTHS.map(draw);
        Self { wide, narrow, data }
    }
}
