//! HTTP/1.1 in virtual time: whole conversations, and bytes that no peer of ours would send.

mod common;
mod conversation;
mod hostile;
mod properties;
mod responses;
mod slow;
