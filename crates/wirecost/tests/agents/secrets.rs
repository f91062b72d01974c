//! The secrets of a run with agents are in its join file alone.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use crate::common::eventually;
use crate::honesty::Target;
use crate::port::own_port;
use crate::rig::{Between, Coordinator};

const PASSWORD: &str = "xj2-of-the-devices";

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let each = entries.flat_map(|entry| {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path),
            false => vec![(path.display().to_string(), fs::read(&path).expect("a file"))],
        }
    });
    each.collect()
}

#[test]
fn no_secret_is_in_the_control_channel_the_process_list_or_the_results() {
    let mut target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let port = own_port();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let between = Between::start(listener, port, [Duration::ZERO; 2]);
    let coordinator = Coordinator::start_by(|command| {
        command.args([
            "--listen",
            &format!("127.0.0.1:{port}"),
            "--join-address",
            &between.address.to_string(),
        ]);
        command
            .args(["--user", "device", "--clock-error-max", "100ms"])
            .env("WIRECOST_PASSWORD", PASSWORD);
        command.args([&url, "-c", "10", "-r", "100/s", "-d", "4s", "--agents", "2"]);
    });
    let text = coordinator.waits();
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let secret = value["secret"].as_str().expect("a secret").to_owned();
    let agents = [coordinator.agent(&[]), coordinator.agent(&[])];
    eventually("messages arrive", || target.messages() > 50);
    for pid in agents.iter().map(|agent| agent.pid).chain([coordinator.pid()]) {
        for name in ["cmdline", "comm"] {
            let shown = fs::read(format!("/proc/{pid}/{name}")).expect("it runs");
            assert!(
                !holds(&shown, &secret) && !holds(&shown, PASSWORD),
                "{name} of {pid}"
            );
        }
        let environment = fs::read(format!("/proc/{pid}/environ")).expect("it runs");
        assert!(!holds(&environment, &secret));
    }
    let ended = coordinator.end();
    ended.ended_well();
    let seen = between.seen();
    assert!(seen.len() > 10_000, "{} bytes", seen.len());
    let raw: Vec<u8> = (0..32)
        .map(|at| u8::from_str_radix(&secret[2 * at..2 * at + 2], 16).expect("digits"))
        .collect();
    assert!(!seen.windows(32).any(|window| window == raw));
    for text in [
        secret.as_str(),
        PASSWORD,
        "token",
        "secret",
        "password",
        "nonce",
        "proof",
    ] {
        assert!(!holds(&seen, text), "{text} on the control channel");
    }
    let results = files(&ended.home.path().join("run"));
    assert!(results.len() > 5);
    for (name, bytes) in &results {
        assert!(!holds(bytes, &secret) && !holds(bytes, PASSWORD), "{name}");
    }
    let said = agents.map(|agent| agent.end());
    for said in said.iter().chain([&ended.said]) {
        assert!(!said.stderr.contains(&secret) && !said.stdout.contains(&secret));
    }
    let journal = results
        .iter()
        .find(|(name, _)| name.ends_with("journal.jsonl"))
        .expect("a journal");
    for text in ["token", "secret", "password"] {
        assert!(!holds(&journal.1, text), "{text} in the journal");
    }
}
