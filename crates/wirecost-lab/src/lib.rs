//! From a scenario to a results folder.
//!
//! - [`stack`]: names of stacks, and the one place where a name becomes a client and a server
//! - [`compare`]: the main job, stacks side by side on one link
//! - [`emulation`]: an emulated link that all devices share
//! - [`link_run`]: any program behind the emulated link
//! - [`load`]: many devices against one target, an open loop
//! - [`probe`]: one message to a real server, step by step
//! - [`target`]: what answers the devices: built-in servers, or real ones that wirecost starts itself
//! - [`scenario`]: what was asked for, every default filled in
//! - [`provenance`]: the machine that measures
//! - [`patience`]: how long something is waited for, and when Ctrl-C ends the wait
//! - [`results`]: what is left behind: summary, samples, environment, ladder
//!
//! Errors are typed; the command line turns them into one sentence and an exit code.
//!
//! ```
//! use wirecost_lab::stack::Stack;
//!
//! let stack: Stack = "mqtt-qos1".parse().unwrap();
//! assert!(stack.is_answered());
//! ```

pub mod compare;
pub mod emulation;
pub mod link_run;
pub mod load;
pub mod patience;
pub mod probe;
pub mod provenance;
pub mod results;
pub mod scenario;
pub mod secret;
pub mod stack;
pub mod target;
