//! Client and server over a path in virtual time.

mod faults;
mod loss;
mod rig;
mod starts;
