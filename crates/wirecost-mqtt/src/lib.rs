//! MQTT 3.1.1 and 5 without IO: a client and a reference broker.
//!
//! - [`codec`]: packets on borrowed bytes
//! - [`topic`], [`quality`]: topic names and filters; quality of service and packet identifiers
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod aliases;
pub mod client;
pub mod codec;
pub mod quality;
mod session;
pub mod topic;
