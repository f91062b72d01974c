//! TCP for virtual time: a sans-IO connection that behaves, under its preset, as a named implementation does.
//!
//! - [`config`]: what implementations differ in, and the presets `linux`, `lwip-small` and `larmo`
//! - [`segment`]: a segment without its payload
//! - [`connection`]: one end of a connection (RFC 9293)
//! - [`receive`]: the receiving side: order, acknowledgments, the window
//! - [`recovery`]: what is in flight, lost and to be sent again; below it congestion control
//! - [`timers`]: when a timer really fires
//!
//! Nothing here has a socket, a clock or randomness of its own: segments, time and the initial sequence number come in
//! as arguments, segments go out through [`Connection::poll_transmit`].
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod buffers;
pub mod config;
mod congestion;
pub mod connection;
mod handshake;
pub mod receive;
pub mod recovery;
pub mod segment;
mod synchronized;
pub mod timers;

pub use config::{BurstConfig, Config, FastOpen, KeepAlive, Nagle, Preset};
pub use connection::{Connection, Event, State, Transmit};
pub use segment::{Cookie, Segment, Timestamps};
pub use timers::Granularity;

#[cfg(test)]
mod harness;
