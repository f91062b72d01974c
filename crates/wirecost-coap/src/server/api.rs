//! How a server is set up, and what it reports.

use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{FlowId, Front, Rng};

use crate::code::Method;
use crate::oscore::Context;
use crate::parameters::TransmissionParameters;

/// How a server behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time-outs and limits.
    pub parameters: TransmissionParameters,
    /// The randomness of time-outs and message ids.
    pub rng: Rng,
    /// Bytes of the largest block that the server sends or asks for: 16 to 1,024.
    pub block_size: usize,
    /// The largest body that is put together from blocks, in bytes; 4.13 above it.
    pub max_body_bytes: usize,
    /// Unfinished bodies per peer; the oldest gives way.
    pub max_assemblies_per_peer: usize,
    /// Observers of all resources together; further registrations are answered as a plain GET.
    pub max_observers: usize,
    /// Observations that one peer may hold; its further registrations are answered as a plain GET.
    pub max_observers_per_peer: usize,
    /// How long `/separate` takes for its response.
    pub separate_delay: Duration,
    /// How often the observable resources change by themselves.
    pub observe_interval: Duration,
    /// The security contexts of clients (RFC 8613), told apart by their ids.
    pub oscore: Vec<Context>,
    /// Whether requests without protection are refused: 4.01.
    pub requires_oscore: bool,
}

impl Config {
    /// The defaults, with the randomness `rng`.
    pub fn new(rng: Rng) -> Self {
        Self {
            parameters: TransmissionParameters::default(),
            rng,
            block_size: 1024,
            max_body_bytes: 16 << 20,
            max_assemblies_per_peer: 4,
            max_observers: 65_536,
            max_observers_per_peer: 1_024,
            separate_delay: Duration::from_secs(1),
            observe_interval: Duration::from_secs(5),
            oscore: Vec::new(),
            requires_oscore: false,
        }
    }

    /// The same, also for clients with these contexts; where `required`, for no others.
    pub fn with_oscore(self, contexts: impl IntoIterator<Item = Context>, required: bool) -> Self {
        Self {
            oscore: contexts.into_iter().collect(),
            requires_oscore: required,
            ..self
        }
    }
}

/// What a server reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request arrived whole and was carried out, or came again.
    MessageReceived {
        /// From whom.
        flow: FlowId,
        /// What it asked.
        method: Method,
        /// The resource's path.
        path: &'static str,
        /// Its content in bytes, all blocks together.
        payload_bytes: u64,
        /// The front of its content.
        front: Front,
        /// Whether it came before and was not carried out again.
        duplicate: bool,
    },
    /// A peer registered as an observer.
    ObserverAdded {
        /// Who.
        flow: FlowId,
        /// The resource's path.
        path: &'static str,
    },
    /// A peer is no observer any more: it said so, sent an RST, or did not acknowledge.
    ObserverRemoved {
        /// Who.
        flow: FlowId,
        /// The resource's path.
        path: &'static str,
    },
    /// A separate response was not acknowledged, or waited for one that was not.
    ResponseTimedOut {
        /// Whose.
        flow: FlowId,
    },
}

/// What the server saw and did, in datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Datagrams that were not messages.
    pub malformed: u64,
    /// Messages that came before.
    pub duplicates: u64,
    /// ACKs and RSTs that match nothing.
    pub unmatched: u64,
    /// Messages answered with an RST.
    pub rejected: u64,
    /// Messages that were neither carried out nor answered.
    pub ignored: u64,
    /// Responses that No-Response suppressed (RFC 7967).
    pub suppressed: u64,
    /// Requests answered with 4.xx or 5.xx.
    pub refused: u64,
    /// Requests that had to be protected and were not, or could not be opened (RFC 8613 section 8.2).
    pub unverified: u64,
    /// Requests with a sequence number that came before (RFC 8613 section 7.4).
    pub replayed: u64,
    /// Responses and notifications that could not be sent because they could not be protected.
    pub unprotectable: u64,
    /// Separate responses and notifications sent again.
    pub retransmissions: u64,
    /// Notifications sent, without retransmissions.
    pub notifications: u64,
}
