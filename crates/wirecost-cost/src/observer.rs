//! The packets and events of a device on its link. An observer adds them up: to energy, to a tariff, to sums of bytes.

use core::time::Duration;

use wirecost_proto::{Cause, Direction, Instant, Phase, Span};

use crate::Totals;

/// A packet at the device's end of the link.
#[derive(Clone, Copy, Debug)]
pub struct ObservedPacket<'a> {
    /// When the device started to send it, or when it arrived.
    pub at: Instant,
    /// Its direction.
    pub direction: Direction,
    /// The phase of its headers.
    pub phase: Phase,
    /// The cause of its headers.
    pub cause: Cause,
    /// Spans that cover the IP packet, end to end.
    pub spans: &'a [Span],
}

impl ObservedPacket<'_> {
    /// Bytes of the IP packet.
    pub fn wire_bytes(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len)).sum()
    }
}

/// Something that a device does beside sending and receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceEvent {
    /// It starts a connection: a session of the data plan, a handshake.
    Connect,
    /// It stops waiting for a reply.
    TimedOut,
    /// The device computes for this number of processor cycles and sends nothing.
    Computed {
        /// Processor cycles.
        cycles: u64,
    },
}

/// Receives what one device does, in the order of time, and adds it up.
pub trait Observer {
    /// Handles a packet.
    fn packet(&mut self, packet: &ObservedPacket<'_>);

    /// Handles a packet to the device that its link carried and lost, at the time at which it entered the link. The network counts
    /// it and the device never knows of it: most observers need none.
    fn lost(&mut self, _packet: &ObservedPacket<'_>) {}

    /// Handles an event. Most observers need none.
    fn event(&mut self, _at: Instant, _event: DeviceEvent) {}

    /// Ends the observation: the device did nothing more until `at`.
    fn end(&mut self, _at: Instant) {}
}

impl Observer for Totals {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        for span in packet.spans {
            self.add_span(packet.direction, span);
        }
        let original = packet.spans.iter().map(Span::original_payload_bytes).sum();
        self.add_headers(packet.direction, packet.phase, packet.cause, original);
    }
}

/// Both observers, one after the other.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.0.packet(packet);
        self.1.packet(packet);
    }

    fn lost(&mut self, packet: &ObservedPacket<'_>) {
        self.0.lost(packet);
        self.1.lost(packet);
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        self.0.event(at, event);
        self.1.event(at, event);
    }

    fn end(&mut self, at: Instant) {
        self.0.end(at);
        self.1.end(at);
    }
}

/// An observer, or none.
impl<T: Observer> Observer for Option<T> {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.iter_mut().for_each(|observer| observer.packet(packet));
    }

    fn lost(&mut self, packet: &ObservedPacket<'_>) {
        self.iter_mut().for_each(|observer| observer.lost(packet));
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        self.iter_mut().for_each(|observer| observer.event(at, event));
    }

    fn end(&mut self, at: Instant) {
        self.iter_mut().for_each(|observer| observer.end(at));
    }
}

impl<T: Observer + ?Sized> Observer for &mut T {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        (**self).packet(packet);
    }

    fn lost(&mut self, packet: &ObservedPacket<'_>) {
        (**self).lost(packet);
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        (**self).event(at, event);
    }

    fn end(&mut self, at: Instant) {
        (**self).end(at);
    }
}

/// The start and the end of what was observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    first: Option<Instant>,
    last: Instant,
    /// Packets.
    pub packets: u64,
    /// Connections that the device started.
    pub connects: u64,
    /// Replies for which the device stopped waiting.
    pub timeouts: u64,
}

impl Observed {
    /// The time from the first packet or event to the last one, or to the end.
    pub fn duration(&self) -> Duration {
        self.first
            .map_or(Duration::ZERO, |first| self.last.saturating_since(first))
    }

    fn saw(&mut self, at: Instant) {
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
    }
}

impl Observer for Observed {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.packets += 1;
        self.saw(packet.at);
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        self.saw(at);
        self.connects += u64::from(event == DeviceEvent::Connect);
        self.timeouts += u64::from(event == DeviceEvent::TimedOut);
    }

    fn end(&mut self, at: Instant) {
        self.saw(at);
    }
}

#[cfg(test)]
mod tests {
    use wirecost_proto::Layer;

    use super::*;

    #[test]
    fn two_observers_are_told_the_same() {
        let spans = [Span {
            len: 28,
            layer: Layer::Ip,
            phase: Phase::Connect,
            cause: Cause::Original,
        }];
        let packet = ObservedPacket {
            at: Instant::from_millis(5),
            direction: Direction::Up,
            phase: Phase::Connect,
            cause: Cause::Original,
            spans: &spans,
        };
        let mut both = (Totals::new(), Observed::default());
        both.event(Instant::from_millis(2), DeviceEvent::Connect);
        both.packet(&packet);
        both.event(Instant::from_millis(7), DeviceEvent::TimedOut);
        both.end(Instant::from_millis(9));
        let (totals, observed) = both;
        let up = totals.traffic(Phase::Connect, Direction::Up);
        assert_eq!((up.packets(), up.wire_bytes()), (1, packet.wire_bytes()));
        assert_eq!((observed.connects, observed.timeouts), (1, 1));
        assert_eq!(observed.duration(), Duration::from_millis(7));
    }
}
