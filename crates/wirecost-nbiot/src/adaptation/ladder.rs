//! The formats of a direction and a number of tones, and what each needs.

use std::collections::BTreeSet;

/// Formats in the order in which they are tried, with what each needs.
#[derive(Clone, Debug)]
pub(super) struct Ladder<Format> {
    formats: Vec<Format>,
    needed_db: Vec<Option<f64>>,
    /// The sizes of blocks, smallest first, each with the formats of this size and larger ones that were considered.
    sizes: Vec<(u16, Considered)>,
    target: f64,
}

/// Of the formats of a ladder that are large enough, those that need less than all before them: another one is never chosen.
#[derive(Clone, Debug, Default)]
struct Considered {
    /// What each needs, and its place in the ladder.
    best: Vec<(f64, usize)>,
    /// Formats of the ladder that were looked at.
    count: usize,
}

impl<Format: Copy> Ladder<Format> {
    pub(super) fn new(formats: Vec<Format>, bits: fn(&Format) -> u16, target: f64) -> Self {
        let sizes: BTreeSet<u16> = formats.iter().map(bits).collect();
        Self {
            sizes: sizes
                .into_iter()
                .map(|size| (size, Considered::default()))
                .collect(),
            needed_db: vec![None; formats.len()],
            formats,
            target,
        }
    }

    /// The first format for `bits` bits that needs no more than `sinr_db`, or else the one that needs least; with what it needs beyond.
    pub(super) fn choose(
        &mut self,
        bits: u32,
        sinr_db: f64,
        size: fn(&Format) -> u16,
        needed_db: impl Fn(&Format, f64) -> f64,
    ) -> (f64, Format) {
        let at = self.sizes.partition_point(|(size, _)| u32::from(*size) < bits);
        let at = at.min(self.sizes.len() - 1);
        let (bits, considered) = &mut self.sizes[at];
        let meets = considered.best.partition_point(|(needed, _)| *needed > sinr_db);
        if let Some((_, place)) = considered.best.get(meets) {
            return (0.0, self.formats[*place]);
        }
        for (place, format) in self.formats.iter().enumerate().skip(considered.count) {
            considered.count = place + 1;
            if size(format) < *bits {
                continue;
            }
            let needed = *self.needed_db[place].get_or_insert_with(|| needed_db(format, self.target));
            if considered.best.last().is_none_or(|(least, _)| needed < *least) {
                considered.best.push((needed, place));
            }
            if needed <= sinr_db {
                return (0.0, *format);
            }
        }
        let (least, place) = *considered.best.last().expect("a format of every size");
        (least - sinr_db, self.formats[place])
    }

    /// The format with the highest rate in bits per subframe that needs no more than `sinr_db`, with its rate. `size` is bits and
    /// subframes of a format.
    pub(super) fn fastest(
        &mut self,
        sinr_db: f64,
        size: fn(&Format) -> (u16, u64),
        needed_db: impl Fn(&Format, f64) -> f64,
    ) -> Option<(f64, Format)> {
        let rate = |format: &Format| {
            let (bits, subframes) = size(format);
            f64::from(bits) / subframes as f64
        };
        let mut order: Vec<usize> = (0..self.formats.len()).collect();
        order.sort_by(|one, other| rate(&self.formats[*other]).total_cmp(&rate(&self.formats[*one])));
        let target = self.target;
        let meets = |index: &usize| {
            let format = self.formats[*index];
            *self.needed_db[*index].get_or_insert_with(|| needed_db(&format, target)) <= sinr_db
        };
        let index = order.into_iter().find(meets)?;
        Some((rate(&self.formats[index]), self.formats[index]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OperationMode;
    use crate::npdsch::NpdschFormat;
    use wirecost_proto::Rng;

    /// Of a random order of questions each has the answer that looking at every format gives.
    #[test]
    fn the_shortest_format_that_meets_the_target_is_chosen_whatever_was_asked_before() {
        let size = |format: &NpdschFormat| format.bits;
        let needed_db = |format: &NpdschFormat, _: f64| {
            let [bits, subframes] = [format.bits, format.subframes].map(f64::from);
            bits / 40.0 - subframes - 3.0 * f64::from(format.repetitions.ilog2())
        };
        let formats = NpdschFormat::all(OperationMode::StandAlone);
        let mut ladder = Ladder::new(formats.clone(), size, 0.1);
        let mut rng = Rng::new(3);
        for _ in 0..2_000 {
            let (bits, sinr) = (rng.next_below(720) as u32, 90.0 * rng.next_f64() - 60.0);
            let large = formats
                .iter()
                .filter(|format| u32::from(format.bits) >= bits.min(680));
            let needed = large.map(|format| (needed_db(format, 0.1), *format));
            let expected = needed.clone().find(|(needed, _)| *needed <= sinr);
            let expected = expected.map(|(_, format)| (0.0, format)).or_else(|| {
                let least = needed.min_by(|(one, _), (other, _)| one.total_cmp(other));
                least.map(|(least, format)| (least - sinr, format))
            });
            assert_eq!(Some(ladder.choose(bits, sinr, size, needed_db)), expected);
        }
    }
}
