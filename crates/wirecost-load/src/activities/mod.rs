//! What devices do in the phases of a load.
//!
//! - [`connect`]: make connections, at a rate
//! - [`publish`]: send messages, in an open or a closed loop
//! - [`hold`]: keep connections open
//! - [`close`]: end them as the protocol does
//! - [`handshakes`]: connect, close, and again
//! - [`drop_all`]: lose all connections at one instant
//! - [`reconnect`]: come back after a back-off
//! - [`replay`]: wait until what was queued has come

pub mod close;
pub mod connect;
pub mod drop_all;
pub mod handshakes;
pub mod hold;
pub mod publish;
pub mod reconnect;
pub mod replay;
