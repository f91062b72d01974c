//! Attributes the bytes of packets that no endpoint described to layer, phase, cause and direction.
//!
//! The ledger of `wirecost-cost` needs a description of all bytes. This crate produces one by reading them: it
//! follows flows, puts streams in order, recognizes protocols, and decrypts them if it has the secrets. It reports
//! bytes that it cannot describe as unattributed. It never guesses.
//!
//! - [`dissector`]: [`Dissector`] reads packets and returns a [`Report`]
//! - [`report`]: bytes by server and protocol, and unattributed bytes
//! - [`table`](mod@table): a report for a terminal
//! - [`read`](mod@read): a whole capture
//! - [`sightings`]: [`Sightings`] tells an observer what a device of the capture did
//! - [`hosts`]: [`Hosts`](hosts::Hosts) compares the captures of two hosts
//! - [`offload`]: effects of segmentation and checksum offload on the capture
//! - [`copies`]: packets that several interfaces of the capture saw
//! - `frame`, `captured`, `fragments`, `flow`, `ends`, `sender`, `quote`, `connection`, `tcp`: from a frame to bytes in order
//! - [`handshakes`], `server_flight`, `ordered`: what the handshakes of TLS, DTLS and QUIC had
//! - `stream`, `datagram`: protocols, from bytes to spans
//! - `hello`, `crypto`: handshakes and keys
//!
//! ```
//! use wirecost_dissect::Dissector;
//! use wirecost_proto::Layer;
//! use wirecost_wire::capture::Packet;
//!
//! // A CoAP ping in a UDP datagram from 10.77.0.2:40000 to 10.77.0.1:5683.
//! let bytes = [
//!     0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1, // IPv4
//!     0x9c, 0x40, 0x16, 0x33, 0, 12, 0, 0, // UDP
//!     0x40, 0, 0, 1, // CoAP
//! ];
//! let mut dissector = Dissector::new();
//! dissector.packet(&Packet::whole(101, Some(0), &bytes));
//! let report = dissector.finish();
//! assert_eq!(report.groups[0].protocol, "CoAP");
//! let keep_alive = report.total.keep_alive.up;
//! assert_eq!(keep_alive.bytes(Layer::Ip), 20);
//! assert_eq!((keep_alive.bytes(Layer::Transport), keep_alive.bytes(Layer::Application)), (8, 4));
//! assert!(report.unattributed.is_empty());
//! ```

mod captured;
mod connection;
pub mod copies;
mod crypto;
mod datagram;
pub mod dissector;
mod ends;
mod flow;
mod fragments;
mod frame;
pub mod handshakes;
mod hello;
pub mod hosts;
pub mod offload;
mod ordered;
mod quote;
pub mod read;
pub mod report;
mod sender;
mod server_flight;
pub mod sightings;
mod span_list;
mod stream;
pub mod table;
mod tcp;

pub use copies::Copies;
pub use dissector::Dissector;
pub use offload::Offload;
pub use read::{Reading, observe, read, read_logged};
pub use report::{FrameBytes, Report, Section};
pub use sightings::Sightings;
pub use table::table;
