//! The devices' and the servers' loop over loopback sockets: what the kernel does to a flow, and what comes of it.

mod client;
mod last_words;
mod rig;
mod server;
mod unread;
