//! Undo of reductions when nothing was lost: by timestamps (Eifel, RFC 3522) or by D-SACK (RFC 3708).

use wirecost_proto::Instant;

use super::Recovery;
use super::effect::Effect;
use super::state::State;
use crate::packed::packs;
use crate::sequence::{is_after, is_before};

/// The state for the undo of a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Undo {
    /// SND.UNA at the reduction; `None` if there is nothing to undo.
    pub(super) marker: Option<u32>,
    /// Retransmissions since then that were not reported as duplicates; `None` before the first.
    pub(super) retransmissions: Option<u32>,
    /// The threshold before it; `None` if the threshold must not be restored.
    pub(super) prior_ssthresh: Option<u32>,
    /// The window before it.
    pub(super) prior_cwnd: u32,
    /// When the first retransmission left, in milliseconds of the timestamp clock.
    pub(super) first_retransmission_ms: Option<u32>,
}

packs!(Undo {
    marker,
    retransmissions,
    prior_ssthresh,
    prior_cwnd,
    first_retransmission_ms
});

impl Undo {
    /// Notes the start of a recovery at `una` with `retransmissions` in flight. (Linux: `tcp_init_undo`)
    pub(super) fn begin(&mut self, una: u32, retransmissions: u32) {
        self.marker = Some(una);
        self.retransmissions = (retransmissions > 0).then_some(retransmissions);
    }

    /// Notes a retransmission.
    pub(super) fn note_retransmission(&mut self, now_ms: u32) {
        self.first_retransmission_ms.get_or_insert(now_ms);
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
    }

    /// Notes that `segments` retransmissions up to `end` were reported as duplicates.
    pub(super) fn note_duplicates(&mut self, end: u32, segments: u32) {
        if self.marker.is_some_and(|marker| is_after(end, marker))
            && let Some(retransmissions) = &mut self.retransmissions
        {
            *retransmissions = retransmissions.saturating_sub(segments);
        }
    }

    /// Whether every retransmission was a duplicate (RFC 3708, section 3).
    pub(super) fn are_all_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmissions == Some(0)
    }

    /// Whether an acknowledgment with this timestamp answers a segment sent before the first retransmission (RFC 3522,
    /// section 3.2). (Linux: `tcp_packet_delayed`)
    pub(super) fn is_delayed(&self, echo: Option<u32>) -> bool {
        match self.first_retransmission_ms {
            Some(first) => echo.is_some_and(|echo| is_before(echo, first)),
            None => true,
        }
    }

    /// Whether the reduction may be undone.
    pub(super) fn is_spurious(&self, echo: Option<u32>) -> bool {
        self.marker.is_some() && (self.retransmissions == Some(0) || self.is_delayed(echo))
    }
}

impl Recovery {
    /// Undoes the reduction (RFC 4015, section 3.2). (Linux: `tcp_undo_cwnd_reduction`)
    fn undo_reduction(&mut self, forgets_losses: bool, now: Instant) {
        if forgets_losses {
            for index in 0..self.scoreboard.len() {
                self.scoreboard.retag(index, |record| record.tags.lost = false);
            }
        }
        if let Some(prior) = self.undo.prior_ssthresh {
            self.window.set_cwnd(self.window.cwnd().max(self.undo.prior_cwnd));
            self.window.set_ssthresh(self.window.ssthresh().max(prior));
        }
        self.window.stamp(self.clock.ticks(now));
        self.undo.marker = None;
        self.rack.has_advanced = true;
    }

    fn is_spurious(&self, effect: &Effect) -> bool {
        // Without selective acknowledgments the end of a recovery clears the time of its first retransmission. (Linux:
        // `tcp_packet_delayed`)
        let is_forgotten = self.undo.first_retransmission_ms.is_none()
            && !self.has_sack
            && !is_before(self.scoreboard.una(), self.high_sequence);
        self.undo.is_spurious(effect.echo) && (!is_forgotten || self.undo.are_all_duplicates())
    }

    /// Handles the end of the recovery; `true` if the recovery must continue. (Linux: `tcp_try_undo_recovery`)
    pub(super) fn try_undo_recovery(&mut self, effect: &Effect, now: Instant) -> bool {
        if self.is_spurious(effect) {
            self.undo_reduction(false, now);
        } else {
            self.rack.recovery_ended(false);
        }
        if self.prevents_reopening() {
            return true;
        }
        self.state = State::Open;
        false
    }

    /// Undoes the reduction if every retransmission was a duplicate. (Linux: `tcp_try_undo_dsack`)
    pub(super) fn try_undo_duplicates(&mut self, now: Instant) -> bool {
        if !self.undo.are_all_duplicates() {
            return false;
        }
        self.rack.recovery_ended(true);
        self.undo_reduction(false, now);
        true
    }

    /// Undoes a spurious time-out. (Linux: `tcp_try_undo_loss`)
    pub(super) fn try_undo_loss(&mut self, effect: &Effect, is_forward_rto: bool, now: Instant) -> bool {
        if !is_forward_rto && !self.is_spurious(effect) {
            return false;
        }
        self.undo_reduction(true, now);
        self.timeouts = 0;
        if self.prevents_reopening() {
            return true;
        }
        if is_forward_rto || self.has_sack {
            self.state = State::Open;
        }
        true
    }

    /// Handles a gap that a late segment filled, not its retransmission; `true` if there must be no further retransmission.
    /// (Linux: `tcp_try_undo_partial`)
    pub(super) fn try_undo_partial(&mut self, effect: &Effect, now: Instant) -> bool {
        if self.undo.marker.is_none() || !self.undo.is_delayed(effect.echo) {
            return false;
        }
        let highest = self.scoreboard.highest_sacked();
        self.rack
            .note_reordering(effect.prior_una, highest, self.segment_bytes);
        if self.scoreboard.retransmitted() > 0 {
            return true;
        }
        if !self.has_retransmitted() {
            self.undo.first_retransmission_ms = None;
        }
        self.undo_reduction(true, now);
        self.keep_open();
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_from_before_the_retransmission_shows_a_delay() {
        let mut undo = Undo::default();
        undo.begin(100, 0);
        undo.note_retransmission(5_000);
        assert!(undo.is_spurious(Some(4_999)));
        assert!(!undo.is_spurious(Some(5_000)));
        assert!(!undo.is_spurious(None));
    }

    #[test]
    fn dsacks_for_all_retransmissions_undo_the_reduction() {
        let mut undo = Undo::default();
        undo.begin(100, 1);
        undo.note_retransmission(5_000);
        undo.note_duplicates(100, 1);
        assert_eq!(undo.retransmissions, Some(2), "before the recovery");
        undo.note_duplicates(200, 1);
        assert!(!undo.are_all_duplicates());
        undo.note_duplicates(300, 1);
        assert!(undo.are_all_duplicates() && undo.is_spurious(None));
    }

    #[test]
    fn nothing_is_spurious_without_a_recovery() {
        assert!(!Undo::default().is_spurious(Some(0)) && !Undo::default().are_all_duplicates());
    }
}
