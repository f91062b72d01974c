//! The receiving side of a connection: order, acknowledgments and the receive window.
//!
//! - [`Receiver`]: takes segments, gives bytes in order, and says when an acknowledgment is due
//! - [`ReceiveConfig`]: what implementations differ in

use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::Instant;
use wirecost_wire::tcp::{SackBlock, SackBlocks};

mod acknowledgment;
mod arrival;
mod autotune;
mod config;
mod reassembly;
mod sack;
mod sequence;
#[cfg(test)]
mod tests;
mod window;

pub use config::{AckPolicy, Reader, ReceiveConfig, Terms, WindowPolicy};

use crate::on_demand::OnDemand;
use crate::packed::packs;
use acknowledgment::{AckContext, Acknowledgment, AfterRead};
use reassembly::Reassembly;
use sack::Sack;
use sequence::{distance, earliest, is_after, is_before};
use window::{Advertised, Window, WindowChoice, WindowState};

/// When an acknowledgment must leave, if no segment carries it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckDue {
    /// Never without a segment that carries it.
    No,
    /// At once, as a segment of its own if necessary.
    Now,
    /// At this time, through [`Receiver::handle_timeout`].
    At(Instant),
}

packs!(enum AckDue {
    0 => No {},
    1 => Now {},
    2 => At { 0: at },
});

/// The new bytes of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The number of bytes that have become readable.
    pub in_order_bytes: usize,
    /// Whether the peer's FIN and everything before it has arrived with this segment.
    pub fin_reached: bool,
    /// Whether nothing of the segment was new.
    pub duplicate: bool,
}

/// The receiving side of a connection.
///
/// Around each segment: `Receiver::is_acceptable`, then [`Receiver::refuse`] or `Receiver::handle_data`; then send
/// what there is to be sent; if `Receiver::ack_due` still says so, send a segment without data. When a segment leaves,
/// its header takes `Receiver::window_bytes` and `Receiver::sack_blocks`, then `Receiver::ack_sent` is called, then,
/// where it carries payload, `Receiver::data_sent`.
#[derive(Debug)]
pub struct Receiver {
    reassembly: Reassembly,
    sack: OnDemand<Sack>,
    acknowledgment: Acknowledgment,
    window: Window,
    advertised: Advertised,
    terms: Terms,
    /// When the last segment came or left.
    touched: Instant,
    /// When the last segment with data came.
    arrived: Instant,
    reader: Reader,
}

packs!(Receiver {
    reassembly,
    sack,
    acknowledgment,
    window,
    advertised,
    terms,
    touched,
    arrived,
    reader
});

/// The number of segments that have arrived after the first one when a concurrent reader reads the first: 1 to 3 in live
/// captures, most often 2.
const WAITING_BESIDE: u32 = 2;

impl Receiver {
    /// A receiver that expects `next`, after a handshake with these `terms`.
    pub fn new(config: &ReceiveConfig, terms: Terms, next: u32, now: Instant) -> Self {
        Self {
            reassembly: Reassembly::new(next),
            sack: OnDemand::NONE,
            acknowledgment: Acknowledgment::new(config.acknowledgments, &terms, terms.window, now),
            window: Window::new(config.window, &terms, next, now),
            advertised: Advertised {
                acknowledgment: next,
                bytes: terms.window,
            },
            terms,
            touched: now,
            arrived: now,
            reader: config.reader,
        }
    }

    /// Whether a segment with `length` sequence numbers from `sequence` on is acceptable: it reaches the last acknowledgment
    /// number, and does not start after the window (RFC 9293, section 3.10.7.4; Linux: tcp_sequence).
    pub(crate) const fn is_acceptable(&self, sequence: u32, length: u32) -> bool {
        let end = sequence.wrapping_add(length);
        !is_before(end, self.advertised.acknowledgment)
            && !is_after(sequence, self.next_expected().wrapping_add(self.promised()))
    }

    fn forget_duplicate(&mut self) {
        if self.sack.reports_duplicate() {
            self.sack.forget_duplicate();
        }
    }

    /// Answers a segment that is not acceptable: an acknowledgment is due now (Linux: tcp_send_dupack).
    pub fn refuse(&mut self, sequence: u32, length: u32) {
        let next = self.next_expected();
        if length > 0 && is_before(sequence, next) {
            let end = earliest(sequence.wrapping_add(length), next);
            self.refuse_duplicate(SackBlock {
                left: sequence,
                right: end,
            });
        }
        self.acknowledgment.at_once();
    }

