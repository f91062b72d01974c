#![doc = include_str!("../README.md")]
//!
//! # What is in it
//!
//! - [`codec`]: packets on borrowed bytes, properties, reason codes, framing
//! - [`client`]: connects, publishes, subscribes, pings, resumes
//! - [`broker`]: sessions, retained messages, wills, shared subscriptions, limits
//! - [`sn`]: MQTT-SN 1.2, its client and its gateway
//! - [`topic`]: topic names and filters
//! - [`quality`]: quality of service and packet identifiers
//! - `session`: the QoS 1 and 2 state of either side
//! - `aliases`: topic aliases in either direction
//!
//! Section numbers are those of MQTT 5, unless 3.1.1 is named.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod aliases;
pub mod broker;
pub mod client;
pub mod codec;
pub mod quality;
mod reply;
mod session;
pub mod sn;
pub mod topic;
