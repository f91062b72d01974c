//! What devices are and do beside sending messages.
//!
//! - [`subscriber`]: devices that receive: what they have asked for, and what has arrived
//! - [`track`]: which messages of a sender have arrived, by their numbers
//! - [`attempts`]: handshakes and returns, counted as messages are
//! - [`phases`]: the phases that a load of some shape goes through

pub mod attempts;
pub mod phases;
pub mod subscriber;
pub mod track;

#[cfg(test)]
mod tests;
