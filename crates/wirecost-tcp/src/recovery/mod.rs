//! Loss recovery and congestion control: segments in flight, lost segments, and segments that may be sent.
//!
//! - [`config`]: the configuration
//! - `acknowledge`: an acknowledgment, from the scoreboard to the window
//! - `state`: Open, Disorder, Recovery and their transitions
//! - `scoreboard`: sent segments that are not acknowledged (RFC 6675)
//! - `effect`: the effect of an acknowledgment
//! - `sack`: selective acknowledgments (RFC 2018, RFC 2883)
//! - `transmit`: segments that may be sent, and the effects of a transmission
//! - `rack`: loss found by time (RFC 8985)
//! - `tail_loss_probe`: the last segment of a flight (RFC 8985, section 7)
//! - `prr`: how the window shrinks (RFC 6937)
//! - `rto`: the retransmission time-out (RFC 6298, RFC 5682)
//! - `rtt`: round trips and the time-out
//! - `undo`: reductions that are undone (RFC 3522, RFC 3708)
//! - `new_reno`: duplicates instead of selective acknowledgments (RFC 6582)
//! - `deferral`: segments that are deferred to leave together
//! - `pacing`: the sending rate
//! - `clock`: units of time

mod acknowledge;
pub(crate) mod clock;
pub mod config;
pub(crate) mod congestion;
mod deferral;
mod effect;
mod new_reno;
mod pacing;
mod prr;
mod rack;
mod rto;
mod rtt;
mod sack;
mod scoreboard;
mod state;
mod tail_loss_probe;
mod transmit;
mod undo;

use alloc::sync::Arc;
use core::time::Duration;

use wirecost_proto::Instant;
use wirecost_wire::tcp::SackBlocks;

use crate::Config;
use crate::packed::packs;
use crate::recovery::congestion::Algorithm;
use crate::recovery::congestion::window::{Outstanding, Window};
pub(crate) use clock::{TickClock, micros};
pub use config::{CongestionControl, GiveUp, RecoveryConfig, RttFilter};
pub(crate) use deferral::Waiting;
pub(crate) use pacing::Pacing;
use prr::Reduction;
use rack::Rack;
use rto::Timer;
use rtt::{MinRtt, RttEstimator};
use scoreboard::{Record, Scoreboard};
use state::State;
use tail_loss_probe::TailProbe;
use undo::Undo;

/// The result of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandshakeResult {
    /// The round trip of the SYN or SYN-ACK, if it was sent once or its timestamp was echoed.
    pub(crate) rtt: Option<Duration>,
    /// The number of retransmissions of this end's SYN or SYN-ACK.
    pub(crate) retransmissions: u32,
    /// Whether they were unnecessary: the answer echoes the timestamp of the first transmission.
    pub(crate) is_spurious: bool,
    /// Whether both ends understand selective acknowledgments.
    pub(crate) has_sack: bool,
    /// Bytes of a full segment, options deducted.
    pub(crate) segment_bytes: u32,
}

/// The acknowledgment in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ack {
    /// SEG.ACK.
    pub(crate) acknowledgment: u32,
    /// The selective acknowledgments.
    pub(crate) sack: SackBlocks,
    /// The echoed timestamp, in milliseconds since the start of the run, modulo 2^32, without the offset that this end adds to
    /// its clock.
    pub(crate) echo: Option<u32>,
    /// Whether the segment carries data, a SYN or a FIN.
    pub(crate) has_data: bool,
    /// Whether it changes the send window (RFC 9293, section 3.10.7.4: SND.WL1 and SND.WL2).
    pub(crate) updates_window: bool,
    /// The peer's window, in bytes.
    pub(crate) window_bytes: u32,
    /// Whether there is unsent data that fits into the peer's window.
    pub(crate) has_new_data: bool,
}

/// A range of sequence numbers for retransmission; a FIN counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The first sequence number.
    pub(crate) sequence: u32,
    /// The number of sequence numbers.
    pub(crate) len: u32,
}

/// The result of a time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// Nothing was due.
    Early,
    /// A segment may be sent.
    Transmit,
    /// The peer has not answered for too long.
    GiveUp,
}

/// The retransmissions that the last event allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retransmit {
    Nothing,
    /// Lost segments, as far as the window allows.
    Lost,
    /// New data first: a time-out may have been spurious (RFC 5682, section 2.1, step 2.b).
    NewDataFirst,
}

packs!(enum Retransmit {
    0 => Nothing {},
    1 => Lost {},
    2 => NewDataFirst {},
});

/// Loss recovery and congestion control of one direction of a connection.
///
/// After [`Recovery::handle_ack`] and [`Recovery::handle_timeout`], send [`Recovery::next_retransmission`] until there is
/// none, then new data while [`Recovery::may_send_new`]; tell [`Recovery::sent`] of each segment at once.
#[derive(Debug)]
pub(crate) struct Recovery {
    config: Arc<Config>,
    clock: TickClock,
    segment_bytes: u32,
    has_sack: bool,
    is_orphan: bool,
    scoreboard: Scoreboard,
    window: Window,
    algorithm: Algorithm,
    rtt: RttEstimator,
    min_rtt: MinRtt,
    rack: Rack,
    state: State,
    /// SND.NXT when the state was entered.
    high_sequence: u32,
    reduction: Reduction,
    undo: Undo,
    probe: TailProbe,
    timer: Option<Timer>,
    /// The time-out, in ticks, backed off.
    rto_ticks: u64,
    /// Time-outs since SND.UNA last advanced.
    timeouts: u32,
    /// Whether the acknowledgments after a time-out may show that it was spurious (F-RTO).
    is_forward_rto: bool,
    retransmit: Retransmit,
    /// Segments known to have arrived, the SYN among them.
    delivered: u32,
    /// Segments found lost, again or for the first time.
    found_lost: u32,
    retransmissions: u32,
    /// Segments sent, again or for the first time.
    sent_count: u32,
    /// Segments that the peer reported to have arrived twice.
    duplicates: u32,
    largest_window: u32,
    last_sent_tick: u64,
    last_sent_micros: u64,
    pacing: Pacing,
}

