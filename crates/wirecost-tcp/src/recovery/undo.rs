//! Reductions taken back when nothing was lost: by timestamps (Eifel, RFC 3522) or by reports of duplicates (D-SACK,
//! RFC 3708).

use super::sequence::{is_after, is_before};

/// What is kept to take a reduction back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Undo {
    /// SND.UNA when it happened; `None` where there is nothing to take back.
    pub(super) marker: Option<u32>,
    /// Retransmissions since then that were not reported as duplicates; `None` before the first.
    pub(super) retransmissions: Option<u32>,
    /// The threshold before it; `None` where it must not come back.
    pub(super) prior_ssthresh: Option<u32>,
    /// The window before it.
    pub(super) prior_cwnd: u32,
    /// When the first retransmission left, in milliseconds of the timestamps' clock.
    pub(super) first_retransmission_ms: Option<u32>,
}

impl Undo {
    /// A recovery begins at `una` with `retransmissions` in flight. (Linux: `tcp_init_undo`)
    pub(super) fn begin(&mut self, una: u32, retransmissions: u32) {
        self.marker = Some(una);
        self.retransmissions = (retransmissions > 0).then_some(retransmissions);
    }

    /// A segment was retransmitted.
    pub(super) fn note_retransmission(&mut self, now_ms: u32) {
        self.first_retransmission_ms.get_or_insert(now_ms);
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
    }

    /// `segments` retransmissions up to `end` were reported as duplicates.
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

    /// Whether an acknowledgment with this timestamp answers what was sent before the first retransmission (RFC 3522,
    /// section 3.2). (Linux: `tcp_packet_delayed`)
    pub(super) fn is_delayed(&self, echo: Option<u32>) -> bool {
        match self.first_retransmission_ms {
            Some(first) => echo.is_some_and(|echo| is_before(echo, first)),
            None => true,
        }
    }

    /// Whether the reduction may be taken back.
    pub(super) fn is_spurious(&self, echo: Option<u32>) -> bool {
        self.marker.is_some() && (self.retransmissions == Some(0) || self.is_delayed(echo))
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
    fn duplicates_of_every_retransmission_show_that_nothing_was_lost() {
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
