#![doc = include_str!("../README.md")]
//!
//! # What is in it
//!
//! - [`config`]: the configuration, and the presets `linux` and `larmo`
//! - [`segment`]: a segment without its payload
//! - [`connection`]: one end of a connection (RFC 9293)
//! - [`fast_open`]: the cookies of TCP Fast Open (RFC 7413)
//! - [`receive`]: the receiving side: order, acknowledgments, the window
//! - [`recovery`]: loss recovery and congestion control
//! - [`timers`]: when a timer fires
//!
//! Segments, time and the initial sequence number come in as arguments, segments go out through [`Connection::poll_transmit`].
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
pub use connection::{Connection, Event, RestPattern, State, Transmit};
pub use segment::{Segment, Timestamps};
pub use timers::Granularity;

#[cfg(test)]
#[path = "tests/harness.rs"]
mod harness;
