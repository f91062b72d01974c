//! An acknowledgment, from the scoreboard to the window. (Linux: `tcp_ack`)
//!
//! 1. selective acknowledgments tag the scoreboard (RFC 2018, RFC 2883);
//! 2. what is acknowledged leaves it, and its round trip is measured (RFC 6298, section 3; RFC 7323, section 4);
//! 3. the tail loss probe ends, if one was out (RFC 8985, section 7.4);
//! 4. losses are found and the state changes (`state`);
//! 5. the timer starts again (RFC 6298, section 5.3);
//! 6. the window grows (RFC 5681, section 3.1) or falls (RFC 6937).

use wirecost_proto::Instant;
use wirecost_wire::tcp::SackBlock;

use super::rtt::RttSample;
use super::scoreboard::Record;
use super::sequence::{is_after, is_before};
use super::state::State;
use super::{Ack, Acked, Recovery, Retransmit, micros, milliseconds};
use crate::congestion::AckSample;
use core::time::Duration;

/// What an acknowledgment was found to say, step by step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effect {
    pub(super) prior_una: u32,
    pub(super) echo: Option<u32>,
    pub(super) has_new_data: bool,
    has_data: bool,
    updates_window: bool,
    /// SND.UNA advanced.
    pub(super) advances: bool,
    /// Segments left the scoreboard.
    acknowledged: u32,
    /// Segments were selectively acknowledged.
    pub(super) sacked_data: bool,
    /// A segment was reported to have arrived twice.
    reports_duplicate: bool,
    /// That was the tail loss probe.
    pub(super) is_probe_duplicate: bool,
    /// It is a duplicate acknowledgment (RFC 5681, section 2).
    pub(super) is_duplicate: bool,
    /// What was never retransmitted and sent before the state was entered has arrived.
    pub(super) delivered_original: bool,
    /// A retransmitted segment was acknowledged.
    acknowledged_retransmission: bool,
    /// What was selectively acknowledged was not acknowledged with what precedes it.
    pub(super) is_reneging: bool,
    /// A retransmission was found lost.
    pub(super) lost_retransmission: bool,
    /// The timer starts again.
    pub(super) restarts_timer: bool,
    /// The lowest sequence number that others overtook.
    overtaken: Option<u32>,
    /// When the first and the last segment were sent that were acknowledged, and those selectively acknowledged.
    acknowledged_sent: Option<(u64, u64)>,
    sacked_sent: Option<(u64, u64)>,
    /// The segment sent last of those that arrived now: the how manieth, and how many were delivered when it was sent.
    newest: Option<(u32, u32)>,
}

impl Effect {
    /// Whether more than an acknowledgment came. (Linux: `FLAG_NOT_DUP`)
    pub(super) const fn is_not_duplicate(&self) -> bool {
        self.has_data || self.updates_window || self.acknowledged > 0
    }

    fn note_overtaken(&mut self, sequence: u32) {
        if self.overtaken.is_none_or(|lowest| is_before(sequence, lowest)) {
            self.overtaken = Some(sequence);
        }
    }

    fn note_delivered(&mut self, record: &Record) {
        if self.newest.is_none_or(|(order, _)| is_after(record.order, order)) {
            self.newest = Some((record.order, record.delivered));
        }
    }
}

fn span(sent: Option<(u64, u64)>, latest: u64) -> Option<(u64, u64)> {
    Some((sent.map_or(latest, |(first, _)| first), latest))
}

impl Recovery {
    /// Takes an acknowledgment that is acceptable (RFC 9293, section 3.10.7.4); one of what was never sent is ignored.
    pub(crate) fn handle_ack(&mut self, ack: &Ack, now: Instant) -> Acked {
        let prior_una = self.scoreboard.una();
        if is_after(ack.acknowledgment, self.scoreboard.next()) {
            return Acked::default();
        }
        let delivered = self.delivered;
        let mut effect = Effect {
            prior_una,
            echo: ack.echo,
            has_new_data: ack.has_new_data,
            has_data: ack.has_data,
            updates_window: ack.updates_window,
            advances: is_after(ack.acknowledgment, prior_una),
            ..Effect::default()
        };
        if is_before(ack.acknowledgment, prior_una) {
            self.handle_old_ack(ack, &mut effect, now);
        } else {
            self.largest_window = self.largest_window.max(ack.window_bytes);
            self.handle_new_ack(ack, &mut effect, now);
        }
        Acked {
            advanced: self.scoreboard.una().wrapping_sub(prior_una),
            delivered: self.delivered.wrapping_sub(delivered),
        }
    }

