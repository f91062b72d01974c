//! From a scenario to a results folder.
//!
//! - [`scenario`]: what is asked for, every default filled in
//! - [`results`]: what is left behind: summary, samples, environment, ladder
//!
//! Errors are typed; the command line turns them into one sentence and an exit code.

pub mod results;
pub mod scenario;
