//! The ranking of cells in a column. A cell competes with those of its engine and its kind of protection, and times that
//! end with an answer compete apart from times that end with arrival.

use wirecost_results::Cell;

use super::{Column, ends_with_arrival};
use crate::names::{is_modelled, is_secured};

/// The rank of a cell in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// No value is better, and some are significantly worse.
    Best,
    /// Another value is better, but the intervals overlap; some values are significantly worse.
    Inseparable,
    /// No competing value differs significantly from another one, so none of them is the best.
    Alike,
    /// Another value is better.
    Behind,
    /// Unknown: there are too few samples for an interval.
    Unsure,
    /// Not compared: no value, or an invalid cell.
    Unranked,
}

/// A ranked cell with the 95 % interval of its value. An exact value has none.
pub(crate) type Entry<'a> = (&'a Cell, Option<[f64; 2]>);

/// The interval of a mean from too few samples: any value is possible.
pub(crate) const ANYTHING: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

impl Rank {
    /// Whether the value is the best, or does not differ significantly from it.
    pub(crate) const fn is_among_the_best(self) -> bool {
        matches!(self, Self::Best | Self::Inseparable)
    }
}

impl Column {
    /// Ranks the cells. Invalid cells and times without an interval are not ranked.
    pub(crate) fn ranks(self, cells: &[&Cell]) -> Vec<Rank> {
        let entries: Vec<Entry<'_>> = cells.iter().map(|cell| (*cell, self.interval(cell))).collect();
        self.ranks_within(&entries)
    }

    /// Like [`Self::ranks`], with intervals from another source than the summary.
    pub(crate) fn ranks_within(self, entries: &[Entry<'_>]) -> Vec<Rank> {
        let ranks: Vec<Rank> = entries.iter().map(|entry| self.rank(*entry, entries)).collect();
        let differs = |cell: &Cell| {
            let rivals = entries.iter().zip(&ranks);
            rivals
                .filter(|((rival, _), _)| self.competes(cell, rival))
                .any(|(_, rank)| *rank == Rank::Behind)
        };
        let ranked = entries.iter().zip(&ranks);
        ranked
            .map(
                |((cell, _), rank)| match rank.is_among_the_best() && !differs(cell) {
                    true => Rank::Alike,
                    false => *rank,
                },
            )
            .collect()
    }

    fn rank(self, (cell, interval): Entry<'_>, entries: &[Entry<'_>]) -> Rank {
        let Some(value) = self.comparable(cell) else {
            return Rank::Unranked;
        };
        if self.is_noisy() && interval.is_none() {
            return Rank::Unsure;
        }
        let rivals = entries.iter().filter(|(rival, _)| self.competes(cell, rival));
        let Some((best, rival)) = rivals
            .filter(|(_, interval)| !self.is_noisy() || interval.is_some())
            .filter_map(|(rival, interval)| Some((self.comparable(rival)?, *interval)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
        else {
            return Rank::Unranked;
        };
        if value <= best {
            return Rank::Best;
        }
        match (interval, rival) {
            (Some(own), Some(best)) if overlap(own, best) => Rank::Inseparable,
            _ => Rank::Behind,
        }
    }

    /// The value, negated if more is better.
    fn comparable(self, cell: &Cell) -> Option<f64> {
        let value = self.value(cell).filter(|_| self.is_comparable(cell))?;
        Some(if self == Self::Goodput { -value } else { value })
    }

    fn competes(self, cell: &Cell, rival: &Cell) -> bool {
        let alike = !self.depends_on_response() || ends_with_arrival(cell) == ends_with_arrival(rival);
        alike && is_modelled(cell) == is_modelled(rival) && is_secured(cell) == is_secured(rival)
    }
}

/// Whether two intervals have a value in common.
pub(crate) fn overlap(a: [f64; 2], b: [f64; 2]) -> bool {
    a[0] <= b[1] && b[0] <= a[1]
}
