#![doc = include_str!("../README.md")]
//!
//! # What is in it
//!
//! - [`codec`]: frames, performatives, message sections on borrowed bytes
//! - [`client`]: connects, sends, reports outcomes, closes
//! - [`container`]: accepts connections, stores messages in queues and delivers them
//! - `frames`: framing and timers of either side of a connection
//! - `session`: session windows (section 2.5.6) and link credit (section 2.6.7) of either side
//!
//! Section numbers are those of the OASIS standard, part and section: 2.4.1 is section 4.1 of part 2, transport.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod client;
pub mod codec;
pub mod container;
mod frames;
mod session;
