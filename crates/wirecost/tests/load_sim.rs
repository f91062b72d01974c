//! Loads in virtual time: the same each time, the same as live where nothing is lost, and what they cannot be asked.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

mod common;

use std::process::Command;

use common::tshark::fields;
use common::{need_program, open_folder, said, wirecost};
use serde_json::Value;

/// The loads of a run with these arguments, without what names the run.
fn loads(arguments: &str) -> Value {
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args(["load", "--quiet", "--json", "-"]);
    let said = said(command.args(arguments.split(' ')));
    // 14: a live generator was late, which is no matter here.
    assert!(
        matches!(said.code, Some(0 | 14)),
        "{arguments}: {:?}\n{}",
        said.code,
        said.stderr
    );
    let mut summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    for load in summary["loads"].as_array_mut().expect("loads") {
        load.as_object_mut().expect("a load").remove("started_at");
    }
    summary["loads"].take()
}

#[test]
fn a_queue_that_drops_packets_of_a_closed_loop_is_its_bottleneck() {
    let bottleneck = |more: &str| {
        let load = "mqtt-qos1 -c 200 --closed-loop -d 1s --rtt 5ms --link-rate 20Mbit --engine sim";
        loads(&format!("{load}{more}"))[0]["bottleneck"].take()
    };
    let short = bottleneck("");
    assert_eq!(short["who"], "link", "{short}");
    let why = short["why"].as_str().expect("a reason");
    assert!(why.contains(" dropped by its full queue"), "{why}");
    let long = bottleneck(" --queue 5000packets");
    assert!(
        !long["why"].as_str().expect("a reason").contains("dropped"),
        "{long}"
    );
}

#[test]
fn a_load_in_virtual_time_is_the_same_on_one_thread_and_on_two() {
    let run = |threads| {
        loads(&format!(
            "mqtt-qos1 -c 200 -r 1000/s -d 2s --poisson --rtt 40ms --loss 2% --engine sim \
             --service-time exponential:1ms --workers 2 --threads {threads}"
        ))
    };
    let (one, two) = (run(1), run(2));
    assert_eq!(one, two);
    assert_eq!(one[0]["engine"], "sim");
    assert_eq!(one[0]["generator"], Value::Null, "no CPU is measured");
    assert!(
        one[0]["service"]["utilisation"]
            .as_f64()
            .is_some_and(|busy| (0.4..0.6).contains(&busy))
    );
}

#[test]
fn a_live_load_has_the_outcomes_and_bytes_of_the_simulated_one() {
    for stack in [
        "mqtt-qos1",
        "mqtt5-qos2",
        "coap-con",
        "tcp",
        "http1",
        "amqp-unsettled",
        "mqtt-qos1+tls1.3",
    ] {
        let counts = |engine| {
            let loads = loads(&format!("{stack} -c 10 -r 100/s -n 100 --engine {engine}"));
            let phases = loads[0]["phases"].as_array().expect("phases").iter();
            let counts = phases.map(|phase| {
                let count = |name: &str| phase[name].clone();
                [
                    count("outcomes"),
                    count("socket_bytes_up"),
                    count("socket_bytes_down"),
                ]
            });
            counts.collect::<Vec<_>>()
        };
        assert_eq!(counts("sim"), counts("live"), "{stack}");
    }
}

#[test]
fn a_repeated_load_has_intervals_over_its_runs() {
    let home = open_folder();
    let arguments = "load mqtt-qos1 -c 20 -r 200/s -n 200 --poisson --rtt 40ms --engine sim \
                     --service-time exponential:1ms --repeat 3 --quiet --json - --out run";
    let said = said(wirecost(home.path()).args(arguments.split_whitespace()));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    let loads = summary["loads"].as_array().expect("loads");
    let offered = |load: &Value| load["phases"][1]["outcomes"]["offered"].as_u64();
    assert!(loads.len() == 3 && loads.iter().all(|load| offered(load) == Some(200)));
    let figures = summary["repeats"][0]["phases"][1]["figures"]
        .as_array()
        .expect("figures");
    let is_median = |one: &&Value| one["metric"] == "response_time" && one["aggregation"] == "p(50)";
    let median = figures.iter().find(is_median).expect("a median");
    let mean = median["mean"].as_f64().expect("a mean");
    let end = |index: usize| median["interval"][index].as_f64().expect("an end");
    assert!(end(0) < mean && mean < end(1), "{median}");
    let files = std::fs::read_dir(home.path().join("run/cells")).expect("cells");
    assert_eq!(files.count(), 3, "the runs are kept apart");
}

