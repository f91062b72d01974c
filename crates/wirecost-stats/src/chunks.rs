//! The counts of an HDR histogram, in chunks. Only chunks with a count take memory.
//!
//! A histogram of durations has 27,000 places, and the values of one second use a few hundred of them. The places are those of
//! HdrHistogram with 3 digits and units of 1: values below 2,048 have one each, and each further power of two has 1,024.

/// The number of bits of a value that select its place within a power of two.
const PLACE_BITS: u32 = 10;
/// The number of places in a chunk.
const CHUNK: usize = 256;

/// Counts of values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    /// In the order of their places; `None` for a chunk without counts.
    chunks: Vec<Option<Box<[u64; CHUNK]>>>,
    total: u64,
}

impl Chunks {
    /// Counts a value `times` times.
    #[inline]
    pub(crate) fn record(&mut self, value: u64, times: u64) {
        let place = place_of(value);
        let count = &mut self.chunk(place / CHUNK)[place % CHUNK];
        *count = count.saturating_add(times);
        self.total = self.total.saturating_add(times);
    }

    #[inline]
    fn chunk(&mut self, number: usize) -> &mut [u64; CHUNK] {
        if self.chunks.len() <= number {
            self.chunks.resize(number + 1, None);
        }
        self.chunks[number].get_or_insert_with(|| Box::new([0; CHUNK]))
    }

    /// Adds the counts of `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        for (number, chunk) in other.chunks.iter().enumerate() {
            let Some(chunk) = chunk else { continue };
            for (sum, count) in self.chunk(number).iter_mut().zip(chunk.iter()) {
                *sum = sum.saturating_add(*count);
            }
        }
        self.total = self.total.saturating_add(other.total);
    }

    /// The number of counted values.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// Each place with a count, in ascending order.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = Recorded> {
        let chunks = self.chunks.iter().enumerate();
        let chunks = chunks.filter_map(|(number, chunk)| Some((number, chunk.as_ref()?)));
        chunks
            .flat_map(|(number, chunk)| (number * CHUNK..).zip(chunk.iter()))
            .filter(|(_, count)| **count > 0)
            .map(|(place, count)| Recorded {
                value: value_of(place),
                times: *count,
            })
    }
}

/// A place with a count: the values that share it, and how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The smallest value of the place.
    pub(crate) value: u64,
    /// The number of counted values.
    pub(crate) times: u64,
}

impl Recorded {
    /// The largest value of the place.
    pub(crate) const fn largest(self) -> u64 {
        self.value + (self.values() - 1)
    }

    /// The value in the middle of the place, by which means are computed.
    pub(crate) const fn middle(self) -> u64 {
        self.value + self.values() / 2
    }

    /// The number of values that share the place.
    const fn values(self) -> u64 {
        1 << shift_of(self.value)
    }
}

/// The place of a value: after the places of all smaller powers of two, by its 11 leading bits.
pub(crate) const fn place_of(value: u64) -> usize {
    let shift = shift_of(value);
    ((shift as usize) << PLACE_BITS) + (value >> shift) as usize
}

/// The number of bits of a value that its place does not tell apart.
const fn shift_of(value: u64) -> u32 {
    (u64::BITS - 1 - PLACE_BITS).saturating_sub(value.leading_zeros())
}

/// The smallest value of a place.
pub(crate) const fn value_of(place: usize) -> u64 {
    let shift = (place >> PLACE_BITS).saturating_sub(1);
    ((place - (shift << PLACE_BITS)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_that_of_its_smallest_value() {
        for place in 0..40_000 {
            let (value, next) = (value_of(place), value_of(place + 1));
            assert_eq!((place_of(value), place_of(next - 1)), (place, place));
            assert!(next - value <= (value / 1_024).max(1), "{value}");
        }
        assert_eq!(value_of(place_of(u64::MAX)), 0x7ff << 53);
    }

    #[test]
    fn what_is_recorded_comes_back_in_order() {
        let mut chunks = Chunks::default();
        let values = [5_000_000, 0, 2_047, 7, 5_000_001, 60_000_000_000];
        values.iter().for_each(|value| chunks.record(*value, 2));
        let mut others = Chunks::default();
        others.record(7, 1);
        others.record(1 << 40, 1);
        chunks.add(&others);
        assert_eq!(chunks.total(), 14);
        let recorded: Vec<(u64, u64)> = chunks.recorded().map(|at| (at.value, at.times)).collect();
        let place = |value| value_of(place_of(value));
        let expected = [
            (0, 2),
            (7, 3),
            (2_047, 2),
            (place(5_000_000), 4),
            (place(60_000_000_000), 2),
            (1 << 40, 1),
        ];
        assert_eq!(recorded, expected);
        let places: Vec<u64> = chunks.recorded().map(|at| at.largest()).collect();
        assert_eq!(places[..3], [0, 7, 2_047]);
        assert_eq!(places[5], value_of(place_of(1 << 40) + 1) - 1);
    }
}
