//! The forwarder's connection to a side of the link: IP packets in, IP packets out.

use crate::netlink::link::LinkDrops;
use crate::packet_socket::PacketSocket;
use crate::tun::Tun;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// A non-blocking source and sink of the IP packets of one side.
#[derive(Debug)]
pub enum PacketPort {
    /// A TUN device.
    Tun(Tun),
    /// A packet socket on a veth pair.
    Veth(PacketSocket),
}

impl PacketPort {
    /// The next IP packet from the side: its length in `into`, or `None` if none is waiting. A buffer smaller than the
    /// MTU truncates.
    ///
    /// # Errors
    /// The interface is down or gone.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Tun(tun) => tun.receive(into),
            Self::Veth(socket) => socket.receive(into),
        }
    }

    /// Sends an IP packet to the side.
    ///
    /// # Errors
    /// EINVAL for bytes that are not an IP packet, EMSGSIZE above the MTU, ENOBUFS if the kernel has no room.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self {
            Self::Tun(tun) => tun.send(packet),
            Self::Veth(socket) => socket.send(packet),
        }
    }

    /// Packets that the machine, not the link, has dropped at this port since its creation: `transmitted` from the side
    /// to the forwarder, `received` on the way back. A single dropped packet makes the cell invalid.
    ///
    /// # Errors
    /// None while the interface exists.
    pub fn drops(&self) -> io::Result<LinkDrops> {
        match self {
            Self::Tun(tun) => tun.drops(),
            Self::Veth(socket) => socket.drops(),
        }
    }
}

impl AsRawFd for PacketPort {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tun(tun) => tun.as_raw_fd(),
            Self::Veth(socket) => socket.as_raw_fd(),
        }
    }
}
