//! `load --target`: what our devices count against servers that are not ours, and that count nothing for us.

use std::fs;
use std::process::Stdio;
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{ended, eventually, need_program, need_root, said, wirecost};

const COUNT: u64 = 200;
/// One load at a time: the servers listen at their registered ports.
static PORTS: Mutex<()> = Mutex::new(());

/// Runs a load of [`COUNT`] messages against a server that it starts; its summary.
fn load(target: &str, stack: &str, more: &str) -> Value {
    need_root();
    let _alone = PORTS.lock().unwrap_or_else(|failed| failed.into_inner());
    let home = TempDir::new().expect("a folder");
    let mut command = wirecost(home.path());
    command.args(["load", "--quiet", "--json", "-", "-c", "5", "-r", "200/s", "-n"]);
    command.args([&COUNT.to_string(), stack, "--target", target]);
    let said = said(command.args(more.split_whitespace()));
    // A busy machine makes times invalid, never counts.
    assert!(
        matches!(said.code, Some(0 | 14)),
        "{target} {stack}: {:?}\n{}",
        said.code,
        said.stderr
    );
    serde_json::from_str(&said.stdout).expect("a summary")
}

/// The figures of the phase of this name.
fn phase<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let phases = summary["loads"][0]["phases"].as_array().expect("phases");
    phases
        .iter()
        .find(|phase| phase["name"] == name)
        .expect("the phase")
}

/// Asserts that every message was sent once and answered well.
fn assert_answered(target: &str, stack: &str, more: &str) -> Value {
    let summary = load(target, stack, more);
    assert_eq!(summary["loads"][0]["target"], target);
    let publish = phase(&summary, "publish");
    for (count, value) in [
        ("offered", &publish["outcomes"]["offered"]),
        ("acknowledged", &publish["outcomes"]["acknowledged"]),
        ("sent", &publish["sent"]),
    ] {
        assert_eq!(*value, COUNT, "{target} {stack}: {count} of {publish}");
    }
    assert_eq!(summary["loads"][0]["priority"], "nice -20", "{target} {stack}");
    let used = &summary["loads"][0]["target_use"];
    assert!(used["resident_bytes"].as_u64() > Some(0), "{target}: {used}");
    summary
}

/// Asserts that three subscribers of a broker have received every message once, in order.
fn assert_delivered(target: &str, stack: &str) {
    let summary = assert_answered(target, stack, "--subscribers 3");
    let deliveries = &phase(&summary, "publish")["deliveries"];
    for (count, expected) in [
        ("expected", 3 * COUNT),
        ("arrived", 3 * COUNT),
        ("duplicates", 0),
        ("out_of_order", 0),
    ] {
        assert_eq!(
            deliveries[count], expected,
            "{target} {stack}: {count} of {deliveries}"
        );
    }
}

/// The niceness of the thread `loop 0` of a process (proc_pid_stat(5), field 19); `None` before it runs.
fn niceness_of_loop(process: u32) -> Option<i32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let mut statistics = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    let of_loop = statistics.find(|text| text.contains("(loop 0)"))?;
    let (_, fields) = of_loop.rsplit_once(')')?;
    fields.split_whitespace().nth(16)?.parse().ok()
}

#[test]
#[ignore = "needs root and mosquitto"]
fn the_generator_is_favoured_beside_a_real_server_alone() {
    need_root();
    need_program("mosquitto", "mosquitto");
    let _alone = PORTS.lock().unwrap_or_else(|failed| failed.into_inner());
    for (target, niceness) in [("mosquitto", -20), ("builtin", 0)] {
        let home = TempDir::new().expect("a folder");
        let mut command = wirecost(home.path());
        command.args([
            "load",
            "mqtt-qos1",
            "--quiet",
            "--json",
            "-",
            "-c",
            "5",
            "-r",
            "100/s",
            "-d",
            "3s",
        ]);
        command.args(["--threads", "1", "--target", target]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("wirecost starts");
        eventually(target, || niceness_of_loop(child.id()) == Some(niceness));
        let said = ended(child);
        let summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
        assert_eq!(
            summary["loads"][0]["priority"],
            format!("nice {niceness}"),
            "{target}"
        );
    }
}

#[test]
#[ignore = "needs root and mosquitto"]
fn mosquitto_carries_every_message_of_a_load() {
    need_program("mosquitto", "mosquitto");
    assert_delivered("mosquitto", "mqtt5-qos2+tls1.3");
}

#[test]
#[ignore = "needs root and rabbitmq-server"]
fn rabbitmq_carries_every_message_of_a_load() {
    need_program("rabbitmq-server", "rabbitmq-server");
    assert_delivered("rabbitmq", "mqtt-qos1");
    assert_answered("rabbitmq", "amqp-unsettled", "");
}

#[test]
#[ignore = "needs root and caddy"]
fn caddy_answers_every_message_of_a_load() {
    need_program("caddy", "caddy");
    for stack in ["http1", "http1+tls1.3", "http3"] {
        assert_answered("caddy", stack, "");
    }
}

#[test]
#[ignore = "needs root and libapache2-mod-php"]
fn apache_answers_every_message_of_a_load() {
    need_program("apache2", "libapache2-mod-php");
    let summary = assert_answered("apache", "http1", "");
    let load = &summary["loads"][0];
    assert_eq!(load["settings"]["workers"], 256);
    // The first process, and those of its workers.
    assert!(
        load["target_use"]["processes"].as_u64() >= Some(6),
        "{}",
        load["target_use"]
    );
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn libcoap_answers_every_message_of_a_load() {
    need_program("coap-server-openssl", "libcoap3-bin");
    for stack in [
        "coap-con",
        "coap-con+dtls1.2",
        "coap-con+dtls1.2-psk",
        "coap-tcp",
        "coap-tcp+tls1.3",
    ] {
        assert_answered("libcoap", stack, "");
    }
}
