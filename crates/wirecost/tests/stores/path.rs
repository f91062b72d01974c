//! The path of the fog-cloud study: sensors, the fog's broker, its bridge, the region's broker, and the database there.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::common::tshark::fields;
use crate::common::{ended, eventually, need_program, open_folder, said, wirecost};
use crate::database::{Database, Login, Sql};
use crate::keep::Storing;

const PATH: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../wirecost-studies/studies/fog-cloud/path.yaml"
);

/// 50 a second for 2 s, and the beats of the heart until then.
const READINGS: u64 = 103;

/// The store begins while the devices hold their connections.
const PHASES: &str = "phases=[{do: connect}, {do: hold, duration: 20s}, {do: publish, rate: 50/s, duration: 2s}, \
                      {do: await_replay, timeout: 10s}, {do: hold, duration: 2s}]";

/// What TCP has not sent before.
const FIRST_TIME: &str = "!(tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.spurious_retransmission)";

#[test]
#[ignore = "needs root, tshark, mosquitto and postgresql"]
fn what_sensors_send_is_what_broker_bridge_and_store_count() {
    need_program("mosquitto", "mosquitto");
    let home = open_folder();
    let mut database = Database::from_store(Sql::Postgres, Login::Trust, false);
    let mut command = wirecost(home.path());
    let folder = home.path().join("run");
    command.args([
        "run",
        PATH,
        "--quiet",
        "--set",
        "clients=20",
        "--set",
        PHASES,
        "--out",
    ]);
    command.arg(&folder);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let run = run.expect("wirecost starts");
    let mut broker = None;
    eventually("the broker of the region runs", || {
        broker = process_with(&format!("{}/region/", folder.display()));
        broker.is_some()
    });
    database.move_to(broker.expect("a broker"));
    let mut store = wirecost(home.path());
    store.args(["store", "mqtt://10.78.1.1/sensors/%23", &database.url()]);
    let storing = Storing::from_command(database.beside_it(store));

    let said = ended(run);
    assert!(matches!(said.code, Some(0 | 14)), "{}", said.stderr);
    let load = load(home.path());
    let phases = load["phases"].as_array().expect("phases");
    let publish = phases
        .iter()
        .find(|phase| phase["name"] == "publish")
        .expect("publish");
    assert_eq!(publish["outcomes"]["offered"], READINGS, "{load}");
    assert_eq!(publish["outcomes"]["acknowledged"], READINGS, "{load}");
    assert_eq!(publish["deliveries"]["arrived"], READINGS, "{load}");
    eventually("every reading is a row", || database.rows() >= READINGS);
    assert_eq!(
        storing.counts(),
        [READINGS, READINGS, 0, 0, 0, 0, 0, 0],
        "received and stored"
    );
    assert_eq!(database.rows(), READINGS);
    hops_carry_the_readings(home.path(), &load);
}

/// A process with this text in its command line.
fn process_with(text: &str) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    })
}

fn load(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run/summary.json")).expect("summary.json");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    summary["loads"][0].clone()
}

/// One capture has each reading on each hop, and no packet of anything else.
fn hops_carry_the_readings(home: &Path, load: &Value) {
    let capture = load["capture"].as_str().expect("a capture");
    let path = home.join("run").join(capture);
    let hops = [
        ("sensors-fog", "10.77.0.0/16", "10.78.0.1", "10.78.0.1"),
        ("fog-region", "10.78.0.1", "10.78.1.1", "10.78.1.1"),
        ("store-region", "10.77.0.0/16", "10.78.1.1", "10.77.0.0/16"),
    ];
    for (index, (name, from, to, receiver)) in hops.into_iter().enumerate() {
        let hop = &load["hops"][index];
        assert_eq!(hop["hop"], name, "{load}");
        let between = format!("ip.addr == {from} && ip.addr == {to}");
        let messages = format!("{between} && ip.dst == {receiver} && mqtt.msgtype == 3 && {FIRST_TIME}");
        // A packet may hold several messages. A bridge also says that it is there, under $SYS, and removes a subscription to its filter.
        let rows = fields(&path, &messages, &["mqtt.topic"]);
        let topics = rows.iter().flat_map(|row| row[0].split(','));
        let readings = topics.filter(|topic| topic.starts_with("sensors/") && *topic != "sensors/#");
        assert_eq!(readings.count() as u64, READINGS, "{name}");
        for (way, from, to) in [("up", from, to), ("down", to, from)] {
            let used = &hop["used"][way];
            let told = (used["packets"].as_u64(), used["bytes"].as_u64());
            let lengths = fields(&path, &format!("ip.src == {from} && ip.dst == {to}"), &["ip.len"]);
            let bytes: u64 = lengths
                .iter()
                .map(|row| row[0].parse::<u64>().expect("a length"))
                .sum();
            assert_eq!(told, (Some(lengths.len() as u64), Some(bytes)), "{name} {way}");
        }
    }
    let capture = format!("run/{capture}");
    let told = said(wirecost(home).args(["pcap", &capture, "--json", "-"]));
    let report: Value = serde_json::from_str(&told.stdout).expect("a report");
    assert_eq!(report["unattributed"], serde_json::json!([]), "{report}");
}
