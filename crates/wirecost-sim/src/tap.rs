//! Who sees the packets at the entry of the link.

use std::net::SocketAddr;

use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Delivery, Direction, Fate, Instant, Phase, Span};
use wirecost_tcp::Segment;

/// What stands between the IP header and the payload.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// A TCP header.
    Tcp {
        /// Everything but ports and payload.
        segment: &'a Segment,
        /// Where the payload stands in its stream.
        offset: u64,
        /// The phase of the data that a segment without payload acknowledges.
        acknowledges: Phase,
    },
    /// A UDP header.
    Udp,
    /// A later fragment of a UDP datagram: no header of its own.
    Fragment {
        /// Where the fragment's bytes stand in the IP payload.
        offset: usize,
    },
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
    /// What stands before the payload.
    pub transport: Transport<'a>,
    /// Bytes of the IP packet.
    pub wire_bytes: usize,
    /// The bytes behind the transport header.
    pub payload: &'a [u8],
    /// What the maker said of them.
    pub spans: &'a [Span],
    /// Whether any of the payload has been sent before.
    pub is_resent: bool,
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
