//! The vocabulary of wirecost: the types that all other crates share.
//!
//! - [`time`]: [`Instant`], nanoseconds since the start of the run, real or virtual
//! - [`battery`]: how long a store of energy lasts
//! - [`calendar`]: how long a day, a month and a year are
//! - [`units`]: sizes, bit rates, probabilities and durations, always written with their unit
//! - [`shown`]: the same and other numbers as people read them
//! - [`span`]: the layer, phase and cause of a run of bytes, and the [`Buffer`] of bytes and spans
//! - [`stamp`]: device, number and time at the front of a payload
//! - [`content`]: the content of a message: payload, or an object that protects it
//! - [`endpoint`]: the contract of a sans-IO protocol machine
//! - [`timer`]: named deadlines; the earliest is an endpoint's next time-out
//! - [`wheel`]: any number of deadlines, by time
//! - [`random`]: seeded randomness that does not depend on call order
//! - [`path`]: the fate of a packet on a link
//! - [`congestion`]: the congestion control of TCP by name
//! - [`framing`]: bytes as a sniffer counts them, with the headers of the link layer
//! - [`script`]: what a device does and when; [`director`]: the same for all devices of a loop
//! - [`service_time`]: how long a server works on a message
//! - [`credentials`]: comparison with a secret
//! - [`driver`]: the input and the output of drivers
//! - [`named!`]: enums whose values have names
//! - [`log`]: the spans of one flow
//! - [`hosts`]: the addresses of server and devices
//! - [`record`]: the entries of a link's recorder
//! - [`peer_text`]: text from a peer, safe to display
//! - [`bare`]: the stacks without a protocol, bare TCP and bare UDP; the smallest example of the contract
//! - `pair` (feature `pair`): two endpoints over any path in virtual time, for tests
//!
//! Nothing here reads a clock, opens a socket or draws a random number of its own.
//!
//! ```
//! use wirecost_proto::{Cause, Layer, Phase, Buffer};
//!
//! let mut out = Buffer::new();
//! out.push(&[0xc0, 0x00], Layer::Application, Phase::KeepAlive, Cause::Original);
//! assert_eq!(out.bytes().len(), 2);
//! assert_eq!(out.spans()[0].len, 2);
//! ```
#![no_std]
extern crate alloc;
#[cfg(any(test, feature = "pair"))]
extern crate std;

pub mod bare;
pub mod battery;
pub mod both_ways;
pub mod calendar;
pub mod congestion;
pub mod content;
pub mod credentials;
pub mod date;
pub mod director;
pub mod driver;
pub mod endpoint;
pub mod framing;
pub mod hosts;
pub mod kept;
pub mod log;
mod named;
#[cfg(any(test, feature = "pair"))]
pub mod pair;
pub mod path;
pub mod peer_text;
pub mod random;
pub mod record;
pub mod script;
pub mod service_time;
pub mod shown;
pub mod span;
pub mod stamp;
pub mod time;
pub mod timer;
pub mod units;
pub mod wheel;

pub use both_ways::BothWays;
pub use congestion::Congestion;
pub use content::Content;
pub use director::Director;
pub use endpoint::{Endpoint, FlowId, Held, Input, Output, Peer, ResetReason};
pub use framing::Framing;
pub use named::NoSuchName;
pub use path::{Delivery, Direction, Fate, Path};
pub use peer_text::PeerText;
pub use random::Rng;
pub use script::Script;
pub use span::{Buffer, Cause, Layer, Phase, Span};
pub use stamp::{Front, Stamp};
pub use time::Instant;
pub use timer::TimerTable;
pub use units::{BitRate, ByteSize, Probability};
pub use wheel::Wheel;
