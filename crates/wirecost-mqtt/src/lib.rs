//! MQTT 3.1.1 and 5 without IO: a client and a reference broker. Both versions share one session. MQTT-SN 1.2 too.
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
//!
//! ```
//! use wirecost_mqtt::client::{Client, Config};
//! use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};
//!
//! let mut client = Client::new(Config::default());
//! let peer = "192.0.2.1:1883".parse().unwrap();
//! client.handle_input(Input::Opened { flow: FlowId(0), peer }, Instant::START).unwrap();
//! let mut out = Buffer::new();
//! assert_eq!(client.poll_output(&mut out), Output::Transmit { flow: FlowId(0) });
//! assert_eq!(out.bytes().len(), 22); // CONNECT of client identifier wc-00001
//! ```
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
