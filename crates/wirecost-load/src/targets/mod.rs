//! The target of a load: started or found, counted, and asked why it does not answer.
//!
//! - [`server`]: the target, started or found; [`sink`]: the counting target; [`identities`]: the certificates that it asks of devices
//! - `wire`: the packets on the path to it; [`profile`]: takes CPU profiles with `perf`
//! - `scheme`, `certificate`: whether it speaks another protocol than its URL says, and what is wrong with its certificate

pub(crate) mod certificate;
pub mod identities;
pub mod profile;
pub(crate) mod scheme;
pub mod server;
pub mod sink;
pub(crate) mod wire;
