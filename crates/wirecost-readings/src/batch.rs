//! A batch of readings as the payload of a message.

use std::fmt;

use crate::compression::Compression;
use crate::encoding::Encoding;
use crate::reading::series;

/// The most readings of a message: 69 days of one reading per minute.
pub const MOST_READINGS: u32 = 100_000;
/// The largest batch up to which [`saves_from`] looks.
const LARGEST_COMPARED: u32 = 200;

/// The batches, each with one reading more, that must all become smaller at the border: a single one may by chance.
const IN_A_ROW: u32 = 5;

/// The readings of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Batch {
    /// How many, from 1 to [`MOST_READINGS`].
    pub readings: u32,
    /// Their encoding.
    pub encoding: Encoding,
    /// The compression of the encoded readings.
    pub compression: Compression,
}

impl Batch {
    /// The payload that follows from `seed`.
    pub fn payload(self, seed: u64) -> Vec<u8> {
        self.compression.compressed(self.encoded(seed))
    }

    /// The same before compression.
    pub fn encoded(self, seed: u64) -> Vec<u8> {
        self.encoding.encoded(&series(seed, self.readings))
    }
}

impl Default for Batch {
    /// One reading in JSON.
    fn default() -> Self {
        Self {
            readings: 1,
            encoding: Encoding::default(),
            compression: Compression::default(),
        }
    }
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.readings == 1 { "" } else { "s" };
        write!(f, "{} reading{plural} in {}", self.readings, self.encoding)?;
        match self.compression {
            Compression::None => Ok(()),
            compression => write!(f, " with {compression}"),
        }
    }
}

/// The least number of readings from which on the compressed payload is smaller than the plain one, up to 200 readings; `None`
/// where it never is. Without compression there is nothing to save.
pub fn saves_from(encoding: Encoding, compression: Compression, seed: u64) -> Option<u32> {
    if compression == Compression::None {
        return None;
    }
    let series = series(seed, LARGEST_COMPARED + IN_A_ROW);
    let saves = |readings: u32| {
        let encoded = encoding.encoded(&series[..readings as usize]);
        let plain = encoded.len();
        compression.compressed(encoded).len() < plain
    };
    (1..=LARGEST_COMPARED).find(|readings| (*readings..*readings + IN_A_ROW).all(saves))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_batch_follows_from_its_seed() {
        for encoding in Encoding::ALL {
            for compression in Compression::ALL {
                let batch = Batch {
                    readings: 10,
                    encoding,
                    compression,
                };
                assert_eq!(batch.payload(42), batch.payload(42), "{batch}");
                assert_ne!(batch.payload(42), batch.payload(43), "{batch}");
            }
        }
    }

    #[test]
    fn compression_costs_bytes_below_its_border_and_saves_above() {
        for encoding in Encoding::ALL {
            for compression in [Compression::Gzip, Compression::Brotli, Compression::Zstd] {
                let from = saves_from(encoding, compression, 42).expect("a border");
                let bytes = |readings, compression| {
                    let batch = Batch {
                        readings,
                        encoding,
                        compression,
                    };
                    batch.payload(42).len()
                };
                assert!(
                    bytes(from, compression) < bytes(from, Compression::None),
                    "{encoding} {compression}"
                );
                let below = from - 1;
                assert!(
                    below == 0 || bytes(below, compression) >= bytes(below, Compression::None),
                    "{encoding} {compression} {from}"
                );
            }
        }
        assert_eq!(saves_from(Encoding::Json, Compression::None, 42), None);
    }

    #[test]
    fn a_batch_says_what_is_in_it() {
        assert_eq!(Batch::default().to_string(), "1 reading in json");
        let batch = Batch {
            readings: 10,
            encoding: Encoding::SenmlCbor,
            compression: Compression::Gzip,
        };
        assert_eq!(batch.to_string(), "10 readings in senml-cbor with gzip");
    }
}
