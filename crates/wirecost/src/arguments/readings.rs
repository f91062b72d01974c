//! The options of messages that carry readings of a sensor.

use clap::Args;
use wirecost_readings::{Compression, Encoding};
use wirecost_scenario::options::content::ReadingsLists;
use wirecost_scenario::table::readings;

/// Readings in place of pseudo-random bytes: lists, whose combinations are the contents of messages.
#[derive(Clone, Debug, Default, Args)]
pub struct ReadingsArguments {
    /// Readings of a sensor in each message, instead of --size: time, sensor, temperature, humidity and battery from a seeded
    /// series [default: 1, with --encoding or --compression]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = readings, conflicts_with = "size", allow_hyphen_values = true)]
    pub readings: Vec<u32>,

    /// Encoding of the readings: json, cbor, senml-json or senml-cbor [default: json]
    #[arg(
        long,
        value_name = "ENCODING",
        value_delimiter = ',',
        conflicts_with = "size",
        hide_short_help = true
    )]
    pub encoding: Vec<Encoding>,

    /// Compression of the encoded readings: none, gzip (level 6), brotli (quality 5) or zstd (level 3) [default: none]
    #[arg(
        long,
        value_name = "COMPRESSION",
        value_delimiter = ',',
        conflicts_with = "size",
        hide_short_help = true
    )]
    pub compression: Vec<Compression>,
}

impl ReadingsArguments {
    /// The lists.
    pub fn lists(&self) -> ReadingsLists {
        ReadingsLists {
            readings: self.readings.clone(),
            encodings: self.encoding.clone(),
            compressions: self.compression.clone(),
        }
    }
}

/// The same with one encoding and one compression.
#[derive(Clone, Debug, Default, Args)]
pub struct BatchArguments {
    /// Readings of a sensor that a message carries, instead of --size: time, sensor, temperature, humidity and battery from a
    /// seeded series; each of several numbers is a way of its own [default: 1, with --encoding or --compression]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = readings, conflicts_with = "size", allow_hyphen_values = true)]
    pub readings: Vec<u32>,

    /// Encoding of the readings: json, cbor, senml-json or senml-cbor [default: json]
    #[arg(
        long,
        value_name = "ENCODING",
        conflicts_with = "size",
        hide_short_help = true
    )]
    pub encoding: Option<Encoding>,

    /// Compression of the encoded readings: none, gzip (level 6), brotli (quality 5) or zstd (level 3) [default: none]
    #[arg(
        long,
        value_name = "COMPRESSION",
        conflicts_with = "size",
        hide_short_help = true
    )]
    pub compression: Option<Compression>,
}

impl BatchArguments {
    /// The lists.
    pub fn lists(&self) -> ReadingsLists {
        ReadingsLists {
            readings: self.readings.clone(),
            encodings: self.encoding.into_iter().collect(),
            compressions: self.compression.into_iter().collect(),
        }
    }
}
