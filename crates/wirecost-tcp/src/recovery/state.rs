//! The state of a sender, and its transitions after an acknowledgment. (Linux: `tcp_fastretrans_alert`)
//!
//! ```text
//!   Open <-> Disorder        duplicates or selective acknowledgments, nothing lost yet
//!     |          |
//!     v          v
//!   CongestionWindowReduced  the window shrinks, nothing is retransmitted
//!     |
//!     v
//!   Recovery                 acknowledgments clock retransmissions, until `high_sequence` is acknowledged
//!     |
//!     v
//!   Loss                     a time-out: everything counts as lost
//! ```

use wirecost_proto::Instant;

use super::effect::Effect;
use super::prr::{Progress, Reduction};
use super::rack::Evidence;
use super::rto::TimerKind;
use super::tail_loss_probe::{MINIMUM_WAIT_MICROS, TailProbe};
use super::{Recovery, Retransmit, micros};
use crate::packed::packs;
use crate::recovery::congestion::window::NO_THRESHOLD;
use crate::sequence::{is_after, is_before};

/// The state of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// There are neither losses nor reordering.
    Open,
    /// A segment arrived out of order.
    Disorder,
    /// The window is being reduced.
    CongestionWindowReduced,
    /// Lost segments are being retransmitted.
    Recovery,
    /// Segments are being retransmitted after a time-out.
    Loss,
}

packs!(enum State {
    0 => Open {},
    1 => Disorder {},
    2 => CongestionWindowReduced {},
    3 => Recovery {},
    4 => Loss {},
});

impl State {
    /// Whether the window follows proportional rate reduction.
    pub(super) const fn is_reducing(self) -> bool {
        matches!(self, Self::CongestionWindowReduced | Self::Recovery)
    }
}

impl Recovery {
    /// Changes the state after an acknowledgment with signs of loss or reordering.
    pub(super) fn alert(&mut self, effect: &mut Effect, now: Instant) {
        if self.scoreboard.outstanding() == 0 {
            self.scoreboard.set_sacked(0);
        }
        if self.suspects_reneging(effect, now) {
            return;
        }
        if self.state == State::Open {
            self.undo.first_retransmission_ms = None;
        } else if !is_before(self.scoreboard.una(), self.high_sequence) && self.is_held_at_end(effect, now) {
            return;
        }
        match self.state {
            State::Recovery => self.alert_in_recovery(effect, now),
            State::Loss => self.alert_in_loss(effect, now),
            _ => self.alert_when_open(effect, now),
        }
    }

    /// Whether the peer may have dropped selectively acknowledged data (RFC 2018, section 8): an early time-out decides. (Linux:
    /// `tcp_check_sack_reneging`)
    fn suspects_reneging(&mut self, effect: &mut Effect, now: Instant) -> bool {
        if !effect.is_reneging || !effect.advances {
            return false;
        }
        let half_rtt = self
            .rtt
            .srtt_eighths()
            .map_or(0, |eighths| self.clock.ticks_lasting(eighths / 16));
        let patience = self.clock.ticks_lasting(10_000);
        self.set_rto_timer(half_rtt.max(patience), now);
        effect.restarts_timer = false;
        true
    }

    /// Ends the state when everything sent before it is acknowledged; returns whether the state must continue.
    fn is_held_at_end(&mut self, effect: &Effect, now: Instant) -> bool {
        match self.state {
            State::CongestionWindowReduced if self.scoreboard.una() != self.high_sequence => {
                self.end_reduction(now);
                self.state = State::Open;
            }
            State::Recovery => {
                self.forget_duplicates();
                if self.try_undo_recovery(effect, now) {
                    return true;
                }
                self.end_reduction(now);
            }
            _ => {}
        }
        false
    }

    fn alert_in_recovery(&mut self, effect: &mut Effect, now: Instant) {
        if !effect.advances {
            self.count_reno_duplicate(effect);
        } else if self.try_undo_partial(effect, now) {
            return;
        }
        if self.try_undo_duplicates(now) {
            self.try_to_open();
        }
        self.identify_losses(effect, now);
        if self.state != State::Recovery {
            // The reduction was undone; segments that are lost nevertheless start another one.
            if self.scoreboard.lost() == 0 {
                return;
            }
            self.enter_recovery();
        }
        self.retransmit = Retransmit::Lost;
    }

