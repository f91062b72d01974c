//! A connection whose ends agree on sequence numbers: ESTABLISHED to LAST-ACK.
//!
//! - `arrival`: segments that arrive (RFC 9293, section 3.10.7.4)
//! - `output`: which segment leaves next
//! - `nagle`: small segments that wait
//! - `queue`: writes to the send buffer, and their packets
//! - `burst`: how many segments leave at once
//! - `peer_timers`: timers other than those of loss recovery and delayed acknowledgments
//! - `send_window`: the send window

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::{Instant, ResetReason};
use wirecost_wire::tcp::{Flags, SackBlocks};

use crate::buffers::SendBuffer;
use crate::config::Config;
use crate::connection::handshake::{Opening, PeerSyn, clock};
use crate::connection::{Event, Events, State, TimeWait, Transmit};
use crate::on_demand::{Empty, OnDemand};
use crate::packed::{Pack, Packer, Unpacker, packs};
use crate::receive::{AckDue, Receiver, Terms};
use crate::recovery::{self, Recovery};
use crate::segment::Segment;

mod arrival;
mod burst;
mod nagle;
mod output;
mod peer_timers;
mod queue;
mod send_window;

use burst::Burst;
use peer_timers::PeerTimers;
use send_window::SendWindow;

/// The result of a step for the connection.
#[derive(Debug)]
pub(crate) enum Transition {
    /// The connection continues.
    Stay,
    /// Both directions are closed; this end closed first.
    TimeWait(TimeWait),
    /// Both directions are closed.
    Closed,
    /// The connection ends: with a reset to the peer, and with the reason for the application.
    Reset {
        answer: Option<Segment>,
        reason: Option<ResetReason>,
    },
}

/// Segments to be sent before all others.
type Early = VecDeque<Transmit>;

impl Empty for Early {
    const EMPTY: &'static Self = &Self::new();

    fn empty() -> Self {
        Self::new()
    }
}

/// The state of the FIN of this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    /// The application may still write.
    Open,
    /// The FIN follows the written bytes.
    Due,
    /// It was sent.
    Sent,
    /// The peer has it.
    Acknowledged,
}

packs!(enum Fin {
    0 => Open {},
    1 => Due {},
    2 => Sent {},
    3 => Acknowledged {},
});

/// The peer's clock (RFC 7323, section 4.3): TS.Recent, and when it was seen.
#[derive(Clone, Copy, Debug)]
struct PeerClock {
    recent: u32,
    seen: Instant,
}

packs!(PeerClock { recent, seen });

/// A connection whose ends agree on sequence numbers.
#[derive(Debug)]
pub(crate) struct Synchronized {
    config: Arc<Config>,
    state: State,
    initial_sequence: u32,
    send: SendBuffer,
    /// The end of what was sent, in the stream.
    sent: u64,
    fin: Fin,
    window: SendWindow,
    /// Bytes of a full segment with its options.
    segment_bytes: u16,
    /// The shift of this end's windows.
    receive_shift: u8,
    /// The peer's clock, if both ends use timestamps.
    peer_clock: Option<PeerClock>,
    recovery: Recovery,
    receiver: Receiver,
    /// RFC 7323's Last.ACK.sent.
    last_acknowledgment: u32,
    peer_timers: PeerTimers,
    /// When an unacceptable segment without data was answered last.
    refused: Option<Instant>,
    /// The segments that leave at once.
    burst: Burst,
    /// The end of the last segment that was not full, in the stream.
    small_end: u64,
    /// Bytes that the send buffer takes.
    send_limit: u32,
    waits_for_room: bool,
    /// The end of the last push.
    pushed: u64,
    /// Whether an event since the last output may allow new data: blocked data stays blocked until then.
    pushes: bool,
    /// Segments to be sent before all others.
    early: OnDemand<Early>,
    /// Whether the acknowledgment is due that completes the handshake.
    greets: bool,
    /// Whether the application has closed its socket.
    is_detached: bool,
    /// Whether the peer has not taken all the data of this end's SYN (RFC 7413).
    refused_data: bool,
    /// The SYN-ACK that is not acknowledged, of an end that has taken the data of a SYN (RFC 7413).
    half_open: Option<Box<Opening>>,
}

