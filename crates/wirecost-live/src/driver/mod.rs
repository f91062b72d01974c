//! Endpoints on kernel sockets: the live counterpart of virtual time.
//!
//! - [`client`]: many devices, each an endpoint with one flow, and a director that decides their actions
//! - [`server`]: server endpoints, each with a listener and any number of flows
//! - [`sources`]: the source addresses of devices' sockets
//! - [`calls`]: counts a loop's system calls
//! - `stream`, `datagram`: the socket of a flow; `wakes`: deadlines
//!
//! Each loop runs on its own thread, in the network namespace that the thread has entered.

pub mod calls;
pub mod client;
mod datagram;
pub mod server;
pub mod sources;
mod stream;
mod wakes;

use std::io;
use std::net::SocketAddr;

/// A listener at `address`, with the backlog of a server.
pub(crate) fn listen_at(address: SocketAddr) -> io::Result<mio::net::TcpListener> {
    server::listen_at(address, false)
}

/// A datagram socket at `address`, with the buffers of a server.
pub(crate) fn bind_datagrams(address: SocketAddr) -> io::Result<mio::net::UdpSocket> {
    datagram::bind(address, false)
}

/// Stops a loop from any thread.
pub type Stopper = std::sync::Arc<mio::Waker>;

/// The largest chunk of a socket read: any datagram fits.
const READ_BYTES: usize = 65_536;