    fn alert_in_loss(&mut self, effect: &mut Effect, now: Instant) {
        self.follow_timeout(effect, now);
        self.identify_losses(effect, now);
        if self.state == State::Open || effect.lost_retransmission {
            self.alert_when_open(effect, now);
        }
    }

    fn alert_when_open(&mut self, effect: &mut Effect, now: Instant) {
        if effect.advances {
            self.forget_duplicates();
        }
        self.count_reno_duplicate(effect);
        if self.state <= State::Disorder {
            self.try_undo_duplicates(now);
        }
        self.identify_losses(effect, now);
        if self.scoreboard.lost() == 0 {
            self.try_to_open();
            return;
        }
        self.enter_recovery();
        self.retransmit = Retransmit::Lost;
    }

    fn count_reno_duplicate(&mut self, effect: &Effect) {
        if effect.is_duplicate && !self.has_sack {
            self.count_duplicate();
        }
    }

    /// Handles an acknowledgment after a time-out: undoes a spurious one, ends it, or retransmits more. (Linux:
    /// `tcp_process_loss`)
    fn follow_timeout(&mut self, effect: &Effect, now: Instant) {
        let is_recovered = !is_before(self.scoreboard.una(), self.high_sequence);
        if effect.advances && self.try_undo_loss(effect, false, now) {
            return;
        }
        if self.is_forward_rto && self.follow_forward_rto(effect, is_recovered, now) {
            return;
        }
        if is_recovered {
            // RFC 5682, section 2.1, step 2.a.
            self.try_undo_recovery(effect, now);
            return;
        }
        if !self.has_sack {
            self.follow_timeout_without_sack(effect);
        }
        self.retransmit = Retransmit::Lost;
    }

    fn follow_timeout_without_sack(&mut self, effect: &Effect) {
        if is_after(self.scoreboard.next(), self.high_sequence) && effect.is_duplicate {
            self.count_duplicate();
        } else if effect.advances {
            self.forget_duplicates();
        }
    }

    /// F-RTO with selective acknowledgments (RFC 5682, section 3.1); `true` if there must be no retransmission now.
    fn follow_forward_rto(&mut self, effect: &Effect, is_recovered: bool, now: Instant) -> bool {
        // Step 3.b: a segment that was never retransmitted has arrived, so that not everything was lost.
        if effect.delivered_original && self.try_undo_loss(effect, true, now) {
            return true;
        }
        if is_after(self.scoreboard.next(), self.high_sequence) {
            // Step 3.a: the new data shows that the loss is real.
            self.is_forward_rto &= !(effect.sacked_data || effect.is_duplicate);
        } else if effect.advances && !is_recovered {
            // Step 2.b: new data instead of retransmissions.
            self.high_sequence = self.scoreboard.next();
            if effect.has_new_data {
                self.retransmit = Retransmit::NewDataFirst;
                return true;
            }
            self.is_forward_rto = false;
        }
        false
    }

    /// Detects lost segments. (Linux: `tcp_identify_packet_loss`)
    fn identify_losses(&mut self, effect: &mut Effect, now: Instant) {
        if self.scoreboard.outstanding() == 0 {
            return;
        }
        if !self.has_sack {
            self.mark_first_lost(effect.advances);
            return;
        }
        let retransmitted = self.scoreboard.retransmitted();
        if self.rack.has_advanced {
            self.rack.has_advanced = false;
            if let Some(wait) = self.detect_losses(now) {
                let ticks = self.clock.ticks_lasting(wait + MINIMUM_WAIT_MICROS);
                self.set_timer(TimerKind::Reordering, ticks, now);
                effect.restarts_timer = false;
            }
        }
        effect.lost_retransmission |= retransmitted > self.scoreboard.retransmitted();
    }

