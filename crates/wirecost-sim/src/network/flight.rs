//! Packets on their way.

use wirecost_proto::Direction;
use wirecost_proto::path::Links;
use wirecost_tcp::Segment;

use super::Network;
use crate::queue::What;
use crate::tap::Tap;

/// A packet on its way, in as many copies as its link makes.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    pub(crate) content: Content,
    /// What follows the transport header.
    pub(crate) payload: Vec<u8>,
    copies: u32,
}

/// What a packet carries.
#[derive(Debug, Default)]
pub(crate) enum Content {
    Segment(Segment),
    Datagram,
    Fragment {
        /// Index of the datagram, which has the payload.
        datagram: u32,
        /// The fragment's number in it.
        number: u32,
    },
    /// An ICMP error: no socket has the port that a datagram was for.
    #[default]
    Unreachable,
}

/// A packet's place among those on their way.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) flow: u32,
    pub(crate) direction: Direction,
    /// Not there while it is being handled.
    flight: Option<Box<Flight>>,
}

impl<L: Links, T: Tap> Network<L, T> {
    /// The packet that leaves next.
    pub(super) fn take_outgoing(&mut self) -> Box<Flight> {
        let next = self.new_flight();
        std::mem::replace(&mut self.outgoing, next)
    }

    /// A packet without anything in it.
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "packets stay where they are in memory, and are used again"
    )]
    pub(super) fn new_flight(&mut self) -> Box<Flight> {
        self.spare.pop().unwrap_or_default()
    }

    /// Lets the copies of what has entered the link arrive.
    pub(super) fn fly(&mut self, flow: u32, direction: Direction, mut flight: Box<Flight>) {
        let copies = u32::try_from(self.deliveries.len()).unwrap_or(u32::MAX);
        if copies == 0 {
            return self.recycle(flight);
        }
        flight.copies = copies;
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.in_flight += copies;
        }
        let flight = self.flights.insert(Place {
            flow,
            direction,
            flight: Some(flight),
        });
        for delivery in &self.deliveries {
            self.queue.push(delivery.at, What::Arrival { flight });
        }
    }

    /// Takes a packet that arrives, to be given back to [`Network::landed`].
    pub(crate) fn take_flight(&mut self, flight: u32) -> Option<(u32, Direction, Box<Flight>)> {
        let place = self.flights.get_mut(flight)?;
        Some((place.flow, place.direction, place.flight.take()?))
    }

    /// Keeps the packet for the copies that are still on their way, or its memory for other packets.
    pub(crate) fn landed(&mut self, number: u32, flow: u32, mut flight: Box<Flight>) {
        flight.copies -= 1;
        if flight.copies == 0 {
            self.flights.remove(number);
            self.recycle(flight);
        } else if let Some(place) = self.flights.get_mut(number) {
            place.flight = Some(flight);
        }
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.in_flight -= 1;
            if entry.is_over() {
                self.flows.remove(flow);
            }
        }
    }

    pub(super) fn recycle(&mut self, mut flight: Box<Flight>) {
        if let Content::Fragment { datagram, .. } = flight.content {
            self.forget_fragment(datagram);
        }
        flight.payload.clear();
        self.spare.push(flight);
    }
}
