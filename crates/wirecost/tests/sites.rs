//! Loads with sites: each hop has its own link, and its bytes are those of the capture.

mod common;

use std::path::Path;

use serde_json::Value;

use common::tshark::fields;
use common::{Said, need_program, need_root, open_folder, said, wirecost};

const FOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fog.yaml");
/// The example with fewer messages.
const SHORT: &str = "phases=[{do: publish, rate: 50/s, duration: 2s}, {do: await_replay, timeout: 10s}]";

fn run(folder: &Path, sets: &[&str]) -> Said {
    let mut command = wirecost(folder);
    command.args([
        "run",
        FOG,
        "--quiet",
        "--out",
        "run",
        "--set",
        "capture=true",
        "--set",
        SHORT,
    ]);
    sets.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    said(&mut command)
}

fn load(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run/summary.json")).expect("summary.json");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    summary["loads"][0].clone()
}

/// Packets and bytes from one network to another.
fn crossed(capture: &Path, filter: &str) -> (u64, u64) {
    let rows = fields(capture, filter, &["ip.len"]);
    let bytes = rows
        .iter()
        .map(|row| row[0].parse::<u64>().expect("a length"))
        .sum();
    (rows.len() as u64, bytes)
}

const BRIDGED: &str = r##"
wirecost: 1
stack: mqtt-qos1
clients: 20
resource: sensors/%d
subscribers: {devices: 1, filter: sensors/+, qos: 1}
sites:
  field: {}
  fog: {servers: mosquitto, bridges: [{to: region, topic: "sensors/#", qos: 1}]}
  region: {servers: mosquitto, bridges: [{to: abroad, topic: "sensors/#", qos: 1}]}
  abroad: {servers: mosquitto}
  office: {}
links:
  field-fog: {rtt: 2ms, rate: 89Mbit}
  fog-region: {rtt: 20ms}
  region-abroad: {rtt: 60ms}
  office-abroad: {rtt: 10ms}
at: {senders: field, subscribers: office}
capture: true
phases: [{do: publish, rate: 50/s, duration: 2s}, {do: await_replay, timeout: 10s}]
"##;

fn run_bridged(folder: &Path, sets: &[&str]) -> Said {
    std::fs::write(folder.join("a.yaml"), BRIDGED).expect("a file");
    let mut command = wirecost(folder);
    command.args(["run", "a.yaml", "--quiet", "--out", "run"]);
    sets.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    said(&mut command)
}

#[test]
#[ignore = "needs root, tshark and mosquitto"]
fn bridges_pass_on_every_message_and_each_hop_has_its_bytes() {
    need_root();
    need_program("mosquitto", "mosquitto");
    let home = open_folder();
    let said = run_bridged(home.path(), &[]);
    assert!(matches!(said.code, Some(0 | 14)), "{}", said.stderr);
    let load = load(home.path());
    // Each link was checked by echoes, which are in no capture.
    for hop in load["hops"].as_array().expect("hops") {
        assert!(hop["link"]["achieved"]["rtt_p50_ns"].as_f64().is_some(), "{hop}");
    }
    bridged_hops_equal_the_capture(home.path());
}