packs!(Synchronized {
    config,
    state,
    initial_sequence,
    send,
    sent,
    fin,
    window,
    segment_bytes,
    receive_shift,
    peer_clock,
    recovery,
    receiver,
    last_acknowledgment,
    peer_timers,
    refused,
    burst,
    small_end,
    send_limit,
    waits_for_room,
    pushed,
    pushes,
    early,
    greets,
    is_detached,
    refused_data,
    half_open,
});

/// The connection is packed while it has none.
impl Pack for Option<Box<Opening>> {
    fn pack(&self, _: &mut Packer) {}

    fn unpack(_: &mut Unpacker<'_>) -> Option<Self> {
        Some(None)
    }
}

impl Synchronized {
    /// A connection whose handshake `segment` completes.
    pub(crate) fn open(opening: Opening, peer: &PeerSyn, segment: &Segment, now: Instant) -> Self {
        let (opened, closes) = (opening.opened(peer, segment, now), opening.closes);
        let acknowledged = match segment.has(Flags::SYN) {
            true => opening.acknowledged_data(segment),
            false => 0,
        };
        let refuses = opening.refuses_data(segment);
        let mut open = Self::new(opening, peer, acknowledged, now);
        open.refused_data = refuses;
        open.watch_peer(now);
        if closes {
            open.shutdown();
        }
        open.recovery.opened(&opened, now);
        open.note_round_trip();
        open
    }

    /// A connection that takes the data of the peer's SYN: its SYN-ACK is to be transmitted (RFC 7413, section 4.2.2).
    pub(crate) fn open_early(opening: Opening, peer: &PeerSyn, now: Instant) -> Self {
        let opened = recovery::HandshakeResult {
            rtt: None,
            ..opening.opened(peer, &Segment::default(), now)
        };
        let answer = Box::new(opening.clone());
        let mut open = Self::new(opening, peer, 0, now);
        open.state = State::SynReceived;
        open.half_open = Some(answer);
        open.recovery.opened(&opened, now);
        open.note_round_trip();
        open
    }

    /// Handles the first acknowledgment of the SYN-ACK.
    fn complete_handshake(&mut self, segment: &Segment, now: Instant) {
        let Some(opening) = self.half_open.take() else {
            return;
        };
        if self.state == State::SynReceived {
            self.state = State::Established;
        }
        // Data that is in flight measures the round trip itself.
        if let Some(peer) = opening.peer.filter(|_| !self.is_in_flight()) {
            self.recovery.opened(&opening.opened(&peer, segment, now), now);
            self.note_round_trip();
        }
        self.watch_peer(now);
    }

    /// A connection after the exchange of SYNs, in which the peer acknowledged `acknowledged` bytes of data.
    fn new(mut opening: Opening, peer: &PeerSyn, acknowledged: u32, now: Instant) -> Self {
        let first_sequence = opening.start.sequence.wrapping_add(1).wrapping_add(acknowledged);
        opening.send.acknowledge(acknowledged.into());
        let terms = Terms {
            maximum_segment_size: opening.config.maximum_segment_size,
            timestamps: peer.timestamp.is_some(),
            selective: peer.selective,
            window_scale: peer.shifts.map_or(0, |(_, ours)| ours),
            window: u32::from(opening.window()),
        };
        let config = opening.config;
        Self {
            state: State::Established,
            initial_sequence: opening.start.sequence,
            send: opening.send,
            sent: acknowledged.into(),
            fin: Fin::Open,
            window: SendWindow::new(
                peer.window,
                peer.next.wrapping_sub(1),
                peer.shifts.map_or(0, |(theirs, _)| theirs),
            ),
            segment_bytes: peer.segment_bytes(),
            receive_shift: terms.window_scale,
            peer_clock: peer.timestamp.map(|recent| PeerClock { recent, seen: now }),
            recovery: Recovery::new(&config, first_sequence, now),
            receiver: Receiver::new(&config.receive, terms, peer.next, now),
            last_acknowledgment: peer.next,
            peer_timers: PeerTimers::default(),
            refused: None,
            burst: Burst::default(),
            small_end: 0,
            send_limit: queue::send_limit(&config, config.recovery.initial_window),
            waits_for_room: false,
            pushed: 0,
            pushes: true,
            early: OnDemand::NONE,
            greets: false,
            is_detached: false,
            refused_data: false,
            half_open: None,
            config,
        }
    }