packs!(Recovery {
    config,
    clock,
    segment_bytes,
    has_sack,
    is_orphan,
    scoreboard,
    window,
    algorithm,
    rtt,
    min_rtt,
    rack,
    state,
    high_sequence,
    reduction,
    undo,
    probe,
    timer,
    rto_ticks,
    timeouts,
    is_forward_rto,
    retransmit,
    delivered,
    found_lost,
    retransmissions,
    sent_count,
    duplicates,
    largest_window,
    last_sent_tick,
    last_sent_micros,
    pacing
});

impl Recovery {
    /// Gives back the memory of an empty list of sent segments. Returns whether it is empty.
    pub(crate) fn rest(&mut self) -> bool {
        self.scoreboard.rest()
    }

    /// Before the handshake: data will start at `first_sequence`, the one after the SYN's.
    pub(crate) fn new(shared: &Arc<Config>, first_sequence: u32, now: Instant) -> Self {
        let clock = TickClock::new(shared.granularity);
        let config = &shared.recovery;
        let rtt = RttEstimator::new(config, &clock);
        Self {
            config: Arc::clone(shared),
            clock,
            segment_bytes: 536,
            has_sack: false,
            is_orphan: false,
            scoreboard: Scoreboard::new(first_sequence),
            window: Window::new(config.initial_window, config.window_cap, first_sequence),
            algorithm: Algorithm::new(config.congestion_control),
            rto_ticks: rtt.rto_ticks(),
            rtt,
            min_rtt: MinRtt::default(),
            rack: Rack::new(),
            state: State::Open,
            high_sequence: first_sequence,
            reduction: Reduction::default(),
            undo: Undo::default(),
            probe: TailProbe::default(),
            timer: None,
            timeouts: 0,
            is_forward_rto: false,
            retransmit: Retransmit::Nothing,
            delivered: 1,
            found_lost: 0,
            retransmissions: 0,
            sent_count: 0,
            duplicates: 0,
            largest_window: 0,
            last_sent_tick: clock.ticks(now),
            last_sent_micros: 0,
            pacing: Pacing::default(),
        }
    }

    /// Handles the end of the handshake.
    pub(crate) fn opened(&mut self, opening: &HandshakeResult, now: Instant) {
        let tick = self.clock.ticks(now);
        self.segment_bytes = opening.segment_bytes;
        self.has_sack = opening.has_sack;
        match opening.rtt {
            Some(rtt) => self.measure_opening(rtt, tick),
            None => {
                let fallback = self.clock.ticks_in(self.config.recovery.fallback_rto);
                self.rtt.fall_back(fallback, &self.clock);
                self.rto_ticks = self.rtt.rto_ticks();
            }
        }
        // RFC 6928, section 2, and RFC 5681, section 3.1: one segment after a lost SYN; RFC 6298's shorter first time-out
        // makes that wrong once. The threshold is as before. (Linux: `tcp_init_transfer`, `tcp_init_metrics`)
        if opening.retransmissions > 1 && !opening.is_spurious {
            self.window.set_cwnd(1);
        }
        self.algorithm.start(self.scoreboard.next(), micros(now));
        self.window.stamp(tick);
        self.last_sent_tick = tick;
        self.update_pacing();
    }

    /// Notes that no application reads from this end anymore: it gives up sooner.
    pub(crate) const fn orphan(&mut self) {
        self.is_orphan = true;
    }

    fn outstanding(&self) -> Outstanding {
        Outstanding {
            segments: self.scoreboard.outstanding(),
            in_flight: self.scoreboard.in_flight(),
            una: self.scoreboard.una(),
            next: self.scoreboard.next(),
        }
    }

    /// The time-out, backed off.
    pub(crate) fn backed_off_rto(&self) -> Duration {
        self.clock.duration(self.rto_ticks)
    }

    /// The congestion window, in segments.
    pub(crate) const fn congestion_window(&self) -> u32 {
        self.window.cwnd()
    }

    /// The slow start threshold, in segments.
    #[cfg(test)]
    pub(crate) const fn slow_start_threshold(&self) -> u32 {
        self.window.ssthresh()
    }

    /// Segments in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        self.scoreboard.in_flight()
    }

    /// The smoothed round trip, if it is in microseconds and was measured.
    pub(crate) fn smoothed_rtt(&self) -> Option<Duration> {
        self.rtt
            .srtt_eighths()
            .map(|eighths| Duration::from_micros(eighths / 8))
    }
}

impl Range {
    const fn from_record(record: &Record) -> Self {
        Self {
            sequence: record.sequence,
            len: record.len,
        }
    }
}

/// The clock of the timestamps option.
const fn milliseconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

#[cfg(test)]
mod tests;