    /// Handles the content of an acceptable segment.
    pub(crate) fn handle_data(
        &mut self,
        sequence: u32,
        payload: &[u8],
        fin: bool,
        push: bool,
        now: Instant,
    ) -> Arrived {
        if payload.is_empty() && !fin {
            return Arrived::default();
        }
        self.touched = now;
        self.arrived = now;
        self.forget_duplicate();
        let arrived = self.place(sequence, payload, fin, push, now);
        let context = self.context();
        self.acknowledgment.decide(&context, now);
        arrived
    }

    /// Gives back the memory of an empty buffer; returns whether it is empty.
    pub(crate) fn rest(&mut self) -> bool {
        if self.sack.is_empty() {
            self.sack.free();
        }
        self.reassembly.rest()
    }

    /// Whether it has no memory of its own.
    pub(crate) fn is_free(&self) -> bool {
        self.sack.is_free() && self.reassembly.is_free()
    }

    /// Moves up to `limit` bytes to `out`, as one read of the application; returns how many. The read may make an
    /// acknowledgment due.
    pub fn read(&mut self, out: &mut Vec<u8>, limit: usize, now: Instant) -> usize {
        if !self.unread() {
            return self.read_nothing();
        }
        self.note_read(limit, now);
        let kept = self.kept();
        let count = self.reassembly.read(out, limit);
        if let Window::Linux(space) = &mut self.window {
            space.release(count, kept);
        }
        let emptied = !self.unread() && !self.reassembly.is_holding();
        self.acknowledgment.read(AfterRead {
            bytes: count,
            emptied,
            unacknowledged: self.unacknowledged(),
        });
        if count > 0 && !self.reassembly.is_finished() && self.is_update_due() {
            self.acknowledgment.at_once();
        }
        count
    }

    /// Moves the unread bytes to `out` when the connection ends, without further acknowledgments.
    pub(crate) fn take_unread(&mut self, out: &mut Vec<u8>) {
        self.reassembly.read(out, usize::MAX);
    }

    /// Handles a read without bytes, which may make an acknowledgment due too.
    fn read_nothing(&mut self) -> usize {
        self.acknowledgment.read(AfterRead {
            bytes: 0,
            emptied: !self.reassembly.is_holding(),
            unacknowledged: self.unacknowledged(),
        });
        0
    }

    /// When an acknowledgment must leave.
    pub(crate) fn ack_due(&self) -> AckDue {
        self.acknowledgment.due()
    }

    /// Makes an acknowledgment due now, without delay: for a FIN after the close of this end, or for a challenge ACK.
    pub(crate) const fn acknowledge_now(&mut self) {
        self.acknowledgment.at_once();
    }

    /// A segment left that acknowledges everything and tells [`Receiver::window_bytes`], which are returned.
    pub(crate) fn ack_sent(&mut self, now: Instant) -> u32 {
        let choice = self.choice();
        if choice.is_tight {
            self.acknowledgment.window_tightened();
        }
        self.advertised = Advertised {
            acknowledgment: self.next_expected(),
            bytes: choice.bytes,
        };
        self.touched = now;
        self.forget_duplicate();
        self.acknowledgment.acknowledged();
        choice.bytes
    }

    /// A segment with payload left, after [`Receiver::ack_sent`] was called for it.
    pub(crate) fn data_sent(&mut self, now: Instant) {
        self.acknowledgment.data_sent(now);
    }

