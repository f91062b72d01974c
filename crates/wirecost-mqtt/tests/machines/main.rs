//! The client and the broker in virtual time, rule by rule.

mod common;
mod conversation;
mod hostile;
mod routing;
mod sessions;
mod talk;
