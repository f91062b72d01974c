//! A part of a load against a server of the test's own making, in virtual time.

mod outcomes;
mod reconnects;
mod rig;
mod stall;
mod traffic;
