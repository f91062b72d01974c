//! AMQP 1.0 without IO: a client with one sending link, and a reference container with queues.
//!
//! - [`codec`]: frames, performatives, message sections on borrowed bytes
//! - [`client`]: connects, sends, reports outcomes, closes
//! - [`container`]: accepts connections, stores messages in queues and delivers them
//! - `frames`: framing and timers of either side of a connection
//! - `session`: session windows (section 2.5.6) and link credit (section 2.6.7) of either side
//!
//! Section numbers are those of the OASIS standard, part and section: 2.4.1 is section 4.1 of part 2, transport.
//!
//! ```
//! use wirecost_amqp::client::{Client, Config};
//! use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};
//!
//! let mut client = Client::new(Config::default());
//! let peer = "192.0.2.1:5672".parse().unwrap();
//! client.handle_input(Input::Opened { flow: FlowId(0), peer }, Instant::START).unwrap();
//! let mut out = Buffer::new();
//! assert_eq!(client.poll_output(&mut out), Output::Transmit { flow: FlowId(0) });
//! assert_eq!(out.bytes(), b"AMQP\x03\x01\x00\x00"); // SASL comes first
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod client;
pub mod codec;
pub mod container;
mod frames;
mod session;
