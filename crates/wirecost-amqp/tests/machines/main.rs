//! Client and container in virtual time.

mod connect;
mod container;
mod flow;
mod harness;
mod pair;
mod server_faults;
