//! Packet by packet, virtual time says what the kernel does: direction, length, flags and relative sequence and
//! acknowledgment numbers of every packet, in every repeat.
//!
//! The live side runs with link and hosts on one CPU: where the reader of a socket runs beside the kernel that fills it,
//! the kernel's TCP does not repeat itself (docs/models/tcp.md). How many round trips a message takes, and what a load costs, is
//! held on all CPUs.

#[path = "../common/mod.rs"]
mod common;
mod costs;
mod large;
mod rerun;
mod round_trips;
mod small;
mod trace;
mod traces;
