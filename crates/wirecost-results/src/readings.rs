//! The readings of a sensor that a message carries.

use std::fmt;

use serde::{Deserialize, Serialize};
use wirecost_proto::units::counted;

/// Readings as the payload of a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Readings {
    /// Readings per message.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub count: u64,
    /// `json`, `cbor`, `senml-json` or `senml-cbor`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Encoding"))]
    pub encoding: String,
    /// `none`, `gzip`, `brotli` or `zstd`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Compression"))]
    pub compression: String,
    /// Bytes of the encoded readings before compression.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub encoded_bytes: u64,
    /// The least number of readings per message from which on this compression makes the payload of this encoding smaller, up to
    /// 200; null where it never does, and without compression.
    #[serde(default)]
    pub saves_from: Option<u64>,
    /// CPU time of the compression of one message on this machine, in nanoseconds, outside the response time: the median of 25
    /// runs; null in virtual time and without compression.
    #[serde(default)]
    pub compression_cpu_ns: Option<u64>,
    /// How long the first reading of a message waits for the last one, in nanoseconds: all intervals between the readings of a
    /// message, where messages have an interval; null otherwise.
    #[serde(default)]
    pub first_waits_ns: Option<u64>,
}

/// `10 readings in json with gzip`.
impl fmt::Display for Readings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", counted(self.count, "reading"), self.encoding)?;
        match self.compression.as_str() {
            "none" => Ok(()),
            compression => write!(f, " with {compression}"),
        }
    }
}

impl Readings {
    /// Whether both are readings of one number, encoding and compression.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.count, &self.encoding, &self.compression) == (other.count, &other.encoding, &other.compression)
    }
}
