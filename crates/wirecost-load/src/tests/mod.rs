//! A part of a load in virtual time, against a server that each test defines.

mod ahead;
mod outcomes;
mod reconnects;
mod rig;
mod stall;
mod traffic;
