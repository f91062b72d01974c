//! DTLS 1.2 with a pre-shared key (RFC 6347, RFC 4279): the one suite that RFC 7925 section 4.2 requires, the extended
//! master secret (RFC 7627), sessions (RFC 5246 section 7.3) and connection IDs (RFC 9146).
//!
//! The engine has no socket, clock or randomness of its own: it receives datagrams, times and a source of random bytes.
//!
//! - [`Engine`]: one connection of either side
//! - [`Settings`]: what its connections share
//! - [`Sessions`], [`Session`]: what a server and a client keep from a full handshake
//!
//! ```text
//! full         ClientHello ->        <- ServerHello, ServerHelloDone     ClientKeyExchange, CCS, Finished ->
//!                                    <- CCS, Finished
//! abbreviated  ClientHello ->        <- ServerHello, CCS, Finished       CCS, Finished, data ->
//! ```
//!
//! A cookie (HelloVerifyRequest) takes one more round trip. It does not do renegotiation, session tickets, identity
//! hints and SNI. A server sends no hint, so that it sends no ServerKeyExchange (RFC 4279 section 2).

mod client;
mod engine;
mod flight;
mod incoming;
mod message;
mod prf;
mod protection;
mod record_layer;
mod server;
mod sessions;
mod window;

#[cfg(test)]
mod tests;

pub(super) use self::engine::{Engine, Settings};
pub(super) use self::message::{Offered, offers};
pub(super) use self::sessions::{Session, Sessions};
