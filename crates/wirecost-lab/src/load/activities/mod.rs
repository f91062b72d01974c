//! What devices do in the phases that every load has.
//!
//! - [`connect`]: make connections, so many per second
//! - [`publish`]: send messages, in an open or a closed loop
//! - [`hold`]: keep connections open
//! - [`close`]: end them as the protocol does

pub mod close;
pub mod connect;
pub mod hold;
pub mod publish;
