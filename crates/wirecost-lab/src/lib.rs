//! Experiments: from options to a results folder.
//!
//! - [`compare`]: the main job, stacks side by side on one link
//! - [`link_run`]: any program behind the emulated link
//!
//! Errors are typed; the command line turns them into one sentence and an exit code.

pub mod compare;
pub mod link_run;
