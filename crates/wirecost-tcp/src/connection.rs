//! One end of a connection (RFC 9293).

use alloc::vec::Vec;

use wirecost_proto::{Instant, ResetReason};

use crate::{Config, Segment};

/// The states of RFC 9293, section 3.3.2; LISTEN is the driver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN was sent.
    SynSent,
    /// A SYN was received and answered.
    SynReceived,
    /// Open in both directions.
    Established,
    /// This end has closed; its FIN is not acknowledged.
    FinWait1,
    /// This end has closed and the peer has acknowledged it.
    FinWait2,
    /// The peer has closed.
    CloseWait,
    /// Both have closed at once; the FIN is not acknowledged.
    Closing,
    /// The peer closed first; this end's FIN is not acknowledged.
    LastAck,
    /// Both directions are closed; late segments are answered for a while.
    TimeWait,
    /// Nothing is left.
    Closed,
}

/// What the application may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Opened,
    /// There are bytes to be read.
    Readable,
    /// The send buffer has room again after a write that did not fit.
    Writable,
    /// The peer's FIN has arrived and everything before it is readable.
    PeerClosed,
    /// The connection is gone.
    Reset(ResetReason),
}

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Everything but ports and payload.
    pub segment: Segment,
    /// Where the payload stands in the stream of this direction, from 0; of a segment without payload, where the next byte
    /// would stand.
    pub offset: u64,
    /// Bytes of payload, which were appended to the buffer.
    pub payload_bytes: u32,
}

/// One end of a connection.
///
/// After every call that takes `now`, call [`Connection::poll_transmit`] until it returns `None`, then
/// [`Connection::poll_event`] until it returns `None`, then arm a timer for [`Connection::next_timeout`].
#[derive(Debug)]
pub struct Connection {}

impl Connection {
    /// An end that opens: its SYN is to be transmitted. `initial_sequence` is the caller's choice.
    pub fn connect(config: Config, initial_sequence: u32, now: Instant) -> Self {
        let _ = (config, initial_sequence, now);
        unimplemented!()
    }

    /// An end that answers `syn`: its SYN-ACK is to be transmitted.
    pub fn accept(config: Config, syn: &Segment, initial_sequence: u32, now: Instant) -> Self {
        let _ = (config, syn, initial_sequence, now);
        unimplemented!()
    }

    /// Takes a segment from the peer.
    pub fn handle_segment(&mut self, segment: &Segment, payload: &[u8], now: Instant) {
        let _ = (segment, payload, now);
        unimplemented!()
    }

    /// Does what is due; early calls are harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
        unimplemented!()
    }

    /// When [`Connection::handle_timeout`] is to be called.
    pub fn next_timeout(&self) -> Option<Instant> {
        unimplemented!()
    }

    /// The next segment to be sent; its payload is appended to `payload`.
    pub fn poll_transmit(&mut self, payload: &mut Vec<u8>, now: Instant) -> Option<Transmit> {
        let _ = (payload, now);
        unimplemented!()
    }

    /// The next thing worth knowing.
    pub fn poll_event(&mut self) -> Option<Event> {
        unimplemented!()
    }

    /// Gives bytes to be sent, as one write of the application; returns how many the send buffer took.
    pub fn write(&mut self, bytes: &[u8], now: Instant) -> usize {
        let _ = (bytes, now);
        unimplemented!()
    }

    /// Takes up to `limit` bytes that have arrived in order, as one read of the application; appends them to `out`. May
    /// cause an acknowledgment or a window update.
    pub fn read(&mut self, out: &mut Vec<u8>, limit: usize, now: Instant) -> usize {
        let _ = (out, limit, now);
        unimplemented!()
    }

    /// Bytes written that were not acknowledged yet, and of them those not sent yet.
    pub fn unsent(&self) -> usize {
        unimplemented!()
    }

    /// Closes this end's direction: a FIN follows what was written.
    pub fn shutdown(&mut self, now: Instant) {
        let _ = now;
        unimplemented!()
    }

    /// The application lets go of the connection, as `close` does: a FIN, or a reset where bytes were left unread.
    pub fn close(&mut self, now: Instant) {
        let _ = now;
        unimplemented!()
    }

    /// Gives the connection up with a reset.
    pub fn abort(&mut self, now: Instant) {
        let _ = now;
        unimplemented!()
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        unimplemented!()
    }
}
