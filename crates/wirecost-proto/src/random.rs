//! Random numbers as a function of (seed, cell key, host, direction, index), independent of threads and call order.

use crate::Direction;

/// A stream of pseudo-random numbers: the n-th one is a pure function of the stream's key and n.
///
/// The generator is SplitMix64 (Steele, Lea, Flood 2014) over a mixed key: a counter walks in steps of an odd
/// constant and a bijective mixer scatters it. Do not use it for secrets.
///
/// ```
/// use wirecost_proto::Rng;
///
/// let mut one = Rng::new(42).host(7);
/// let mut two = Rng::new(42).host(7);
/// assert_eq!(one.next_u64(), two.next_u64());
/// assert_ne!(one.next_u64(), Rng::new(42).host(8).next_u64());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng {
    key: u64,
    index: u64,
}

/// 2^64 divided by the golden ratio, made odd: SplitMix64's increment.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// The stream of a run's seed.
    pub const fn new(seed: u64) -> Self {
        Self {
            key: mix(seed ^ 0x7769_7265_636f_7374),
            index: 0,
        }
    }

    /// The stream of a cell within this stream. `key` is the cell's key, the same on every machine.
    pub const fn cell(self, key: u64) -> Self {
        self.derive(1, key)
    }

    /// The stream of a host within this stream.
    pub const fn host(self, host: u64) -> Self {
        self.derive(2, host)
    }

    /// The stream of one direction within this stream.
    pub const fn direction(self, direction: Direction) -> Self {
        self.derive(3, direction as u64)
    }

    /// The stream of one purpose within this stream (loss, delay variation, message ids, ...).
    pub const fn purpose(self, purpose: u64) -> Self {
        self.derive(4, purpose)
    }

    const fn derive(self, kind: u64, value: u64) -> Self {
        let key = mix(self.key ^ mix(value.wrapping_add(kind.wrapping_mul(GOLDEN_GAMMA))));
        Self { key, index: 0 }
    }

    /// The `index`-th number of the stream, independent of the numbers drawn before.
    pub const fn at(&self, index: u64) -> u64 {
        mix(self
            .key
            .wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
    }

    /// The next number of the stream.
    pub const fn next_u64(&mut self) -> u64 {
        let value = self.at(self.index);
        self.index = self.index.wrapping_add(1);
        value
    }

    /// The next number, uniform in [0, 1), a multiple of 2^-53.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next number, uniform in [0, `bound`) up to a bias of `bound` / 2^64; 0 where `bound` is 0.
    pub const fn next_below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// The next standard normal number (Box-Muller, cosine branch; two draws each).
    pub fn next_normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.next_f64()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.next_f64())
    }

    /// The next exponential number of mean 1 (inverse transform).
    pub fn next_exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.next_f64())
    }

    /// Fills `bytes` from the stream: the seeded pseudo-random payload.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let value = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&value[..chunk.len()]);
        }
    }

    /// Puts `items` into a random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next_below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

/// SplitMix64's finalizer: a bijection in which every input bit flips every output bit with probability 1/2.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stable 64-bit hash of a text (FNV-1a, mixed): the key of a cell from its name.
pub const fn key_of(text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    mix(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn call_order_does_not_matter() {
        let stream = Rng::new(1).cell(2).host(3).direction(Direction::Up);
        let mut walked = stream;
        let sequence: Vec<u64> = (0..100).map(|_| walked.next_u64()).collect();
        let jumped: Vec<u64> = (0..100).rev().map(|index| stream.at(index)).rev().collect();
        assert_eq!(sequence, jumped);
    }

    #[test]
    fn streams_of_neighbours_differ() {
        let base = Rng::new(9);
        assert_ne!(base.host(1).at(0), base.cell(1).at(0));
        assert_ne!(
            base.direction(Direction::Up).at(0),
            base.direction(Direction::Down).at(0)
        );
    }

    #[test]
    fn uniform_numbers_have_the_moments_of_a_uniform_distribution() {
        let mut rng = Rng::new(5);
        let n = 100_000;
        let numbers: Vec<f64> = (0..n).map(|_| rng.next_f64()).collect();
        let mean = numbers.iter().sum::<f64>() / f64::from(n);
        // Standard error of the mean is sqrt(1/12/n) = 0.0009; five of them.
        assert!((mean - 0.5).abs() < 0.0046, "mean {mean}");
        assert!(numbers.iter().all(|x| (0.0..1.0).contains(x)));
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut rng = Rng::new(6);
        let n = 100_000;
        let numbers: Vec<f64> = (0..n).map(|_| rng.next_normal()).collect();
        let mean = numbers.iter().sum::<f64>() / f64::from(n);
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 5.0 / 316.0, "mean {mean}");
        // The standard error of the variance is sqrt(2/n) = 0.0045; five of them.
        assert!((variance - 1.0).abs() < 0.0224, "variance {variance}");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Rng::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
