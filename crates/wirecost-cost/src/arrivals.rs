//! When the link delivered bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use wirecost_proto::{Direction, Instant};

use crate::{Content, DatagramId, PacketVerdict, Ports};

/// The time at which the link first delivered each byte of a device's streams and datagrams.
///
/// Give it the verdicts of [`crate::DeviceLedger::packet`], in any order of delivery. It finds the arrival of a message by the
/// message's bytes in the stream, or by the datagram's id.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    streams: BTreeMap<(Ports, Direction), Coverage>,
    datagrams: BTreeMap<(Ports, Direction, DatagramId), Datagram>,
}

#[derive(Clone, Debug, Default)]
struct Datagram {
    of: u32,
    coverage: Coverage,
}

impl Arrivals {
    /// No bytes delivered yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a packet that the link delivered intact at `delivered_at`; the earliest copy of a byte counts.
    pub fn delivered(&mut self, direction: Direction, verdict: &PacketVerdict, delivered_at: Instant) {
        match verdict.content {
            Content::None => {}
            Content::Stream { flow, start, end } => {
                let coverage = self.streams.entry((flow, direction)).or_default();
                coverage.deliver(start..end, delivered_at);
            }
            Content::Datagram {
                flow,
                id,
                start,
                end,
                of,
            } => {
                let datagram = self.datagrams.entry((flow, direction, id)).or_default();
                datagram.of = of;
                let bytes = u64::from(start)..u64::from(end);
                datagram.coverage.deliver(bytes, delivered_at);
            }
        }
    }

    /// When the last of the stream's bytes in `bytes` (half-open) was delivered; `None` while one is missing.
    ///
    /// A receiver can read them at that time unless an earlier byte is missing. For the time at which it can read them, start
    /// `bytes` at the offset up to which it has read.
    pub fn of_stream(&self, flow: Ports, direction: Direction, bytes: Range<u64>) -> Option<Instant> {
        self.streams.get(&(flow, direction))?.complete_at(bytes)
    }

    /// When the last fragment of the datagram was delivered; `None` while one is missing.
    pub fn of_datagram(&self, flow: Ports, direction: Direction, id: DatagramId) -> Option<Instant> {
        let datagram = self.datagrams.get(&(flow, direction, id))?;
        datagram.coverage.complete_at(0..u64::from(datagram.of))
    }
}

/// Which bytes were delivered and when: disjoint pieces by their first byte.
#[derive(Clone, Debug, Default)]
struct Coverage {
    pieces: BTreeMap<u64, Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    at: Instant,
}

impl Coverage {
    fn deliver(&mut self, bytes: Range<u64>, at: Instant) {
        self.cut(bytes.start);
        self.cut(bytes.end);
        let mut cursor = bytes.start;
        while cursor < bytes.end {
            match self.pieces.range_mut(cursor..bytes.end).next() {
                Some((start, piece)) if *start == cursor => {
                    piece.at = piece.at.min(at);
                    cursor = piece.end;
                }
                next => {
                    let end = next.map_or(bytes.end, |(start, _)| *start);
                    self.pieces.insert(cursor, Piece { end, at });
                    cursor = end;
                }
            }
        }
    }

    /// Splits the piece that contains both the byte before `offset` and the byte at `offset`.
    fn cut(&mut self, offset: u64) {
        let Some((_, piece)) = self.pieces.range_mut(..offset).next_back() else {
            return;
        };
        if piece.end > offset {
            let tail = *piece;
            piece.end = offset;
            self.pieces.insert(offset, tail);
        }
    }

    fn complete_at(&self, bytes: Range<u64>) -> Option<Instant> {
        let first = self.pieces.range(..=bytes.start).next_back()?;
        let mut complete_at = None;
        let mut cursor = bytes.start;
        for (start, piece) in self.pieces.range(*first.0..) {
            if cursor >= bytes.end || *start > cursor {
                break;
            }
            cursor = piece.end;
            complete_at = complete_at.max(Some(piece.at));
        }
        complete_at.filter(|_| cursor >= bytes.end)
    }
}

#[cfg(test)]
mod tests;
