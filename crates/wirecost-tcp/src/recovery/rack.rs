//! Loss found by time: a segment is lost when one sent later has arrived and a reordering window has passed (RACK,
//! RFC 8985, section 6).

use super::rtt::MinRtt;
use super::scoreboard::{Record, Scoreboard, Tags};
use crate::packed::packs;
use crate::sequence::is_after;

/// Recoveries for which a widened reordering window is kept. (RFC 8985, section 6.2, step 4)
const PERSIST: u8 = 16;

/// The state of RACK.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The number of the segment sent last among those that arrived. The standard uses times and sequence numbers
    /// (RACK.xmit_ts, RACK.end_seq); in virtual time many segments, even retransmissions, are sent at one instant.
    newest: Option<u32>,
    /// Its round trip, in microseconds (RACK.rtt).
    rtt_micros: u64,
    /// Whether it changed since the last detection of losses.
    pub(super) has_advanced: bool,
    /// The largest reordering in segments, plus one; this number of duplicates is a loss (DupThresh in RFC 6675).
    pub(super) reordering: u32,
    /// Whether reordering was seen (RACK.reordering_seen).
    pub(super) is_reordering_seen: bool,
    window: ReorderingWindow,
}

packs!(Rack {
    newest,
    rtt_micros,
    has_advanced,
    reordering,
    is_reordering_seen,
    window
});

/// How wide the reordering window is, in quarters of the least round trip (RFC 8985, section 6.2, step 4).
#[derive(Clone, Copy, Debug)]
struct ReorderingWindow {
    steps: u32,
    /// The number of recoveries until it is narrow again.
    persist: u8,
    /// Whether a segment was reported to have arrived twice since the window was last changed.
    is_duplicate_seen: bool,
    /// Segments delivered when it was last changed.
    changed_at: u32,
}

packs!(ReorderingWindow {
    steps,
    persist,
    is_duplicate_seen,
    changed_at
});

/// The inputs of loss detection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<'a> {
    pub(super) now_micros: u64,
    pub(super) min_rtt: &'a MinRtt,
    /// Eight times the smoothed round trip, in microseconds.
    pub(super) srtt_eighths: u64,
    /// Whether a recovery is under way.
    pub(super) is_recovering: bool,
}

impl Rack {
    /// net.ipv4.tcp_reordering, and RFC 5681's three duplicates.
    pub(super) const DUPLICATE_THRESHOLD: u32 = 3;
    /// net.ipv4.tcp_max_reordering.
    const MAX_REORDERING: u32 = 300;

    pub(super) const fn new() -> Self {
        Self {
            newest: None,
            rtt_micros: 0,
            has_advanced: false,
            reordering: Self::DUPLICATE_THRESHOLD,
            is_reordering_seen: false,
            window: ReorderingWindow {
                steps: 1,
                persist: 0,
                is_duplicate_seen: false,
                changed_at: 0,
            },
        }
    }

    /// Handles a segment that has arrived (RFC 8985, section 6.2, step 2).
    pub(super) fn advance(&mut self, record: &Record, now_micros: u64, min_rtt: &MinRtt) {
        let rtt_micros = now_micros.saturating_sub(record.sent_micros);
        // The first transmission may have arrived; its round trip is unknown.
        if record.tags.ever_retransmitted && rtt_micros < min_rtt.micros() {
            return;
        }
        self.has_advanced = true;
        self.rtt_micros = rtt_micros;
        if self.newest.is_none_or(|newest| is_after(record.order, newest)) {
            self.newest = Some(record.order);
        }
    }

    /// Notes that segments up to `high` overtook segment `low`; each has `segment_bytes` (RFC 8985, section 6.2, step 3).
    pub(super) fn note_reordering(&mut self, low: u32, high: u32, segment_bytes: u32) {
        if !is_after(high, low) {
            return;
        }
        let distance = high.wrapping_sub(low);
        if distance > self.reordering.saturating_mul(segment_bytes) && segment_bytes > 0 {
            self.reordering = distance.div_ceil(segment_bytes).min(Self::MAX_REORDERING);
        }
        self.is_reordering_seen = true;
    }

