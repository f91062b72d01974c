//! Client and server over a path in virtual time.

mod faults;
mod goaway;
mod held;
mod loss;
pub(super) mod rig;
mod starts;
mod tshark;
