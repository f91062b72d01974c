//! A part of the cells or loads of a scenario, chosen by a hash of their keys. The hash is the same on every machine,
//! so that shards need no coordination. Or a part of the devices of a load, by their numbers.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use wirecost_proto::random::key_of;

/// The `index`th of `of` parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    of: u32,
}

/// A text that is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a shard: write 2/8 for the second of eight")]
pub struct NoShard(String);

impl Shard {
    /// The `index`th of `of` parts, from 1; `None` if there is no such part.
    pub const fn new(index: u32, of: u32) -> Option<Self> {
        if index == 0 || index > of {
            return None;
        }
        Some(Self { index, of })
    }

    /// The number of this part, from 0, and how many there are.
    pub const fn place(self) -> [u32; 2] {
        [self.index - 1, self.of]
    }

    /// The numbers below `all` in this part. Exactly one part holds each, and their counts differ by 1 at most.
    pub fn range(self, all: u32) -> Range<u32> {
        let upto = |part: u32| (u64::from(all) * u64::from(part) / u64::from(self.of)) as u32;
        upto(self.index - 1)..upto(self.index)
    }

    /// Whether this part holds the key. Exactly one part holds each key.
    pub fn holds(self, key: &str) -> bool {
        key_of(key) % u64::from(self.of) == u64::from(self.index - 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let number = |text: &str| text.parse().ok();
        let parts = text
            .split_once('/')
            .and_then(|(index, of)| number(index).zip(number(of)));
        parts
            .and_then(|(index, of)| Self::new(index, of))
            .ok_or_else(|| NoShard(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_exactly_one_shard() {
        for of in [1, 2, 3, 8] {
            let shards: Vec<Shard> = (1..=of).filter_map(|index| Shard::new(index, of)).collect();
            let mut sizes = vec![0; shards.len()];
            for number in 0..1_000_u64 {
                let key = format!("{number:016x}");
                let holding: Vec<usize> = (0..shards.len())
                    .filter(|shard| shards[*shard].holds(&key))
                    .collect();
                assert_eq!(holding.len(), 1, "{key} of {of}");
                sizes[holding[0]] += 1;
            }
            // A binomial count of 1,000 keys, eight standard deviations wide.
            let (mean, share) = (1_000.0 / f64::from(of), 1.0 / f64::from(of));
            let width = 8.0 * (mean * (1.0 - share)).sqrt();
            assert!(
                sizes.iter().all(|size| (f64::from(*size) - mean).abs() <= width),
                "{sizes:?}"
            );
        }
    }

    #[test]
    fn every_number_is_in_exactly_one_shard() {
        for (all, of) in [(10_000_000, 8), (10, 3), (3, 3), (u32::MAX, 7)] {
            let ranges = (1..=of).filter_map(|index| Shard::new(index, of));
            let ranges: Vec<Range<u32>> = ranges.map(|shard| shard.range(all)).collect();
            let ends = ranges.windows(2).map(|pair| pair[0].end == pair[1].start);
            assert!(ends.into_iter().all(|meets| meets), "{ranges:?}");
            assert_eq!([ranges[0].start, ranges[ranges.len() - 1].end], [0, all]);
            let sizes: Vec<u32> = ranges.iter().map(|range| range.end - range.start).collect();
            assert!(sizes.iter().all(|size| size - all / of <= 1), "{sizes:?}");
        }
    }

    #[test]
    fn a_shard_is_read_as_it_is_written() {
        assert_eq!(
            "2/8".parse::<Shard>().map(|shard| shard.to_string()),
            Ok("2/8".into())
        );
        for text in ["0/2", "3/2", "2", "a/b", "1/0", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
