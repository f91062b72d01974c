//! Client and broker in virtual time.

mod ahead;
mod common;
mod conversation;
mod deferred;
mod harness;
mod hostile;
mod limits;
mod memory;
mod normative;
mod reconnect;
mod routing;
mod server_faults;
mod sessions;
