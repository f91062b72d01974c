//! Subscribers, attempts, and the phases of a load.
//!
//! - [`subscriber`]: devices that receive: their subscriptions and deliveries
//! - [`track`]: which messages of a sender have arrived, by their numbers
//! - [`attempts`]: handshakes and reconnects, counted like messages
//! - [`phases`]: the phases of each load shape

pub mod attempts;
pub mod phases;
pub mod subscriber;
pub mod track;

#[cfg(test)]
mod tests;