/// Devices that receive: pushed to, and by polls.
const RECEIVING: [&str; 2] = ["mqtt-qos1 --subscribers 2", "http1 --subscribers 2 --poll 200ms"];

/// IP bytes of a load over a link, up and down, of senders and of subscribers: as figures, and by address in the capture.
fn bytes_by_who(engine: &str, devices: &str) -> [[u64; 4]; 2] {
    let home = open_folder();
    let arguments = format!(
        "load {devices} -c 3 -r 50/s -n 30 --rtt 20ms --engine {engine} --capture --quiet --json - --out run"
    );
    let said = said(wirecost(home.path()).args(arguments.split(' ')));
    let summary: Value = serde_json::from_str(&said.stdout).expect(&said.stderr);
    let load = &summary["loads"][0];
    let capture = home
        .path()
        .join("run")
        .join(load["capture"].as_str().expect("a capture"));
    let mut figures = [0; 4];
    for phase in load["phases"].as_array().expect("phases") {
        for (way, name) in ["up", "down"].into_iter().enumerate() {
            let used = &phase["link"][name];
            let [all, own] = ["bytes", "subscriber_bytes"].map(|key| used[key].as_u64().expect(key));
            figures[way] += all - own;
            figures[2 + way] += own;
        }
    }
    // Device 0 has the address 10.77.0.2.
    let senders = ["10.77.0.2", "10.77.0.3", "10.77.0.4"];
    let mut seen = [0; 4];
    for row in fields(&capture, "tcp", &["ip.src", "ip.dst", "ip.len"]) {
        let is_up = row[0].starts_with("10.77.");
        let device = if is_up { &row[0] } else { &row[1] };
        let who = if senders.contains(&device.as_str()) { 0 } else { 2 };
        seen[who + usize::from(!is_up)] += row[2].parse::<u64>().expect("a length");
    }
    [figures, seen]
}

