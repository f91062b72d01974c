//! Client and container against each other, in virtual time.

mod connect;
mod container;
mod flow;
mod rig;
mod server_faults;
mod talk;
