//! The captures of loads contain the secrets of their connections, unless these are left out.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::capture::{DECRYPTION_SECRETS, ENHANCED_PACKET, blocks, files_with_secrets, key_log, mode};
use common::tshark::{fields, fields_with};
use common::{
    Said, children, ended, eventually, need_program, need_root, open_folder, said, signal, wirecost,
};

const LOAD: &str = "-c 4 -r 100/s -n 20 --rtt 10ms --capture --out run";

/// A load with arguments that are separated by blanks.
fn load(home: &Path, arguments: &str) -> Command {
    need_root();
    let mut command = wirecost(home);
    command.arg("load").args(arguments.split(' '));
    command
}

/// A load that has figures; those of a busy machine may be no good, its packets are.
fn run(home: &Path, arguments: &str) -> Said {
    let said = said(&mut load(home, arguments));
    assert!(
        matches!(said.code, Some(0 | 14)),
        "{arguments}: {:?} {}",
        said.code,
        said.stderr
    );
    said
}

/// The captures of a run, by their names.
fn captures(home: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.join("run/capture")).expect("captures");
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension() == Some("pcapng".as_ref()))
        .collect();
    paths.sort();
    paths
}

fn capture(home: &Path) -> PathBuf {
    let captures = captures(home);
    assert_eq!(captures.len(), 1, "{captures:?}");
    captures[0].clone()
}

/// How often a field has a value, over all packets of a capture.
fn count(capture: &Path, filter: &str, field: &str, value: &str) -> usize {
    let rows = fields(capture, filter, &[field]);
    let values = rows.iter().flatten().flat_map(|values| values.split(','));
    values.filter(|one| *one == value).count()
}

fn has_secrets(capture: &Path) -> bool {
    blocks(capture)
        .iter()
        .any(|block| block.kind == DECRYPTION_SECRETS)
}

/// The secrets precede the packets, only their owner may read them, and no other file contains them.
fn check_secrets(home: &Path, said: &Said) {
    let capture = capture(home);
    let blocks = blocks(&capture);
    let position = |kind| blocks.iter().position(|block| block.kind == kind);
    let secrets = position(DECRYPTION_SECRETS).expect("secrets");
    assert!(secrets < position(ENHANCED_PACKET).expect("packets"));
    assert_eq!(mode(&capture), 0o600);
    assert_eq!(files_with_secrets(&home.join("run")), [0o600]);
    for text in [&said.stdout, &said.stderr] {
        assert!(!text.contains("CLIENT_"), "{text}");
    }
}

