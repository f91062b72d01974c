//! The devices' and the servers' loop over loopback sockets: what the kernel does to a flow, and what comes of it.

mod awaited;
mod calls;
mod client;
mod crowd;
mod last_words;
mod load;
mod rig;
mod server;
mod unread;
