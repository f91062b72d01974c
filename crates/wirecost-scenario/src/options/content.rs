//! What messages carry: pseudo-random bytes of a size, or readings of a sensor.

use std::fmt;
use std::sync::Arc;

use wirecost_proto::random::key_of;
use wirecost_proto::{ByteSize, Rng};
use wirecost_readings::{Batch, Compression, Encoding};
use wirecost_stack::media::{Media, Payload};

use crate::error::ScenarioError;
use crate::table::{Table, parsed, readings};

/// The keys of readings. Each is a dimension.
pub const READINGS_KEYS: [&str; 3] = ["readings", "encoding", "compression"];
/// More than a reading takes in any encoding, in bytes: a reading in SenML JSON takes about 150.
const READING_BYTES: u64 = 200;

/// What a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// Pseudo-random bytes of this length.
    Size(ByteSize),
    /// Readings of a sensor.
    Readings(Batch),
}

impl Content {
    /// The payload that follows from the seed of the run.
    pub fn payload(self, seed: u64) -> Payload {
        match self {
            Self::Size(size) => (&random(seed, size.bytes())).into(),
            Self::Readings(batch) => Payload {
                bytes: batch.payload(seed).into(),
                media: Media::from_batch(batch),
            },
        }
    }

    /// An upper bound of the payload's length in bytes.
    pub(crate) const fn most_bytes(self) -> u64 {
        match self {
            Self::Size(size) => size.bytes(),
            Self::Readings(batch) => batch.readings as u64 * READING_BYTES,
        }
    }

    /// The readings, if it has some.
    pub const fn batch(self) -> Option<Batch> {
        match self {
            Self::Size(_) => None,
            Self::Readings(batch) => Some(batch),
        }
    }

    /// Its dimensions with their values, as conditions name them.
    pub(crate) fn labels(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Size(size) => vec![("size", size.to_string())],
            Self::Readings(batch) => vec![
                ("readings", batch.readings.to_string()),
                ("encoding", batch.encoding.to_string()),
                ("compression", batch.compression.to_string()),
            ],
        }
    }
}

fn random(seed: u64, bytes: u64) -> Arc<[u8]> {
    let mut payload = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
    Rng::new(seed).purpose(key_of("payload")).fill(&mut payload);
    payload.into()
}

impl From<ByteSize> for Content {
    fn from(size: ByteSize) -> Self {
        Self::Size(size)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => size.fmt(f),
            Self::Readings(batch) => batch.fmt(f),
        }
    }
}

/// The contents of a matrix: sizes, or every combination of readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Sizes of payloads.
    Sizes(Vec<ByteSize>),
    /// Every combination of readings per message, encoding and compression.
    Readings(ReadingsLists),
}

/// The dimensions of readings. An empty list stands for its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadingsLists {
    /// Readings per message; 1 by default.
    pub readings: Vec<u32>,
    /// Encodings; JSON by default.
    pub encodings: Vec<Encoding>,
    /// Compressions; none by default.
    pub compressions: Vec<Compression>,
}

impl ReadingsLists {
    /// Whether one of the lists was given.
    pub const fn is_given(&self) -> bool {
        !(self.readings.is_empty() && self.encodings.is_empty() && self.compressions.is_empty())
    }

    /// Every combination: compressions within encodings within readings per message.
    pub fn batches(&self) -> Vec<Batch> {
        let or = |list: &[u32]| if list.is_empty() { vec![1] } else { list.to_vec() };
        let mut batches: Vec<Batch> = or(&self.readings)
            .into_iter()
            .map(|readings| Batch {
                readings,
                ..Batch::default()
            })
            .collect();
        batches = product(&batches, &self.encodings, |batch, encoding| {
            batch.encoding = encoding
        });
        product(&batches, &self.compressions, |batch, compression| {
            batch.compression = compression;
        })
    }

