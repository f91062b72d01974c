//! The devices' and the servers' loops over loopback sockets: the kernel's events and their effects on flows.

mod awaited;
mod calls;
mod client;
mod crowd;
mod last_words;
mod load;
mod rig;
mod server;
mod unread;
