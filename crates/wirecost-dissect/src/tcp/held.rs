//! Packets that wait for the description of their content.

use std::collections::VecDeque;

use wirecost_proto::Direction;

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    direction: Direction,
    /// The offset after its last byte of content.
    until: u64,
    /// Bytes kept of the packet.
    bytes: usize,
    /// When it was captured, in nanoseconds since 1970.
    at_ns: Option<u64>,
}

/// Waiting packets in order. Only their headers are kept, because the ledger needs no more.
#[derive(Debug, Default)]
pub(crate) struct Held {
    packets: VecDeque<Waiting>,
    bytes: VecDeque<u8>,
}

impl Held {
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Bytes of headers kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Keeps the headers of a packet until `direction` is described up to `until`.
    pub(crate) fn push(&mut self, direction: Direction, until: u64, headers: &[u8], at_ns: Option<u64>) {
        self.bytes.extend(headers);
        self.packets.push_back(Waiting {
            direction,
            until,
            bytes: headers.len(),
            at_ns,
        });
    }

    /// Moves the first packet into `out` if its direction is described far enough. Returns its direction and its time.
    pub(crate) fn pop(
        &mut self,
        described: impl Fn(Direction) -> u64,
        out: &mut Vec<u8>,
    ) -> Option<(Direction, Option<u64>)> {
        let first = self.packets.front()?;
        if described(first.direction) < first.until {
            return None;
        }
        let first = self.packets.pop_front()?;
        out.clear();
        out.extend(self.bytes.drain(..first.bytes.min(self.bytes.len())));
        Some((first.direction, first.at_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_order_once_they_are_described() {
        let mut held = Held::default();
        let mut out = Vec::new();
        held.push(Direction::Up, 5, b"up", Some(1));
        held.push(Direction::Down, 0, b"down", None);
        assert_eq!(held.pop(|_| 4, &mut out), None);
        assert_eq!(held.pop(|_| 5, &mut out), Some((Direction::Up, Some(1))));
        assert_eq!(out, b"up");
        assert_eq!(held.pop(|_| 0, &mut out), Some((Direction::Down, None)));
        assert_eq!(out, b"down");
        assert!(held.is_empty());
    }
}
