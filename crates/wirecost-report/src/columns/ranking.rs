//! The ranking of cells in a column: what the samples tell of each cell beside the best one. A cell competes with those of its engine
//! and its kind of protection, and times that end with an answer compete apart from times that end with arrival.

use wirecost_results::Cell;
use wirecost_stats::{Estimate, Judgement};

use super::{Column, ends_with_arrival};
use crate::names::{is_modelled, is_secured};

pub(crate) use wirecost_stats::estimate::{NO_DIFFERENCE, TOO_FEW_SAMPLES};

/// The meaning of the mark of [`Rank::Alike`].
pub(crate) const ALIKE_MEANS: &str = "no difference of note from the best (below 5 %, by the 95 % intervals)";
/// The meaning of the mark of [`Rank::TooFew`].
pub(crate) const TOO_FEW_MEANS: &str = "too few samples to tell it from the best";

/// The rank of a cell in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// No value can be better, and some are worse.
    Best,
    /// No difference of note from the best; some are worse.
    Alike,
    /// No competing value differs from another one by a difference of note, so that none of them is the best.
    AllAlike,
    /// Another value is better.
    Behind,
    /// The samples are too few to tell it from the best.
    TooFew,
    /// Not compared: no value, or an invalid cell.
    Unranked,
}

impl Rank {
    /// Whether the value is the best, or does not differ from it by a difference of note.
    pub(crate) const fn is_among_the_best(self) -> bool {
        matches!(self, Self::Best | Self::Alike)
    }
}

/// What a column tells of cells that compete. Each list has the least value first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Contest<'a> {
    /// No cell has a value.
    Nothing,
    /// The best and those without a difference of note from it.
    Best(Vec<&'a Cell>),
    /// None of them differs from another one by a difference of note.
    NoDifference(Vec<&'a Cell>),
    /// The samples do not tell which of them is the best.
    TooFew(Vec<&'a Cell>),
}

impl Column {
    /// Ranks the cells. Invalid cells are not ranked. None is the best while the samples of another one do not tell it from that one.
    pub(crate) fn ranks(self, cells: &[&Cell]) -> Vec<Rank> {
        let ranks: Vec<Rank> = cells.iter().map(|cell| self.rank(cell, cells)).collect();
        let any = |cell: &Cell, wanted: Rank| {
            let rivals = cells.iter().zip(&ranks);
            rivals
                .filter(|(rival, _)| self.competes(cell, rival))
                .any(|(_, rank)| *rank == wanted)
        };
        let settled = |(cell, rank): (&&Cell, &Rank)| match rank {
            Rank::Best | Rank::Alike if any(cell, Rank::TooFew) => Rank::TooFew,
            Rank::Best | Rank::Alike if any(cell, Rank::Behind) => *rank,
            // A mark on every row tells nothing.
            Rank::Best | Rank::Alike => Rank::AllAlike,
            Rank::AllAlike | Rank::Behind | Rank::TooFew | Rank::Unranked => *rank,
        };
        cells.iter().zip(&ranks).map(settled).collect()
    }

    /// What the column tells of the cells, all of which compete.
    pub(crate) fn contest<'a>(self, cells: &[&'a Cell]) -> Contest<'a> {
        let mut ranked: Vec<(&Cell, Rank)> = cells.iter().copied().zip(self.ranks(cells)).collect();
        let value = |cell: &Cell| self.comparable(cell).map_or(f64::NAN, |estimate| estimate.value);
        ranked.sort_by(|(a, _), (b, _)| value(a).total_cmp(&value(b)));
        let of = |wanted: &[Rank]| -> Vec<&Cell> {
            let chosen = ranked.iter().filter(|(_, rank)| wanted.contains(rank));
            chosen.map(|(cell, _)| *cell).collect()
        };
        if !of(&[Rank::TooFew]).is_empty() {
            return Contest::TooFew(of(&[Rank::Best, Rank::Alike, Rank::TooFew]));
        }
        match (of(&[Rank::Best, Rank::Alike]), of(&[Rank::AllAlike])) {
            (best, _) if !best.is_empty() => Contest::Best(best),
            (_, alike) if alike.is_empty() => Contest::Nothing,
            // One competitor alone has nothing beside it.
            (_, alike) if alike.len() == 1 => Contest::Best(alike),
            (_, alike) => Contest::NoDifference(alike),
        }
    }

    fn rank(self, cell: &Cell, cells: &[&Cell]) -> Rank {
        let Some(own) = self.comparable(cell) else {
            return Rank::Unranked;
        };
        let rivals = cells.iter().filter(|rival| self.competes(cell, rival));
        let best = rivals
            .filter_map(|rival| self.comparable(rival))
            // Without an interval nothing can be said to be behind it.
            .filter(|rival| rival.known_interval().is_some())
            .min_by(|a, b| a.value.total_cmp(&b.value));
        match best {
            Some(best) if own.known_interval().is_some() && own.value <= best.value => Rank::Best,
            Some(best) => match best.against(&own) {
                Judgement::Less => Rank::Behind,
                Judgement::Equal | Judgement::Alike | Judgement::More => Rank::Alike,
                Judgement::TooFew => Rank::TooFew,
            },
            None => Rank::TooFew,
        }
    }

    /// The value, negated if more is better.
    fn comparable(self, cell: &Cell) -> Option<Estimate> {
        let estimate = self.estimate(cell).filter(|_| self.is_comparable(cell))?;
        Some(if self == Self::Goodput {
            estimate.scaled(-1.0)
        } else {
            estimate
        })
    }

    fn competes(self, cell: &Cell, rival: &Cell) -> bool {
        let alike = !self.depends_on_response() || ends_with_arrival(cell) == ends_with_arrival(rival);
        alike && is_modelled(cell) == is_modelled(rival) && is_secured(cell) == is_secured(rival)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wirecost_results::summary::{Section, Times};

    use super::*;

    fn cell((mean, ci95): (f64, Option<[f64; 2]>)) -> Cell {
        let times = Times {
            mean,
            ci95,
            ..Times::default()
        };
        Cell {
            stack: "coap-con".into(),
            valid: true,
            message: Some(Section {
                response_time_ns: Some(times),
                ..Section::default()
            }),
            ..Cell::default()
        }
    }

    #[test]
    fn none_is_the_best_while_the_samples_do_not_tell_another_one_from_it() {
        let known = |mean: f64| (mean, Some([mean - 1.0, mean + 1.0]));
        let cells = [known(100.0), known(200.0), (105.0, None)].map(cell);
        let cells: Vec<&Cell> = cells.iter().collect();
        let ranks = Column::Mean.ranks(&cells);
        assert_eq!(ranks, [Rank::TooFew, Rank::Behind, Rank::TooFew]);
        assert_eq!(
            Column::Mean.contest(&cells),
            Contest::TooFew(vec![cells[0], cells[2]])
        );
    }

    proptest! {
        #[test]
        fn a_column_marks_the_best_where_its_contest_has_one(
            values in proptest::collection::vec((100.0..200.0_f64, proptest::option::of(0.0..20.0_f64)), 2..6)
        ) {
            let with_ends = |(mean, half): (f64, Option<f64>)| (mean, half.map(|half| [mean - half, mean + half]));
            let cells: Vec<Cell> = values.into_iter().map(with_ends).map(cell).collect();
            let cells: Vec<&Cell> = cells.iter().collect();
            let is_marked = Column::Mean.ranks(&cells).iter().any(|rank| rank.is_among_the_best());
            let has_best = matches!(Column::Mean.contest(&cells), Contest::Best(_));
            prop_assert_eq!(is_marked, has_best);
        }
    }
}
