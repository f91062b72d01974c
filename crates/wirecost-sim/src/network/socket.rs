//! One end of a stream: the connection, and the bytes that wait for its send buffer.

use wirecost_proto::driver::{UNSENT_LIMIT, Writing};
use wirecost_proto::{Instant, ResetReason};
use wirecost_tcp::{Connection, Event, RestPattern, State};

use crate::awake::Activity;

/// A connection with its application's buffer of unsent bytes.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) connection: Connection,
    unsent: Vec<u8>,
    sent: usize,
    /// Whether an application owns it.
    pub(crate) is_owned: bool,
    /// Whether the application knows that it is open.
    pub(crate) is_accepted: bool,
    /// Whether the handshake is complete.
    pub(crate) is_open: bool,
    /// Whether everything up to the peer's FIN has arrived.
    peer_has_closed: bool,
    /// The reason why the connection is gone, if it is.
    pub(crate) reset: Option<ResetReason>,
    fin_requested: bool,
    fin_sent: bool,
    /// Whether the application knows that the peer has closed.
    fin_received: bool,
    /// Whether a write has failed; the connection then gets no more bytes.
    broken: bool,
    /// The earliest wake-up of the connection that the queue holds.
    pub(crate) wakes: Option<Instant>,
    /// Whether the queue holds a wake-up of the application.
    pub(crate) wakes_application: bool,
    /// When the last segment with data arrived, and how many arrived at that instant.
    burst: (Instant, u32),
    /// What it has handled lately.
    pub(crate) activity: Activity,
}

/// The result of a read.
pub(crate) enum Readable {
    /// Bytes, in the buffer.
    Bytes,
    /// No bytes now.
    Nothing,
    /// The peer's FIN.
    PeerClosed,
    /// The connection ends.
    Reset(ResetReason),
}

/// The number of segments with data that arrive at one instant before their reader runs: the initial window (RFC 6928). A
/// longer burst takes longer than the reader needs to wake; after that the reader handles each segment when it arrives.
const SEGMENTS_BEFORE_A_READ: u32 = 10;

/// Bytes that an application reads at once at most.
const READ_BYTES: usize = 65_536;

impl Socket {
    /// The end that opens the connection.
    pub(crate) fn connecting(connection: Connection) -> Self {
        Self::new(connection, true)
    }

    /// The end that accepts the connection: its application gets the socket when the handshake is complete.
    pub(crate) fn answering(connection: Connection) -> Self {
        Self::new(connection, false)
    }

    fn new(connection: Connection, is_owned: bool) -> Self {
        Self {
            connection,
            unsent: Vec::new(),
            sent: 0,
            is_owned,
            is_accepted: false,
            is_open: false,
            peer_has_closed: false,
            reset: None,
            fin_requested: false,
            fin_sent: false,
            fin_received: false,
            broken: false,
            wakes: None,
            wakes_application: false,
            burst: (Instant::START, 0),
            activity: Activity::default(),
        }
    }

    /// Gives back memory that it does not need while nothing is on its way, and keeps what differs from `pattern`. Returns whether it
    /// did.
    pub(crate) fn rest(&mut self, pattern: &mut RestPattern) -> bool {
        let rests = self.is_flushed() && self.connection.rest(pattern);
        if rests {
            (self.unsent, self.sent) = (Vec::new(), 0);
        }
        rests
    }

    /// Counts a segment with data.
    pub(crate) fn note_data(&mut self, now: Instant) {
        let (at, count) = self.burst;
        self.burst = (now, if at == now { count + 1 } else { 1 });
    }

    /// Whether so many segments have arrived at this instant that the application runs during the rest of the burst.
    pub(crate) fn is_followed(&self, now: Instant) -> bool {
        let (at, count) = self.burst;
        at == now && count > SEGMENTS_BEFORE_A_READ
    }

    /// Handles the events of the connection; returns whether there was one.
    pub(crate) fn take_events(&mut self) -> bool {
        let mut any = false;
        while let Some(event) = self.connection.poll_event() {
            any = true;
            match event {
                Event::Opened => self.is_open = true,
                Event::PeerClosed => self.peer_has_closed = true,
                Event::Reset(reason) => self.reset = Some(reason),
                Event::Readable | Event::Writable => {}
            }
        }
        any
    }

