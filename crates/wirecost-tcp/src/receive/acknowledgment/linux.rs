//! The acknowledgments of Linux 6.18 (net/ipv4/tcp_input.c, tcp_output.c, tcp_timer.c).
//!
//! A connection first acknowledges each segment at once, so that the peer's slow start does not wait ("quick"). An end that
//! answers within the delay of an acknowledgment is interactive ("ping-pong"): its acknowledgments wait for the next answer,
//! which carries them. Without an answer, the delay ends with a pure acknowledgment, and the connection is not interactive
//! until it answers in time again.

use core::time::Duration;

use wirecost_proto::Instant;

use super::segment_size::{SegmentSize, Size};
use super::{AckContext, AfterRead, Arrival};
use crate::packed::packs;
use crate::receive::{AckDue, Terms};
use crate::timers::wheel_deadline;

/// The shortest and the first delay (`TCP_ATO_MIN`, `TCP_DELACK_MIN`); RFC 9293, section 3.8.6.3 allows up to 500 ms.
const MIN_DELAY: Duration = Duration::from_millis(40);

/// The longest delay (`TCP_DELACK_MAX`) ends before the smallest retransmission time-out does (`tcp_delack_max`).
const MAX_DELAY: Duration = Duration::from_millis(200);

/// The longest delay of a connection that is neither interactive nor had a small segment (`tcp_send_delayed_ack`).
const MAX_DELAY_OF_BULK: Duration = Duration::from_millis(500);

/// Segments acknowledged at once, at the most (`TCP_MAX_QUICKACKS`).
const MAX_QUICK: u32 = 16;

/// Answers in time that make a connection interactive (`net.ipv4.tcp_pingpong_thresh`).
const PING_PONG_THRESHOLD: u8 = 1;

/// Duplicate acknowledgments that leave at once, so that fast retransmit is not held up (RFC 5681, section 3.2).
const DUPLICATES_AT_ONCE: u8 = 3;

/// Duplicate acknowledgments held back before one leaves (`net.ipv4.tcp_comp_sack_nr`).
const MAX_COMPRESSED: u8 = 44;

/// Runs that each acknowledgment can be relied on to tell (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_RUNS: usize = 2;

/// How long duplicate acknowledgments are held back (`net.ipv4.tcp_comp_sack_delay_ns`).
const COMPRESSION: Duration = Duration::from_millis(1);

/// Whether segments below the full size wait for the application (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pushed {
    No,
    Once,
    Twice,
}

packs!(enum Pushed {
    0 => No {},
    1 => Once {},
    2 => Twice {},
});

/// What is owed (`icsk_ack.pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Nothing,
    /// Something is to be acknowledged; nothing says yet when.
    Undecided,
    /// The delay ends at `at`, on the wheel; the kernel compares with `expires`, in jiffies.
    Delayed {
        expires: u64,
        at: Instant,
    },
    Now,
}

packs!(enum Owed {
    0 => Nothing {},
    1 => Undecided {},
    2 => Delayed { expires: expires, at: at },
    3 => Now {},
});

/// Duplicate acknowledgments held back (`compressed_ack`).
#[derive(Clone, Copy, Debug)]
struct Compressed {
    count: u8,
    at: Instant,
}

packs!(Compressed { count, at });

/// The counters of one connection. Delays count in jiffies, as the kernel's do.
#[derive(Debug)]
pub(crate) struct Linux {
    jiffy: u64,
    min_delay: u32,
    owed: Owed,
    pushed: Pushed,
    compressed: Option<Compressed>,
    /// Segments that are still acknowledged at once.
    quick: u8,
    /// Answers that left in time.
    ping_pong: u8,
    duplicates: u8,
    duplicates_at: u32,
    /// The delay; none before the first segment.
    delay: Option<u32>,
    last_received: u64,
    segment_size: SegmentSize,
    smoothed_rtt: Option<Duration>,
    /// The retransmission time-out of the sending side.
    timeout: u32,
}

packs!(Linux {
    jiffy,
    min_delay,
    owed,
    pushed,
    compressed,
    quick,
    ping_pong,
    duplicates,
    duplicates_at,
    delay,
    last_received,
    segment_size,
    smoothed_rtt,
    timeout
});

impl Linux {
    pub(crate) fn new(jiffy: Duration, terms: &Terms, window: u32, now: Instant) -> Self {
        let jiffy = u64::try_from(jiffy.as_nanos()).unwrap_or(u64::MAX).max(1);
        Self {
            jiffy,
            min_delay: in_jiffies(MIN_DELAY, jiffy),
            owed: Owed::Nothing,
            pushed: Pushed::No,
            compressed: None,
            quick: 0,
            ping_pong: 0,
            duplicates: 0,
            duplicates_at: 0,
            delay: None,
            last_received: now.as_nanos() / jiffy,
            segment_size: SegmentSize::new(terms, window),
            smoothed_rtt: None,
            timeout: in_jiffies(Duration::from_secs(1), jiffy),
        }
    }

