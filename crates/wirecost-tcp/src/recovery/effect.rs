//! The effect of an acknowledgment, collected while it passes the scoreboard.

use super::scoreboard::Record;
use crate::sequence::{is_after, is_before};

/// The effect of an acknowledgment, collected step by step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effect {
    pub(super) prior_una: u32,
    pub(super) echo: Option<u32>,
    pub(super) has_new_data: bool,
    pub(super) has_data: bool,
    pub(super) updates_window: bool,
    /// SND.UNA advanced.
    pub(super) advances: bool,
    /// Segments left the scoreboard.
    pub(super) acknowledged: u32,
    /// Segments were selectively acknowledged.
    pub(super) sacked_data: bool,
    /// A segment was reported to have arrived twice.
    pub(super) reports_duplicate: bool,
    /// That was the tail loss probe.
    pub(super) is_probe_duplicate: bool,
    /// It is a duplicate acknowledgment (RFC 5681, section 2).
    pub(super) is_duplicate: bool,
    /// A segment that was sent before the current state, and never retransmitted, has arrived.
    pub(super) delivered_original: bool,
    /// A retransmitted segment was acknowledged.
    pub(super) acknowledged_retransmission: bool,
    /// The first outstanding segment is selectively acknowledged: the peer has dropped it.
    pub(super) is_reneging: bool,
    /// A retransmission was found lost.
    pub(super) lost_retransmission: bool,
    /// The timer starts again.
    pub(super) restarts_timer: bool,
    /// The lowest sequence number that others overtook.
    pub(super) overtaken: Option<u32>,
    /// When the first and the last segment were sent that were acknowledged, and those selectively acknowledged.
    pub(super) acknowledged_sent: Option<(u64, u64)>,
    pub(super) sacked_sent: Option<(u64, u64)>,
    /// Of the segments that arrived now, the one sent last: its number, and the number of segments delivered when it was sent.
    pub(super) newest: Option<(u32, u32)>,
}

impl Effect {
    /// Whether the segment has more than an acknowledgment. (Linux: `FLAG_NOT_DUP`)
    pub(super) const fn is_not_duplicate(&self) -> bool {
        self.has_data || self.updates_window || self.acknowledged > 0
    }

    pub(super) fn note_overtaken(&mut self, sequence: u32) {
        if self.overtaken.is_none_or(|lowest| is_before(sequence, lowest)) {
            self.overtaken = Some(sequence);
        }
    }

    pub(super) fn note_delivered(&mut self, record: &Record) {
        if self.newest.is_none_or(|(order, _)| is_after(record.order, order)) {
            self.newest = Some((record.order, record.delivered));
        }
    }
}

/// `sent` extended by `latest`: when the first and the last segment were sent.
pub(super) fn span(sent: Option<(u64, u64)>, latest: u64) -> Option<(u64, u64)> {
    Some((sent.map_or(latest, |(first, _)| first), latest))
}
