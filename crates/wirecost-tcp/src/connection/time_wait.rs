//! TIME-WAIT: both directions are closed, and late segments are answered for a while (RFC 9293, section 3.6.1).

use core::time::Duration;

use wirecost_proto::Instant;
use wirecost_wire::tcp::Flags;

use super::Transmit;
use crate::segment::Segment;
use crate::sequence::is_before;

/// A connection in TIME-WAIT.
#[derive(Debug)]
pub(crate) struct TimeWait {
    /// The last acknowledgment.
    answer: Segment,
    /// The end of the stream.
    offset: u64,
    /// Whether it is to be sent.
    is_due: bool,
    lasts: Duration,
    ends: Instant,
    initial_sequence: u32,
}

impl TimeWait {
    /// Waits for `lasts`; `answer` is the last acknowledgment, sent already.
    pub(crate) fn new(answer: Transmit, initial_sequence: u32, lasts: Duration, now: Instant) -> Self {
        Self {
            answer: answer.segment,
            offset: answer.offset,
            is_due: false,
            lasts,
            ends: now + lasts,
            initial_sequence,
        }
    }

    /// The same with the acknowledgment still to be sent.
    pub(crate) fn due(mut self) -> Self {
        self.is_due = true;
        self
    }

    pub(crate) const fn ends(&self) -> Instant {
        self.ends
    }

    /// Handles a late segment; returns whether a reset ends the wait. RFC 9293, section 3.10.7.4; Linux:
    /// `tcp_timewait_state_process`.
    pub(crate) fn handle_segment(&mut self, segment: &Segment, payload_bytes: usize, now: Instant) -> bool {
        let is_expected = segment.sequence == self.answer.acknowledgment;
        if segment.has(Flags::RST) {
            return is_expected;
        }
        let is_old = segment
            .timestamps
            .zip(self.answer.timestamps)
            .is_some_and(|(theirs, ours)| is_before(theirs.value, ours.echo));
        if !is_old && is_expected && segment.sequence_length(payload_bytes) == 0 {
            self.ends = now + self.lasts;
            return false;
        }
        if segment.has(Flags::ACK) {
            // The FIN arrived again: the last acknowledgment was lost, and the wait starts again.
            self.ends = now + self.lasts;
            self.is_due = true;
        }
        false
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        core::mem::take(&mut self.is_due).then(|| {
            let mut answer = self.answer;
            if let Some(stamps) = &mut answer.timestamps {
                stamps.value = crate::connection::handshake::clock(self.initial_sequence, now);
            }
            Transmit::bare(answer, self.offset)
        })
    }
}
