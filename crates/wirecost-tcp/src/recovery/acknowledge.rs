//! The handling of an acknowledgment, from the scoreboard to the window. (Linux: `tcp_ack`)
//!
//! 1. selective acknowledgments tag the scoreboard (RFC 2018, RFC 2883);
//! 2. acknowledged segments leave it, and their round trip is measured (RFC 6298, section 3; RFC 7323, section 4);
//! 3. the tail loss probe ends, if one was out (RFC 8985, section 7.4);
//! 4. losses are found and the state changes (`state`);
//! 5. the timer starts again (RFC 6298, section 5.3);
//! 6. the window grows (RFC 5681, section 3.1) or shrinks (RFC 6937).

use core::time::Duration;

use wirecost_proto::Instant;

use super::effect::{Effect, span};
use super::rtt::RttSample;
use super::scoreboard::Record;
use super::state::State;
use super::tail_loss_probe::TailProbe;
use super::{Ack, Recovery, Retransmit, micros, milliseconds};
use crate::recovery::congestion::AckSample;
use crate::sequence::{is_after, is_before};

impl Recovery {
    /// Handles an acceptable acknowledgment (RFC 9293, section 3.10.7.4); ignores one beyond SND.NXT.
    pub(crate) fn handle_ack(&mut self, ack: &Ack, now: Instant) {
        let prior_una = self.scoreboard.una();
        if is_after(ack.acknowledgment, self.scoreboard.next()) {
            return;
        }
        if self.says_nothing(ack) {
            self.largest_window = self.largest_window.max(ack.window_bytes);
            return;
        }
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
    }

    /// Whether nothing is outstanding that an acknowledgment could affect: the peer sends, and this end only receives.
    fn says_nothing(&self, ack: &Ack) -> bool {
        self.scoreboard.outstanding() == 0
            && ack.acknowledgment == self.scoreboard.una()
            && ack.sack.is_empty()
            && self.probe == TailProbe::Idle
    }

    /// Handles a late acknowledgment, which may have new SACK blocks.
    fn handle_old_ack(&mut self, ack: &Ack, effect: &mut Effect, now: Instant) {
        if self.has_sack && !ack.sack.is_empty() {
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
        self.update_pacing();
    }

    /// Handles an acknowledgment while nothing is outstanding: a late D-SACK may still undo a reduction.
    fn handle_idle_ack(&mut self, ack: &Ack, effect: &mut Effect, now: Instant) {
        if effect.reports_duplicate {
            self.alert(effect, now);
        }
        self.end_probe(ack.acknowledgment, effect, now);
    }

    /// Whether the acknowledgment may change the state. (Linux: `tcp_ack_is_dubious`)
    fn is_dubious(&self, effect: &Effect) -> bool {
        !effect.is_not_duplicate()
            || effect.sacked_data
            || effect.reports_duplicate
            || self.state != State::Open
    }

    /// Removes acknowledged segments. (Linux: `tcp_clean_rtx_queue`)
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

    /// Measures round trips: of segments sent once (Karn's algorithm, RFC 6298, section 3), otherwise by the echoed timestamp
    /// (RFC 7323, section 4.1). (Linux: `tcp_ack_update_rtt`)
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
        self.measure_rto(first);
        // The timer restarts if the first outstanding segment was sent after the measured one.
        let is_newer =
            |head: &Record| effect.sacked_sent.is_some() && measured_by > 0 && measured_by < head.sent_micros;
        effect.restarts_timer = effect.acknowledged == 0 && self.scoreboard.head().is_some_and(is_newer);
        self.learn(Some(last), now);
    }

    fn measure_rto(&mut self, rtt_micros: u64) {
        let sample = RttSample {
            micros: rtt_micros,
            una: self.scoreboard.una(),
            next: self.scoreboard.next(),
        };
        self.rtt.measure(&sample, &self.clock);
        // RFC 6298, section 5, and Karn: a valid measurement ends the backing off.
        self.rto_ticks = self.rtt.rto_ticks();
    }

    /// The round trip of the handshake.
    pub(super) fn measure_opening(&mut self, rtt: Duration, tick: u64) {
        let rtt_micros = u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX);
        self.min_rtt.measure(rtt_micros.max(1), tick, &self.clock);
        self.measure_rto(rtt_micros);
    }

    /// Whether the peer may have delayed this acknowledgment, because it is for a single small segment. (Linux:
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

    /// Gives congestion control a round trip.
    fn learn(&mut self, rtt_micros: Option<u64>, now: Instant) {
        let sample = AckSample {
            now_micros: micros(now),
            rtt_micros,
            una: self.scoreboard.una(),
            next: self.scoreboard.next(),
            pacing: self.pacing,
        };
        self.algorithm.measure(&sample, &mut self.window, &self.clock);
    }

    /// Updates duplicates and reordering after segments were acknowledged.
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

    pub(super) fn note_reordering(&mut self, overtaken: u32) {
        let highest = self.scoreboard.highest_sacked();
        self.rack.note_reordering(overtaken, highest, self.segment_bytes);
    }

    /// Shrinks the window during a recovery, otherwise grows it. (Linux: `tcp_cong_control`)
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

    /// Whether the window may grow: only for segments that arrive in order, unless reordering is common.
    fn may_grow(&self, effect: &Effect) -> bool {
        effect.acknowledged > 0 || (self.is_reordering_high() && effect.sacked_data)
    }

    /// Ends F-RTO if the window is full, because new data cannot go first.
    fn settle_forward_rto(&mut self) {
        if self.retransmit == Retransmit::NewDataFirst && !self.has_room() {
            self.is_forward_rto = false;
            self.retransmit = Retransmit::Lost;
        }
    }
}

/// Whether the echoed timestamp was sent before the segment's retransmission: the first transmission arrived.
fn is_echo_older(echo: Option<u32>, record: &Record) -> bool {
    let sent_ms = (record.sent_micros / 1_000) as u32;
    record.tags.ever_retransmitted && echo.is_some_and(|echo| is_before(echo, sent_ms))
}
