//! The client and the broker in virtual time, rule by rule.

mod common;
mod conversation;
mod hostile;
mod limits;
mod memory;
mod normative;
mod reconnect;
mod routing;
mod server_faults;
mod sessions;
mod talk;
