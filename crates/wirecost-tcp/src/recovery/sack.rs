//! Selective acknowledgments: segments that arrived out of order, and segments that arrived twice (RFC 2018, RFC 2883).

use wirecost_proto::Instant;
use wirecost_wire::tcp::SackBlock;

use super::effect::{Effect, span};
use super::scoreboard::Record;
use super::state::State;
use super::{Ack, Recovery, micros};
use crate::sequence::{is_after, is_before};

impl Recovery {
    /// Marks selectively acknowledged segments. (Linux: `tcp_sacktag_write_queue`)
    pub(super) fn take_sack(&mut self, ack: &Ack, effect: &mut Effect, now: Instant) {
        let Some(first) = ack.sack.iter().next() else {
            return;
        };
        let second = ack.sack.iter().nth(1);
        let is_duplicate = is_duplicate_report(&first, second.as_ref(), ack.acknowledgment)
            && self.take_duplicate(&first, effect);
        // In order, so that the blocks of one acknowledgment do not count as reordered.
        let mut least = None;
        while let Some((block, is_first)) = next_block(ack, least) {
            least = Some(block);
            let is_duplicate = is_duplicate && is_first;
            if self.is_valid(&block, ack.acknowledgment, is_duplicate) {
                self.take_block(&block, is_duplicate, ack.acknowledgment, effect, now);
            }
        }
        if (self.state != State::Loss || self.undo.marker.is_some())
            && let Some(overtaken) = effect.overtaken.take()
        {
            self.note_reordering(overtaken);
        }
    }

    /// Whether a block lies in the outstanding data (RFC 2018, section 4), or reports a duplicate since the last reduction.
    /// (Linux: `tcp_is_sackblock_valid`)
    fn is_valid(&self, block: &SackBlock, una: u32, is_duplicate: bool) -> bool {
        if !is_before(block.left, block.right) || is_after(block.right, self.scoreboard.next()) {
            return false;
        }
        if is_after(block.left, una) {
            return true;
        }
        // Data acknowledged before this acknowledgment has left the scoreboard.
        let is_new = is_after(block.right, self.scoreboard.una()) && !is_after(block.right, una);
        let is_since = |marker| is_after(block.right, marker);
        is_duplicate && is_new && self.undo.marker.is_some_and(is_since)
    }

    /// Counts a segment that arrived twice (RFC 2883, section 4); `false` if this end cannot have caused it. (Linux:
    /// `tcp_check_dsack`, `tcp_dsack_seen`)
    fn take_duplicate(&mut self, block: &SackBlock, effect: &mut Effect) -> bool {
        let len = block.right.wrapping_sub(block.left);
        if !is_before(block.left, block.right) || len > self.largest_window {
            return false;
        }
        let segments = len.div_ceil(self.segment_bytes.max(1));
        effect.is_probe_duplicate |= len <= self.segment_bytes && self.probe.ends_at(block.right);
        self.duplicates += segments;
        if self.duplicates > self.retransmissions {
            return false;
        }
        if !effect.is_probe_duplicate {
            self.rack.note_duplicate();
        }
        effect.reports_duplicate = true;
        self.delivered += segments;
        if !is_after(block.right, effect.prior_una) {
            self.undo.note_duplicates(block.right, segments);
        }
        true
    }

    fn take_block(
        &mut self,
        block: &SackBlock,
        is_duplicate: bool,
        una: u32,
        effect: &mut Effect,
        now: Instant,
    ) {
        let start = self.scoreboard.first_from(block.left);
        for index in start..self.scoreboard.len() {
            let Some(record) = self.scoreboard.get(index).copied() else {
                break;
            };
            if is_after(record.end(), block.right) {
                break;
            }
            if is_duplicate && record.tags.ever_retransmitted {
                self.undo.note_duplicates(record.end(), 1);
                if record.tags.sacked {
                    effect.note_overtaken(record.sequence);
                }
            }
            if !is_after(record.end(), una) {
                continue;
            }
            if !record.tags.sacked {
                self.take_sacked(index, &record, effect, now);
            }
            if is_duplicate && record.tags.retransmitted {
                self.scoreboard
                    .retag(index, |record| record.tags.retransmitted = false);
            }
        }
    }

    /// Marks a segment that has arrived out of order. (Linux: `tcp_sacktag_one`)
    fn take_sacked(&mut self, index: usize, record: &Record, effect: &mut Effect, now: Instant) {
        self.rack.advance(record, micros(now), &self.min_rtt);
        if !record.tags.ever_retransmitted {
            if is_before(record.sequence, self.scoreboard.highest_sacked()) {
                effect.note_overtaken(record.sequence);
            }
            effect.delivered_original |= !is_after(record.end(), self.high_sequence);
            effect.sacked_sent = span(effect.sacked_sent, record.sent_micros);
        }
        self.scoreboard.retag(index, |record| {
            // The retransmission of a segment that was not marked lost is still in flight.
            record.tags.retransmitted &= !record.tags.lost;
            record.tags.lost = false;
            record.tags.sacked = true;
        });
        effect.sacked_data = true;
        effect.note_delivered(record);
        self.delivered += 1;
    }
}

/// Whether the first block reports a duplicate: it is acknowledged, or within the second (RFC 2883, section 4).
fn is_duplicate_report(first: &SackBlock, second: Option<&SackBlock>, acknowledgment: u32) -> bool {
    let is_within =
        |outer: &SackBlock| !is_after(first.right, outer.right) && !is_before(first.left, outer.left);
    is_before(first.left, acknowledgment) || second.is_some_and(is_within)
}

/// The block that follows `previous` in the order of sequence numbers, and whether it is first in the acknowledgment.
fn next_block(ack: &Ack, previous: Option<SackBlock>) -> Option<(SackBlock, bool)> {
    let order = |block: &SackBlock| block.left.wrapping_sub(ack.acknowledgment) as i32;
    ack.sack
        .iter()
        .enumerate()
        .filter(|(_, block)| previous.is_none_or(|previous| order(block) > order(&previous)))
        .min_by_key(|(_, block)| order(block))
        .map(|(index, block)| (block, index == 0))
}