    /// Queues bytes after the unsent bytes.
    pub(crate) fn queue(&mut self, bytes: &[u8]) {
        // Drops the sent bytes now; otherwise a flow that always has unsent bytes would keep all its bytes.
        if self.sent >= UNSENT_LIMIT || self.is_flushed() {
            self.unsent.drain(..self.sent);
            self.sent = 0;
        }
        self.unsent.extend_from_slice(bytes);
    }

    /// Whether commands must wait because too many bytes are unsent.
    pub(crate) const fn is_congested(&self) -> bool {
        self.unsent.len() - self.sent >= UNSENT_LIMIT
    }

    /// Whether every byte has left the buffer.
    pub(crate) const fn is_flushed(&self) -> bool {
        self.sent == self.unsent.len()
    }

    /// Closes this direction after the last byte.
    pub(crate) const fn request_fin(&mut self) {
        self.fin_requested = true;
    }

    /// Whether neither bytes nor a FIN wait for the connection.
    pub(crate) const fn has_nothing_to_give(&self) -> bool {
        self.is_flushed() && (self.fin_sent || !self.fin_requested)
    }

    /// Writes the next bytes to the connection, as one write. Returns whether it took them all, so that the next write may
    /// follow.
    ///
    /// # Errors
    /// The connection is gone, and bytes or a FIN are left. Returned once.
    pub(crate) fn flush(&mut self, writing: Writing, now: Instant) -> Result<bool, ResetReason> {
        if !self.is_accepted || self.broken {
            return Ok(false);
        }
        let is_fin_due = self.fin_requested && !self.fin_sent;
        if let Some(reason) = self.reset.filter(|_| is_fin_due || !self.is_flushed()) {
            self.broken = true;
            return Err(reason);
        }
        let mut is_taken = false;
        if let Some(unsent) = self.unsent.get(self.sent..).filter(|unsent| !unsent.is_empty()) {
            let next = writing.next(unsent);
            let taken = self.connection.write(next, now);
            self.sent += taken;
            is_taken = taken == next.len();
        }
        if self.is_flushed() && self.unsent.capacity() > UNSENT_LIMIT {
            self.unsent = Vec::new();
            self.sent = 0;
        }
        Ok(is_taken)
    }

    /// Closes this direction of the connection if that was requested and every byte is written. Returns whether it did.
    pub(crate) fn finish(&mut self, now: Instant) -> bool {
        let is_due = self.is_accepted && !self.broken && self.fin_requested && !self.fin_sent;
        if !is_due || !self.is_flushed() {
            return false;
        }
        self.fin_sent = true;
        self.connection.shutdown(now);
        true
    }

    /// Reads the available bytes into the empty `buffer`.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>, now: Instant) -> Readable {
        if !self.is_accepted || self.fin_received {
            return Readable::Nothing;
        }
        if self.connection.read(buffer, READ_BYTES, now) > 0 {
            return Readable::Bytes;
        }
        if self.peer_has_closed {
            self.fin_received = true;
            return Readable::PeerClosed;
        }
        self.reset.map_or(Readable::Nothing, Readable::Reset)
    }

    /// Whether both directions are closed.
    pub(crate) const fn is_closed(&self) -> bool {
        self.fin_sent && self.fin_received
    }

    /// Whether a SYN, bytes or a FIN are not acknowledged.
    pub(crate) fn is_unsettled(&self) -> bool {
        use State::{Closing, FinWait1, LastAck, SynReceived, SynSent};
        let state = self.connection.state();
        let control = matches!(state, SynSent | SynReceived | FinWait1 | Closing | LastAck);
        control || self.connection.unacknowledged() > 0
    }

    /// Whether neither an application nor the protocol needs it anymore.
    pub(crate) fn is_over(&self) -> bool {
        !self.is_owned && self.connection.state() == State::Closed
    }
}
