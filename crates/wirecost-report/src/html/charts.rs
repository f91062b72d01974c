//! The charts of the report of a comparison, once for each group of cells that is drawn.
//!
//! A new one is a file beside these with a `Chart`, and its lines here.

pub(crate) mod bars;
pub(crate) mod break_even;
pub(crate) mod causes;
pub(crate) mod curves;

use wirecost_results::Summary;

use super::samples::Samples;
use super::shown::{Chart, Subject};
use crate::groups::Group;

/// The charts, in the order of the page.
pub(super) const CHARTS: &[Chart<Drawn>] = &[
    bars::MESSAGE,
    bars::CONNECTION,
    break_even::BYTES,
    break_even::TIME,
    curves::LATENCY,
    curves::TAIL,
    causes::CAUSES,
];

/// A group of cells whose figures are drawn.
pub(crate) struct Drawn;

impl Subject for Drawn {
    type Of<'a> = OfGroup<'a>;
}

/// What the charts of a group are made of.
pub(crate) struct OfGroup<'a> {
    /// The cells of the engine that is drawn.
    pub(super) group: Group<'a>,
    pub(super) summary: &'a Summary,
    pub(super) samples: &'a Samples<'a>,
}
