//! Segments that may be sent, and the effects of a transmission.

use wirecost_proto::Instant;

use super::scoreboard::{Record, Tags};
use super::state::State;
use super::{Range, Recovery, Retransmit, micros, milliseconds};

impl Recovery {
    /// Notes the transmission of `len` sequence numbers from `sequence` on.
    pub(crate) fn sent(&mut self, sequence: u32, len: u32, now: Instant) {
        if self.scoreboard.in_flight() == 0 {
            self.algorithm.resume(self.last_sent_tick, self.clock.ticks(now));
        }
        self.last_sent_tick = self.clock.ticks(now);
        self.last_sent_micros = micros(now);
        self.sent_count = self.sent_count.wrapping_add(1);
        if sequence == self.scoreboard.next() {
            self.sent_first(sequence, len, now);
        } else {
            self.sent_again(sequence, now);
        }
    }

    fn sent_first(&mut self, sequence: u32, len: u32, now: Instant) {
        let was_empty = self.scoreboard.outstanding() == 0;
        self.scoreboard.push(Record {
            sequence,
            len,
            delivered: self.delivered,
            order: self.sent_count,
            tags: Tags::default(),
            sent_micros: micros(now),
        });
        // RFC 6298, section 5.1.
        if was_empty || self.timer.is_some_and(|timer| timer.is_loss_probe()) {
            self.rearm_rto(now);
        }
        if self.state.is_reducing() {
            self.reduction.note_sent();
        }
        self.validate_window(now);
        if self.probe.is_due() {
            self.probe_sent(false, now);
        } else {
            self.schedule_loss_probe(false, now);
        }
    }

    fn sent_again(&mut self, sequence: u32, now: Instant) {
        let Some(index) = self.scoreboard.index_of(sequence) else {
            return;
        };
        let is_probe = self.probe.is_due();
        let (delivered, order) = (self.delivered, self.sent_count);
        self.scoreboard.retag(index, |record| {
            record.tags.retransmitted |= !is_probe;
            record.tags.ever_retransmitted = true;
            record.delivered = delivered;
            record.order = order;
            record.sent_micros = micros(now);
        });
        self.retransmissions += 1;
        if is_probe {
            self.probe_sent(true, now);
            return;
        }
        self.undo.note_retransmission(milliseconds(now));
        if self.state.is_reducing() {
            self.reduction.note_sent();
        }
        if index == 0 && !self.timer.is_some_and(|timer| timer.is_reordering()) {
            self.set_rto_timer(self.rto_ticks, now);
        }
    }

    /// Whether a retransmission is due.
    #[inline]
    pub(crate) fn may_retransmit(&self) -> bool {
        self.retransmit == Retransmit::Lost || self.probe.is_retransmission_due()
    }

    /// The next range for retransmission; the same one until you call [`Recovery::sent`] for it.
    pub(crate) fn next_retransmission(&mut self) -> Option<Range> {
        if self.probe.is_retransmission_due() {
            return self.scoreboard.tail().map(Range::from_record);
        }
        if self.retransmit != Retransmit::Lost || !self.has_room() {
            return None;
        }
        let index = self.scoreboard.next_lost()?;
        if self.config.recovery.collapse {
            while self.scoreboard.collapse_next(index, self.segment_bytes) {}
        }
        self.scoreboard.get(index).map(Range::from_record)
    }

    /// Splits the segment that starts at `sequence`: at most `len` of it leave now.
    pub(crate) fn cut(&mut self, sequence: u32, len: u32) {
        if let Some(index) = self.scoreboard.index_of(sequence) {
            self.scoreboard.split(index, len);
        }
    }

    /// Whether new data may be sent.
    pub(crate) fn may_send_new(&self) -> bool {
        self.probe.is_new_data_due() || self.has_room()
    }

    /// Whether the next segment is a probe, which must not wait for more data.
    pub(crate) fn is_probing(&self) -> bool {
        self.probe.is_due() || self.retransmit == Retransmit::NewDataFirst
    }

    /// Whether the window has room for another segment.
    pub(super) fn has_room(&self) -> bool {
        self.scoreboard.in_flight() < self.window.cwnd()
    }

    /// Handles a write of the application: the window may restart after a pause (RFC 5681, section 4.1).
    pub(crate) fn resume(&mut self, now: Instant) {
        let tick = self.clock.ticks(now);
        let idle = tick.saturating_sub(self.last_sent_tick);
        let is_idle = self.scoreboard.outstanding() == 0 && idle > self.rto_ticks;
        if is_idle {
            self.window
                .restart(self.config.recovery.initial_window, idle, self.rto_ticks, tick);
        }
    }

    fn validate_window(&mut self, now: Instant) {
        let tick = self.clock.ticks(now);
        let outstanding = self.outstanding();
        let is_limiting = outstanding.in_flight >= self.window.cwnd();
        let is_unused = self
            .window
            .validate(&outstanding, is_limiting, tick, self.rto_ticks);
        if !is_unused {
            return;
        }
        if self.state == State::Open {
            self.window.decay(self.config.recovery.initial_window, tick);
        } else {
            self.window.stamp(tick);
        }
    }

    /// Notes that the window limits the sender, although a segment may leave.
    pub(super) fn note_window_limits(&mut self, now: Instant) {
        let outstanding = self.outstanding();
        self.window
            .validate(&outstanding, true, self.clock.ticks(now), self.rto_ticks);
    }
}
