//! Experiments: from options to a results folder.
//!
//! - [`air`]: what was on the air for one device of an NB-IoT cell
//! - [`compare`]: stacks side by side on one link
//! - [`link_run`]: any program behind the emulated link
//! - [`nbiot`]: reports in NB-IoT cells
//! - [`program_run`]: a program of another maker as a cell
//!
//! Errors are typed. The command line turns them into a sentence and an exit code.

pub mod air;
pub mod compare;
pub mod link_run;
pub mod nbiot;
pub mod program_run;
