//! A load says what it did, also where its target stalls, dies or cannot be reached.

#[path = "../common/mod.rs"]
mod common;
mod counting;
mod faults;
mod interruption;
mod rig;
mod shared;
mod stall;