    pub(crate) const fn state(&self) -> State {
        self.state
    }

    pub(crate) const fn shared_config(&self) -> &Arc<Config> {
        &self.config
    }

    pub(crate) const fn available(&self) -> usize {
        self.receiver.available()
    }

    pub(crate) fn acknowledges_now(&self) -> bool {
        self.receiver.ack_due() == AckDue::Now
    }

    pub(crate) fn unacknowledged(&self) -> usize {
        self.send.len()
    }

    /// As [`Connection::rest`](crate::Connection::rest).
    pub(crate) fn rest(&mut self) -> bool {
        // An acknowledgment that is due soon would end the rest at once.
        let is_due = self.receiver.ack_due() != AckDue::No || self.greets || self.peer_timers.probes;
        let is_idle = !self.is_in_flight()
            && !self.has_unsent()
            && !is_due
            && self.early.is_empty()
            && self.receiver.rest();
        if is_idle {
            self.send.rest();
            self.recovery.rest();
            self.early.free();
        }
        is_idle
    }

    /// Whether nothing is in memory of its own, after [`Synchronized::rest`].
    pub(crate) fn can_be_packed(&mut self) -> bool {
        self.send.rest() && self.recovery.rest() && self.receiver.is_free() && self.half_open.is_none()
    }

    pub(crate) fn read(&mut self, out: &mut Vec<u8>, limit: usize, now: Instant) -> usize {
        self.receiver.read(out, limit, now)
    }

    /// Moves the unread bytes to `out`.
    pub(crate) fn take_unread(&mut self, out: &mut Vec<u8>) {
        self.receiver.take_unread(out);
    }

    /// RFC 9293, section 3.10.4.
    pub(crate) fn shutdown(&mut self) {
        if self.fin != Fin::Open {
            return;
        }
        self.fin = Fin::Due;
        self.pushes = true;
        self.state = match self.state {
            State::CloseWait => State::LastAck,
            _ => State::FinWait1,
        };
    }

    /// The application closes its socket.
    pub(crate) fn close(&mut self, now: Instant) -> Transition {
        if self.receiver.unread() {
            // RFC 9293, section 3.10.4 and RFC 2525, section 2.17: a reset tells the peer that bytes were not read.
            return self.abort(now);
        }
        self.is_detached = true;
        self.recovery.orphan();
        self.shutdown();
        if self.state == State::FinWait2 {
            self.peer_timers.wait_for_fin(now + self.config.fin_wait_2);
        }
        Transition::Stay
    }

    /// RFC 9293, section 3.10.5.
    pub(crate) fn abort(&mut self, now: Instant) -> Transition {
        let answer = self.header(Flags::RST | Flags::ACK, self.next_sequence(), now);
        Transition::Reset {
            answer: Some(answer),
            reason: None,
        }
    }

    /// The transition that follows from the state just reached.
    fn transition(&mut self, now: Instant) -> Transition {
        match self.state {
            State::TimeWait => Transition::TimeWait(self.time_wait(now)),
            State::Closed => Transition::Closed,
            _ => Transition::Stay,
        }
    }

    fn time_wait(&mut self, now: Instant) -> TimeWait {
        let answer = self.header(Flags::ACK, self.next_sequence(), now);
        let wait = TimeWait::new(
            Transmit::bare(answer, self.sent),
            self.initial_sequence,
            self.config.time_wait,
            now,
        );
        if self.last_acknowledgment == answer.acknowledgment {
            wait
        } else {
            wait.due()
        }
    }

