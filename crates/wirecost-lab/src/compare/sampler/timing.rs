//! How a sample goes: what is asked of one device.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_security::Start;

/// How a sample goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// When the device starts.
    pub at: Instant,
    /// Quiet time that ends a step.
    pub settle: Duration,
    /// After this an acknowledgement is late; after twice this the message is given up.
    pub timeout: Duration,
    /// After this a connect has failed.
    pub connect_timeout: Duration,
    /// Measured messages.
    pub messages: u64,
    /// Between the intended send times of measured messages; `None` where each one settles.
    pub interval: Option<Duration>,
    /// Whether anything answers a message.
    pub answered: bool,
    /// How the measured connection starts.
    pub start: Start,
    /// Whether a message goes before the measured ones.
    pub warm_up: bool,
    /// Whether the first message leaves with the first flight.
    pub early: bool,
    /// Whether the server closes the connection after its answer.
    pub server_closes: bool,
}

impl Timing {
    /// Index of the first measured message.
    pub const fn first_measured(&self) -> usize {
        self.warm_up as usize
    }

    /// Whether the first message leaves as soon as the client may send, before anything has settled.
    pub fn sends_at_once(&self) -> bool {
        self.early && self.start == Start::ZeroRtt
    }

    /// Whether that message is a measured one.
    pub fn measures_early_data(&self) -> bool {
        self.sends_at_once() && !self.warm_up
    }
}
