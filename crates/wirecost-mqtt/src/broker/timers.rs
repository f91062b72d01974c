//! Deadlines of flows and sessions, at most one of each kind.

use alloc::collections::{BTreeMap, BTreeSet};

use wirecost_proto::{FlowId, Instant};

use super::session::SessionId;

/// A named deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// CONNECT must arrive.
    Connect(FlowId),
    /// The client must close the flow after its DISCONNECT.
    Close(FlowId),
    /// A packet must arrive [MQTT-3.1.2-22].
    KeepAlive(FlowId),
    /// The will must be published.
    Will(SessionId),
    /// The session must end.
    SessionExpiry(SessionId),
}

/// Deadlines by name and by time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_name: BTreeMap<Deadline, Instant>,
    by_time: BTreeSet<(Instant, Deadline)>,
}

impl Timers {
    /// Sets `deadline`, and replaces an earlier setting.
    pub(super) fn set(&mut self, deadline: Deadline, at: Instant) {
        self.stop(deadline);
        self.by_name.insert(deadline, at);
        self.by_time.insert((at, deadline));
    }

    /// Stops `deadline`. Returns whether it was set.
    pub(super) fn stop(&mut self, deadline: Deadline) -> bool {
        let at = self.by_name.remove(&deadline);
        at.is_some_and(|at| self.by_time.remove(&(at, deadline)))
    }

    /// The earliest deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes the earliest deadline, if it is due at `now`.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Deadline> {
        let (_, deadline) = *self.by_time.first().filter(|(at, _)| *at <= now)?;
        self.stop(deadline);
        Some(deadline)
    }
}
