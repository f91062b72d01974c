//! Load agents: two or more processes of this program, which share the load of a third one.

#[path = "../common/mod.rs"]
mod common;
#[path = "../load_honesty/rig.rs"]
#[allow(dead_code, reason = "the target is shared with other tests of loads")]
mod honesty;
#[path = "../peers/port.rs"]
mod port;

mod clocks;
mod lost;
mod namespaces;
mod refused;
mod rig;
mod secrets;
mod shared;
mod shells;
