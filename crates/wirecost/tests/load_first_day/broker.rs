//! A Mosquitto with settings of the test's own, and loads of it.

use std::path::Path;

use serde_json::Value;

use crate::common::eventually;
use crate::{run_in, summary};

/// A Mosquitto of the test's own on a free port of 127.0.0.1, with these lines in its configuration.
pub(super) struct Mosquitto {
    child: std::process::Child,
    port: u16,
}

impl Mosquitto {
    pub(super) fn start(folder: &Path, lines: &str) -> Self {
        let port = free_port();
        let file = folder.join("mosquitto.conf");
        std::fs::write(&file, format!("listener {port} 127.0.0.1\n{lines}\nuser root\n")).expect("a file");
        let child = std::process::Command::new("mosquitto")
            .arg("-c")
            .arg(&file)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("mosquitto");
        let broker = Self { child, port };
        eventually("mosquitto listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        broker
    }

    pub(super) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        // A broker that has ended needs no signal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    listener.local_addr().expect("an address").port()
}

/// A short load of a running broker: its end, and its summary.
pub(super) fn loaded(folder: &Path, url: &str, more: &[&str]) -> (Option<i32>, Value) {
    let line = [
        "load", url, "-c", "10", "-r", "50/s", "-d", "1s", "-q", "--json", "-",
    ];
    let said = run_in(folder, &[line.as_slice(), more].concat());
    // 14: the generator was late, which is no matter here.
    assert!(
        matches!(said.code, Some(0 | 13 | 14)),
        "{:?} {}",
        said.code,
        said.stderr
    );
    (said.code, summary(&said)["loads"][0].take())
}

pub(super) fn published(load: &Value) -> &Value {
    let phases = load["phases"].as_array().expect("phases");
    let publish = phases.iter().find(|phase| phase["name"] == "publish");
    publish.expect("messages")
}
