//! Linux's receive buffer: its window and its growth (net/ipv4/tcp_input.c).

use core::time::Duration;

use wirecost_proto::Instant;

use crate::packed::packs;

use super::Terms;
use super::sequence::is_before;
use super::window::{WindowChoice, WindowState};

/// The number of bits of a ratio of window to buffer (`TCP_RMEM_TO_WIN_SCALE`).
const RATIO_BITS: u32 = 8;

/// The ratio before the first full segment: a half (`TCP_DEFAULT_SCALING_RATIO`).
const DEFAULT_RATIO: u32 = 1 << (RATIO_BITS - 1);

/// The smallest clamp (`SOCK_MIN_RCVBUF` / 2).
const MIN_CLAMP: u32 = 1_152;

/// The initial window in segments (RFC 6928): the first value of the application's demand.
const INITIAL_SEGMENTS: u32 = 10;

/// Payloads shorter than this do not grow the window (tcp_event_data_recv).
pub(super) const MIN_GROWTH_BYTES: u32 = 128;

/// The receive buffer of one connection (`sk_rcvbuf`), and the advertised part of it.
#[derive(Debug)]
pub(super) struct Space {
    buffer: u32,
    maximum: u32,
    announced_bytes: u32,
    /// The share of payload in a segment's memory, in 1/256 (`scaling_ratio`).
    ratio: u32,
    /// The largest window (`window_clamp`).
    clamp: u32,
    /// The window of slow start (`rcv_ssthresh`).
    threshold: u32,
    /// The memory of the unread bytes and of those after a gap (`sk_rmem_alloc`).
    allocated: u32,
    demand: Demand,
}

packs!(Space {
    buffer,
    maximum,
    announced_bytes,
    ratio,
    clamp,
    threshold,
    allocated,
    demand
});

/// The bytes that the application reads in a round-trip time (`rcvq_space`, `rcv_rtt_est`).
#[derive(Debug)]
struct Demand {
    bytes: u32,
    /// The read position at `since`.
    read: u32,
    since: Instant,
    /// Eight times the receiver's estimate of the round-trip time, in microseconds; 0 before the first.
    rtt: u32,
    /// Measurement without timestamps: at this sequence number, a whole window has arrived.
    window_end: Option<(u32, Instant)>,
    last_echo: Option<u32>,
}

packs!(Demand {
    bytes,
    read,
    since,
    rtt,
    window_end,
    last_echo
});

impl Space {
    /// Linux: tcp_init_buffer_space.
    pub(super) fn new(buffer: u32, maximum: u32, terms: &Terms, next: u32, now: Instant) -> Self {
        let announced_bytes = terms.segment_bytes();
        let whole = buffer >> (RATIO_BITS - DEFAULT_RATIO.ilog2());
        // One segment stays in reserve.
        let clamp = whole.saturating_sub(announced_bytes).max(2 * announced_bytes);
        let threshold = terms.window.min(clamp);
        let first = threshold.min(INITIAL_SEGMENTS * announced_bytes);
        Self {
            buffer,
            maximum,
            announced_bytes,
            ratio: DEFAULT_RATIO,
            clamp,
            threshold,
            allocated: 0,
            demand: Demand {
                bytes: first.max(1),
                read: next,
                since: now,
                rtt: 0,
                window_end: None,
                last_echo: None,
            },
        }
    }

    /// A segment with `bytes` of payload is kept.
    pub(super) const fn keep(&mut self, bytes: u32) {
        self.allocated = self.allocated.saturating_add(memory_of(bytes));
    }

    /// `taken` of `kept` bytes were read: their share of the memory is free again; all of it with the last byte.
    pub(super) fn release(&mut self, taken: usize, kept: usize) {
        if taken == kept {
            self.allocated = 0;
            return;
        }
        let left = u64::from(self.allocated) * (kept - taken) as u64;
        self.allocated = left.checked_div(kept as u64).unwrap_or_default() as u32;
    }

