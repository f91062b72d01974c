//! Timers for when the peer says nothing: zero-window probes, keep-alive, FIN-WAIT-2.

use core::time::Duration;

use wirecost_proto::{Instant, ResetReason, TimerTable};
use wirecost_wire::tcp::Flags;

use super::{Course, Synchronized};
use crate::config::KeepAlive;
use crate::connection::State;
use crate::receive::AckDue;
use crate::recovery::Timeout;
use crate::segment::Segment;

/// Window probes without an answer after which the connection is given up (Linux: net.ipv4.tcp_retries2).
const MAX_UNANSWERED_PROBES: u8 = 15;

/// Timers that a peer's answer stops.
#[derive(Clone, Copy, Debug)]
enum Timer {
    /// The window may be closed, and the segment that opened it lost (RFC 9293, section 3.8.6.1).
    Persist,
    /// Nothing was heard for long (RFC 9293, section 3.8.4).
    KeepAlive,
    /// The peer does not close, and nobody reads what it sends.
    FinWait2,
}

impl From<Timer> for usize {
    fn from(timer: Timer) -> Self {
        timer as Self
    }
}

/// A segment that only wants an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// As much as the window takes; nothing where it is closed.
    Window,
    /// Nothing, from before what is acknowledged.
    KeepAlive,
}

/// The timers and what they count.
#[derive(Debug)]
pub(super) struct Silence {
    timers: TimerTable<3>,
    /// Zero-window probes since the window was open.
    window_probes: u8,
    /// Of them those since the peer was heard.
    unanswered: u8,
    keep_alive_probes: u8,
    heard: Instant,
    /// The probe to be sent next.
    pub(super) probe: Option<Probe>,
}

impl Silence {
    pub(super) fn new(keep_alive: Option<&KeepAlive>, now: Instant) -> Self {
        let mut timers = TimerTable::new();
        if let Some(keep_alive) = keep_alive {
            timers.set(Timer::KeepAlive, now + keep_alive.idle);
        }
        Self {
            timers,
            window_probes: 0,
            unanswered: 0,
            keep_alive_probes: 0,
            heard: now,
            probe: None,
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The peer has acknowledged something, be it again.
    pub(super) const fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.keep_alive_probes = 0;
        self.unanswered = 0;
    }

    /// Something is in flight that will be answered, or there is nothing to be sent.
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
        let mut next = earlier(self.recovery.next_timeout(), self.silence.next());
        if let AckDue::At(at) = self.receiver.ack_due() {
            next = earlier(next, Some(at));
        }
        next
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Course {
        self.receiver.handle_timeout(now);
        match self.recovery.handle_timeout(self.next_segment_fits(), now) {
            Timeout::Early => {}
            Timeout::Transmit => self.pushes = true,
            Timeout::GiveUp => return timed_out(None),
        }
        self.note_round_trip();
        self.handle_silence(now)
    }

    fn handle_silence(&mut self, now: Instant) -> Course {
        if self.silence.timers.expire(Timer::FinWait2, now) && self.state == State::FinWait2 {
            return Course::Closed;
        }
        if self.silence.timers.expire(Timer::Persist, now) {
            // Linux lets go of what nobody owns once its probes are as seldom as they get (`tcp_probe_timer`): a peer that
            // never reads would keep it for ever.
            let is_given_up = self.is_detached && self.persist_delay() >= self.config.maximum_persist;
            if self.silence.unanswered >= MAX_UNANSWERED_PROBES || is_given_up {
                return timed_out(None);
            }
            self.silence.probe = Some(Probe::Window);
            self.silence.window_probes = self.silence.window_probes.saturating_add(1);
            self.silence.unanswered += 1;
            self.arm_persist(now);
        }
        if self.silence.timers.expire(Timer::KeepAlive, now) {
            return self.keep_alive(now);
        }
        Course::Stay
    }

    /// Probes the window while it keeps everything back and nothing is in flight that would be answered.
    pub(super) fn update_persist(&mut self, now: Instant) {
        let is_held_back = !self.is_in_flight() && self.has_unsent() && !self.next_segment_fits();
        if !is_held_back {
            self.silence.stop_persist();
        } else if self.silence.timers.deadline(Timer::Persist).is_none() {
            self.arm_persist(now);
        }
    }

    /// RFC 9293, section 3.8.6.1: at first after the retransmission time-out, then ever more seldom.
    fn arm_persist(&mut self, now: Instant) {
        self.arm(Timer::Persist, self.persist_delay(), now);
    }

    fn persist_delay(&self) -> Duration {
        let doublings = u32::from(self.silence.window_probes).min(16);
        let delay = self.recovery.backed_off_rto().saturating_mul(1 << doublings);
        delay.min(self.config.maximum_persist)
    }

    /// RFC 9293, section 3.8.4.
    fn keep_alive(&mut self, now: Instant) -> Course {
        let Some(config) = self.config.keep_alive else {
            return Course::Stay;
        };
        // What is in flight asks for an answer already (Linux: `tcp_keepalive_timer`).
        let is_busy = self.is_in_flight() || self.unsent() > 0;
        let silent = if is_busy {
            Duration::ZERO
        } else {
            now.saturating_since(self.silence.heard)
        };
        if silent < config.idle {
            self.arm(Timer::KeepAlive, config.idle - silent, now);
            return Course::Stay;
        }
        if self.silence.keep_alive_probes >= config.probes {
            let reset = self.header(Flags::RST | Flags::ACK, self.next_sequence(), now);
            return timed_out(Some(reset));
        }
        self.silence.keep_alive_probes += 1;
        self.silence.probe = Some(Probe::KeepAlive);
        self.arm(Timer::KeepAlive, config.interval, now);
        Course::Stay
    }

    fn arm(&mut self, timer: Timer, delay: Duration, now: Instant) {
        let deadline = self.config.granularity.deadline(now, delay);
        self.silence.timers.set(timer, deadline);
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (at, None) | (None, at) => at,
    }
}

const fn timed_out(answer: Option<Segment>) -> Course {
    Course::Reset {
        answer,
        reason: Some(ResetReason::TimedOut),
    }
}
