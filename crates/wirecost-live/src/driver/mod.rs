//! Endpoints on kernel sockets: the live counterpart of virtual time.
//!
//! - [`client`]: many devices, each an endpoint with one flow, and a director that says what they do when
//! - [`server`]: server endpoints, each with a listener and any number of flows
//! - [`sources`]: where devices' sockets come from
//! - [`calls`]: how many system calls a loop makes
//! - `stream`, `datagram`: a flow's socket; `wakes`: who wants to be woken when
//!
//! Each loop runs on a thread of its own, in the network namespace that the thread has entered.

pub mod calls;
pub mod client;
mod datagram;
pub mod server;
pub mod sources;
mod stream;
mod wakes;

/// Wakes a loop, from any thread, so that it stops.
pub type Stopper = std::sync::Arc<mio::Waker>;

/// Largest chunk read from a socket at once: any datagram fits.
const READ_BYTES: usize = 65_536;
