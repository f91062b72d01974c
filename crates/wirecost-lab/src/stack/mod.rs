//! Stacks: their names, and the one place where a name becomes a client and a server.
//!
//! - [`name`]: the grammar `application[+cose][+channel]` and what each stack is like
//! - [`client`]: a device's endpoint, whatever its stack
//! - [`server`]: the built-in servers' endpoints
//! - [`label`]: what a packet is, in the words of its protocols

pub mod client;
pub mod label;
pub mod name;
pub mod server;

pub use client::{Client, ClientConfig, Message};
pub use name::{Application, NameError, Stack};
pub use server::Server;

/// What a device can be asked to do, whatever its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send the message of this number, counted from 0.
    Send {
        /// The number.
        message: u64,
    },
    /// Close the connection as the protocol does.
    Close,
}

/// What a device's endpoint reports, whatever its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client may send application data.
    Ready,
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
    /// The server has refused the connection.
    Rejected {
        /// The server's reason.
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
