//! What either side of a connection waits for.

/// The timers of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// The peer owes an answer.
    Answer,
    /// An empty frame is due, so that the peer hears something (section 2.4.5).
    KeepAlive,
    /// The peer has sent nothing for as long as it may.
    Idle,
}

impl From<Timer> for usize {
    fn from(timer: Timer) -> Self {
        timer as Self
    }
}
