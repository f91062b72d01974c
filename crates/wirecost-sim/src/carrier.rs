//! What carries the packets of a world: links that decide a packet's fate when it enters, or cells that hold it and decide later.

use std::net::IpAddr;

use wirecost_proto::bare::Transport;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::path::Links;
use wirecost_proto::{Delivery, Direction, Fate, Instant};

/// A packet as its carrier sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The device that sent or receives it.
    pub host: HostIndex,
    /// Its direction.
    pub direction: Direction,
    /// Bytes of the IP packet.
    pub wire_bytes: usize,
    /// The world's number of the packet, until its fate is decided. Always 0 where [`Carrier::HOLDS`] is false.
    pub number: u32,
}

/// The fate of a packet that was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The world's number of the packet.
    pub number: u32,
    /// When it arrives at the other side; `None`: it is lost.
    pub arrives: Option<Instant>,
}

/// Carries the packets of a world, and is woken when it has something to decide.
///
/// Every implementation of [`Links`] is a carrier that decides at once.
pub trait Carrier {
    /// Whether it can hold packets. If not, it is never woken.
    const HOLDS: bool;

    /// Takes a packet at `now`. It appends the packet's deliveries, or returns [`Fate::Held`] and decides later.
    fn offer(&mut self, packet: Offered, now: Instant, deliveries: &mut Vec<Delivery>) -> Fate;

    /// Translates a port as [`Path::translate`](wirecost_proto::Path::translate) does, before a packet of `host` is offered.
    fn translate(
        &mut self,
        _host: HostIndex,
        _direction: Direction,
        _end: (Transport, IpAddr),
        port: u16,
        _now: Instant,
    ) -> Option<u16> {
        Some(port)
    }

    /// Until when the way of `host` is busy as far as the carrier knows at `now`, apart from the packets that it holds: `now`
    /// while, for example, its radio has a connection. Always the start where nothing but packets makes a link busy.
    fn busy_until(&self, _host: HostIndex, _now: Instant) -> Instant {
        Instant::START
    }

    /// When to call [`Carrier::decide`] next; `None`: not before another packet is offered.
    fn next_decision(&self) -> Option<Instant>;

    /// Appends the fates that are decided until `now`. Packets are offered only after this call.
    fn decide(&mut self, now: Instant, decisions: &mut Vec<Decision>);
}

impl<L: Links> Carrier for L {
    const HOLDS: bool = false;

    #[inline]
    fn offer(&mut self, packet: Offered, now: Instant, deliveries: &mut Vec<Delivery>) -> Fate {
        match self.link(packet.host) {
            Some(link) => link.offer(packet.direction, packet.wire_bytes, now, deliveries),
            None => Fate::Lost,
        }
    }

    #[inline]
    fn translate(
        &mut self,
        host: HostIndex,
        direction: Direction,
        end: (Transport, IpAddr),
        port: u16,
        now: Instant,
    ) -> Option<u16> {
        match self.link(host) {
            Some(link) => link.translate(direction, end, port, now),
            None => Some(port),
        }
    }

    #[inline]
    fn next_decision(&self) -> Option<Instant> {
        None
    }

    #[inline]
    fn decide(&mut self, _: Instant, _: &mut Vec<Decision>) {}
}

/// The way out of a world whose packets its owner carries, for example because many worlds share one network.
///
/// Packets that enter wait in [`Port::offered`]; the owner of the world takes them, and gives back their fates with
/// [`Port::decided`].
#[derive(Debug, Default)]
pub struct Port {
    offered: Vec<Offered>,
    decided: Vec<Decision>,
    decided_at: Instant,
}

impl Port {
    /// Takes the packets that have entered since the last call, in their order.
    pub fn offered(&mut self) -> std::vec::Drain<'_, Offered> {
        self.offered.drain(..)
    }

    /// Gives back the fate of a packet, which became known at `now`.
    pub fn decided(&mut self, decision: Decision, now: Instant) {
        self.decided_at = now;
        self.decided.push(decision);
    }
}

impl Carrier for Port {
    const HOLDS: bool = true;

    fn offer(&mut self, packet: Offered, _: Instant, _: &mut Vec<Delivery>) -> Fate {
        self.offered.push(packet);
        Fate::Held
    }

    fn next_decision(&self) -> Option<Instant> {
        (!self.decided.is_empty()).then_some(self.decided_at)
    }

    fn decide(&mut self, _: Instant, decisions: &mut Vec<Decision>) {
        decisions.append(&mut self.decided);
    }
}