    /// Makes an acknowledgment due whose delay has ended.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.acknowledgment.handle_timeout(now);
    }

    /// What the sending side knows of the path: the smoothed round-trip time and the retransmission time-out bound the
    /// delay of acknowledgments.
    pub(crate) fn note_round_trip(&mut self, smoothed: Option<Duration>, timeout: Duration) {
        self.acknowledgment.note_round_trip(smoothed, timeout);
    }

    /// Measures the round-trip time for the size of the buffer, from the timestamp echo of a segment with `payload_bytes` and
    /// this end's current clock, both in milliseconds. Call it before the segment is handled.
    pub(crate) fn note_echo(&mut self, echo: u32, clock: u32, payload_bytes: usize) {
        let is_full = payload_bytes > 0 && payload_bytes >= self.segment_bytes() as usize;
        if let Window::Linux(space) = &mut self.window {
            space.note_echo(echo, clock, is_full);
        }
    }

    /// Forgets the echo of the segment that ended the handshake: the next segment may measure with the same timestamp. (Linux
    /// handles that segment in SYN-RECEIVED, where it does not measure)
    pub(crate) const fn forget_echo(&mut self) {
        if let Window::Linux(space) = &mut self.window {
            space.forget_echo();
        }
    }

    /// The acknowledgment number: the next sequence number expected.
    pub(crate) const fn next_expected(&self) -> u32 {
        self.reassembly.next()
    }

    /// Bytes of the window that a segment advertises if it leaves now: a multiple of the scaling unit.
    pub(crate) fn window_bytes(&self) -> u32 {
        self.choice().bytes
    }

    /// The SACK blocks of a segment that leaves now; with timestamps, as many as fit beside them.
    pub(crate) fn sack_blocks(&self) -> SackBlocks {
        if !self.terms.selective {
            return SackBlocks::default();
        }
        self.sack.blocks(self.terms.timestamps)
    }

    /// The number of [`Receiver::sack_blocks`].
    pub(crate) fn sack_block_count(&self) -> usize {
        if self.terms.selective {
            self.sack.count(self.terms.timestamps)
        } else {
            0
        }
    }

    /// Bytes that can be read.
    pub const fn available(&self) -> usize {
        self.reassembly.available()
    }

    /// Whether bytes wait to be read.
    pub const fn unread(&self) -> bool {
        self.available() > 0
    }

    /// Bytes that are left of the window that was advertised last.
    const fn promised(&self) -> u32 {
        self.advertised.left_at(self.next_expected())
    }

    /// Bytes received since the last acknowledgment left.
    const fn unacknowledged(&self) -> u32 {
        self.next_expected().wrapping_sub(self.advertised.acknowledgment)
    }

    /// Bytes between the next sequence number and the end of the bytes after a gap.
    fn held_bytes(&self) -> u32 {
        // Within the window, which has 32 bits.
        let end = self.reassembly.held_end();
        end.map_or(0, |end| distance(self.next_expected(), end) as u32)
    }

    /// Bytes in the buffer, gaps included.
    fn kept(&self) -> usize {
        self.available() + self.held_bytes() as usize
    }

    fn segment_bytes(&self) -> u32 {
        let measured = self.acknowledgment.segment_bytes();
        measured.unwrap_or_else(|| self.terms.segment_bytes())
    }

    fn state(&self) -> WindowState {
        WindowState {
            next: self.next_expected(),
            advertised: self.advertised,
            available: self.available(),
            segment_bytes: self.segment_bytes(),
        }
    }

    fn choice(&self) -> WindowChoice {
        self.window.choose(&self.state(), self.terms.window_scale)
    }

    fn context(&self) -> AckContext {
        let is_second = self.unacknowledged() > self.segment_bytes();
        AckContext {
            room: is_second.then(|| self.window.room(&self.state(), self.terms.window_scale)),
            next: self.next_expected(),
            advertised: self.advertised.bytes,
            is_holding: self.reassembly.is_holding(),
            selective: self.terms.selective,
            receive_rtt: self.window.rtt(),
        }
    }

    /// Measures the bytes that the application reads. The kernel measures each segment, but within one read only the first
    /// segment can end a round-trip time.
    fn note_read(&mut self, limit: usize, now: Instant) {
        let available = self.available();
        let first = (self.segment_bytes() as usize).min(limit).min(available);
        let mut waiting = (available - first) as u32;
        let read = self.next_expected().wrapping_sub(waiting);
        if self.reader == Reader::Beside && self.arrived == now {
            waiting = waiting.min(WAITING_BESIDE * self.segment_bytes());
        }
        let held = self.held_bytes();
        if let Window::Linux(space) = &mut self.window
            && first > 0
        {
            space.note_read(read, waiting, held, self.touched);
        }
    }

    /// Whether the read opened the window so far that a window update is due.
    fn is_update_due(&self) -> bool {
        let promised = self.promised();
        match &self.window {
            // Twice as far at least (Linux: __tcp_cleanup_rbuf).
            Window::Linux(space) => {
                promised <= space.clamp() / 2 && {
                    let room = self.window.room(&self.state(), self.terms.window_scale).bytes;
                    room > 0 && room >= promised.saturating_mul(2)
                }
            }
            // A quarter of the buffer or four segments (lwIP: TCP_WND_UPDATE_THRESHOLD).
            Window::Fixed(bytes) => {
                let threshold = (bytes / 4).min(4 * self.terms.segment_bytes());
                self.window_bytes().saturating_sub(promised) >= threshold.max(1)
            }
        }
    }
}
