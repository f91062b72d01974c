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

/// Stops a loop from any thread.
pub type Stopper = std::sync::Arc<mio::Waker>;

/// The largest chunk of a socket read: any datagram fits.
const READ_BYTES: usize = 65_536;