#[test]
#[ignore = "needs tshark"]
fn simulated_bytes_by_who_are_those_of_the_capture() {
    for devices in RECEIVING {
        let [figures, seen] = bytes_by_who("sim", devices);
        assert_eq!(figures, seen, "{devices}");
        assert!(figures.iter().all(|bytes| *bytes > 0), "{devices}");
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn bytes_by_who_are_those_of_the_capture() {
    for devices in RECEIVING {
        let [figures, seen] = bytes_by_who("live", devices);
        assert_eq!(figures, seen, "{devices}");
    }
}

/// A poll and its answer have the same bytes in both engines: 2 subscribers, 40 messages whose pages come to one poll each.
#[test]
fn polls_bring_every_message_in_both_engines() {
    for engine in ["sim", "live"] {
        let loads = loads(&format!(
            "http1 -c 2 -r 20/s -n 40 --subscribers 2 --poll 200ms --engine {engine}"
        ));
        let phases = loads[0]["phases"].as_array().expect("phases");
        let sum = |name: &str| -> u64 {
            let counts = phases
                .iter()
                .filter_map(|phase| phase["deliveries"][name].as_u64());
            counts.sum()
        };
        assert_eq!(
            (sum("expected"), sum("arrived"), sum("duplicates")),
            (80, 80, 0),
            "{engine}"
        );
        assert!(
            sum("polls") >= 20 && sum("empty_polls") >= 2,
            "{engine}: {phases:?}"
        );
    }
}

/// Twenty devices, a handshake and ten messages each: tshark opens the packets with the secrets in the capture.
#[test]
#[ignore = "needs tshark"]
fn a_capture_in_virtual_time_holds_every_message_and_opens() {
    need_program("tshark", "tshark");
    for (stack, filter) in [
        ("mqtt-qos1+tls1.3", "mqtt.msgtype == 3"),
        ("coap-con", "coap.type == 0"),
    ] {
        let home = open_folder();
        let mut command = wirecost(home.path());
        command.args([
            "load",
            stack,
            "--engine",
            "sim",
            "--capture",
            "--quiet",
            "-o",
            "run",
            "--rtt",
            "40ms",
        ]);
        let said = said(command.args(["-c", "20", "-r", "100/s", "-n", "200"]));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let captures = std::fs::read_dir(home.path().join("run/capture")).expect("a folder");
        let capture = captures.last().expect("a capture").expect("a file").path();
        let shown = Command::new("tshark")
            .arg("-r")
            .arg(&capture)
            .args(["-Y", filter])
            .output();
        let shown = shown.expect("tshark");
        let lines = String::from_utf8_lossy(&shown.stdout).lines().count();
        assert_eq!(lines, 200, "{stack}: {}", String::from_utf8_lossy(&shown.stderr));
    }
}

#[test]
fn options_without_meaning_in_virtual_time_are_refused() {
    for (arguments, about) in [
        ("mqtt://127.0.0.1:1883 --engine sim", "target"),
        ("mqtt-qos1 --engine sim --target mosquitto", "target"),
        ("mqtt-qos1 --engine sim --profile", "profile"),
        ("mqtt-qos1 --engine sim --source 127.0.0.2", "source"),
        ("mqtt-qos1 --engine sim --processes 2", "process"),
        ("coap-con --engine sim --shared-socket", "socket"),
        ("mqtt-qos1 --engine ns3", "ns3"),
        ("mqtt-qos1 --service-time 1ms", "sim"),
        ("mqtt-qos1 --engine sim --workers 2", "service-time"),
        ("mqtt-qos1 --engine sim --service-time often", "often"),
        ("mqtt-qos1 --engine sim -c 10 -r 10/s --spread 2s", "spread"),
        ("mqtt-qos1 --shard 1/2", "use the engine sim"),
        (
            "mqtt-qos1 --engine sim --subscribers 1 --shard 1/2",
            "all shards publish",
        ),
        (
            "mqtt-qos1 --engine sim -c 3 --shard 4/4",
            "more shards than devices",
        ),
        ("mqtt-qos1 --engine sim --shard 3/2", "is not a shard"),
    ] {
        let home = open_folder();
        let mut command = wirecost(home.path());
        let said = said(command.arg("load").args(arguments.split(' ')));
        assert_eq!(said.code, Some(2), "{arguments}: {}", said.stderr);
        assert!(said.stderr.contains(about), "{arguments}: {}", said.stderr);
    }
}

#[test]
fn shards_of_a_load_are_merged_to_the_whole_load() {
    let home = open_folder();
    let run = |arguments: &str| {
        let said = said(wirecost(home.path()).args(arguments.split(' ')));
        assert_eq!(said.code, Some(0), "{arguments}\n{}", said.stderr);
    };
    let load = "load coap-con -c 30 -r 60/s -d 3s --rtt 50ms --engine sim -q";
    run(&format!("{load} --out whole"));
    for shard in 1..=3 {
        run(&format!("{load} --shard {shard}/3 --out part{shard}"));
    }
    run("merge part1 part2 part3 --out sum");
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).expect(name);
    assert_eq!(read("sum/intervals.csv"), read("whole/intervals.csv"));
    let facts = |folder: &str| {
        let summary: Value =
            serde_json::from_str(&read(&format!("{folder}/summary.json"))).expect("a summary");
        let load = &summary["loads"][0];
        let phase = &load["phases"][1];
        [
            &load["key"],
            &load["clients"],
            &phase["asked_rate"],
            &phase["outcomes"],
        ]
        .map(Value::clone)
    };
    assert_eq!(facts("sum"), facts("whole"));
    let [key, clients, rate, _] = facts("part2");
    assert_eq!(key, facts("whole")[0]);
    assert_eq!((clients.as_u64(), rate.as_f64()), (Some(10), Some(20.0)));
}
