//! The spans of one flow, as an endpoint described its bytes. The ledger lays them over the recorded packets.

use alloc::vec::Vec;

use crate::bare::Transport;
use crate::{BothWays, Buffer, Direction, Span};

/// The spans of one flow, both directions, as one side described them.
#[derive(Clone, Debug)]
pub struct FlowLog {
    /// The transport of the flow.
    pub transport: Transport,
    /// Device to server.
    pub up: DirectionLog,
    /// Server to device.
    pub down: DirectionLog,
    /// Bytes of memory that the datagrams or spans of a direction may still take.
    room: BothWays<usize>,
}

/// The spans of one direction of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionLog {
    /// On a stream: the spans of all bytes, end to end; neighbours of one kind are merged. If some are not kept, the spans of
    /// the first bytes.
    pub stream: Vec<Span>,
    /// On datagrams: each datagram in order.
    pub datagrams: Vec<DatagramLog>,
    /// Bytes covered so far. A datagram counts one byte more, so that an empty datagram counts too.
    pub bytes: u64,
    /// Datagrams, or inputs of a stream, that the log counted but did not keep.
    pub unkept: u64,
}

/// One datagram with its spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramLog {
    /// Its bytes, which identify it among the recorded packets.
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
            room: BothWays {
                up: usize::MAX,
                down: usize::MAX,
            },
        }
    }

    /// An empty log that keeps at most `bytes` bytes of memory per direction and counts the rest, because the senders may not
    /// be trustworthy.
    pub fn bounded(transport: Transport, bytes: usize) -> Self {
        Self {
            room: BothWays::equal(bytes),
            ..Self::new(transport)
        }
    }

    /// The log of one direction.
    pub(crate) fn direction_mut(&mut self, direction: Direction) -> &mut DirectionLog {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// Appends the log of a later flow with the same addresses and ports.
    pub fn append(&mut self, later: &Self) {
        for (log, later) in [(&mut self.up, &later.up), (&mut self.down, &later.down)] {
            log.stream.extend_from_slice(&later.stream);
            log.datagrams.extend_from_slice(&later.datagrams);
            log.bytes += later.bytes;
            log.unkept += later.unkept;
        }
    }

    /// Logs bytes that this side transmitted.
    pub fn transmitted(&mut self, direction: Direction, out: &Buffer) {
        self.note(direction, out.bytes(), out);
    }

    /// Logs the spans of a datagram, or of stream bytes, that this side received.
    pub fn consumed(&mut self, direction: Direction, received: &[u8], out: &Buffer) {
        self.note(direction, received, out);
    }

    fn note(&mut self, direction: Direction, bytes: &[u8], out: &Buffer) {
        let (transport, mut room) = (self.transport, self.room[direction]);
        let log = self.direction_mut(direction);
        log.bytes += out.covered() + u64::from(transport == Transport::Datagram);
        match transport {
            Transport::Stream => log.note_stream(out.spans(), &mut room),
            Transport::Datagram => log.note_datagram(bytes, out.spans(), &mut room),
        }
        self.room[direction] = room;
    }
}

impl DirectionLog {
    fn note_stream(&mut self, spans: &[Span], room: &mut usize) {
        // Spans after a gap have no position: a log that was once full stays full.
        if *room == 0 {
            self.unkept += 1;
            return;
        }
        for span in spans {
            match self.stream.last_mut() {
                Some(last) if last.continues(span) && last.len.checked_add(span.len).is_some() => {
                    last.len += span.len;
                }
                _ => {
                    self.stream.push(*span);
                    *room = room.saturating_sub(size_of::<Span>());
                }
            }
        }
    }

    fn note_datagram(&mut self, bytes: &[u8], spans: &[Span], room: &mut usize) {
        let taken = size_of::<DatagramLog>() + bytes.len() + size_of_val(spans);
        let Some(left) = room.checked_sub(taken) else {
            self.unkept += 1;
            return;
        };
        *room = left;
        self.datagrams.push(DatagramLog {
            bytes: bytes.to_vec(),
            spans: spans.to_vec(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Layer, Phase};

    #[test]
    fn a_bounded_log_counts_what_it_does_not_keep() {
        let mut log = FlowLog::bounded(Transport::Datagram, 4_000);
        let mut out = Buffer::new();
        out.push(&[0; 100], Layer::Application, Phase::Message, Cause::Original);
        for _ in 0..1_000 {
            log.consumed(Direction::Down, &[0; 100], &out);
        }
        let kept = log.down.datagrams.len();
        assert!((10..40).contains(&kept), "{kept}");
        assert_eq!(log.down.unkept, 1_000 - kept as u64);
        assert_eq!(log.down.bytes, 101_000);
        log.transmitted(Direction::Up, &out);
        assert_eq!(log.up.unkept, 0, "a direction has room of its own");
    }

    #[test]
    fn a_bounded_log_of_a_stream_keeps_its_beginning() {
        let mut log = FlowLog::bounded(Transport::Stream, 4_000);
        let mut out = Buffer::new();
        out.push(&[0; 4], Layer::Application, Phase::Message, Cause::Original);
        out.push(&[0; 4], Layer::Payload, Phase::Message, Cause::Original);
        for _ in 0..1_000 {
            log.consumed(Direction::Down, &[0; 8], &out);
        }
        let inputs = log.down.stream.len() / 2;
        assert!((100..300).contains(&inputs), "{inputs}");
        assert_eq!((log.down.unkept, log.down.bytes), (1_000 - inputs as u64, 8_000));
    }
}