    /// Notes more duplicates than possible gaps in `outstanding` segments. (Linux: `tcp_check_reno_reordering`)
    pub(super) fn note_duplicates(&mut self, outstanding: u32) {
        self.reordering = outstanding.min(Self::MAX_REORDERING);
        self.is_reordering_seen = true;
    }

    /// Notes a D-SACK for a segment that was not a probe.
    pub(super) const fn note_duplicate(&mut self) {
        if self.is_reordering_seen {
            self.window.is_duplicate_seen = true;
        }
    }

    /// Widens the reordering window after duplicates, once a round trip (RFC 8985, section 6.2, step 4). `sample_delivered`
    /// were delivered when the segment was sent that just arrived, `delivered` are now. (Linux: `tcp_rack_update_reo_wnd`)
    pub(super) fn adapt_window(&mut self, sample_delivered: u32, delivered: u32) {
        let window = &mut self.window;
        if sample_delivered < window.changed_at {
            window.is_duplicate_seen = false;
        }
        if window.is_duplicate_seen {
            *window = ReorderingWindow {
                steps: (window.steps + 1).min(0xff),
                persist: PERSIST,
                is_duplicate_seen: false,
                changed_at: delivered,
            };
        } else if window.persist == 0 {
            window.steps = 1;
        }
    }

    /// Notes the end of a recovery; `was_spurious`: nothing was lost.
    pub(super) fn recovery_ended(&mut self, was_spurious: bool) {
        let persist = &mut self.window.persist;
        *persist = if was_spurious {
            PERSIST.min(*persist + 1)
        } else {
            persist.saturating_sub(1)
        };
    }

    /// The reordering window, in microseconds. (Linux: `tcp_rack_reo_wnd`)
    fn window_micros(&self, sacked: u32, evidence: &Evidence<'_>) -> u64 {
        // RFC 8985, section 6.2, step 4: zero before reordering was seen, if losses are evident.
        if !self.is_reordering_seen && (evidence.is_recovering || sacked >= self.reordering) {
            return 0;
        }
        let window = (evidence.min_rtt.micros() / 4).saturating_mul(u64::from(self.window.steps));
        window.min(evidence.srtt_eighths / 8)
    }

    /// Whether `record` was sent so recently that its acknowledgment may be in transit.
    pub(super) const fn may_still_arrive(&self, record: &Record, now_micros: u64) -> bool {
        record.sent_micros + self.rtt_micros > now_micros
    }

    /// Marks lost segments (RFC 8985, section 6.2, step 5). Returns their number, and the microseconds until the next detection.
    pub(super) fn detect(&self, scoreboard: &mut Scoreboard, evidence: &Evidence<'_>) -> (u32, Option<u64>) {
        let Some(newest) = self.newest else {
            return (0, None);
        };
        let patience = self.rtt_micros + self.window_micros(scoreboard.sacked(), evidence);
        let mut found = 0;
        let mut wait: Option<u64> = None;
        for index in 0..scoreboard.len() {
            let Some(record) = scoreboard.get(index) else {
                break;
            };
            // No later segment was sent as early: retransmissions are below the segments first sent after them.
            if !record.tags.ever_retransmitted && is_after(record.order, newest) {
                break;
            }
            if !is_overdue(record, newest) {
                continue;
            }
            let due = record.sent_micros + patience;
            if due > evidence.now_micros {
                wait = wait.max(Some(due - evidence.now_micros));
                continue;
            }
            scoreboard.retag(index, |record| record.tags.mark_lost());
            found += 1;
        }
        (found, wait)
    }
}

impl Tags {
    /// Marks the segment, or its retransmission, as lost.
    pub(super) const fn mark_lost(&mut self) {
        self.lost = true;
        self.retransmitted = false;
    }
}

/// Whether a segment sent after `record` has arrived, and `record` may be in the network.
fn is_overdue(record: &Record, newest: u32) -> bool {
    let is_awaited = !record.tags.sacked && (!record.tags.lost || record.tags.retransmitted);
    is_awaited && is_after(newest, record.order)
}

#[cfg(test)]
mod tests;