    /// Handles the peer's FIN; all bytes before it are readable.
    fn peer_closed(&mut self, events: &mut Events) {
        events.push(Event::PeerClosed);
        self.state = match self.state {
            State::FinWait1 => State::Closing,
            State::FinWait2 => State::TimeWait,
            State::Established | State::SynReceived => State::CloseWait,
            state => state,
        };
        // RFC 9293, section 3.10.7.4, eighth. Linux delays the acknowledgment only in CLOSE-WAIT.
        if self.state != State::CloseWait {
            self.receiver.acknowledge_now();
        }
    }

    /// Handles the acknowledgment of this end's FIN.
    fn fin_acknowledged(&mut self, now: Instant) {
        self.fin = Fin::Acknowledged;
        self.state = match self.state {
            State::FinWait1 => State::FinWait2,
            State::Closing => State::TimeWait,
            State::LastAck => State::Closed,
            state => state,
        };
        if self.is_detached && self.state == State::FinWait2 {
            self.peer_timers.wait_for_fin(now + self.config.fin_wait_2);
        }
    }

    /// SND.UNA.
    fn unacknowledged_sequence(&self) -> u32 {
        let sequence = self.sequence_of(self.send.start());
        sequence.wrapping_add(u32::from(self.fin == Fin::Acknowledged))
    }

    /// SND.NXT.
    fn next_sequence(&self) -> u32 {
        let is_fin_sent = matches!(self.fin, Fin::Sent | Fin::Acknowledged);
        self.sequence_of(self.sent).wrapping_add(u32::from(is_fin_sent))
    }

    /// The sequence number of a byte of this end's stream.
    const fn sequence_of(&self, offset: u64) -> u32 {
        self.initial_sequence.wrapping_add(1).wrapping_add(offset as u32)
    }

    /// Whether SND.NXT is not SND.UNA.
    fn is_in_flight(&self) -> bool {
        self.sent != self.send.start() || self.fin == Fin::Sent
    }

    /// A header without payload, with the fields of every segment of an open connection.
    fn header(&self, flags: Flags, sequence: u32, now: Instant) -> Segment {
        let (window, sack) = (self.receiver.window_bytes(), self.receiver.sack_blocks());
        self.header_telling(window, sack, flags, sequence, now)
    }

    /// The header of a segment that leaves and acknowledges everything that has arrived.
    fn acknowledging(&mut self, flags: Flags, sequence: u32, now: Instant) -> Segment {
        let sack = self.receiver.sack_blocks();
        let window = self.receiver.ack_sent(now);
        self.last_acknowledgment = self.receiver.next_expected();
        self.header_telling(window, sack, flags, sequence, now)
    }

    fn header_telling(
        &self,
        window: u32,
        sack: SackBlocks,
        flags: Flags,
        sequence: u32,
        now: Instant,
    ) -> Segment {
        Segment {
            sequence,
            acknowledgment: self.receiver.next_expected(),
            flags,
            window: u16::try_from(window >> self.receive_shift).unwrap_or(u16::MAX),
            timestamps: self.peer_clock.map(|peer| crate::Timestamps {
                value: clock(self.initial_sequence, now),
                echo: peer.recent,
            }),
            sack,
            ..Segment::default()
        }
    }

    /// Gives the receiver this end's round-trip time and time-out.
    fn note_round_trip(&mut self) {
        let timeout = self.recovery.backed_off_rto();
        self.receiver
            .note_round_trip(self.recovery.smoothed_rtt(), timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each message of a fleet makes one and frees it. From 1,009 bytes on, glibc first joins all small pieces of memory that are free
    /// (`malloc_consolidate`): a tenth of the time of a simulated load.
    #[test]
    fn an_open_connection_fits_into_a_small_piece_of_memory() {
        let bytes = size_of::<Synchronized>();
        assert!(bytes <= 1_000, "{bytes}");
    }
}