    /// Marks the segments that RACK finds lost; returns the microseconds until the next detection.
    pub(super) fn detect_losses(&mut self, now: Instant) -> Option<u64> {
        let evidence = Evidence {
            now_micros: micros(now),
            min_rtt: &self.min_rtt,
            srtt_eighths: self.rtt.srtt_eighths().unwrap_or(0),
            is_recovering: self.state >= State::Recovery,
        };
        let (found, wait) = self.rack.detect(&mut self.scoreboard, &evidence);
        self.found_lost += found;
        wait
    }

    /// RFC 6675, section 5, step 4; RFC 6582, section 3.2, step 2. (Linux: `tcp_enter_recovery`)
    pub(super) fn enter_recovery(&mut self) {
        if !self.has_retransmitted() {
            self.undo.first_retransmission_ms = None;
        }
        self.undo.prior_ssthresh = None;
        self.begin_undo();
        if !self.state.is_reducing() {
            self.undo.prior_ssthresh = Some(self.threshold_of_past());
            self.begin_reduction();
        }
        self.state = State::Recovery;
    }

    /// Starts to reduce the window. (Linux: `tcp_init_cwnd_reduction`)
    pub(super) fn begin_reduction(&mut self) {
        let cwnd = self.window.cwnd();
        self.high_sequence = self.scoreboard.next();
        self.probe = TailProbe::Idle;
        self.window.restart_count();
        self.undo.prior_cwnd = cwnd;
        self.reduction = Reduction::new(cwnd);
        let threshold = self.algorithm.threshold_after_loss(cwnd);
        self.window.set_ssthresh(threshold);
    }

    /// The window after an acknowledgment that delivered `delivered` and showed `lost` segments.
    pub(super) fn reduce_window(&mut self, delivered: u32, lost: u32, advances: bool) {
        let progress = Progress {
            delivered,
            lost,
            advances,
            in_flight: self.scoreboard.in_flight(),
            ssthresh: self.window.ssthresh(),
        };
        if let Some(cwnd) = self.reduction.window(&progress) {
            self.window.set_cwnd(cwnd);
        }
    }

    /// Sets the window to its threshold, unless the reduction was undone (RFC 6937, section 3). (Linux:
    /// `tcp_end_cwnd_reduction`)
    pub(super) fn end_reduction(&mut self, now: Instant) {
        let is_reduced = self.state == State::CongestionWindowReduced || self.undo.marker.is_some();
        if is_reduced && self.window.ssthresh() < NO_THRESHOLD {
            self.window.set_cwnd(self.window.ssthresh());
            self.window.stamp(self.clock.ticks(now));
        }
    }

    pub(super) fn begin_undo(&mut self) {
        let probe = u32::from(self.probe.is_retransmission_out());
        let retransmissions = self.scoreboard.retransmitted() + probe;
        self.undo.begin(self.scoreboard.una(), retransmissions);
    }

    /// Whether there is an unacknowledged retransmission. (Linux: `tcp_any_retrans_done`)
    pub(super) fn has_retransmitted(&self) -> bool {
        let is_head = self
            .scoreboard
            .head()
            .is_some_and(|head| head.tags.ever_retransmitted);
        self.scoreboard.retransmitted() > 0 || is_head
    }

    fn try_to_open(&mut self) {
        if !self.has_retransmitted() {
            self.undo.first_retransmission_ms = None;
        }
        if self.state != State::CongestionWindowReduced {
            self.keep_open();
        }
    }

    /// Sets Open if there are neither losses nor reordering, otherwise Disorder. (Linux: `tcp_try_keep_open`)
    pub(super) fn keep_open(&mut self) {
        let is_in_doubt = self.scoreboard.sacked() + self.scoreboard.lost() > 0 || self.has_retransmitted();
        let state = if is_in_doubt { State::Disorder } else { State::Open };
        if self.state != state {
            self.state = state;
            self.high_sequence = self.scoreboard.next();
        }
    }

    /// The threshold before a reduction; a reduction in progress has set its own.
    pub(super) const fn threshold_of_past(&self) -> u32 {
        if self.state.is_reducing() {
            self.window.ssthresh()
        } else {
            self.window.threshold_of_past()
        }
    }
}
