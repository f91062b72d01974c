//! Client and container against each other, in virtual time.

mod connect;
mod flow;
mod rig;
