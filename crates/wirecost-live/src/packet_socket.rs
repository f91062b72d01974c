//! A packet socket (packet(7)) on the forwarder's end of a veth pair: IP packets in and out, Ethernet kept by the
//! kernel.

use crate::netlink::Netlink;
use crate::netlink::link::LinkDrops;
use crate::sys;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

mod offload;

/// Each packet comes with the kernel's description of it (linux/if_packet.h).
const PACKET_VNET_HDR: i32 = 15;
const RECEIVE_BUFFER_BYTES: i32 = 64 * 1_024 * 1_024;

/// The packets of a veth pair, and the counters of both its interfaces.
#[derive(Debug)]
pub struct PacketSocket {
    fd: File,
    near: Interface,
    far: Interface,
    /// The Ethernet addresses of `near` and `far`.
    addresses: [[u8; 6]; 2],
    /// The MTU, in bytes, to which the kernel cuts segments; `None` without segmentation offload.
    cut_to: Option<usize>,
    overflowed: Cell<u64>,
}

/// An interface, and a socket to its namespace.
#[derive(Debug)]
pub struct Interface {
    /// The socket.
    pub netlink: Netlink,
    /// The interface's index there.
    pub index: u32,
}

impl Interface {
    fn drops(&self) -> io::Result<LinkDrops> {
        self.netlink.link_drops(self.index)
    }
}

impl PacketSocket {
    /// A socket bound to `near`, an interface of the calling thread's namespace, whose peer is `far`; both have their Ethernet
    /// `addresses`. With segmentation offload, the interfaces carry segments above the MTU `cut_to`, in bytes.
    ///
    /// # Errors
    /// EPERM without CAP_NET_RAW.
    pub fn open(
        near: Interface,
        far: Interface,
        addresses: [[u8; 6]; 2],
        cut_to: Option<usize>,
    ) -> io::Result<Self> {
        // Only a raw socket gets the kernel's description of a segment above the MTU.
        let kind = match cut_to {
            Some(_) => libc::SOCK_RAW,
            None => libc::SOCK_DGRAM,
        };
        // Protocol 0: the socket receives nothing until it is bound, so no packet of another interface slips in.
        let fd = sys::socket(libc::AF_PACKET, kind | libc::SOCK_NONBLOCK, 0)?;
        if cut_to.is_some() {
            sys::set_option(fd.as_fd(), libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        }
        // What the forwarder sends into the interface would otherwise come back to it as a packet to forward.
        sys::set_option(fd.as_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        // The default of 212,992 B holds a burst of some hundred packets; what does not fit is dropped without a word.
        grow_receive_buffer(&fd)?;
        sys::bind(fd.as_fd(), &link_address(near.index, libc::ETH_P_ALL, None))?;
        Ok(Self {
            fd: fd.into(),
            near,
            far,
            addresses,
            cut_to,
            overflowed: Cell::new(0),
        })
    }

    /// The next packet from the far namespace: its length in `into`, or `None` if none is waiting.
    ///
    /// # Errors
    /// ENETDOWN if the interface is down.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match self.receive_any(into) {
                Ok(length) if ethernet_type(into).is_some() => return Ok(Some(length)),
                Ok(_) => {} // neither IPv4 nor IPv6
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn receive_any(&self, into: &mut [u8]) -> io::Result<usize> {
        if self.cut_to.is_none() {
            return sys::receive(self.fd.as_fd(), into);
        }
        let mut prefix = [0; offload::PREFIX_BYTES];
        into[..1].fill(0);
        let parts = &mut [IoSliceMut::new(&mut prefix), IoSliceMut::new(into)];
        let length = (&self.fd).read_vectored(parts)?;
        Ok(length.saturating_sub(offload::PREFIX_BYTES))
    }

    /// Sends an IP packet to the far namespace.
    ///
    /// # Errors
    /// EINVAL for bytes that are not an IP packet, EMSGSIZE above the MTU, ENOBUFS if the kernel has no room.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
        let [source, destination] = self.addresses;
        if let Some(mtu) = self.cut_to {
            let prefix = offload::prefix(packet, mtu, destination, source).ok_or_else(invalid)?;
            let parts = [IoSlice::new(&prefix), IoSlice::new(packet)];
            return (&self.fd).write_vectored(&parts).map(drop);
        }
        let protocol = ethernet_type(packet).ok_or_else(invalid)?;
        let address = link_address(self.near.index, protocol, Some(destination));
        sys::send_to(self.fd.as_fd(), packet, &address).map(drop)
    }

    /// What both interfaces and this socket's buffer have dropped since their creation, as seen by the far namespace.
    ///
    /// # Errors
    /// None while the interfaces exist.
    pub fn drops(&self) -> io::Result<LinkDrops> {
        let overflowed = self.overflowed.get() + u64::from(sys::packet_socket_drops(self.fd.as_fd())?);
        self.overflowed.set(overflowed);
        let (near, far) = (self.near.drops()?, self.far.drops()?);
        Ok(LinkDrops {
            received: far.received + near.transmitted,
            transmitted: far.transmitted + near.received + overflowed,
        })
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Requests a large buffer, beyond net.core.rmem_max if the kernel lets root of a user namespace do so.
pub(crate) fn grow_receive_buffer(fd: &OwnedFd) -> io::Result<()> {
    sys::set_option(
        fd.as_fd(),
        libc::SOL_SOCKET,
        libc::SO_RCVBUFFORCE,
        RECEIVE_BUFFER_BYTES,
    )
    // Without the privilege the kernel cuts the size down to its limit by itself.
    .or_else(|_| {
        sys::set_option(
            fd.as_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUF,
            RECEIVE_BUFFER_BYTES,
        )
    })
}

/// The Ethernet type of an IP packet by its version field; `None` for anything else.
fn ethernet_type(packet: &[u8]) -> Option<i32> {
    match packet.first()? >> 4 {
        4 => Some(libc::ETH_P_IP),
        6 => Some(libc::ETH_P_IPV6),
        _ => None,
    }
}

/// The address of an interface, or of all interfaces by index 0, for packets of a protocol.
pub(crate) fn link_address(index: u32, protocol: i32, destination: Option<[u8; 6]>) -> libc::sockaddr_ll {
    let mut octets = [0; 8];
    octets[..6].copy_from_slice(&destination.unwrap_or_default());
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (protocol as u16).to_be(),
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: destination.map_or(0, |address| mem::size_of_val(&address) as u8),
        sll_addr: octets,
    }
}
