//! Client and container in virtual time.

mod connect;
mod container;
mod flow;
mod rig;
mod server_faults;
mod talk;
