//! The retransmission timer and its expiry (RFC 6298, section 5; F-RTO, RFC 5682).

use core::time::Duration;

use wirecost_proto::Instant;

use super::config::GiveUp;
use super::rack::Rack;
use super::scoreboard::Tags;
use super::state::State;
use super::tail_loss_probe::TailProbe;
use super::{Recovery, Retransmit, Timeout, micros, milliseconds};
use crate::packed::packs;
use crate::sequence::is_after;

/// The purpose of the timer. There is one timer, as in the kernel: a probe or the end of a reordering window replaces the
/// time-out and arms it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    /// The retransmission time-out.
    Retransmission,
    /// The end of the reordering window (RFC 8985, section 6.3).
    Reordering,
    /// The probe for the last segment (RFC 8985, section 7.3).
    LossProbe,
}

packs!(enum TimerKind {
    0 => Retransmission {},
    1 => Reordering {},
    2 => LossProbe {},
});

/// The timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    kind: TimerKind,
    deadline: Instant,
}

packs!(Timer { kind, deadline });

impl Timer {
    pub(super) fn is_loss_probe(&self) -> bool {
        self.kind == TimerKind::LossProbe
    }

    pub(super) fn is_reordering(&self) -> bool {
        self.kind == TimerKind::Reordering
    }
}

