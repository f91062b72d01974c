//! The size of the peer's full segments, as far as it shows: every second of them is acknowledged.

use super::Arrival;
use crate::receive::Terms;

/// The size assumed while nothing has shown a larger one (`TCP_MSS_DEFAULT`; RFC 9293, section 3.7.1).
const DEFAULT_BYTES: u32 = 536;

/// Shorter segments than this say nothing of the size of full ones (`TCP_MIN_MSS`).
const MIN_BYTES: u32 = 88;

/// What a segment's size says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// It is full.
    Full,
    /// It is as short as the one before it, and is taken for full from now on.
    Repeated,
    /// It is not full: the sender had no more.
    Short,
}

/// Linux's guess (`rcv_mss`).
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentSize {
    bytes: u32,
    /// Bytes of the last segment where it was short; the second of a size is believed.
    last: u32,
    announced: u32,
    option_bytes: u32,
}

impl SegmentSize {
    /// Too small is found out, too large would delay acknowledgments (Linux: tcp_initialize_rcv_mss).
    pub(super) fn new(terms: &Terms, window: u32) -> Self {
        let guess = terms.segment_bytes().min(window / 2).min(DEFAULT_BYTES);
        Self {
            bytes: guess.max(MIN_BYTES),
            last: 0,
            announced: u32::from(terms.maximum_segment_size),
            option_bytes: terms.option_bytes(),
        }
    }

    /// Bytes of payload.
    pub(super) const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Learns from a segment (Linux: tcp_measure_rcv_mss).
    pub(super) fn note(&mut self, arrival: Arrival) -> Size {
        let last = core::mem::take(&mut self.last);
        if arrival.bytes >= self.bytes {
            self.bytes = arrival.bytes.min(self.announced);
            return Size::Full;
        }
        // The kernel counts the header too; it is taken for one without selective acknowledgments.
        let with_options = arrival.bytes + self.option_bytes;
        let is_whole = with_options >= MIN_BYTES && !arrival.push && !arrival.fin;
        if with_options >= DEFAULT_BYTES || is_whole {
            self.last = arrival.bytes;
            if arrival.bytes == last {
                self.bytes = arrival.bytes;
                return Size::Repeated;
            }
        }
        Size::Short
    }
}