    /// The peer's full segments have `bytes` bytes (Linux: tcp_measure_rcv_mss, tcp_set_window_clamp).
    pub(super) fn note_segment(&mut self, bytes: u32, advertised: u32) {
        let ratio = ((bytes << RATIO_BITS) / memory_of(bytes)).clamp(1, u32::from(u8::MAX));
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        let clamp = self.window_of(self.buffer).max(MIN_CLAMP);
        if clamp < self.clamp {
            self.threshold = self.threshold.min(clamp);
        } else {
            self.threshold = self.threshold.max(advertised.min(clamp));
        }
        self.clamp = clamp;
        self.demand.bytes = self.demand.bytes.min(clamp);
    }

    /// Grows the window of slow start for a segment of `bytes`; returns whether it did (Linux: tcp_grow_window).
    pub(super) fn grow(&mut self, bytes: u32, segment_bytes: u32) -> bool {
        let room = self.clamp.min(self.free()).saturating_sub(self.threshold);
        if room == 0 {
            return false;
        }
        let step = self.growth(bytes, segment_bytes);
        self.threshold += step.max(if step == 0 { 0 } else { 2 * bytes }).min(room);
        step > 0
    }

    fn growth(&self, bytes: u32, segment_bytes: u32) -> u32 {
        let mut memory = self.window_of(memory_of(bytes));
        if memory <= bytes {
            return 2 * self.announced_bytes;
        }
        let mut window = self.window_of(self.maximum) / 2;
        memory /= 2;
        while self.threshold <= window {
            if memory <= bytes {
                return 2 * segment_bytes;
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// Linux: __tcp_select_window.
    pub(super) fn select(&self, state: &WindowState, scale: u8) -> WindowChoice {
        let full = self.clamp.min(self.window_of(self.buffer));
        let segment_bytes = state.segment_bytes.min(full);
        let mut free = self.free();
        let is_tight = free < full / 2;
        if is_tight {
            free -= free % (1 << scale);
            // Too small for a segment: the window closes before memory runs out.
            if free < self.window_of(self.buffer) / 16 || free < segment_bytes {
                return WindowChoice { bytes: 0, is_tight };
            }
        }
        let free = free.min(self.threshold);
        let bytes = match scale {
            0 => whole_segments(free, segment_bytes, full, state.advertised.bytes),
            scale => free.next_multiple_of(1 << scale),
        };
        WindowChoice { bytes, is_tight }
    }

    /// The largest window so far.
    pub(super) const fn clamp(&self) -> u32 {
        self.clamp
    }

    /// The estimated round-trip time, if there is one.
    pub(super) fn rtt(&self) -> Option<Duration> {
        (self.demand.rtt > 0).then(|| Duration::from_micros(u64::from(self.demand.rtt / 8)))
    }

    /// Measures with a timestamp: `echo` is this end's earlier clock value, `clock` is the current one, both in milliseconds
    /// (Linux: tcp_rcv_rtt_measure_ts).
    pub(super) fn note_echo(&mut self, echo: u32, clock: u32, is_full: bool) {
        if self.demand.last_echo == Some(echo) {
            return;
        }
        self.demand.last_echo = Some(echo);
        let millis = clock.wrapping_sub(echo);
        if is_full && millis < i32::MAX as u32 / 1000 {
            self.demand.sample(millis.max(1) * 1000, false);
        }
    }

    pub(super) const fn forget_echo(&mut self) {
        self.demand.last_echo = None;
    }

    /// Measures without timestamps: a window's worth of bytes takes a round-trip time at least
    /// (Linux: tcp_rcv_rtt_measure).
    pub(super) fn note_arrival(&mut self, next: u32, window: u32, now: Instant) {
        if let Some((end, since)) = self.demand.window_end {
            if is_before(next, end) {
                return;
            }
            let micros = now.saturating_since(since).as_micros();
            self.demand
                .sample(u32::try_from(micros).unwrap_or(u32::MAX / 16).max(1), true);
        }
        self.demand.window_end = Some((next.wrapping_add(window), now));
    }

    /// The application has read up to `read`, and `waiting` bytes wait for it (Linux: tcp_rcv_space_adjust).
    pub(super) fn note_read(&mut self, read: u32, waiting: u32, held: u32, now: Instant) {
        let since = || now.saturating_since(self.demand.since).as_micros();
        if self.demand.rtt == 0 || since() < u128::from(self.demand.rtt / 8) {
            return;
        }
        let taken = read.wrapping_sub(self.demand.read).saturating_sub(waiting);
        if taken > self.demand.bytes {
            self.enlarge(taken, held);
        }
        self.demand.read = read;
        self.demand.since = now;
    }

    /// Sizes the buffer for twice the bytes read in a round-trip time, with room for a sender in slow start to double
    /// (Linux: tcp_rcvbuf_grow). `held` bytes wait after a gap.
    pub(super) fn enlarge(&mut self, taken: u32, held: u32) {
        let before = u64::from(self.demand.bytes);
        self.demand.bytes = taken;
        let twice = u64::from(taken) * 2;
        let growth = twice * u64::from(taken).saturating_sub(before) / before;
        let window = twice + growth * 2 + u64::from(held);
        let buffer = (window << RATIO_BITS) / u64::from(self.ratio);
        let buffer = u32::try_from(buffer).unwrap_or(u32::MAX).min(self.maximum);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window_of(buffer);
        }
    }

    /// The same for bytes that arrived after a gap.
    pub(super) fn hold(&mut self, held: u32) {
        self.enlarge(self.demand.bytes, held);
    }

    /// Window in `memory` (Linux: tcp_win_from_space).
    fn window_of(&self, memory: u32) -> u32 {
        // A ratio below one of a number with 32 bits.
        ((u64::from(memory) * u64::from(self.ratio)) >> RATIO_BITS) as u32
    }

    fn free(&self) -> u32 {
        self.window_of(self.buffer.saturating_sub(self.allocated))
    }
}

impl Demand {
    /// Linux: tcp_rcv_rtt_update. A measurement by windows counts only if it is smaller.
    fn sample(&mut self, micros: u32, by_window: bool) {
        let eightfold = micros.saturating_mul(8);
        if self.rtt == 0 || eightfold < self.rtt {
            self.rtt = eightfold;
        } else if !by_window {
            // After a silence of minutes the first measure may be as long.
            self.rtt = (self.rtt - self.rtt / 8).saturating_add(micros);
        }
    }
}

/// The kernel's memory for a segment of `bytes` from a TUN device (`truesize`): the headers with some room before them in a
/// block of a power of two, and the block's description.
const fn memory_of(bytes: u32) -> u32 {
    const HEADERS_AND_ROOM: u32 = 20 + 32 + 64;
    const SHARED_INFO: u32 = 320;
    const DESCRIPTION: u32 = 256;
    const SMALL_HEAD: u32 = 704;
    let block = (bytes + HEADERS_AND_ROOM).next_multiple_of(64) + SHARED_INFO;
    if block <= SMALL_HEAD {
        return SMALL_HEAD + DESCRIPTION;
    }
    block.next_power_of_two() + DESCRIPTION
}

/// Without scaling, the window is a whole number of segments and changes by whole segments (Linux: __tcp_select_window).
fn whole_segments(free: u32, segment_bytes: u32, full: u32, advertised: u32) -> u32 {
    if advertised > free || advertised + segment_bytes <= free {
        free - free.checked_rem(segment_bytes).unwrap_or_default()
    } else if segment_bytes == full && free > advertised + full / 2 {
        free
    } else {
        advertised
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_of_many_minutes_count_as_the_longest() {
        let mut demand = Demand {
            bytes: 0,
            read: 0,
            since: Instant::START,
            rtt: 0,
            window_end: None,
            last_echo: None,
        };
        demand.sample(600_000_000, true);
        demand.sample(2_000_000_000, false);
        assert_eq!(demand.rtt, u32::MAX);
    }
}
