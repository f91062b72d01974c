//! What devices are and do beside sending messages.
//!
//! - [`subscriber`]: devices that receive: what they have asked for, and what has arrived
//! - [`track`]: which messages of a sender have arrived, by their numbers
//! - [`expected`]: how many subscriptions a message matches
//! - [`attempts`]: handshakes and returns, counted as messages are
//! - [`handshakes`]: connect, close, and again
//! - [`drop_all`]: lose all connections at one instant
//! - [`reconnect`]: come back after a back-off
//! - [`replay`]: wait until what was queued has come
//! - [`phases`]: the phases that a load of some shape goes through
//! - [`resources`]: names with placeholders, before a load begins

pub mod attempts;
pub mod drop_all;
pub mod expected;
pub mod handshakes;
pub mod phases;
pub mod reconnect;
pub mod replay;
pub mod resources;
pub mod subscriber;
pub mod track;

#[cfg(test)]
mod tests;