/// The built-in brokers do the same in virtual time, also over a link whose first site is that of the later broker.
#[test]
fn in_virtual_time_built_in_brokers_pass_on_every_message() {
    let home = open_folder();
    let builtin = [
        "engine=sim",
        "sites.fog.servers=builtin",
        "sites.region.servers=builtin",
        "sites.abroad.servers=builtin",
    ];
    let said = run_bridged(home.path(), &builtin);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    bridged_hops_equal_the_capture(home.path());
    let load_of = load;
    let load = load_of(home.path());
    // Half of 2, 20, 60 and 10 ms.
    let delay = load["phases"][1]["one_way_delay_ns"]["p50"]
        .as_f64()
        .expect("a delay");
    assert!((46e6..46.5e6).contains(&delay), "{delay}");
    let forth = &load["hops"][1]["used"];

    let turned = open_folder();
    let other = "links={field-fog: {rtt: 2ms, rate: 89Mbit}, region-fog: {rtt: 20ms}, region-abroad: {rtt: 60ms}, office-abroad: {rtt: 10ms}}";
    let said = run_bridged(turned.path(), &[&builtin[..], &[other]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let load = load_of(turned.path());
    let back = &load["hops"][1]["used"];
    assert_eq!(
        (&forth["up"]["bytes"], &forth["down"]["bytes"]),
        (&back["down"]["bytes"], &back["up"]["bytes"])
    );
}

fn bridged_hops_equal_the_capture(home: &Path) {
    let load = load(home);
    let publish = &load["phases"][1];
    assert_eq!(publish["outcomes"]["acknowledged"], 100, "{load}");
    assert_eq!(publish["deliveries"]["arrived"], 100, "{load}");
    let capture = home
        .join("run")
        .join(load["capture"].as_str().expect("a capture"));
    for (index, [from, to]) in [
        ["10.77.0.0/16", "10.78.0.1"],
        ["10.78.0.1", "10.78.1.1"],
        ["10.78.1.1", "10.78.2.1"],
        ["10.77.0.0/16", "10.78.2.1"],
    ]
    .into_iter()
    .enumerate()
    {
        let hop = &load["hops"][index];
        for (way, from, to) in [("up", from, to), ("down", to, from)] {
            let (packets, bytes) = crossed(&capture, &format!("ip.src == {from} && ip.dst == {to}"));
            assert!(packets > 0, "{hop} {way}");
            let told = (
                hop["used"][way]["packets"].as_u64(),
                hop["used"][way]["bytes"].as_u64(),
            );
            assert_eq!(told, (Some(packets), Some(bytes)), "{hop} {way}");
        }
    }
    let all = fields(&capture, "ip", &["ip.len"]).len() as u64;
    let hops = load["hops"].as_array().expect("hops").iter();
    let counted = hops.flat_map(|hop| ["up", "down"].map(|way| hop["used"][way]["packets"].as_u64()));
    assert_eq!(counted.flatten().sum::<u64>(), all, "every packet has a hop");
}

#[test]
fn wrong_bridges_are_refused_before_anything_runs() {
    for (set, why) in [
        (
            "sites.abroad.bridges=[{to: region, topic: \"#\"}]",
            "bridges: what region passes on to abroad comes back to it: bridges in a circle pass on for ever",
        ),
        (
            "sites.fog.bridges=[{to: abroad, topic: \"#\"}]",
            "sites.fog.bridges: fog and abroad are to have a server each, and a link between them",
        ),
        (
            "sites.region.bridges=[]",
            "at.subscribers: office is joined to abroad, and no bridge passes on to it what fog receives",
        ),
        (
            "engine=sim",
            "a bridge is between two mosquitto servers live, and between two of servers: builtin in virtual time",
        ),
        (
            "stack=mqtt-qos1+tls1.3",
            "sites: a bridge passes on plain MQTT over IPv4, and the stack is mqtt-qos1+tls1.3",
        ),
    ] {
        let home = open_folder();
        let said = run_bridged(home.path(), &[set]);
        assert_eq!(said.code, Some(2), "{set}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{set}: {}", said.stderr);
    }
}

/// The 100 senders of the example are 10.77.0.2 to 10.77.0.101, its subscriber is 10.77.0.102.
const SENDERS: &str = "ip.addr >= 10.77.0.2 && ip.addr <= 10.77.0.101";
const SUBSCRIBER: &str = "ip.addr == 10.77.0.102";

fn hops_equal_the_capture(folder: &Path) {
    let load = load(folder);
    let capture = folder
        .join("run")
        .join(load["capture"].as_str().expect("a capture"));
    for (index, (name, who)) in [("field-fog", SENDERS), ("fog-office", SUBSCRIBER)]
        .into_iter()
        .enumerate()
    {
        let hop = &load["hops"][index];
        assert_eq!(hop["hop"], name, "{load}");
        // Packets of the first site go up: devices send up on the first hop, and receive up on the second.
        for (way, server) in [("up", "ip.dst == 10.78.0.1"), ("down", "ip.src == 10.78.0.1")] {
            let used = &hop["used"][way];
            let told = (used["packets"].as_u64(), used["bytes"].as_u64());
            let (packets, bytes) = crossed(&capture, &format!("{who} && {server} && !icmp"));
            assert!(packets > 0, "{name} {way}");
            assert_eq!(told, (Some(packets), Some(bytes)), "{name} {way}");
        }
    }
    let all = fields(&capture, "!icmp", &["ip.len"]).len();
    let counted = load["hops"].as_array().expect("hops").iter();
    let counted = counted.flat_map(|hop| ["up", "down"].map(|way| hop["used"][way]["packets"].as_u64()));
    assert_eq!(
        counted.flatten().sum::<u64>(),
        all as u64,
        "every packet has a hop"
    );
}

#[test]
fn in_virtual_time_bytes_by_hop_are_those_of_the_capture() {
    let home = open_folder();
    let said = run(home.path(), &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("fog-office"), "{}", said.stdout);
    hops_equal_the_capture(home.path());
    let load = load(home.path());
    let publish = load["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .find(|phase| phase["name"] == "publish");
    let publish = publish.expect("a publish phase");
    // 50 messages a second for 2 s, and the beats of the heart from 0 s to 2 s.
    assert_eq!(publish["outcomes"]["acknowledged"], 103, "{publish}");
    assert_eq!(publish["deliveries"]["arrived"], 103, "{publish}");
    // Up to the fog 1 ms, from there 15 ms, and the time of both packets at their rates.
    let delay = publish["one_way_delay_ns"]["p50"].as_f64().expect("a delay");
    assert!((16e6..16.5e6).contains(&delay), "{delay}");
    let hops = std::fs::read_to_string(home.path().join("run/hops.csv")).expect("hops.csv");
    assert!(hops.starts_with("load,phase,hop,up_packets,up_bytes,"), "{hops}");
}

#[test]
fn recorded_values_are_sent_at_their_times() {
    let home = open_folder();
    assert_eq!(run(home.path(), &[]).code, Some(0));
    let load = load(home.path());
    let capture = home
        .path()
        .join("run")
        .join(load["capture"].as_str().expect("a capture"));
    let sent = fields(
        &capture,
        "ip.src == 10.77.0.2 && mqtt.msgtype == 3",
        &["frame.time_epoch", "mqtt.msg"],
    );
    let trace = include_str!("../../../examples/heartbeat.csv");
    let recorded: Vec<(f64, &str)> = trace
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').expect("a comma"))
        .map(|(time, value)| (time.parse().expect("a time"), value))
        .take_while(|(time, _)| *time < 2.0)
        .collect();
    assert_eq!(sent.len(), recorded.len());
    let at = |row: &Vec<String>| row[0].parse::<f64>().expect("a time");
    for (row, (time, value)) in sent.iter().zip(&recorded) {
        let digits: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(row[1], digits);
        let after = at(row) - at(&sent[0]) - (time - recorded[0].0);
        assert!(after.abs() < 1e-5, "{time}: {after}");
    }
}

#[test]
fn a_wrong_trace_is_refused_with_its_line() {
    for (trace, set, why) in [
        (
            "time,value\n0,1\n2,1\n1,1\n",
            "seed=1",
            "payload.trace: t.csv, line 4: the time 1 is before 2, that of the value above",
        ),
        (
            "0,1\n",
            "seed=1",
            "payload.trace: t.csv, line 1: a trace begins with the line time,value",
        ),
        (
            "time,value\n0,1\n",
            "clients=1",
            "payload: the first device sends the trace: the rate is that of the others",
        ),
        (
            "time,value\n0,1\n",
            "phases=[{do: publish, closed_loop: true, count: 5}]",
            "payload: a trace is sent among messages at a rate",
        ),
        (
            "time,value\n0,1\n",
            "payload.trace=u.csv",
            "payload.trace: cannot read u.csv: No such file or directory",
        ),
    ] {
        let home = open_folder();
        let text = "wirecost: 1\nstack: mqtt-qos1\nengine: sim\npayload: {trace: t.csv}\nphases: [{do: publish, count: 5}]\n";
        std::fs::write(home.path().join("a.yaml"), text).expect("a file");
        std::fs::write(home.path().join("t.csv"), trace).expect("a file");
        let said = said(wirecost(home.path()).args(["run", "a.yaml", "--set", set]));
        assert_eq!(said.code, Some(2), "{why}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{why}: {}", said.stderr);
    }
}

#[test]
#[ignore = "needs root, tshark and mosquitto"]
fn live_bytes_by_hop_are_those_of_the_capture() {
    need_root();
    need_program("mosquitto", "mosquitto");
    for server in ["builtin", "mosquitto"] {
        let home = open_folder();
        let servers = format!("sites.fog.servers={server}");
        let said = run(
            home.path(),
            &[
                "engine=live",
                &servers,
                "thresholds={acknowledged: [\"count>0\"]}",
            ],
        );
        assert!(
            matches!(said.code, Some(0 | 14 | 99)),
            "{server}: {}",
            said.stderr
        );
        hops_equal_the_capture(home.path());
        let load = load(home.path());
        let arrived = &load["phases"][1]["deliveries"]["arrived"];
        assert_eq!(arrived, 103, "{server}: {load}");
    }
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_setting_of_a_real_server_is_in_its_configuration_and_in_the_summary() {
    need_root();
    need_program("mosquitto", "mosquitto");
    let home = open_folder();
    let said = run(
        home.path(),
        &[
            "engine=live",
            "sites.fog={servers: mosquitto, settings: {max_queued_messages: 7}}",
        ],
    );
    assert!(matches!(said.code, Some(0 | 14 | 99)), "{}", said.stderr);
    assert_eq!(load(home.path())["settings"]["max_queued_messages"], 7);
    let written =
        std::fs::read_to_string(home.path().join("run/mosquitto.d/mosquitto.conf")).expect("a configuration");
    let last = written
        .lines()
        .rfind(|line| line.starts_with("max_queued_messages"));
    assert_eq!(last, Some("max_queued_messages 7"), "{written}");
}

/// A figure of links has a value for each hop, and `link` says what is true of all links between sites.
#[test]
fn thresholds_select_a_hop_and_one_link_says_what_all_have() {
    let home = open_folder();
    let said = run(
        home.path(),
        &[
            "links={field-fog: {rate: 89Mbit}, fog-office: {rtt: 30ms}}",
            "link={rtt: 4ms}",
            "thresholds={\"link_bytes_up{hop=field-fog,phase=publish}\": [\"sum>10kB\"], \"link_bytes_up{hop=fog-office,phase=publish}\": [\"sum>10kB\"]}",
        ],
    );
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    let text = std::fs::read_to_string(home.path().join("run/summary.json")).expect("summary.json");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    let thresholds = summary["thresholds"].as_array().expect("thresholds");
    let hops = &summary["loads"][0]["phases"][1]["hops"];
    for (threshold, (hop, passes)) in thresholds.iter().zip([(&hops[0], true), (&hops[1], false)]) {
        assert_eq!(
            threshold["actual"].as_f64(),
            hop["up"]["bytes"].as_f64(),
            "{threshold} {hop}"
        );
        assert_eq!(threshold["pass"], passes, "{threshold}");
    }
    let delays = |hop: usize| &summary["loads"][0]["hops"][hop]["link"]["up"]["delay_ns"];
    assert_eq!((delays(0), delays(1)), (&2_000_000.into(), &15_000_000.into()));
}

#[test]
fn wrong_sites_are_refused_before_anything_runs() {
    for (set, why) in [
        (
            "sites.attic={}",
            "sites.attic: no link reaches it: join it to another site under links",
        ),
        (
            "sites.fog.servers=[mosquitto, builtin]",
            "sites.fog.servers: mosquitto and builtin would listen at one port: a site has one server of a stack",
        ),
        (
            "links.fog-cellar={rtt: 1ms}",
            "links.fog-cellar: there is no site cellar: the sites are field, fog, office",
        ),
        (
            "links.field-fog.mtu=1280B",
            "links.fog-office: the links between sites have one MTU, and an earlier one has another",
        ),
        (
            "links.office-fog={rtt: 1ms}",
            "links.office-fog: these two sites have a link already",
        ),
        (
            "at.senders=fog",
            "at.senders: fog has a server, and between it and devices there would be no link",
        ),
        ("at.senders=moon", "at.senders: there is no site moon"),
        (
            "sites.fog.servers=caddy",
            "target: a load in virtual time has the built-in server",
        ),
        (
            "sites.fog.settings={max_users: 1}",
            "sites.fog.settings.max_users: builtin has no settings here: leave out max_users",
        ),
        (
            "sites.field.settings={max_users: 1}",
            "sites.field.settings: they are those of a server, and there is none",
        ),
        (
            "link.rtt=1ms",
            "link.rtt: each of links has one of its own: leave it out",
        ),
        (
            "target=mosquitto",
            "target: the servers of sites are under sites: leave it out",
        ),
    ] {
        let home = open_folder();
        let said = run(home.path(), &[set]);
        assert_eq!(said.code, Some(2), "{set}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{set}: {}", said.stderr);
        assert!(!home.path().join("run/cells").exists(), "{set}");
    }
}
