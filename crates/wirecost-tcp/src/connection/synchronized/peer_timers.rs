//! Timers for a silent peer: zero-window probes, keep-alives and FIN-WAIT-2.

use core::time::Duration;

use wirecost_proto::{Instant, ResetReason, TimerTable};

use super::{Synchronized, Transition};
use crate::connection::State;
use crate::packed::{Pack, Packer, Unpacker};
use crate::receive::AckDue;
use crate::recovery::Timeout;

/// The number of unanswered window probes after which the connection ends (Linux: net.ipv4.tcp_retries2).
const MAX_UNANSWERED_PROBES: u8 = 15;

/// The peer does not answer.
const TIMED_OUT: Transition = Transition::Reset {
    answer: None,
    reason: Some(ResetReason::TimedOut),
};

/// Timers that an answer of the peer stops.
#[derive(Clone, Copy, Debug)]
enum Timer {
    /// The window is closed, and the segment that opens it may be lost (RFC 9293, section 3.8.6.1).
    Persist,
    /// The peer does not close, and no application reads its data.
    FinWait2,
    /// Nothing has come from the peer for long (RFC 9293, section 3.8.4).
    KeepAlive,
}

/// All of them.
const TIMERS: [Timer; 3] = [Timer::Persist, Timer::FinWait2, Timer::KeepAlive];

impl From<Timer> for usize {
    fn from(timer: Timer) -> Self {
        timer as Self
    }
}

/// The timers with their counters.
#[derive(Debug, Default)]
pub(super) struct PeerTimers {
    timers: TimerTable<3>,
    /// Zero-window probes since the window was open.
    window_probes: u8,
    /// The number of those probes since the peer's last answer.
    unanswered: u8,
    /// Whether a window probe or a keep-alive is due.
    pub(super) probes: bool,
    /// When the peer was heard last.
    heard: Instant,
    /// Keep-alives since then.
    keep_alives: u8,
}

impl Pack for PeerTimers {
    fn pack(&self, out: &mut Packer) {
        let Self {
            timers,
            window_probes,
            unanswered,
            probes,
            heard,
            keep_alives,
        } = self;
        TIMERS.map(|timer| timers.deadline(timer)).pack(out);
        [*window_probes, *unanswered, *keep_alives].pack(out);
        (*probes, *heard).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let deadlines: [Option<Instant>; 3] = Pack::unpack(from)?;
        let [window_probes, unanswered, keep_alives] = Pack::unpack(from)?;
        let (probes, heard) = Pack::unpack(from)?;
        let mut timers = TimerTable::new();
        for (timer, deadline) in TIMERS.into_iter().zip(deadlines) {
            if let Some(deadline) = deadline {
                timers.set(timer, deadline);
            }
        }
        Some(Self {
            timers,
            window_probes,
            unanswered,
            probes,
            heard,
            keep_alives,
        })
    }
}

impl PeerTimers {
    pub(super) fn next(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Handles an acknowledgment of the peer, even a repeated one.
    pub(super) const fn heard(&mut self, now: Instant) {
        self.unanswered = 0;
        self.keep_alives = 0;
        self.heard = now;
    }

    /// Stops the persist timer: a segment in flight will be answered, or there is nothing to send.
    pub(super) fn stop_persist(&mut self) {
        self.timers.stop(Timer::Persist);
        self.window_probes = 0;
    }

    pub(super) fn wait_for_fin(&mut self, until: Instant) {
        self.timers.set(Timer::FinWait2, until);
    }
}

impl Synchronized {
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let mut next = earlier(self.recovery.next_timeout(), self.peer_timers.next());
        if let AckDue::At(at) = self.receiver.ack_due() {
            next = earlier(next, Some(at));
        }
        let syn_ack = self
            .half_open
            .as_ref()
            .and_then(|half_open| half_open.next_timeout());
        earlier(next, syn_ack)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Transition {
        if let Some(half_open) = &mut self.half_open
            && !half_open.handle_timeout(now)
        {
            return TIMED_OUT;
        }
        self.receiver.handle_timeout(now);
        match self.recovery.handle_timeout(self.next_segment_fits(), now) {
            Timeout::Early => {}
            Timeout::Transmit => self.pushes = true,
            Timeout::GiveUp => return TIMED_OUT,
        }
        self.note_round_trip();
        self.handle_peer_timers(now)
    }

