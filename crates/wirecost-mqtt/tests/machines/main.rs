//! The client and the broker in virtual time, rule by rule.

mod common;
mod conversation;
