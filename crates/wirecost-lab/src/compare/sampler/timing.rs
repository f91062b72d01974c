//! The timing of a sample.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_security::Start;

/// The timing of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// When the device starts.
    pub at: Instant,
    /// The quiet time that ends a step.
    pub settle: Duration,
    /// An acknowledgement after this time is late. After twice this time the message is given up.
    pub timeout: Duration,
    /// A connect that takes longer has failed.
    pub connect_timeout: Duration,
    /// The number of measured messages.
    pub messages: u64,
    /// The time between the intended send times of measured messages; `None` if each message settles.
    pub interval: Option<Duration>,
    /// Whether messages have answers.
    pub answered: bool,
    /// The start of the measured connection.
    pub start: Start,
    /// Whether a warm-up message precedes the measured ones.
    pub warm_up: bool,
    /// Whether the first message leaves before the connect is over.
    pub early: bool,
    /// Whether the server closes the connection after its answer.
    pub server_closes: bool,
    /// Whether a connection that has ended is made again when the next message is due.
    pub reconnects: bool,
    /// After which silence on the device's link the server does not know the device any more, by what the device knows of the
    /// address translator; `None`: never.
    pub forgotten_after: Option<Duration>,
}

impl Timing {
    /// Index of the first measured message.
    pub const fn first_measured(&self) -> usize {
        self.warm_up as usize
    }

    /// Whether the sample is a device's life: messages at an interval, from the connect to the close. A warm-up message has to
    /// settle before the measured ones, so that what is measured after one is no life.
    pub const fn is_life(&self) -> bool {
        self.interval.is_some() && !self.warm_up
    }

    /// Whether the first message leaves as soon as the client may send, before a settle.
    pub const fn sends_at_once(&self) -> bool {
        self.early
    }

    /// Whether the server does not know the device any more at `now`, if the link has been silent since `silent_since`.
    pub fn is_forgotten(&self, silent_since: Instant, now: Instant) -> bool {
        let silence = now.saturating_since(silent_since);
        self.forgotten_after.is_some_and(|after| silence >= after)
    }

    /// Whether that message is a measured one.
    pub const fn measures_early_data(&self) -> bool {
        self.sends_at_once() && !self.warm_up
    }
}