#[test]
#[ignore = "needs root, mosquitto and tshark"]
fn tls_captures_decrypt_for_every_process() {
    need_program("mosquitto", "mosquitto");
    for more in ["", " --threads 2", " --processes 2", " --target mosquitto"] {
        let home = open_folder();
        let said = run(home.path(), &format!("mqtt-qos1+tls1.3 {LOAD}{more}"));
        // CONNECT and PUBLISH.
        let seen =
            ["1", "3"].map(|packet| count(&capture(home.path()), "tls && mqtt", "mqtt.msgtype", packet));
        assert_eq!(seen, [4, 20], "{more}: {}", said.stderr);
        check_secrets(home.path(), &said);
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn dtls_1_2_opens() {
    const PUT: &str = "3";
    for stack in ["coap-con+dtls1.2", "coap-con+dtls1.2-psk"] {
        for more in ["", " --processes 2"] {
            let home = open_folder();
            let said = run(home.path(), &format!("{stack} {LOAD}{more}"));
            let puts = count(&capture(home.path()), "dtls && coap", "coap.code", PUT);
            assert_eq!(puts, 20, "{stack}{more}: {}", said.stderr);
            check_secrets(home.path(), &said);
        }
    }
}

/// tshark 4.0 cannot read the records of DTLS 1.3, but says whose secrets a reader needs.
#[test]
#[ignore = "needs root and tshark"]
fn every_connection_of_dtls_1_3_has_its_secrets() {
    let home = open_folder();
    let said = run(home.path(), &format!("coap-con+dtls1.3 {LOAD} --processes 2"));
    let keys = key_log(&capture(home.path())).expect("secrets");
    let hellos = fields(
        &capture(home.path()),
        "dtls.handshake.type == 1",
        &["dtls.handshake.random"],
    );
    assert!(hellos.len() >= 4, "{hellos:?}");
    for random in hellos.iter().flatten() {
        for label in ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"] {
            let line = format!("{label} {} ", random.replace(':', ""));
            assert!(keys.contains(&line), "{label} of {random}");
        }
    }
    check_secrets(home.path(), &said);
}

#[test]
#[ignore = "needs root and tshark"]
fn quic_opens() {
    for more in ["", " --processes 2"] {
        let home = open_folder();
        let said = run(home.path(), &format!("http3 {LOAD}{more}"));
        const HEADERS: &str = "1";
        let heads = count(
            &capture(home.path()),
            "http3 && udp.dstport == 443",
            "http3.frame_type",
            HEADERS,
        );
        assert_eq!(heads, 20, "{more}: {}", said.stderr);
        check_secrets(home.path(), &said);
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn each_load_with_oscore_has_its_contexts_beside_its_capture() {
    let home = open_folder();
    let both = LOAD.replace("--rtt 10ms", "--rtt 10ms,20ms");
    run(home.path(), &format!("coap-con+oscore {both}"));
    let captures = captures(home.path());
    assert_eq!(captures.len(), 2);
    for capture in captures {
        let file = capture.with_extension("oscore_contexts");
        assert_eq!(mode(&file), 0o600);
        let contexts = std::fs::read_to_string(file).expect("contexts");
        let preferences = contexts.lines().map(|line| format!("uat:oscore_contexts:{line}"));
        let preferences: Vec<String> = preferences.collect();
        assert_eq!(preferences.len(), 4, "one of each device");
        let filter = "oscore.opt.uri_path == \"test\"";
        let opened = fields_with(&capture, filter, &["frame.number"], &preferences);
        assert_eq!(opened.len(), 20, "{}", capture.display());
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn without_keys_there_is_nothing_to_open_it_by() {
    for stack in ["mqtt-qos1+tls1.3", "coap-con+dtls1.2", "http3", "coap-con+oscore"] {
        let home = open_folder();
        run(home.path(), &format!("{stack} {LOAD} --no-keys --processes 2"));
        let capture = capture(home.path());
        assert!(!has_secrets(&capture), "{stack}");
        assert_eq!(mode(&capture), 0o600, "{stack}");
        let opened = fields(&capture, "mqtt || dtls && coap || http3", &["frame.number"]);
        assert!(opened.is_empty(), "{stack}");
        assert_eq!(
            files_with_secrets(&home.path().join("run")),
            [0_u32; 0],
            "{stack}"
        );
        assert!(!capture.with_extension("oscore_contexts").exists());
    }
}

#[test]
#[ignore = "needs root"]
fn a_scenario_configures_its_captures() {
    need_root();
    let home = open_folder();
    let scenario = "wirecost: 1\nstack: mqtt-qos1+tls1.3\nclients: 2\nlink: {rtt: 10ms}\ncapture: true\n\
                    phases: [{do: connect}, {do: publish, rate: 50/s, count: 10}, {do: close}]\n\
                    loads: [{}, {record: {keys: false}}]\n";
    std::fs::write(home.path().join("two.yaml"), scenario).expect("written");
    let mut command = wirecost(home.path());
    command.args(["run", "two.yaml", "--quiet", "--json", "-", "--out", "run"]);
    let said = said(&mut command);
    assert!(matches!(said.code, Some(0 | 14)), "{}", said.stderr);
    let summary: serde_json::Value = serde_json::from_str(&said.stdout).expect("a summary");
    let loads = summary["loads"].as_array().expect("loads");
    let captures = loads.iter().map(|load| {
        let name = load["capture"].as_str().expect("the name of a capture");
        home.path().join("run").join(name)
    });
    let secret: Vec<bool> = captures.map(|capture| has_secrets(&capture)).collect();
    assert_eq!(secret, [true, false]);
}

#[test]
#[ignore = "needs root"]
fn keys_are_left_out_of_a_capture_or_of_nothing() {
    let home = open_folder();
    let said = said(&mut load(home.path(), "mqtt-qos1+tls1.3 --rtt 10ms --no-keys"));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("--capture"), "{}", said.stderr);
}

/// Devices lose their connections with their process; those of the others open all the same.
#[test]
#[ignore = "needs root and tshark"]
fn a_worker_that_is_killed_takes_only_its_own_secrets_along() {
    let home = open_folder();
    let arguments =
        "mqtt-qos1+tls1.3 -c 4 -r 100/s -d 60s --timeout 2s --rtt 10ms --processes 2 --capture --out run";
    let mut command = load(home.path(), arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("wirecost starts");
    let workers = || children(child.id(), "load-worker");
    eventually("two workers run", || workers().len() == 2);
    thread::sleep(Duration::from_millis(2_500));
    signal(workers()[0], "KILL");
    let said = ended(child);
    assert_ne!(said.code, Some(0), "{}", said.stderr);
    let connects = count(&capture(home.path()), "tls && mqtt", "mqtt.msgtype", "1");
    assert_eq!(connects, 2, "{}", said.stderr);
    let summary = std::fs::read_to_string(home.path().join("run/summary.json")).expect("a summary");
    let lack = "1 of 2 parts of the generator did not hand over all secrets";
    assert!(summary.contains(lack), "{summary}");
    check_secrets(home.path(), &said);
}

#[test]
#[ignore = "needs root and tshark"]
fn a_load_that_is_interrupted_has_its_secrets() {
    for more in ["", " --processes 2"] {
        let home = open_folder();
        let arguments = "mqtt-qos1+tls1.3 -c 4 -r 100/s -d 60s --timeout 2s --rtt 10ms --capture --out run";
        let mut command = load(home.path(), &format!("{arguments}{more}"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("wirecost starts");
        eventually("the run has begun", || {
            home.path().join("run/summary.json").exists()
        });
        thread::sleep(Duration::from_millis(2_500));
        signal(child.id(), "INT");
        let said = ended(child);
        assert_eq!(said.code, Some(130), "{}", said.stderr);
        let connects = count(&capture(home.path()), "tls && mqtt", "mqtt.msgtype", "1");
        assert_eq!(connects, 4, "{more}: {}", said.stderr);
        check_secrets(home.path(), &said);
    }
}
