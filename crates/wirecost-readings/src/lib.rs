//! The payload of a message that carries readings of a sensor: how many, in which encoding, with which compression.
//!
//! - [`Reading`]: what a sensor measures, and the seeded series of it
//! - [`Encoding`]: JSON (RFC 8259), CBOR (RFC 8949), SenML in both (RFC 8428)
//! - [`Compression`]: gzip (RFC 1952), Brotli (RFC 7932), Zstandard (RFC 8878), each with a fixed level
//! - [`Batch`]: all three, and the bytes that follow from them and a seed
//!
//! The bytes depend on nothing else, so that both engines and every run send the same ones.
//!
//! ```
//! use wirecost_readings::{Batch, Compression, Encoding};
//!
//! let one = Batch { readings: 1, encoding: Encoding::Json, compression: Compression::None };
//! let json = String::from_utf8(one.payload(42))?;
//! assert!(json.starts_with(r#"{"sensor":"00005efffe005301","time":1767225600,"temperature":"#));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

mod batch;
mod compression;
mod encoding;
mod reading;

pub use batch::{Batch, MOST_READINGS, saves_from};
pub use compression::Compression;
pub use encoding::Encoding;
pub use reading::{FIRST_TIME, Reading, SECONDS_BETWEEN, SENSOR, series};
