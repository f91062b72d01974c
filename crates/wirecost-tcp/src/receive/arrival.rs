//! From a segment to the receive buffer (RFC 9293, section 3.10.7.4; Linux: tcp_data_queue).

use wirecost_proto::Instant;
use wirecost_wire::tcp::SackBlock;

use super::acknowledgment::Arrival;
use super::sequence::{advanced, distance, is_after, is_before};
use super::window::Window;
use super::{Arrived, Receiver, autotune};

impl Receiver {
    /// Handles old, new and impossible segments.
    pub(super) fn place(
        &mut self,
        sequence: u32,
        payload: &[u8],
        fin: bool,
        push: bool,
        now: Instant,
    ) -> Arrived {
        let next = self.next_expected();
        let end = advanced(sequence, payload.len()).wrapping_add(u32::from(fin));
        if !is_after(end, next) {
            self.refuse_duplicate(SackBlock {
                left: sequence,
                right: end,
            });
            return Arrived {
                duplicate: true,
                ..Arrived::default()
            };
        }
        // RFC 9293, section 3.10.7.4, seventh: nothing is expected behind a FIN.
        if self.reassembly.is_finished() || !is_before(sequence, next.wrapping_add(self.promised())) {
            self.acknowledgment.refused(self.advertised.bytes);
            return Arrived::default();
        }
        self.take(sequence, payload, fin, push, now)
    }

    /// Handles a segment with new bytes that starts within the window.
    fn take(&mut self, sequence: u32, payload: &[u8], fin: bool, push: bool, now: Instant) -> Arrived {
        let (payload, fin) = self.clip_to_window(sequence, payload, fin);
        let arrival = Arrival {
            // A payload is below 64 KiB.
            bytes: payload.len() as u32,
            push,
            fin,
        };
        let next = self.next_expected();
        if is_after(sequence, next) {
            self.hold(sequence, payload, arrival);
            return Arrived::default();
        }
        let known = distance(sequence, next);
        if known > 0 {
            self.sack.note_duplicate(SackBlock {
                left: sequence,
                right: next,
            });
        }
        self.append(payload.get(known..).unwrap_or_default(), arrival, now)
    }

    fn append(&mut self, payload: &[u8], arrival: Arrival, now: Instant) -> Arrived {
        let before = self.available();
        self.keep(arrival.bytes);
        let joined = self.reassembly.append(payload, arrival.fin);
        let known = self.segment_bytes();
        self.acknowledgment.in_order(arrival, self.advertised.bytes, now);
        self.note_segment(arrival.bytes, known);
        if arrival.bytes > 0 {
            self.note_growth(arrival, now);
        }
        if joined.filled_gap {
            // RFC 5681, section 4.2.
            self.acknowledgment.at_once();
        }
        if let Some(again) = joined.duplicate {
            self.sack.note_duplicate(again);
        }
        self.settle_sack();
        let fin_reached = self.reassembly.is_finished();
        if fin_reached {
            self.acknowledgment.finished();
        }
        Arrived {
            in_order_bytes: self.available() - before,
            fin_reached,
            duplicate: false,
        }
    }

    fn hold(&mut self, sequence: u32, payload: &[u8], arrival: Arrival) {
        let known = self.segment_bytes();
        self.acknowledgment.out_of_order(arrival);
        self.note_segment(arrival.bytes, known);
        let (run, again) = self.reassembly.hold(sequence, payload, arrival.fin);
        if let Some(again) = again {
            self.sack.note_duplicate(again);
        }
        let place = self.sack.note_held(run);
        self.acknowledgment.run_grown(place);
        // The window grows before the memory of the segment is counted, so that it may reach the whole buffer (Linux:
        // tcp_data_queue_ofo). Without selective acknowledgments a window that grows would hide that an acknowledgment is a
        // duplicate (RFC 5681, section 2).
        if self.terms.selective {
            self.grow(arrival.bytes);
        }
        if again.is_none_or(|again| distance(again.left, again.right) < payload.len()) {
            self.keep(arrival.bytes);
        }
        let held = self.held_bytes();
        if let Window::Linux(space) = &mut self.window {
            space.hold(held);
        }
    }

    /// Counts the memory of a segment that is kept.
    fn keep(&mut self, bytes: u32) {
        if let Window::Linux(space) = &mut self.window
            && bytes > 0
        {
            space.keep(bytes);
        }
    }

    /// Drops the reported runs that are no longer after a gap.
    fn settle_sack(&mut self) {
        if self.sack.runs() == 0 {
            return;
        }
        if self.reassembly.is_holding() {
            let next = self.next_expected();
            self.sack.advance(next);
        } else {
            self.sack.clear();
        }
    }

    /// A segment above the known size determines how much memory a full segment takes.
    fn note_segment(&mut self, bytes: u32, known: u32) {
        if let Window::Linux(space) = &mut self.window
            && bytes > known
        {
            space.note_segment(bytes, self.advertised.bytes);
        }
    }

    /// Bytes came in order: lets the window grow.
    fn note_growth(&mut self, arrival: Arrival, now: Instant) {
        let next = self.next_expected();
        if let Window::Linux(space) = &mut self.window {
            space.note_arrival(next, self.advertised.bytes, now);
        }
        if arrival.bytes >= autotune::MIN_GROWTH_BYTES {
            self.grow(arrival.bytes);
        }
    }

    fn grow(&mut self, bytes: u32) {
        let segment_bytes = self.segment_bytes();
        if let Window::Linux(space) = &mut self.window
            && space.grow(bytes, segment_bytes)
        {
            self.acknowledgment.window_grown();
        }
    }

    /// Reports bytes that arrived again, and acknowledges them at once: the acknowledgment may have been lost.
    pub(super) fn refuse_duplicate(&mut self, again: SackBlock) {
        self.sack.note_duplicate(again);
        self.acknowledgment.refused(self.advertised.bytes);
    }

    /// Truncates the payload at the end of the window (RFC 9293, section 3.10.7.4).
    fn clip_to_window<'a>(&self, sequence: u32, payload: &'a [u8], fin: bool) -> (&'a [u8], bool) {
        let room = distance(sequence, self.next_expected().wrapping_add(self.promised()));
        match payload.get(..room) {
            Some(inside) if inside.len() < payload.len() => (inside, false),
            _ => (payload, fin),
        }
    }
}
