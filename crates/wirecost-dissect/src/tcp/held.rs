//! Packets that wait for the description of their content.

use std::collections::VecDeque;

use wirecost_proto::Direction;

use crate::captured::Captured;

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    direction: Direction,
    /// The offset after its last byte of content.
    until: u64,
    /// Bytes kept of the packet.
    bytes: usize,
    /// Bytes of the whole packet on the link.
    link_bytes: usize,
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
    pub(crate) fn push(&mut self, direction: Direction, until: u64, headers: Captured<'_>) {
        self.bytes.extend(headers.bytes);
        self.packets.push_back(Waiting {
            direction,
            until,
            bytes: headers.bytes.len(),
            link_bytes: headers.link_bytes,
            at_ns: headers.at_ns,
        });
    }

    /// Moves the first packet into `out` if its direction is described far enough. Returns its direction.
    pub(crate) fn pop<'a>(
        &mut self,
        described: impl Fn(Direction) -> u64,
        out: &'a mut Vec<u8>,
    ) -> Option<(Direction, Captured<'a>)> {
        let first = self.packets.front()?;
        if described(first.direction) < first.until {
            return None;
        }
        let first = self.packets.pop_front()?;
        out.clear();
        out.extend(self.bytes.drain(..first.bytes.min(self.bytes.len())));
        let captured = Captured {
            bytes: out,
            link_bytes: first.link_bytes,
            at_ns: first.at_ns,
        };
        Some((first.direction, captured))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_order_once_they_are_described() {
        let mut held = Held::default();
        let mut out = Vec::new();
        let packet = |bytes, at_ns| Captured {
            bytes,
            link_bytes: 100,
            at_ns,
        };
        held.push(Direction::Up, 5, packet(b"up", Some(1)));
        held.push(Direction::Down, 0, packet(b"down", None));
        assert!(held.pop(|_| 4, &mut out).is_none());
        for (described, expected) in [
            (5, (Direction::Up, &b"up"[..], 100, Some(1))),
            (0, (Direction::Down, &b"down"[..], 100, None)),
        ] {
            let (direction, packet) = held.pop(|_| described, &mut out).expect("a packet");
            let found = (direction, packet.bytes, packet.link_bytes, packet.at_ns);
            assert_eq!(found, expected);
        }
        assert!(held.is_empty());
    }
}
