//! Packets on their way.

use wirecost_proto::Direction;
use wirecost_proto::path::Links;
use wirecost_tcp::Segment;

use super::Network;
use crate::tap::Tap;

/// A packet on its way, in as many copies as its link makes.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) flow: u32,
    pub(crate) direction: Direction,
    pub(crate) copies: u32,
    pub(crate) content: Content,
}

/// What a packet carries.
#[derive(Debug)]
pub(crate) enum Content {
    Segment {
        segment: Segment,
        payload: Vec<u8>,
    },
    Datagram(Vec<u8>),
    Fragment {
        /// Index of the datagram.
        datagram: u32,
        /// The fragment's number in it.
        number: u32,
    },
    /// An ICMP error: nobody has the port that a datagram was for.
    Unreachable,
    /// Taken out while it is being handled.
    Taken,
}

impl<L: Links, T: Tap> Network<L, T> {
    /// Takes the content of a packet that arrives, to be given back to [`Network::landed`].
    pub(crate) fn take_content(&mut self, flight: u32) -> Option<(u32, Direction, Content)> {
        let arriving = self.flights.get_mut(flight)?;
        let content = std::mem::replace(&mut arriving.content, Content::Taken);
        Some((arriving.flow, arriving.direction, content))
    }

    /// Keeps the content for the copies that are still on their way, or its memory for other packets.
    pub(crate) fn landed(&mut self, flight: u32, content: Content) {
        let Some(arrived) = self.flights.get_mut(flight) else {
            return;
        };
        arrived.copies -= 1;
        let (flow, is_last) = (arrived.flow, arrived.copies == 0);
        if is_last {
            self.flights.remove(flight);
            self.recycle(content);
        } else {
            arrived.content = content;
        }
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.in_flight -= 1;
        }
        self.release(flow);
    }

    pub(super) fn recycle(&mut self, content: Content) {
        match content {
            Content::Segment { payload, .. } | Content::Datagram(payload) => self.keep(payload),
            Content::Fragment { datagram, .. } => self.forget_fragment(datagram),
            Content::Unreachable | Content::Taken => {}
        }
    }
}