    /// An acknowledgment that came late may say something selectively.
    fn handle_old_ack(&mut self, ack: &Ack, effect: &mut Effect, now: Instant) {
        if self.has_sack && ack.sack.iter().next().is_some() {
            self.take_sack(ack, effect, now);
            self.alert(effect, now);
        }
    }

    fn handle_new_ack(&mut self, ack: &Ack, effect: &mut Effect, now: Instant) {
        let (prior_delivered, prior_lost) = (self.delivered, self.found_lost);
        let was_empty = self.scoreboard.outstanding() == 0;
        let prior_highest = self.scoreboard.highest_sacked();
        let prior_sacked = self.scoreboard.sacked();
        if effect.advances {
            self.timeouts = 0;
        }
        if self.has_sack {
            self.take_sack(ack, effect, now);
        }
        if was_empty {
            self.handle_idle_ack(ack, effect, now);
            return;
        }
        self.take_acknowledged(ack.acknowledgment, effect, now);
        self.measure(effect, prior_sacked, now);
        self.settle_acknowledged(effect, prior_highest);
        if let Some((_, delivered)) = effect.newest {
            self.rack.adapt_window(delivered, self.delivered);
        }
        self.end_probe(ack.acknowledgment, effect, now);
        self.retransmit = Retransmit::Nothing;
        if self.is_dubious(effect) {
            effect.is_duplicate = !effect.advances && !effect.is_not_duplicate() && !effect.reports_duplicate;
            self.alert(effect, now);
        }
        if effect.restarts_timer && !self.schedule_loss_probe(true, now) {
            self.rearm_rto(now);
        }
        let delivered = self.delivered.wrapping_sub(prior_delivered);
        self.control_window(delivered, self.found_lost.wrapping_sub(prior_lost), effect, now);
        self.settle_forward_rto();
    }

    /// Nothing was out: a late report of duplicates may still take a reduction back.
    fn handle_idle_ack(&mut self, ack: &Ack, effect: &mut Effect, now: Instant) {
        if effect.reports_duplicate {
            self.alert(effect, now);
        }
        self.end_probe(ack.acknowledgment, effect, now);
    }

    /// Whether more is to be looked at than the window. (Linux: `tcp_ack_is_dubious`)
    fn is_dubious(&self, effect: &Effect) -> bool {
        !effect.is_not_duplicate()
            || effect.sacked_data
            || effect.reports_duplicate
            || self.state != State::Open
    }

