//! Recovery without selective acknowledgments: a duplicate counts as a segment that arrived (RFC 5681, section 3.2;
//! RFC 6582).

use super::Recovery;
use super::rack::Rack;
use super::scoreboard::Tags;
use super::state::State;

impl Recovery {
    /// Counts a duplicate acknowledgment: a segment has arrived. (Linux: `tcp_add_reno_sack`)
    pub(super) fn count_duplicate(&mut self) {
        let before = self.scoreboard.sacked();
        self.scoreboard.set_sacked(before + 1);
        self.limit_duplicates(0);
        self.delivered += self.scoreboard.sacked().saturating_sub(before);
    }

    /// Handles `acknowledged` segments: one filled the gap, the others were counted as duplicates. (Linux:
    /// `tcp_remove_reno_sacks`)
    pub(super) fn uncount_duplicates(&mut self, acknowledged: u32) {
        let counted = self.scoreboard.sacked();
        self.delivered += acknowledged.saturating_sub(counted).max(1);
        self.scoreboard
            .set_sacked((counted + 1).saturating_sub(acknowledged).min(counted));
        self.limit_duplicates(acknowledged);
    }

    /// Limits the duplicates: more duplicates than segments beyond the gap show reordering.
    fn limit_duplicates(&mut self, acknowledged: u32) {
        let outstanding = self.scoreboard.outstanding();
        let gaps = self.scoreboard.lost().max(1).min(outstanding);
        if self.scoreboard.sacked() + gaps > outstanding {
            self.scoreboard.set_sacked(outstanding - gaps);
            self.rack.note_duplicates(outstanding + acknowledged);
        }
    }

    /// Marks the first segment lost after three duplicates (RFC 5681, section 3.2), or after a partial acknowledgment during the
    /// recovery (RFC 6582, section 3.2, step 3). (Linux: `tcp_newreno_mark_lost`)
    pub(super) fn mark_first_lost(&mut self, advances: bool) {
        let are_duplicates = self.state < State::Recovery && self.scoreboard.sacked() >= self.rack.reordering;
        let is_partial = self.state == State::Recovery && advances;
        let is_known = self.scoreboard.head().is_none_or(|head| head.tags.lost);
        if is_known || !(are_duplicates || is_partial) {
            return;
        }
        self.found_lost += 1;
        self.scoreboard
            .retag(0, |record| Tags::mark_lost(&mut record.tags));
    }

    /// Resets the count of duplicates.
    pub(super) const fn forget_duplicates(&mut self) {
        if !self.has_sack {
            self.scoreboard.set_sacked(0);
        }
    }

    /// Whether the recovery must continue until a segment beyond it is acknowledged. Otherwise the duplicates that its
    /// retransmissions cause would start another one (RFC 6582, section 3.2, step 3). (Linux:
    /// `tcp_is_non_sack_preventing_reopen`)
    pub(super) fn prevents_reopening(&mut self) -> bool {
        if self.has_sack || self.scoreboard.una() != self.high_sequence {
            return false;
        }
        if !self.has_retransmitted() {
            self.undo.first_retransmission_ms = None;
        }
        true
    }

    /// Whether the duplicate threshold was raised because of reordering.
    pub(super) const fn is_reordering_high(&self) -> bool {
        self.rack.reordering > Rack::DUPLICATE_THRESHOLD
    }
}
