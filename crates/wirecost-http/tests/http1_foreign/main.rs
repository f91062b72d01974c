//! HTTP/1.1 with foreign programs over loopback: curl with our server, our client with Caddy, with and without TLS.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a driver needs sockets, threads and a clock"
)]

mod caddy;
mod curl;
mod driver;
#[path = "../../../wirecost/tests/peers/port.rs"]
mod port;
mod secure;

use std::process::{Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Fails if a program is missing.
fn need(program: &str) {
    let version = if program == "caddy" {
        "version"
    } else {
        "--version"
    };
    let found = Command::new(program)
        .arg(version)
        .stdout(Stdio::null())
        .status()
        .is_ok();
    assert!(found, "{program} is missing (sudo apt-get install {program})");
}
