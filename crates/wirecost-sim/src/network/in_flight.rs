//! Packets in transit.

use wirecost_proto::{Direction, Instant};
use wirecost_tcp::Segment;

use super::Network;
use crate::carrier::Carrier;
use crate::queue::Event;
use crate::tap::Tap;

/// A packet in transit, in as many copies as its link makes.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    pub(crate) content: Content,
    /// The bytes after the transport header.
    pub(crate) payload: Vec<u8>,
    copies: u32,
}

/// The content of a packet.
#[derive(Debug, Default)]
pub(crate) enum Content {
    Segment(Segment),
    Datagram,
    Fragment {
        /// The number of the datagram, which has the payload.
        datagram: u32,
        /// The number of the fragment in the datagram.
        number: u32,
    },
    /// An ICMP error: no socket has the destination port of a datagram.
    #[default]
    Unreachable,
}

/// A packet in transit with its flow.
#[derive(Debug)]
pub(crate) struct PacketSlot {
    pub(crate) flow: u32,
    pub(crate) direction: Direction,
    /// `None` while a copy is being handled.
    packet: Option<Box<InFlight>>,
}

impl<L: Carrier, T: Tap> Network<L, T> {
    /// The packet that leaves next.
    pub(super) fn take_outgoing(&mut self) -> Box<InFlight> {
        let next = self.new_packet();
        std::mem::replace(&mut self.outgoing, next)
    }

    /// An empty packet.
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "packets keep their address in memory and are reused"
    )]
    pub(super) fn new_packet(&mut self) -> Box<InFlight> {
        self.spare.pop().unwrap_or_default()
    }

    /// Schedules the arrival of each copy of a packet that has entered the link; one that the link holds waits.
    pub(super) fn schedule_arrivals(&mut self, flow: u32, direction: Direction, mut packet: Box<InFlight>) {
        let copies = match self.is_held {
            true => 1,
            false => u32::try_from(self.deliveries.len()).unwrap_or(u32::MAX),
        };
        if copies == 0 {
            return self.recycle(packet);
        }
        packet.copies = copies;
        if self.is_held {
            self.count_held(flow, true);
        }
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.in_flight += copies;
        }
        let packet = self.packets.insert(PacketSlot {
            flow,
            direction,
            packet: Some(packet),
        });
        for delivery in &self.deliveries {
            self.queue.push(delivery.at, Event::Arrival { packet });
        }
    }

    /// Schedules the arrival of a packet that the carrier has held.
    pub(super) fn arrives(&mut self, packet: u32, at: Instant) {
        if let Some(flow) = self.packets.get(packet).map(|slot| slot.flow) {
            self.count_held(flow, false);
        }
        if let Some(slot) = self.packets.get(packet)
            && let Some(flow) = self.flows.get(slot.flow)
            && let Some(busy) = self.busy_until.get_mut(flow.device as usize)
        {
            *busy = (*busy).max(at);
        }
        self.queue.push(at, Event::Arrival { packet });
    }

    /// Drops a packet that the carrier has held.
    pub(super) fn drop_packet(&mut self, number: u32) {
        if let Some((flow, _, packet)) = self.take_packet(number) {
            self.count_held(flow, false);
            self.finish_arrival(number, flow, packet);
        }
    }

    /// Whether a packet is in transit.
    pub(crate) fn is_carrying(&self) -> bool {
        self.packets.iter().next().is_some()
    }

    /// Takes a packet that arrives. The caller must give it back to [`Network::finish_arrival`].
    pub(crate) fn take_packet(&mut self, packet: u32) -> Option<(u32, Direction, Box<InFlight>)> {
        let place = self.packets.get_mut(packet)?;
        Some((place.flow, place.direction, place.packet.take()?))
    }

    /// Keeps the packet if copies of it are still in transit; otherwise keeps its memory for other packets.
    pub(crate) fn finish_arrival(&mut self, number: u32, flow: u32, mut packet: Box<InFlight>) {
        packet.copies -= 1;
        if packet.copies == 0 {
            self.packets.remove(number);
            self.recycle(packet);
        } else if let Some(place) = self.packets.get_mut(number) {
            place.packet = Some(packet);
        }
        if let Some(entry) = self.flows.get_mut(flow) {
            entry.in_flight -= 1;
            if entry.is_over() {
                self.flows.remove(flow);
            }
        }
    }

    pub(super) fn recycle(&mut self, mut packet: Box<InFlight>) {
        if let Content::Fragment { datagram, .. } = packet.content {
            self.forget_fragment(datagram);
        }
        packet.payload.clear();
        self.spare.push(packet);
    }
}
