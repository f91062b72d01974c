//! The activities of devices in the phases of a load.
//!
//! - [`connect`]: make connections, at a rate
//! - [`publish`]: send messages, in an open or a closed loop
//! - [`hold`]: keep connections open
//! - [`close`]: close them with the protocol's own close
//! - [`handshakes`]: connect, close, and connect again
//! - [`drop_all`]: drop all connections at one instant
//! - [`reconnect`]: reconnect after a back-off
//! - [`replay`]: wait for queued and retained messages

pub mod close;
pub mod connect;
pub mod drop_all;
pub mod handshakes;
pub mod hold;
pub mod publish;
pub mod reconnect;
pub mod replay;
