//! Stacks: their names, and how a name becomes a client and a server.
//!
//! - [`kind`]: the properties of each stack; [`name`]: the grammar `application[+cose][+channel]`
//! - [`channel`]: the protection of a stack, and how its connections can start
//! - [`channels`]: the security layers of a run
//! - [`client`]: the client of a stack; `application`: the protocol's client in it; `events`: what it reports
//! - [`error`]: why a stack cannot do what it is asked to do
//! - [`message`]: the message of the devices of a comparison; [`pool`]: the messages of a load, with a [`Stamp`] and the
//!   resource that a [`pattern`] gives
//! - [`run_tag`]: how the names of one run differ from those of others
//! - [`media`]: what a message says about its payload
//! - [`subscription`]: the subscription of a subscriber
//! - [`admission`]: the identity of a server, and the clients that it accepts
//! - [`credentials`]: the certificates and keys of both sides
//! - [`server`]: the built-in servers' endpoints
//! - [`target`]: the kinds of server; [`url`]: the address and the protocol of a server
//! - [`secret`]: how secrets are kept out of records of the command line
//! - [`label`]: names of packets in the terms of their protocols

// No match on a stack has an arm for all others, so that the compiler lists the matches that a new stack is missing in.
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
pub mod media;
pub mod message;
pub mod name;
pub mod pattern;
pub mod pool;
pub mod run_tag;
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

/// A command to a client, the same for every stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send the client's own message.
    Send {
        /// The number that events give back.
        message: u64,
    },
    /// Send this message or request.
    Transmit {
        /// The number that events give back.
        message: u64,
        /// The message.
        outgoing: Outgoing,
    },
    /// Subscribe (MQTT) or observe (CoAP). A subscriber of HTTP polls instead ([`MessagePool::poll`]).
    Subscribe(Arc<Subscription>),
    /// Close the connection as the protocol does.
    Close,
}

/// An event of a client, the same for every stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake of the channel is complete.
    Established {
        /// How the connection started.
        start: Start,
    },
    /// The client may send one message or subscription ahead of [`Event::Ready`]: it leaves behind the request to connect.
    MaySend,
    /// The client may send application data.
    Ready {
        /// Whether the server has the session of an earlier connection (MQTT).
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
    /// A subscriber's poll has been answered (HTTP).
    Polled(Polled),
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
    /// The protocol's client has stopped waiting for the answer to a message.
    TimedOut {
        /// The message's number.
        message: u64,
    },
    /// The connection ends without a byte of the answer to a message, although the server has answered on it before: it may be
    /// sent again on another connection, and then arrive twice.
    Unanswered {
        /// The message's number.
        message: u64,
    },
    /// The server has refused the connection, or the client has refused the server.
    Rejected {
        /// The reason.
        reason: String,
    },
    /// The server has closed the connection.
    Closed,
    /// An event that no device needs.
    Other,
    /// The connection is lost.
    Lost {
        /// The reason.
        reason: String,
    },
}

/// The answer to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polled {
    /// The messages that it brought, oldest first.
    pub arrivals: Vec<Arrival>,
    /// The key to ask for next.
    pub next_key: u64,
}

/// A message that has arrived at a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The stamp at the front of the payload, if the payload is long enough.
    pub stamp: Option<Stamp>,
    /// Bytes of the payload.
    pub payload_bytes: u64,
    /// Whether the server marked it as a possible duplicate.
    pub duplicate: bool,
    /// Whether it is a retained message (MQTT).
    pub retained: bool,
}