    pub(crate) fn due(&self) -> AckDue {
        let compressed = self.compressed.map(|compressed| compressed.at);
        match (self.owed, compressed) {
            (Owed::Now, _) => AckDue::Now,
            (Owed::Delayed { at, .. }, None) => AckDue::At(at),
            (Owed::Delayed { at, .. }, Some(compressed)) => AckDue::At(at.min(compressed)),
            (Owed::Nothing | Owed::Undecided, at) => at.map_or(AckDue::No, AckDue::At),
        }
    }

    pub(crate) const fn segment_bytes(&self) -> u32 {
        self.segment_size.bytes()
    }

    /// The sending side's measurements of the path.
    pub(crate) fn note_round_trip(&mut self, smoothed: Option<Duration>, timeout: Duration) {
        self.smoothed_rtt = smoothed;
        self.timeout = self.in_jiffies(timeout);
    }

    /// Linux: tcp_event_data_recv.
    pub(crate) fn in_order(&mut self, arrival: Arrival, advertised: u32, now: Instant) {
        self.owe();
        if arrival.bytes == 0 {
            return;
        }
        self.measure(arrival);
        let now = self.jiffies(now);
        let pause = now.saturating_sub(self.last_received);
        self.last_received = now;
        let Some(delay) = self.delay else {
            self.quicken(advertised);
            self.delay = Some(self.min_delay);
            return;
        };
        let half = self.min_delay / 2;
        if pause <= u64::from(half) {
            self.delay = Some(delay / 2 + half);
        } else if pause < u64::from(delay) {
            // Below the delay, which is below 2^32.
            self.delay = Some((delay / 2 + pause as u32).min(self.timeout));
        } else if pause > u64::from(self.timeout) {
            // The sender has started anew (RFC 5681, section 4.1), perhaps without knowing: it shall not wait.
            self.quicken(advertised);
        }
    }

    pub(crate) fn out_of_order(&mut self, arrival: Arrival) {
        self.measure(arrival);
        self.owe();
    }

    /// Acknowledgments are not held back while more runs change than a lost one may leave untold
    /// (Linux: tcp_sack_new_ofo_skb).
    pub(crate) const fn run_grown(&mut self, place: usize) {
        if place >= EXPECTED_RUNS && self.compressed.is_some() {
            self.at_once();
        }
    }

    /// Linux: tcp_enter_quickack_mode, from tcp_data_queue and tcp_send_dupack.
    pub(crate) fn refused(&mut self, advertised: u32) {
        self.quicken(advertised);
        self.ping_pong = 0;
        self.delay = Some(self.min_delay);
        self.owe();
    }

    /// Linux: tcp_fin takes the connection for interactive: this end's FIN may carry the acknowledgment.
    pub(crate) const fn finished(&mut self) {
        self.owe();
        self.ping_pong = PING_PONG_THRESHOLD;
    }

    pub(crate) const fn at_once(&mut self) {
        self.owed = Owed::Now;
    }

    /// Linux: __tcp_select_window.
    pub(crate) const fn window_tightened(&mut self) {
        self.quick = 0;
    }

    /// Linux: tcp_grow_window.
    pub(crate) const fn window_grown(&mut self) {
        self.quick |= 1;
    }

    /// Linux: __tcp_ack_snd_check.
    pub(crate) fn decide(&mut self, context: &AckContext, now: Instant) {
        if self.owed == Owed::Nothing {
            return;
        }
        if context.room.is_some_and(|room| room.is_tight) {
            self.window_tightened();
        }
        // RFC 9293, section 3.8.6.3 wants every second full segment acknowledged; Linux leaves it to the application's
        // read where the window would not stay open.
        let is_due = context.room.is_some_and(|room| room.bytes >= context.advertised);
        if is_due || self.is_quick() || self.owed == Owed::Now {
            self.at_once();
        } else if context.is_holding {
            self.duplicate(context, now);
        } else {
            self.delay(now);
        }
    }

    /// Linux: __tcp_cleanup_rbuf.
    pub(crate) const fn read(&mut self, after: AfterRead) {
        if matches!(self.owed, Owed::Nothing) {
            return;
        }
        let waited = match self.pushed {
            Pushed::No => false,
            Pushed::Once => !self.is_interactive(),
            Pushed::Twice => true,
        };
        let drained = after.bytes > 0 && waited && after.emptied;
        if after.unacknowledged > self.segment_bytes() || drained {
            self.at_once();
        }
    }

    /// Linux: tcp_event_data_sent.
    pub(crate) fn data_sent(&mut self, now: Instant) {
        let since = self.jiffies(now).saturating_sub(self.last_received);
        if self.delay.is_some_and(|delay| since < u64::from(delay)) {
            self.ping_pong = self.ping_pong.saturating_add(1);
        }
    }

