//! HTTP/1.1 in virtual time: whole conversations, and bytes that our peers would never send.

mod common;
mod conversation;
mod hostile;
mod properties;
mod responses;
mod slow;