    /// The lists of a scenario.
    ///
    /// # Errors
    /// A value is none of its key.
    pub(crate) fn read(table: &Table<'_>) -> Result<Self, ScenarioError> {
        Ok(Self {
            readings: table.many("readings", readings)?,
            encodings: table.many("encoding", parsed)?,
            compressions: table.many("compression", parsed)?,
        })
    }
}

fn product<T: Copy>(batches: &[Batch], values: &[T], set: impl Fn(&mut Batch, T)) -> Vec<Batch> {
    if values.is_empty() {
        return batches.to_vec();
    }
    let with = |batch: &Batch| {
        let batch = *batch;
        let set = &set;
        values.iter().map(move |value| {
            let mut batch = batch;
            set(&mut batch, *value);
            batch
        })
    };
    batches.iter().flat_map(with).collect()
}

impl Contents {
    /// The contents, in the order of the matrix.
    pub fn each(&self) -> Vec<Content> {
        match self {
            Self::Sizes(sizes) => sizes.iter().map(|size| Content::Size(*size)).collect(),
            Self::Readings(lists) => lists.batches().into_iter().map(Content::Readings).collect(),
        }
    }

    /// The sizes; none where messages carry readings.
    pub(crate) fn sizes(&self) -> &[ByteSize] {
        match self {
            Self::Sizes(sizes) => sizes,
            Self::Readings(_) => &[],
        }
    }

    /// The lists of readings; `None` where messages carry pseudo-random bytes.
    pub(crate) const fn lists(&self) -> Option<&ReadingsLists> {
        match self {
            Self::Sizes(_) => None,
            Self::Readings(lists) => Some(lists),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Sizes(sizes) => sizes.len(),
            Self::Readings(lists) => {
                let or_default = |len: usize| len.max(1);
                or_default(lists.readings.len())
                    * or_default(lists.encodings.len())
                    * or_default(lists.compressions.len())
            }
        }
    }

    /// Readings where one of their lists is given, else sizes.
    pub fn from_lists(sizes: &[ByteSize], lists: &ReadingsLists) -> Self {
        match lists.is_given() {
            true => Self::Readings(lists.clone()),
            false => Self::Sizes(sizes.to_vec()),
        }
    }
}

/// Reads the contents of a scenario.
///
/// # Errors
/// A value is none of its key, or both a size and readings are given.
pub(crate) fn read(table: &Table<'_>) -> Result<Option<Contents>, ScenarioError> {
    let sizes: Vec<ByteSize> = table.many("size", parsed)?;
    let lists = ReadingsLists::read(table)?;
    if let Some(key) = READINGS_KEYS.into_iter().find(|key| table.get(key).is_some())
        && !sizes.is_empty()
    {
        return Err(table.error(
            "size",
            format!("{key} says what messages carry: leave out one of them"),
        ));
    }
    if lists.is_given() {
        return Ok(Some(Contents::Readings(lists)));
    }
    Ok((!sizes.is_empty()).then_some(Contents::Sizes(sizes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_every_combination_of_their_lists() {
        let lists = ReadingsLists {
            readings: vec![1, 10],
            encodings: vec![],
            compressions: vec![Compression::None, Compression::Gzip],
        };
        let contents = Contents::from_lists(&[], &lists);
        let names: Vec<String> = contents.each().iter().map(ToString::to_string).collect();
        let expected = [
            "1 reading in json",
            "1 reading in json with gzip",
            "10 readings in json",
            "10 readings in json with gzip",
        ];
        assert_eq!(names, expected);
        assert_eq!(contents.count(), 4);
    }

    #[test]
    fn a_bound_of_bytes_is_above_every_encoding() {
        for encoding in Encoding::ALL {
            let batch = Batch {
                readings: 1,
                encoding,
                compression: Compression::None,
            };
            let (content, plenty) = (
                Content::Readings(batch),
                Content::Readings(Batch {
                    readings: 50,
                    ..batch
                }),
            );
            for content in [content, plenty] {
                let bytes = content.payload(42).bytes.len() as u64;
                assert!(bytes < content.most_bytes(), "{content}: {bytes} B");
            }
        }
    }
}
