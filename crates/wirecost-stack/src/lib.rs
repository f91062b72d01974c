//! Stacks: their names, and the one place where a name becomes a client and a server.
//!
//! - [`kind`]: what each stack is like; [`name`]: the grammar `application[+cose][+channel]`
//! - [`channel`]: what protects a stack, and how its connections can start
//! - [`channels`]: the layers of a run, set up once
//! - [`client`]: a device's endpoint, whatever its stack; `application`: the protocol's own client within
//! - [`error`]: why there is no client
//! - [`message`]: what devices of a comparison send; [`pool`]: what those of a load send, with a [`Stamp`], to
//!   where a [`pattern`] says
//! - [`subscription`]: what subscribers ask for
//! - [`admission`]: who a server is, and whom it lets in
//! - [`credentials`]: what the two sides need to trust one another
//! - [`server`]: the built-in servers' endpoints
//! - [`target`]: what answers; [`url`]: where a server is, and what it speaks
//! - [`secret`]: what must not be printed
//! - [`label`]: what a packet is, in the words of its protocols

// A new stack must not pass for another one: the compiler lists the matches that it is missing in.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod admission;
mod application;
pub mod channel;
pub mod channels;
pub mod client;
pub mod credentials;
pub mod error;
mod events;
pub mod kind;
pub mod label;
pub mod message;
pub mod name;
pub mod pattern;
pub mod pool;
pub mod secret;
pub mod server;
pub mod subscription;
pub mod target;
#[cfg(test)]
mod tests;
pub mod url;

use std::sync::Arc;

pub use wirecost_proto::Stamp;
use wirecost_security::Start;

pub use admission::Admission;
pub use channel::Channel;
pub use client::ClientConfig;
pub use credentials::Credentials;
pub use events::ClientEvent;
pub use kind::{Application, Stack};
pub use message::Message;
pub use name::NameError;
pub use pattern::Pattern;
pub use pool::{MessagePool, Outgoing, PoolConfig};
pub use server::Server;
pub use subscription::Subscription;

/// The client of a device.
pub type Client = client::Client<Event>;

/// What a device can be asked to do, whatever its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send the client's own message under this number, counted from 0.
    Send {
        /// The number.
        message: u64,
    },
    /// Send this message or request under a number of the caller's.
    Transmit {
        /// The number that events give back.
        message: u64,
        /// The message.
        outgoing: Outgoing,
    },
    /// Subscribe (MQTT) or observe (CoAP).
    Subscribe(Arc<Subscription>),
    /// Close the connection as the protocol does.
    Close,
}

/// What a device's endpoint reports, whatever its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake of the channel is complete.
    Established {
        /// How the connection did start.
        start: Start,
    },
    /// The client may send application data.
    Ready {
        /// Whether the server has kept a session of an earlier connection (MQTT).
        session_present: bool,
    },
    /// The server has accepted the subscription.
    Subscribed,
    /// The server has refused the subscription.
    SubscriptionRefused {
        /// The server's reason.
        reason: String,
    },
    /// A message has arrived at a subscriber.
    Received(Arrival),
    /// The protocol's client has handed out the last byte of a message. The driver's `flushed` follows when its buffer is
    /// empty.
    Sent {
        /// The message's number.
        message: u64,
    },
    /// The server has acknowledged a message.
    Acknowledged {
        /// The message's number.
        message: u64,
    },
    /// The server has refused a message.
    Refused {
        /// The message's number.
        message: u64,
        /// The server's reason.
        reason: String,
    },
    /// The protocol has given a message up.
    TimedOut {
        /// The message's number.
        message: u64,
    },
    /// One side has refused the connection: the server, or a client that does not trust or understand it.
    Rejected {
        /// Why.
        reason: String,
    },
    /// The server has closed the connection.
    Closed,
    /// Nothing that a device waits for.
    Other,
    /// The connection is lost.
    Lost {
        /// Why.
        reason: String,
    },
}

/// A message that has arrived at a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The stamp at the front of its payload, if that is long enough to have one.
    pub stamp: Option<Stamp>,
    /// Bytes of its payload.
    pub payload_bytes: u64,
    /// Whether it is marked as one that may have arrived before.
    pub duplicate: bool,
    /// Whether the server took it from its store (MQTT: retained).
    pub retained: bool,
}