    /// Tags what was selectively acknowledged. (Linux: `tcp_sacktag_write_queue`)
    fn take_sack(&mut self, ack: &Ack, effect: &mut Effect, now: Instant) {
        let Some(first) = ack.sack.iter().next() else {
            return;
        };
        let second = ack.sack.iter().nth(1);
        let is_duplicate = is_duplicate_report(&first, second.as_ref(), ack.acknowledgment)
            && self.take_duplicate(&first, effect);
        // In order, so that a block does not seem to have been overtaken by another of the same acknowledgment.
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

    /// Whether a block lies in what is out (RFC 2018, section 4), or reports a duplicate since the last reduction. (Linux:
    /// `tcp_is_sackblock_valid`)
    fn is_valid(&self, block: &SackBlock, una: u32, is_duplicate: bool) -> bool {
        if !is_before(block.left, block.right) || is_after(block.right, self.scoreboard.next()) {
            return false;
        }
        if is_after(block.left, una) {
            return true;
        }
        // What was acknowledged before this acknowledgment has left the scoreboard.
        let is_new = is_after(block.right, self.scoreboard.una()) && !is_after(block.right, una);
        let is_since = |marker| is_after(block.right, marker);
        is_duplicate && is_new && self.undo.marker.is_some_and(is_since)
    }

    /// Counts a segment that arrived twice (RFC 2883, section 4); `false` where this end cannot have caused it. (Linux:
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

    /// Tags a segment that has arrived out of order. (Linux: `tcp_sacktag_one`)
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
            // What was not lost when it was retransmitted has its retransmission in flight still.
            record.tags.retransmitted &= !record.tags.lost;
            record.tags.lost = false;
            record.tags.sacked = true;
        });
        effect.sacked_data = true;
        effect.note_delivered(record);
        self.delivered += 1;
    }

    /// Takes out what is acknowledged. (Linux: `tcp_clean_rtx_queue`)
    fn take_acknowledged(&mut self, acknowledgment: u32, effect: &mut Effect, now: Instant) {
        while let Some(record) = self.scoreboard.pop_acknowledged(acknowledgment) {
            effect.acknowledged += 1;
            if record.tags.ever_retransmitted {
                effect.acknowledged_retransmission = true;
            } else if !record.tags.sacked {
                effect.acknowledged_sent = span(effect.acknowledged_sent, record.sent_micros);
                effect.note_overtaken(record.sequence);
                effect.delivered_original |= !is_after(record.end(), self.high_sequence);
            }
            if record.tags.sacked {
                continue;
            }
            effect.note_delivered(&record);
            if self.has_sack {
                self.delivered += 1;
                if !is_echo_older(effect.echo, &record) {
                    self.rack.advance(&record, micros(now), &self.min_rtt);
                }
            }
        }
        effect.is_reneging = self.scoreboard.head().is_some_and(|head| head.tags.sacked);
    }

    /// Measures round trips: of segments sent once (Karn's algorithm, RFC 6298, section 3), else by the timestamp that came
    /// back (RFC 7323, section 4.1). (Linux: `tcp_ack_update_rtt`)
    fn measure(&mut self, effect: &mut Effect, prior_sacked: u32, now: Instant) {
        let age = |sent: u64| micros(now).saturating_sub(sent);
        let acknowledged = effect
            .acknowledged_sent
            .filter(|_| !effect.acknowledged_retransmission);
        let is_delayed = acknowledged.is_some() && self.may_be_delayed(effect, prior_sacked);
        let sent = acknowledged.or(effect.sacked_sent);
        let echoed = effect.echo.filter(|_| effect.acknowledged > 0);
        let (first, last, measured_by) = match (sent, echoed) {
            (Some((first, last)), _) => {
                let last = effect.sacked_sent.map_or(last, |(_, last)| last);
                (age(first), age(last), first)
            }
            (None, Some(echo)) => {
                let rtt = u64::from(milliseconds(now).wrapping_sub(echo).max(1)) * 1_000;
                (rtt, rtt, 0)
            }
            (None, None) => {
                self.learn(None, now);
                return;
            }
        };
        if !(is_delayed && last > self.min_rtt.micros()) {
            let least = if last == 0 { self.clock.micros(1) } else { last };
            self.min_rtt.measure(least, self.clock.ticks(now), &self.clock);
        }
        self.measure_rto(first, now);
        // A first segment that was sent before what was measured does not wait longer for that.
        let is_newer =
            |head: &Record| effect.sacked_sent.is_some() && measured_by > 0 && measured_by < head.sent_micros;
        effect.restarts_timer = effect.acknowledged == 0 && self.scoreboard.head().is_some_and(is_newer);
        self.learn(Some(last), now);
    }

    fn measure_rto(&mut self, rtt_micros: u64, now: Instant) {
        let sent_micros = micros(now).saturating_sub(rtt_micros);
        let sample = RttSample {
            micros: rtt_micros,
            ticks: self
                .clock
                .ticks(now)
                .saturating_sub(self.clock.ticks_at(sent_micros)),
            una: self.scoreboard.una(),
            next: self.scoreboard.next(),
        };
        self.rtt.measure(&sample, &self.clock);
        // RFC 6298, section 5, and Karn: a valid measurement ends the backing off.
        self.rto_ticks = self.rtt.rto_ticks();
        self.doublings = 0;
    }

    /// The round trip of the handshake.
    pub(super) fn measure_opening(&mut self, rtt: Duration, tick: u64) {
        let rtt_micros = u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX);
        self.min_rtt.measure(rtt_micros.max(1), tick, &self.clock);
        let sample = RttSample {
            micros: rtt_micros,
            ticks: self.clock.ticks_at(rtt_micros),
            una: self.scoreboard.una(),
            next: self.scoreboard.next(),
        };
        self.rtt.measure(&sample, &self.clock);
        self.rto_ticks = self.rtt.rto_ticks();
    }

    /// Whether the peer may have held this acknowledgment back: that of a lone small segment. (Linux:
    /// `FLAG_ACK_MAYBE_DELAYED`)
    fn may_be_delayed(&self, effect: &Effect, prior_sacked: u32) -> bool {
        let advanced = self.scoreboard.una().wrapping_sub(effect.prior_una);
        let is_alone = effect
            .newest
            .is_some_and(|(_, delivered)| delivered + 1 == self.delivered);
        effect.acknowledged == 1
            && prior_sacked == 0
            && advanced < self.segment_bytes
            && is_alone
            && !effect.sacked_data
            && !effect.reports_duplicate
    }

    /// Tells congestion control of a round trip.
    fn learn(&mut self, rtt_micros: Option<u64>, now: Instant) {
        let sample = AckSample {
            now_micros: micros(now),
            rtt_micros,
            una: self.scoreboard.una(),
            next: self.scoreboard.next(),
            train_micros: self.train_micros(),
        };
        self.algorithm.measure(&sample, &mut self.window, &self.clock);
    }

    /// How long four trains of the greatest length last at the rate of sending, in microseconds. (Linux: `hystart_ack_delay`,
    /// `tcp_update_pacing_rate`)
    fn train_micros(&self) -> u64 {
        /// `GSO_LEGACY_MAX_SIZE` less the longest header.
        const TRAIN_BYTES: u64 = 65_536 - 321;
        let Some(srtt_eighths) = self.rtt.srtt_eighths() else {
            return 0;
        };
        let segments = self.window.cwnd().max(self.scoreboard.outstanding());
        let percent = if self.window.cwnd() < self.window.ssthresh() / 2 {
            200
        } else {
            120
        };
        let bytes = u64::from(self.segment_bytes) * u64::from(segments) * percent / 100;
        let bytes_per_second = (bytes * 8_000_000).checked_div(srtt_eighths).unwrap_or(0);
        let micros = (TRAIN_BYTES * 4_000_000)
            .checked_div(bytes_per_second)
            .unwrap_or(0);
        micros.min(1_000)
    }

    /// Duplicates and reordering after segments were acknowledged.
    fn settle_acknowledged(&mut self, effect: &mut Effect, prior_highest: u32) {
        if effect.acknowledged == 0 {
            return;
        }
        // RFC 6298, section 5.3.
        effect.restarts_timer = true;
        if !self.has_sack {
            self.uncount_duplicates(effect.acknowledged);
            effect.delivered_original &= !effect.acknowledged_retransmission;
        } else if let Some(overtaken) = effect.overtaken
            && is_before(overtaken, prior_highest)
        {
            self.note_reordering(overtaken);
        }
    }

    fn note_reordering(&mut self, overtaken: u32) {
        let highest = self.scoreboard.highest_sacked();
        self.rack.note_reordering(overtaken, highest, self.segment_bytes);
    }

    /// The window falls during a recovery, and grows otherwise. (Linux: `tcp_cong_control`)
    fn control_window(&mut self, delivered: u32, lost: u32, effect: &Effect, now: Instant) {
        let tick = self.clock.ticks(now);
        if self.state.is_reducing() {
            self.reduce_window(delivered, lost, effect.advances);
        } else if self.may_grow(effect) {
            self.algorithm
                .grow(&mut self.window, delivered, tick, &self.clock);
            self.window.stamp(tick);
        }
    }

    /// Only what arrives in order lets the window grow, unless segments often overtake one another.
    fn may_grow(&self, effect: &Effect) -> bool {
        effect.acknowledged > 0 || (self.is_reordering_high() && effect.sacked_data)
    }

    /// New data cannot go first where the window is full.
    fn settle_forward_rto(&mut self) {
        if self.retransmit == Retransmit::NewDataFirst && !self.has_room() {
            self.is_forward_rto = false;
            self.retransmit = Retransmit::Lost;
        }
    }
}

