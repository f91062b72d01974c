//! Sans-IO CoAP (RFC 7252) over datagrams and streams, with block-wise transfers (RFC 7959), observation (RFC 7641),
//! No-Response (RFC 7967), OSCORE (RFC 8613) and EDHOC (RFC 9528). A flow is a UDP peer, or a channel that carries datagrams as DTLS does; or a byte
//! stream (RFC 8323), which has its own framing and signaling messages, and the same requests and responses.
//!
//! - [`message`]: a view over any datagram, and its decoded meaning
//! - [`code`], [`token`], [`option`], [`block`]: the parts of a message
//! - [`parameters`]: transmission parameters and times derived from them
//! - [`client`]: requests, block-wise transfers, observations and pings to one server
//! - [`shared`]: one endpoint, and so one socket, for many clients
//! - [`server`]: the plugtest resources for any number of clients
//! - [`stream`]: messages on a byte stream, such as TCP (RFC 8323)
//! - [`oscore`]: contexts that protect messages end to end
//! - [`edhoc`]: the handshake by which both ends agree on such a context
//! - [`describe()`]: the layer, phase and cause of the bytes of a datagram
//!
//! ```
//! use std::sync::Arc;
//! use wirecost_coap::client::{Client, Command, Config, Request, RequestTemplate};
//! use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Rng};
//!
//! let mut client = Client::new(Config::new(Rng::new(1)));
//! let template = Arc::new(RequestTemplate::new(Request::put("/test", [7; 128])).unwrap());
//! let (flow, peer, now) = (FlowId(0), "192.0.2.1:5683".parse().unwrap(), Instant::START);
//! client.handle_input(Input::Opened { flow, peer }, now).unwrap();
//! client.handle_input(Input::Command(Command::Request { message: 1, template }), now).unwrap();
//! let mut out = Buffer::new();
//! while !matches!(client.poll_output(&mut out), Output::Transmit { .. }) {}
//! // Header 4, token 2, Uri-Path 5, Content-Format 2, payload marker 1.
//! assert_eq!(out.bytes().len(), 14 + 128);
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod block;
pub mod client;
pub mod code;
mod describe;
mod duplicates;
pub mod edhoc;
mod layout;
pub mod message;
mod message_ids;
pub mod option;
pub mod oscore;
mod outbox;
pub mod parameters;
pub mod server;
pub mod shared;
mod short;
pub mod stream;
#[cfg(test)]
mod testing;
pub mod token;

pub use describe::{describe, describe_stream};
