//! What each device does on its link, told to an observer while the run goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use wirecost_cost::{DeviceEvent, ObservedPacket, Observer};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Cause, Delivery, Direction, Fate, Instant, Phase, Span};
use wirecost_wire::tcp::Flags;

use super::spans::describe;
use super::{Packet, Tap, Transport};

/// Tells one observer per device what it sends and what reaches it, in the order of time, and what its link loses on the way to it. It
/// keeps only packets that are on their way to the device.
#[derive(Debug)]
pub struct Watch<O, F> {
    observer: F,
    devices: BTreeMap<HostIndex, Watched<O>>,
}

#[derive(Debug)]
struct Watched<O> {
    observer: O,
    /// Packets on their way, by arrival and number.
    arriving: BTreeMap<(Instant, u64), Arriving>,
    number: u64,
    /// The server addresses and own ports of datagrams so far.
    peers: BTreeSet<(SocketAddr, u16)>,
}

#[derive(Debug)]
struct Arriving {
    phase: Phase,
    cause: Cause,
    spans: Vec<Span>,
}

impl<O: Observer, F: FnMut(HostIndex) -> Option<O>> Watch<O, F> {
    /// Watches the devices for which `observer` gives an observer.
    pub const fn new(observer: F) -> Self {
        Self {
            observer,
            devices: BTreeMap::new(),
        }
    }

    /// The observers, after all packets have arrived and the run has ended.
    pub fn finish(self, end: Instant) -> BTreeMap<HostIndex, O> {
        let finished = self.devices.into_iter().map(|(host, mut device)| {
            device.arrive(None);
            device.observer.end(end);
            (host, device.observer)
        });
        finished.collect()
    }
}

impl<O: Observer> Watched<O> {
    const fn new(observer: O) -> Self {
        Self {
            observer,
            arriving: BTreeMap::new(),
            number: 0,
            peers: BTreeSet::new(),
        }
    }

    /// Tells the packets that have arrived until an instant, or all of them.
    fn arrive(&mut self, until: Option<Instant>) {
        while let Some(entry) = self.arriving.first_entry()
            && until.is_none_or(|until| entry.key().0 <= until)
        {
            let ((at, _), packet) = entry.remove_entry();
            self.observer.packet(&ObservedPacket {
                at,
                direction: Direction::Down,
                phase: packet.phase,
                cause: packet.cause,
                spans: &packet.spans,
            });
        }
    }

    fn send(&mut self, packet: &Packet<'_>, at: Instant, spans: &[Span]) {
        if self.connects(packet) {
            self.observer.event(at, DeviceEvent::Connect);
        }
        self.observer.packet(&ObservedPacket {
            at,
            direction: Direction::Up,
            phase: packet.phase(),
            cause: packet.cause(),
            spans,
        });
    }

    /// Whether a packet up starts a connection, or is the first datagram between its ports.
    fn connects(&mut self, packet: &Packet<'_>) -> bool {
        match packet.transport {
            Transport::Tcp {
                segment, placement, ..
            } => segment.flags.contains(Flags::SYN) && !placement.is_resent,
            Transport::Udp => self.peers.insert((packet.destination, packet.source.port())),
            // Later fragments have no ports.
            Transport::Fragment(fragment) => {
                fragment.offset == 0 && self.peers.insert((packet.destination, packet.source.port()))
            }
            Transport::Unreachable => false,
        }
    }

    fn expect(&mut self, packet: &Packet<'_>, at: Instant, spans: &[Span]) {
        let arriving = Arriving {
            phase: packet.phase(),
            cause: packet.cause(),
            spans: spans.to_vec(),
        };
        self.number += 1;
        self.arriving.insert((at, self.number), arriving);
    }
}

impl<O: Observer, F: FnMut(HostIndex) -> Option<O>> Tap for Watch<O, F> {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        if !self.devices.contains_key(&packet.host) {
            let Some(observer) = (self.observer)(packet.host) else {
                return;
            };
            self.devices.insert(packet.host, Watched::new(observer));
        }
        let Some(device) = self.devices.get_mut(&packet.host) else {
            return;
        };
        let mut spans = Vec::new();
        describe(packet, |span| spans.extend((span.len > 0).then_some(*span)));
        device.arrive(Some(entered));
        match packet.direction {
            Direction::Up => device.send(packet, entered, &spans),
            Direction::Down if deliveries.is_empty() && fate != Fate::Held => {
                device.observer.lost(&ObservedPacket {
                    at: entered,
                    direction: Direction::Down,
                    phase: packet.phase(),
                    cause: packet.cause(),
                    spans: &spans,
                })
            }
            Direction::Down => {
                for delivery in deliveries {
                    device.expect(packet, delivery.at, &spans);
                }
            }
        }
    }
}
