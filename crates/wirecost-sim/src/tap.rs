//! Observers of the packets that enter the link.
//!
//! - [`recording`]: [`Recording`] stores every packet's bytes, as the recorder of the emulated link does
//! - [`tally`]: [`Tally`] adds up packets and bytes without building the packets
//! - [`watch`]: [`Watch`] tells an observer per device what it sends and what reaches it
//! - `spans`: the spans that cover a packet

use std::net::SocketAddr;

use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Cause, Delivery, Direction, Fate, Instant, Phase, Span};
use wirecost_tcp::Segment;
use wirecost_wire::tcp::Flags;

pub mod recording;
mod spans;
pub mod tally;
pub mod watch;

pub use recording::Recording;
pub use tally::Tally;
pub use watch::Watch;

/// The headers between the IP header and the payload.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// A TCP header.
    Tcp {
        /// Everything but ports and payload.
        segment: &'a Segment,
        /// The position of the payload in its stream.
        offset: u64,
        /// The segment in the stream of its direction.
        placement: Placement,
        /// The phase of the position that a segment without payload acknowledges; `None` if it says nothing new.
        acknowledges: Option<Phase>,
    },
    /// A UDP header and the whole datagram.
    Udp,
    /// A part of a UDP datagram.
    Fragment(Fragment<'a>),
    /// An ICMP "port unreachable", whose quote is the payload.
    Unreachable,
}

/// A segment in the stream of its direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Bytes at the start of the payload that were sent before.
    pub resent_bytes: usize,
    /// Whether a byte, the SYN or the FIN was sent before.
    pub is_resent: bool,
    /// Whether it is a keep-alive or a zero-window probe.
    pub is_probe: bool,
}

/// A part of a UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    /// The whole datagram, without its UDP header.
    pub datagram: &'a [u8],
    /// The position of the fragment in the IP payload, in bytes; 0 for the fragment with the UDP header.
    pub offset: usize,
    /// Whether fragments follow.
    pub more: bool,
}

impl Fragment<'_> {
    /// Bytes of the UDP header in this fragment: the first fragment has the whole header.
    pub(crate) const fn udp_header_bytes(&self) -> usize {
        if self.offset == 0 {
            wirecost_wire::udp::HEADER_BYTES
        } else {
            0
        }
    }
}

/// A packet that enters the link.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The device that sent or receives it.
    pub host: HostIndex,
    /// Its direction.
    pub direction: Direction,
    /// The sender's address and port.
    pub source: SocketAddr,
    /// The receiver's address and port.
    pub destination: SocketAddr,
    /// The IP identification, which the fragments of a datagram share.
    pub identification: u16,
    /// The headers before the payload.
    pub transport: Transport<'a>,
    /// Bytes of the IP packet.
    pub wire_bytes: usize,
    /// The bytes after the transport header.
    pub payload: &'a [u8],
    /// The sender's spans of these bytes.
    pub spans: &'a [Span],
    /// The phase of the flow's last packet before this one; connect before the first of a connection, message before
    /// the first datagram.
    pub flow_phase: Phase,
    /// The world's number of the packet, until its fate is decided. Always 0 where the carrier decides at once.
    pub number: u32,
}

impl Packet<'_> {
    /// The bytes of the IP packet; `None` if they do not fit into one.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        recording::emit(self)
    }

    /// The packet's phase: that of its first span. A segment without payload has the phase of the position that it
    /// acknowledges; SYN is connect, FIN and RST are close. A segment that says nothing new has the phase of the flow's packet
    /// before it.
    pub fn phase(&self) -> Phase {
        if let Some(span) = self.spans.first() {
            return span.phase;
        }
        let Transport::Tcp {
            segment,
            acknowledges,
            ..
        } = self.transport
        else {
            return self.flow_phase;
        };
        if segment.flags.contains(Flags::SYN) {
            return Phase::Connect;
        }
        if segment.flags.intersects(Flags::FIN | Flags::RST) {
            return Phase::Close;
        }
        acknowledges.unwrap_or(self.flow_phase)
    }

    /// The cause of the packet's headers: that of its first span; retransmission if a byte, the SYN or the FIN was sent before;
    /// probe if it only asks for an acknowledgment.
    pub fn cause(&self) -> Cause {
        let content = self.spans.first().map(|span| span.cause);
        let Transport::Tcp {
            segment, placement, ..
        } = self.transport
        else {
            let is_error = matches!(self.transport, Transport::Unreachable);
            return content.unwrap_or(if is_error { Cause::Probe } else { Cause::Original });
        };
        if placement.is_probe {
            return Cause::Probe;
        }
        if placement.is_resent {
            return Cause::Retransmission;
        }
        let is_control = segment.flags.intersects(Flags::SYN | Flags::FIN | Flags::RST);
        content.unwrap_or(if is_control {
            Cause::Original
        } else {
            Cause::Acknowledgement
        })
    }
}

/// Observes every packet that enters its link.
pub trait Tap {
    /// Handles one packet, with the link's decision.
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]);

    /// The carrier has decided the fate of a packet that it held, at `now`: it arrives, or is lost.
    fn decided(&mut self, _number: u32, _now: Instant, _arrives: Option<Instant>) {}
}

/// Ignores every packet.
impl Tap for () {
    fn packet(&mut self, _: &Packet<'_>, _: Instant, _: Fate, _: &[Delivery]) {}
}

/// Both taps, one after the other.
impl<A: Tap, B: Tap> Tap for (A, B) {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        self.0.packet(packet, entered, fate, deliveries);
        self.1.packet(packet, entered, fate, deliveries);
    }

    fn decided(&mut self, number: u32, now: Instant, arrives: Option<Instant>) {
        self.0.decided(number, now, arrives);
        self.1.decided(number, now, arrives);
    }
}

/// A tap, or none.
impl<T: Tap> Tap for Option<T> {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        if let Some(tap) = self {
            tap.packet(packet, entered, fate, deliveries);
        }
    }

    fn decided(&mut self, number: u32, now: Instant, arrives: Option<Instant>) {
        if let Some(tap) = self {
            tap.decided(number, now, arrives);
        }
    }
}

/// Bytes of an IP header without options or extension headers.
pub(crate) const fn ip_header_bytes(address: &SocketAddr) -> usize {
    match address {
        SocketAddr::V4(_) => wirecost_wire::ipv4::HEADER_BYTES,
        SocketAddr::V6(_) => wirecost_wire::ipv6::HEADER_BYTES,
    }
}