/// Whether the first block reports a duplicate: it is acknowledged, or within the second (RFC 2883, section 4).
fn is_duplicate_report(first: &SackBlock, second: Option<&SackBlock>, acknowledgment: u32) -> bool {
    let is_within =
        |outer: &SackBlock| !is_after(first.right, outer.right) && !is_before(first.left, outer.left);
    is_before(first.left, acknowledgment) || second.is_some_and(is_within)
}

/// The block that follows `previous` in the order of sequence numbers, and whether it stands first in the acknowledgment.
fn next_block(ack: &Ack, previous: Option<SackBlock>) -> Option<(SackBlock, bool)> {
    let order = |block: &SackBlock| block.left.wrapping_sub(ack.acknowledgment) as i32;
    ack.sack
        .iter()
        .enumerate()
        .filter(|(_, block)| previous.is_none_or(|previous| order(block) > order(&previous)))
        .min_by_key(|(_, block)| order(block))
        .map(|(index, block)| (block, index == 0))
}

/// Whether the timestamp that came back was sent before the segment's retransmission: the first transmission arrived.
fn is_echo_older(echo: Option<u32>, record: &Record) -> bool {
    let sent_ms = (record.sent_micros / 1_000) as u32;
    record.tags.ever_retransmitted && echo.is_some_and(|echo| is_before(echo, sent_ms))
}
