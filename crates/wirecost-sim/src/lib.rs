//! Endpoints in virtual time: the same devices, scripts, servers and links as on kernel sockets, without IO and without
//! threads.
//!
//! - [`world`]: hosts, their flows and the events between them
//! - [`tap`]: who sees the packets at the entry of the link
//!
//! A simulation is a function of what it is made of: the same devices, services, links and settings give the same
//! packets at the same times, on any machine.

mod network;
mod queue;
mod slab;
pub mod tap;
pub mod world;

pub use tap::{Packet, Recording, Tally, Tap, Transport};
pub use world::{Finished, Settings, Wake, World};
