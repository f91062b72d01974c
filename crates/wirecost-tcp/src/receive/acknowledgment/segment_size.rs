//! The estimated size of the peer's full segments: every second one is acknowledged.

use super::Arrival;
use crate::packed::packs;
use crate::receive::Terms;

/// The size assumed before a larger segment arrives (`TCP_MSS_DEFAULT`; RFC 9293, section 3.7.1).
const DEFAULT_BYTES: u32 = 536;

/// Segments shorter than this are not evidence for the size of full ones (`TCP_MIN_MSS`).
const MIN_BYTES: u32 = 88;

/// The classification of a segment by its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// It is full.
    Full,
    /// It is as short as the one before it; this size now counts as full.
    Repeated,
    /// It is not full: the sender had no more.
    Short,
}

/// Linux's estimate (`rcv_mss`).
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentSize {
    bytes: u32,
    /// Bytes of the last segment if it was short; the second segment of a size is believed.
    last: u32,
    announced: u32,
    option_bytes: u32,
}

packs!(SegmentSize {
    bytes,
    last,
    announced,
    option_bytes
});

impl SegmentSize {
    /// An estimate that is too small is corrected; one that is too large would delay acknowledgments (Linux:
    /// tcp_initialize_rcv_mss).
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
