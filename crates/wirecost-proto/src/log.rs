//! What an endpoint said of the bytes of one flow: the spans that the ledger lays over the recorded packets.

use alloc::vec::Vec;

use crate::bare::Transport;
use crate::{Buffer, Direction, Span};

/// The spans of one flow, both directions, as one side described them.
#[derive(Clone, Debug)]
pub struct FlowLog {
    /// What the flow runs on.
    pub transport: Transport,
    /// Device to server.
    pub up: DirectionLog,
    /// Server to device.
    pub down: DirectionLog,
}

/// The spans of one direction of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionLog {
    /// On a stream: the spans of all bytes, end to end, neighbours of one kind merged.
    pub stream: Vec<Span>,
    /// On datagrams: each datagram in order.
    pub datagrams: Vec<DatagramLog>,
    /// Bytes covered so far; a datagram counts one more, so that an empty one has a place too.
    pub bytes: u64,
}

/// One datagram and what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramLog {
    /// Its bytes, by which it is found among the recorded packets.
    pub bytes: Vec<u8>,
    /// The spans that cover it.
    pub spans: Vec<Span>,
}

impl FlowLog {
    /// An empty log.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            up: DirectionLog::default(),
            down: DirectionLog::default(),
        }
    }

    /// The log of one direction.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut DirectionLog {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// Takes what this side said of a later flow of the same addresses and ports.
    pub fn append(&mut self, later: &Self) {
        for (log, later) in [(&mut self.up, &later.up), (&mut self.down, &later.down)] {
            log.stream.extend_from_slice(&later.stream);
            log.datagrams.extend_from_slice(&later.datagrams);
            log.bytes += later.bytes;
        }
    }

    /// Notes bytes that this side transmitted.
    pub fn transmitted(&mut self, direction: Direction, out: &Buffer) {
        self.note(direction, out.bytes(), out);
    }

    /// Notes what this side said of a datagram, or of stream bytes, that it received.
    pub fn consumed(&mut self, direction: Direction, received: &[u8], out: &Buffer) {
        self.note(direction, received, out);
    }

    fn note(&mut self, direction: Direction, bytes: &[u8], out: &Buffer) {
        let transport = self.transport;
        let log = self.direction_mut(direction);
        log.bytes += out.covered();
        if transport == Transport::Datagram {
            log.bytes += 1;
            log.datagrams.push(DatagramLog {
                bytes: bytes.to_vec(),
                spans: out.spans().to_vec(),
            });
            return;
        }
        for span in out.spans() {
            match log.stream.last_mut() {
                Some(last) if last.continues(span) && last.len.checked_add(span.len).is_some() => {
                    last.len += span.len;
                }
                _ => log.stream.push(*span),
            }
        }
    }
}
