//! The parts of a load wherever they run, and what they bring together.
//!
//! - [`running`]: parts as their coordinator sees them; [`workers`]: in worker processes; [`agents`]: on other machines
//! - [`outcome`]: the raw result of all of them; [`usage`]: the CPU time and the arrivals beside it

pub mod agents;
pub mod outcome;
pub mod running;
pub mod usage;
pub mod workers;
