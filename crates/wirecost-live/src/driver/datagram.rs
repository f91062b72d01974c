//! UDP sockets under endpoints' flows.

use std::io;
use std::net::SocketAddr;

use mio::net::UdpSocket;
use socket2::{Domain, Protocol, Socket, Type};

/// Bytes of socket buffer: a burst of the largest datagrams in fragments must fit.
const BUFFER_BYTES: usize = 4 << 20;

/// A socket of a device, bound to `local` and connected to `remote`.
pub(super) fn connect(local: SocketAddr, remote: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(local)?;
    socket.connect(&remote.into())?;
    Ok(UdpSocket::from_std(socket.into()))
}

/// A server's socket.
pub(super) fn bind(local: SocketAddr) -> io::Result<UdpSocket> {
    Ok(UdpSocket::from_std(open(local)?.into()))
}

fn open(local: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    if local.is_ipv6() {
        socket.set_freebind_v6(true)?;
    }
    // The kernel caps these silently; drops show as lost messages and are counted there.
    socket.set_recv_buffer_size(BUFFER_BYTES)?;
    socket.set_send_buffer_size(BUFFER_BYTES)?;
    socket.bind(&local.into())?;
    Ok(socket)
}
