//! MQTT clients of other makers against `wirecost serve mqtt`.
//!
//! Where the standard leaves a choice, or the outcome is best said by another broker, the same steps are taken with
//! Mosquitto as well, and must end alike.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peers/mod.rs"]
mod peers;

mod mosquitto;
mod paho;
mod subscriber;

use std::fmt::Debug;

use peers::Server;

/// Takes the same steps with our broker and with Mosquitto; returns how they ended, which must be alike.
fn alike<T: PartialEq + Debug>(steps: impl Fn(&Server) -> T) -> T {
    let theirs = steps(&Server::mosquitto());
    let server = Server::builtin("mqtt");
    let ours = steps(&server);
    assert_eq!(ours, theirs, "ours, and Mosquitto's; our log:\n{}", server.log());
    ours
}