    fn handle_peer_timers(&mut self, now: Instant) -> Transition {
        if self.peer_timers.timers.expire(Timer::FinWait2, now) && self.state == State::FinWait2 {
            return Transition::Closed;
        }
        if self.peer_timers.timers.expire(Timer::KeepAlive, now) && !self.keep_alive(now) {
            return TIMED_OUT;
        }
        if self.peer_timers.timers.expire(Timer::Persist, now) {
            // Linux drops a connection without an owner when the time between its probes has reached its maximum
            // (`tcp_probe_timer`): a peer that never reads would keep the connection forever.
            let is_given_up = self.is_detached && self.persist_delay() >= self.config.maximum_persist;
            if self.peer_timers.unanswered >= MAX_UNANSWERED_PROBES || is_given_up {
                return TIMED_OUT;
            }
            self.peer_timers.probes = true;
            self.peer_timers.window_probes = self.peer_timers.window_probes.saturating_add(1);
            self.peer_timers.unanswered += 1;
            self.arm_persist(now);
        }
        Transition::Stay
    }

    /// Begins to keep the connection alive, where that is configured.
    pub(super) fn watch_peer(&mut self, now: Instant) {
        self.peer_timers.heard = now;
        if let Some(config) = self.config.keep_alive {
            self.arm(Timer::KeepAlive, config.idle, now);
        }
    }

    /// Sends a keep-alive if the peer was not heard for long and nothing waits for its answer (Linux: `tcp_keepalive_timer`); false if
    /// it has answered none of them.
    fn keep_alive(&mut self, now: Instant) -> bool {
        let Some(config) = self.config.keep_alive else {
            return true;
        };
        let silence = now.saturating_since(self.peer_timers.heard);
        if self.is_in_flight() || self.has_unsent() || silence < config.idle {
            let elapsed = if silence < config.idle {
                silence
            } else {
                Duration::ZERO
            };
            self.arm(Timer::KeepAlive, config.idle.saturating_sub(elapsed), now);
            return true;
        }
        if self.peer_timers.keep_alives >= config.probes {
            return false;
        }
        self.peer_timers.keep_alives += 1;
        self.peer_timers.probes = true;
        self.arm(Timer::KeepAlive, config.interval, now);
        true
    }

    /// Arms the persist timer while the window blocks all data and nothing is in flight; otherwise stops it.
    pub(super) fn update_persist(&mut self, now: Instant) {
        let is_held_back = !self.is_in_flight() && self.has_unsent() && !self.next_segment_fits();
        if !is_held_back {
            self.peer_timers.stop_persist();
        } else if self.peer_timers.timers.deadline(Timer::Persist).is_none() {
            self.arm_persist(now);
        }
    }

    /// RFC 9293, section 3.8.6.1: first after the retransmission time-out, then after exponentially growing times.
    fn arm_persist(&mut self, now: Instant) {
        self.arm(Timer::Persist, self.persist_delay(), now);
    }

    fn persist_delay(&self) -> Duration {
        let doublings = u32::from(self.peer_timers.window_probes).min(16);
        let delay = self.recovery.backed_off_rto().saturating_mul(1 << doublings);
        delay.min(self.config.maximum_persist)
    }

    fn arm(&mut self, timer: Timer, delay: Duration, now: Instant) {
        let deadline = self.config.granularity.deadline(now, delay);
        self.peer_timers.timers.set(timer, deadline);
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (at, None) | (None, at) => at,
    }
}