    /// Linux: tcp_event_ack_sent.
    pub(crate) fn acknowledged(&mut self) {
        if self.owed != Owed::Nothing && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = Some(self.min_delay);
            }
        }
        self.owed = Owed::Nothing;
        self.pushed = Pushed::No;
        self.compressed = None;
    }

    /// Linux: tcp_delack_timer_handler, tcp_compressed_ack_kick.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.compressed.is_some_and(|compressed| compressed.at <= now) {
            self.at_once();
            return;
        }
        let Owed::Delayed { at, .. } = self.owed else {
            return;
        };
        if at > now {
            return;
        }
        if self.is_interactive() {
            // No answer came in time.
            self.ping_pong = 0;
            self.delay = Some(self.min_delay);
        } else {
            let doubled = self.delay.unwrap_or_default().saturating_mul(2);
            self.delay = Some(doubled.min(self.timeout));
        }
        self.at_once();
    }

    /// Linux: inet_csk_schedule_ack.
    const fn owe(&mut self) {
        if matches!(self.owed, Owed::Nothing) {
            self.owed = Owed::Undecided;
        }
    }

    const fn is_interactive(&self) -> bool {
        self.ping_pong >= PING_PONG_THRESHOLD
    }

    const fn is_quick(&self) -> bool {
        self.quick > 0 && !self.is_interactive()
    }

    /// Linux: tcp_incr_quickack.
    fn quicken(&mut self, advertised: u32) {
        let segments = match advertised / (2 * self.segment_bytes()) {
            0 => 2,
            segments => segments.min(MAX_QUICK),
        };
        self.quick = self.quick.max(segments as u8);
    }

    /// Notes a segment's size, and that the application should answer one that may end a write
    /// (Linux: tcp_measure_rcv_mss).
    fn measure(&mut self, arrival: Arrival) {
        self.pushed = match (self.segment_size.note(arrival), self.pushed) {
            (Size::Full, Pushed::No) if arrival.push => Pushed::Once,
            (Size::Full | Size::Repeated, pushed) => pushed,
            (Size::Short, Pushed::No) => Pushed::Once,
            (Size::Short, Pushed::Once | Pushed::Twice) => Pushed::Twice,
        };
    }

    /// Linux: tcp_send_delayed_ack.
    fn delay(&mut self, now: Instant) {
        let delay = self.bounded_delay();
        let jiffies = self.jiffies(now);
        let mut expires = jiffies + u64::from(delay);
        let mut at = wheel_deadline(self.jiffy, now, u64::from(delay));
        if let Owed::Delayed {
            expires: earlier,
            at: earlier_at,
        } = self.owed
        {
            if earlier <= jiffies + u64::from(delay / 4) {
                // It is about to expire.
                self.at_once();
                return;
            }
            if earlier <= expires {
                (expires, at) = (earlier, earlier_at);
            }
        }
        self.owed = Owed::Delayed { expires, at };
    }

    fn bounded_delay(&self) -> u32 {
        let min = self.min_delay;
        // None before the first byte: a FIN alone is acknowledged at the next jiffy.
        let mut delay = self.delay.unwrap_or_default();
        if delay > min {
            let waits = self.is_interactive() || self.pushed != Pushed::No;
            let max = if waits {
                self.in_jiffies(MAX_DELAY)
            } else {
                self.in_jiffies(MAX_DELAY_OF_BULK)
            };
            let rtt = self.smoothed_rtt.map(|rtt| self.in_jiffies(rtt).max(min));
            delay = delay.min(rtt.map_or(max, |rtt| rtt.min(max)));
        }
        delay.min(self.in_jiffies(MAX_DELAY) - 1)
    }

    /// The first duplicate acknowledgments leave at once, further ones are held back together
    /// (Linux: tcp_comp_sack).
    fn duplicate(&mut self, context: &AckContext, now: Instant) {
        let held_back = self.compressed.map_or(0, |compressed| compressed.count);
        if !context.selective || held_back >= MAX_COMPRESSED {
            self.at_once();
            return;
        }
        if self.duplicates_at != context.next {
            self.duplicates_at = context.next;
            self.duplicates = 0;
        }
        if self.duplicates < DUPLICATES_AT_ONCE {
            self.duplicates += 1;
            self.at_once();
            return;
        }
        match &mut self.compressed {
            Some(compressed) => compressed.count += 1,
            None => {
                let at = now + self.compression(context.receive_rtt);
                self.compressed = Some(Compressed { count: 1, at });
            }
        }
    }

    /// A twentieth of the round-trip time, at most a millisecond.
    fn compression(&self, receive_rtt: Option<Duration>) -> Duration {
        let receive_rtt = receive_rtt.unwrap_or_default();
        let rtt = self
            .smoothed_rtt
            .map_or(receive_rtt, |smoothed| smoothed.min(receive_rtt));
        (rtt / 20).min(COMPRESSION)
    }

    fn jiffies(&self, now: Instant) -> u64 {
        now.as_nanos() / self.jiffy
    }

    fn in_jiffies(&self, duration: Duration) -> u32 {
        in_jiffies(duration, self.jiffy)
    }
}

/// `duration` in jiffies, rounded up, at least 1.
fn in_jiffies(duration: Duration, jiffy: u64) -> u32 {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    u32::try_from(nanos.div_ceil(jiffy)).unwrap_or(u32::MAX).max(1)
}
