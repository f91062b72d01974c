//! Who sees the packets at the entry of the link.
//!
//! - [`recording`]: [`Recording`] keeps every packet's bytes, as the recorder of the emulated link does

use std::net::SocketAddr;

use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Delivery, Direction, Fate, Instant, Phase, Span};
use wirecost_tcp::Segment;

pub mod recording;

pub use recording::Recording;

/// What stands between the IP header and the payload.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// A TCP header.
    Tcp {
        /// Everything but ports and payload.
        segment: &'a Segment,
        /// Where the payload stands in its stream.
        offset: u64,
        /// What the segment is to the stream of its direction.
        placement: Placement,
        /// The phase of the data that a segment without payload acknowledges, where any was sent.
        acknowledges: Option<Phase>,
    },
    /// A UDP header and the whole datagram.
    Udp,
    /// A part of a UDP datagram.
    Fragment(Fragment<'a>),
}

/// What a segment is to the stream of its direction.
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
    /// Where the fragment stands in the IP payload, in bytes; 0 for the one with the UDP header.
    pub offset: usize,
    /// Whether fragments follow.
    pub more: bool,
}

/// A packet at the entry of the link.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The device that sent it or that it is for.
    pub host: HostIndex,
    /// Which way it travels.
    pub direction: Direction,
    /// The sender's address and port.
    pub source: SocketAddr,
    /// The receiver's address and port.
    pub destination: SocketAddr,
    /// The IP identification; what the fragments of a datagram share.
    pub identification: u16,
    /// What stands before the payload.
    pub transport: Transport<'a>,
    /// Bytes of the IP packet.
    pub wire_bytes: usize,
    /// The bytes behind the transport header.
    pub payload: &'a [u8],
    /// What the maker said of them.
    pub spans: &'a [Span],
}

/// Sees every packet at the entry of its link.
pub trait Tap {
    /// One packet, with what its link decided.
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]);
}

/// Looks away.
impl Tap for () {
    fn packet(&mut self, _: &Packet<'_>, _: Instant, _: Fate, _: &[Delivery]) {}
}

/// One after the other.
impl<A: Tap, B: Tap> Tap for (A, B) {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        self.0.packet(packet, entered, fate, deliveries);
        self.1.packet(packet, entered, fate, deliveries);
    }
}

/// Present or not.
impl<T: Tap> Tap for Option<T> {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, fate: Fate, deliveries: &[Delivery]) {
        if let Some(tap) = self {
            tap.packet(packet, entered, fate, deliveries);
        }
    }
}
