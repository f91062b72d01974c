//! A load reports what it did, even if its target stalls, dies or is unreachable.

#[path = "../common/mod.rs"]
mod common;
mod counting;
mod faults;
mod interruption;
mod rig;
mod shared;
mod stall;