impl Recovery {
    /// When [`Recovery::handle_timeout`] is to be called.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.timer.map(|timer| timer.deadline)
    }

    /// Handles the expiry of the timer. `has_new_data`: there is unsent data that fits into the peer's window.
    pub(crate) fn handle_timeout(&mut self, has_new_data: bool, now: Instant) -> Timeout {
        let Some(timer) = self.timer.filter(|timer| timer.deadline <= now) else {
            return Timeout::Early;
        };
        match timer.kind {
            TimerKind::LossProbe => self.send_loss_probe(has_new_data, now),
            TimerKind::Reordering => self.end_reordering_window(now),
            TimerKind::Retransmission => self.time_out(now),
        }
    }

    pub(super) fn set_timer(&mut self, kind: TimerKind, ticks: u64, now: Instant) {
        let deadline = self.clock.deadline(now, ticks);
        self.timer = Some(Timer { kind, deadline });
    }

    pub(super) fn set_rto_timer(&mut self, ticks: u64, now: Instant) {
        self.set_timer(TimerKind::Retransmission, ticks, now);
    }

    /// Arms or stops the time-out (RFC 6298, sections 5.1 to 5.3). After another timer, it continues as if that had not replaced
    /// it. (Linux: `tcp_rearm_rto`)
    pub(super) fn rearm_rto(&mut self, now: Instant) {
        if self.scoreboard.outstanding() == 0 {
            self.timer = None;
            return;
        }
        let is_replaced = self
            .timer
            .is_some_and(|timer| timer.kind != TimerKind::Retransmission);
        let ticks = if is_replaced {
            self.ticks_to_rto(now).unwrap_or(1)
        } else {
            self.rto_ticks
        };
        self.set_rto_timer(ticks, now);
    }

    /// RFC 6298, sections 5.4 to 5.6. (Linux: `tcp_retransmit_timer`)
    fn time_out(&mut self, now: Instant) -> Timeout {
        if self.scoreboard.outstanding() == 0 {
            self.timer = None;
            return Timeout::Early;
        }
        if self.gives_up(now) {
            self.timer = None;
            return Timeout::GiveUp;
        }
        self.enter_loss(now);
        self.timeouts += 1;
        self.retransmit = Retransmit::Lost;
        self.back_off();
        self.set_rto_timer(self.rto_ticks, now);
        Timeout::Transmit
    }

    /// RFC 6298, section 5.5.
    fn back_off(&mut self) {
        self.rto_ticks = (self.rto_ticks * 2).min(self.clock.ticks_in(self.config.recovery.maximum_rto));
    }

    /// Whether the peer was silent for too long (RFC 9293, section 3.8.3). (Linux: `tcp_write_timeout`)
    fn gives_up(&self, now: Instant) -> bool {
        let limit = if self.is_orphan {
            self.config.recovery.give_up_orphaned
        } else {
            self.config.recovery.give_up
        };
        match limit {
            GiveUp::Retransmissions(limit) => self.timeouts >= limit,
            GiveUp::After(limit) => {
                let first = self.undo.first_retransmission_ms.filter(|_| self.timeouts > 0);
                first.is_some_and(|first| {
                    let silent = milliseconds(now).wrapping_sub(first);
                    Duration::from_millis(u64::from(silent)) >= limit
                })
            }
        }
    }

    /// Marks everything in flight as lost, and allows one segment (RFC 5681, section 3.1). (Linux: `tcp_enter_loss`)
    fn enter_loss(&mut self, now: Instant) {
        self.mark_all_lost(now);
        let is_new = self.state < State::Recovery;
        let is_first = self.state <= State::Disorder
            || !is_after(self.high_sequence, self.scoreboard.una())
            || (self.state == State::Loss && self.timeouts == 0);
        if is_first {
            self.undo.prior_ssthresh = Some(self.threshold_of_past());
            self.undo.prior_cwnd = self.window.cwnd();
            let threshold = self.algorithm.threshold_after_loss(self.window.cwnd());
            self.window.set_ssthresh(threshold);
            self.begin_undo();
        }
        self.window.set_cwnd(self.scoreboard.in_flight() + 1);
        self.window.restart_count();
        self.window.stamp(self.clock.ticks(now));
        if self.state <= State::Disorder && self.scoreboard.sacked() >= Rack::DUPLICATE_THRESHOLD {
            self.rack.reordering = self.rack.reordering.min(Rack::DUPLICATE_THRESHOLD);
        }
        self.state = State::Loss;
        self.algorithm.handle_timeout(self.scoreboard.next(), micros(now));
        self.high_sequence = self.scoreboard.next();
        self.probe = TailProbe::Idle;
        // RFC 5682, section 3.1, step 1: not in a recovery, but in repeated time-outs.
        self.is_forward_rto = self.config.recovery.forward_rto && (is_new || self.timeouts > 0);
    }

    /// Marks segments as lost, except those sent less than a round trip ago (RFC 8985, section 6.3). (Linux:
    /// `tcp_timeout_mark_lost`)
    fn mark_all_lost(&mut self, now: Instant) {
        // RFC 2018, section 8: the peer has dropped selectively acknowledged data.
        let is_reneging = self.scoreboard.head().is_some_and(|head| head.tags.sacked);
        if !self.has_sack {
            self.scoreboard.set_sacked(0);
        }
        for index in 0..self.scoreboard.len() {
            let Some(record) = self.scoreboard.get(index) else {
                break;
            };
            let is_recent = index > 0 && !is_reneging && self.rack.may_still_arrive(record, micros(now));
            let was_lost = record.tags.lost && !record.tags.retransmitted;
            if is_recent || (record.tags.sacked && !is_reneging) {
                continue;
            }
            self.found_lost += u32::from(!was_lost);
            self.scoreboard.retag(index, |record| {
                record.tags.sacked = false;
                Tags::mark_lost(&mut record.tags);
            });
        }
    }

    /// Handles the end of the reordering window: missing segments are lost (RFC 8985, section 6.3). (Linux:
    /// `tcp_rack_reo_timeout`)
    fn end_reordering_window(&mut self, now: Instant) -> Timeout {
        let in_flight = self.scoreboard.in_flight();
        let _ = self.detect_losses(now);
        if in_flight != self.scoreboard.in_flight() {
            if self.state != State::Recovery {
                self.enter_recovery();
                self.reduce_window(1, 0, false);
            }
            self.retransmit = Retransmit::Lost;
        }
        if self
            .timer
            .is_some_and(|timer| timer.kind != TimerKind::Retransmission)
        {
            self.rearm_rto(now);
        }
        Timeout::Transmit
    }
}

#[cfg(test)]
mod tests;
