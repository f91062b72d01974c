//! Proton's Python client with our container.

use std::process::{Command, Stdio};

use wirecost_amqp::container::{Config, Container, Event};
use wirecost_proto::Layer;

use crate::driver::Driver;

const COUNT: u64 = 25;

/// Debian's Python, which has Proton's client.
const PYTHON: &str = "/usr/bin/python3";

fn require_proton() {
    let mut python = Command::new(PYTHON);
    python.args(["-c", "import proton"]).stderr(Stdio::null());
    let is_there = python.status().is_ok_and(|status| status.success());
    assert!(
        is_there,
        "Proton is missing (sudo apt-get install python3-qpid-proton)"
    );
}

fn container(config: Config) -> (Driver<Container>, u16) {
    let mut driver = Driver::new(Container::new(config));
    let port = driver.listen();
    (driver, port)
}

/// Runs Proton's client to its end. Returns its output.
fn proton(driver: &mut Driver<Container>, what: &str, url: &str, settled: bool, bytes: u64) -> String {
    let settled = if settled { "settled" } else { "unsettled" };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/amqp_foreign/proton_client.py");
    let mut child = Command::new(PYTHON)
        .args([script, what, url, settled])
        .args([COUNT.to_string(), bytes.to_string()])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("python");
    driver.run_until(|_| child.try_wait().expect("a child").is_some());
    let output = child.wait_with_output().expect("what it printed");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text")
}

#[test]
#[ignore = "needs python3-qpid-proton"]
fn proton_sends_to_us_and_receives_it_back() {
    require_proton();
    for (settled, bytes) in [(false, 20), (true, 20), (false, 300_000)] {
        let config = Config {
            credit: 10,
            max_frame_size: 4_096,
            ..Config::default()
        };
        let (mut driver, port) = container(config);
        let url = format!("amqp://127.0.0.1:{port}");
        assert_eq!(proton(&mut driver, "send", &url, settled, bytes), "sent 25\n");
        assert_eq!(driver.endpoint.stats().received, COUNT);
        assert_eq!(driver.endpoint.queued("test"), 25);
        let received = driver.events.iter().filter(|event| {
            matches!(event, Event::Received { payload_bytes, settled: found, .. }
                if *payload_bytes == bytes && *found == settled)
        });
        assert_eq!(received.count(), 25);

        assert_eq!(
            proton(&mut driver, "receive", &url, settled, bytes),
            "received 25\n"
        );
        let stats = driver.endpoint.stats();
        assert_eq!((stats.delivered, stats.faults), (COUNT, 0), "{stats:?}");
        let covered: u64 = driver.consumed.values().sum();
        assert_eq!(covered, driver.received);
        let payload: u64 = driver
            .consumed
            .iter()
            .filter(|((layer, _), _)| *layer == Layer::Payload)
            .map(|(_, bytes)| bytes)
            .sum();
        assert_eq!(payload, COUNT * bytes);
    }
}

#[test]
#[ignore = "needs python3-qpid-proton"]
fn proton_logs_in_with_name_and_password() {
    require_proton();
    let config = Config {
        anonymous: false,
        users: vec![("user".into(), "secret".into())],
        ..Config::default()
    };
    let (mut driver, port) = container(config);
    let url = format!("amqp://user:secret@127.0.0.1:{port}");
    assert_eq!(proton(&mut driver, "send", &url, false, 1), "sent 25\n");
}
