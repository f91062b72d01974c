//! TCP for virtual time: a sans-IO connection that behaves, under its preset, as a named implementation does.
//!
//! - [`config`]: the configuration, and the presets `linux` and `larmo`
//! - [`segment`]: a segment without its payload
//! - [`connection`]: one end of a connection (RFC 9293)
//! - [`fast_open`]: the cookies of TCP Fast Open (RFC 7413)
//! - [`receive`]: the receiving side: order, acknowledgments, the window
//! - [`recovery`]: loss recovery and congestion control
//! - [`timers`]: when a timer fires
//!
//! Nothing here has a socket, a clock or randomness of its own: segments, time and the initial sequence number come in
//! as arguments, segments go out through [`Connection::poll_transmit`].
//!
//! ```
//! use wirecost_proto::Instant;
//! use wirecost_tcp::{Config, Connection};
//!
//! let (now, mut payload) = (Instant::START, Vec::new());
//! let config = Config::linux(1460);
//! let mut client = Connection::connect(config.clone(), 1_000, now);
//! let syn = client.poll_transmit(&mut payload, now).unwrap().segment;
//! let mut server = Connection::accept(config, &syn, &[], 2_000, now);
//! let syn_ack = server.poll_transmit(&mut payload, now).unwrap().segment;
//! client.handle_segment(&syn_ack, &payload, now);
//! assert_eq!(client.write(b"hello", now), 5);
//! while let Some(transmit) = client.poll_transmit(&mut payload, now) {
//!     server.handle_segment(&transmit.segment, &payload, now);
//!     payload.clear();
//! }
//! assert_eq!(server.available(), 5);
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod buffers;
pub mod config;
pub mod connection;
pub mod fast_open;
mod on_demand;
mod packed;
pub mod receive;
pub mod recovery;
pub mod segment;
mod sequence;
pub mod timers;

pub use config::{BurstConfig, Config, ConnectionStart};
pub use connection::{Connection, Event, State, Transmit};
pub use segment::{Segment, Timestamps};
pub use timers::Granularity;

#[cfg(test)]
#[path = "tests/harness.rs"]
mod harness;
