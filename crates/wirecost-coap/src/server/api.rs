//! The configuration and the events of a server.

use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::{FlowId, Front, Rng};

use crate::code::Method;
use crate::duplicates::MAXIMUM_HELD;
use crate::edhoc::ServerConfig;
use crate::oscore::Context;
use crate::parameters::TransmissionParameters;
use crate::stream::MAX_MESSAGE_BYTES;

/// The configuration of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Datagrams (RFC 7252) or streams (RFC 8323).
    pub transport: Transport,
    /// The largest message that the server accepts on a stream, in bytes (Max-Message-Size).
    pub max_message_bytes: u32,
    /// Time-outs and limits. On a stream there are no retransmissions.
    pub parameters: TransmissionParameters,
    /// The random numbers for time-outs and message ids.
    pub rng: Rng,
    /// The largest block size that the server sends or requests in datagrams, in bytes: 16 to 1,024.
    pub block_size: usize,
    /// The largest body that the server assembles from blocks, in bytes. It answers 4.13 to a larger one.
    pub max_body_bytes: usize,
    /// The number of unfinished bodies per peer. The oldest is dropped.
    pub max_assemblies_per_peer: usize,
    /// The number of observers of all resources. A further registration is answered as a plain GET.
    pub max_observers: usize,
    /// The number of observations per peer. A further registration is answered as a plain GET.
    pub max_observers_per_peer: usize,
    /// The memory of duplicate detection in bytes, for CON and for NON each. Above it, the oldest message ids are forgotten.
    pub max_duplicate_bytes: usize,
    /// The delay of the response of `/separate`.
    pub separate_delay: Duration,
    /// How often the observable resources change on their own.
    pub observe_interval: Duration,
    /// The security contexts of clients (RFC 8613), each with its own ids.
    pub oscore: Vec<Context>,
    /// Whether the server refuses unprotected requests with 4.01.
    pub requires_oscore: bool,
    /// How the server agrees on further contexts by EDHOC (RFC 9528); `None` if it does not.
    pub edhoc: Option<ServerConfig>,
}

impl Config {
    /// The default configuration with the random numbers of `rng`.
    pub fn new(rng: Rng) -> Self {
        Self {
            transport: Transport::Datagram,
            max_message_bytes: MAX_MESSAGE_BYTES,
            parameters: TransmissionParameters::default(),
            rng,
            block_size: 1024,
            max_body_bytes: 16 << 20,
            max_assemblies_per_peer: 4,
            max_observers: 65_536,
            max_observers_per_peer: 1_024,
            max_duplicate_bytes: MAXIMUM_HELD,
            separate_delay: Duration::from_secs(1),
            observe_interval: Duration::from_secs(5),
            oscore: Vec::new(),
            requires_oscore: false,
            edhoc: None,
        }
    }

    /// This configuration, for streams (RFC 8323).
    pub fn on_stream(self) -> Self {
        Self {
            transport: Transport::Stream,
            ..self
        }
    }

    /// This configuration, also for clients with these contexts. If `required`, only for those.
    pub fn with_oscore(self, contexts: impl IntoIterator<Item = Context>, required: bool) -> Self {
        Self {
            oscore: contexts.into_iter().collect(),
            requires_oscore: required,
            ..self
        }
    }
}

/// An event of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A whole request arrived and was processed, or is a duplicate.
    MessageReceived {
        /// The sender.
        flow: FlowId,
        /// The method.
        method: Method,
        /// The resource's path.
        path: &'static str,
        /// The length of its content in bytes, all blocks together.
        payload_bytes: u64,
        /// The first bytes of its content.
        front: Front,
        /// Whether it is a duplicate that was not processed again.
        duplicate: bool,
    },
    /// A peer registered as an observer.
    ObserverAdded {
        /// The observer.
        flow: FlowId,
        /// The resource's path.
        path: &'static str,
    },
    /// A peer is no longer an observer: it deregistered, sent an RST, or did not acknowledge a notification.
    ObserverRemoved {
        /// The former observer.
        flow: FlowId,
        /// The resource's path.
        path: &'static str,
    },
    /// A separate response was not acknowledged, or was still waiting when another one was not.
    ResponseTimedOut {
        /// The receiver of the response.
        flow: FlowId,
    },
}

/// Counters of a server, in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Datagrams that were not messages, and streams that were aborted for what they carried.
    pub malformed: u64,
    /// Duplicate messages.
    pub duplicates: u64,
    /// ACKs and RSTs that match no message.
    pub unmatched: u64,
    /// Messages answered with an RST.
    pub rejected: u64,
    /// Messages that were neither processed nor answered.
    pub ignored: u64,
    /// Responses that No-Response suppressed (RFC 7967).
    pub suppressed: u64,
    /// Requests answered with 4.xx or 5.xx.
    pub refused: u64,
    /// Requests that are unprotected although they must be protected, or that cannot be opened (RFC 8613 section 8.2).
    pub unverified: u64,
    /// Requests with a used sequence number (RFC 8613 section 7.4).
    pub replayed: u64,
    /// Responses and notifications that could not be protected, and so were not sent.
    pub unprotectable: u64,
    /// Retransmitted separate responses and notifications.
    pub retransmissions: u64,
    /// Notifications sent, without retransmissions.
    pub notifications: u64,
}
