//! Several testers at one server.

use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::broker::Broker;
use crate::common::{WIRECOST, ended, eventually, need_root, wirecost};
use crate::{in_namespaces, load_of, phase, run};

/// CONNACK of MQTT 3.1.1: accepted.
const ACCEPTED: &[u8] = &[0x20, 2, 0, 0];

/// A broker of wirecost on any port.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start() -> Self {
        let free = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = free.local_addr().expect("its address");
        drop(free);
        let mut command = Command::new(WIRECOST);
        command.args(["serve", "mqtt", "--listen", &address.to_string()]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().expect("a broker");
        eventually("the broker listens", || {
            std::net::TcpStream::connect(address).is_ok()
        });
        Self {
            child,
            url: format!("mqtt://{address}/t"),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn every_run_has_client_identifiers_of_its_own_and_of_one_length() {
    let home = TempDir::new().expect("a folder");
    let broker = Broker::answering(ACCEPTED);
    let load = format!("load {}/t -c 2 -d 100ms -r 20/s --qos 0 -q", broker.url("mqtt"));
    for _ in 0..2 {
        run(home.path(), &load);
    }
    let ids = broker.client_ids();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids.iter().all(|id| id.len() == "wc-00001".len()), "{ids:?}");
    let numbers: Vec<&str> = ids.iter().map(|id| &id[3..]).collect();
    assert_eq!(
        numbers.iter().filter(|number| **number == "00001").count(),
        2,
        "{ids:?}"
    );
    let broker = Broker::answering(ACCEPTED);
    for _ in 0..2 {
        run(
            home.path(),
            &format!("probe --mqtt 3.1.1 --timeout 200ms {}/t", broker.url("mqtt")),
        );
    }
    let ids = broker.client_ids();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(ids.iter().all(|id| id.len() == "wc-1".len()), "{ids:?}");
    let broker = Broker::answering(ACCEPTED);
    let named = format!(
        "load {}/t -c 1 -d 100ms -r 20/s --qos 0 -q --client-id wc-%05d",
        broker.url("mqtt")
    );
    run(home.path(), &named);
    assert_eq!(broker.client_ids(), ["wc-00001"], "a person's own is used");
}

#[test]
#[ignore = "needs root"]
fn devices_of_a_comparison_have_the_identifiers_of_their_run() {
    need_root();
    let home = TempDir::new().expect("a folder");
    let broker = Broker::answering(ACCEPTED);
    let compare = format!(
        "compare mqtt-qos1 -n 2 --target {} --engine live -q",
        broker.url("mqtt")
    );
    for _ in 0..2 {
        run(home.path(), &compare);
    }
    let ids = broker.client_ids();
    assert!(ids.len() >= 4, "{ids:?}");
    assert!(
        ids.iter()
            .all(|id| id.len() == "wc-00001".len() && !id.starts_with("wc-")),
        "{ids:?}"
    );
}

/// A load with a subscriber.
fn loading(home: &TempDir, url: &str, more: &str) -> Child {
    let mut command = wirecost(home.path());
    command.args(["load", url, "-c", "3", "--subscribers", "1", "-q", "--json", "-"]);
    command.args(more.split(' '));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("a load")
}

#[test]
fn two_testers_neither_throw_each_other_out_nor_count_each_others_messages() {
    let (first, second) = (
        TempDir::new().expect("a folder"),
        TempDir::new().expect("a folder"),
    );
    let broker = Serving::start();
    let both = [
        loading(&first, &broker.url, "-n 90 -r 30/s"),
        loading(&second, &broker.url, "-n 180 -r 60/s"),
    ];
    let loads = both.map(|child| load_of(&ended(child)));
    for (load, sent) in loads.iter().zip([90, 180]) {
        let publish = phase(load, "publish");
        assert_eq!(publish["outcomes"]["acknowledged"], sent, "{publish}");
        assert_eq!(publish["connects"]["lost"], 0, "{publish}");
        let deliveries = &publish["deliveries"];
        assert_eq!(deliveries["arrived"], sent, "{deliveries}");
        assert_eq!(deliveries["duplicates"], 0, "{deliveries}");
        assert!(
            publish["missing"].as_u64().is_none_or(|missing| missing == 0),
            "{publish}"
        );
    }
    let of_others = |load: &Value| phase(load, "publish")["deliveries"]["of_others"].as_u64();
    assert!(of_others(&loads[0]) > Some(0), "they met: {}", loads[0]);
    let tags = loads.each_ref().map(|load| load["run_tag"].clone());
    assert!(tags[0].is_string() && tags[0] != tags[1], "{tags:?}");
    let kinds = |load: &Value| phase(load, "publish")["warnings"].to_string();
    assert!(
        kinds(&loads[0]).contains("messages-of-others"),
        "{}",
        kinds(&loads[0])
    );
}

#[test]
#[ignore = "needs root and iproute2"]
fn the_wire_is_counted_of_the_own_connections_alone() {
    let home = TempDir::new().expect("a folder");
    let script = "ip link set lo up; \"$0\" serve mqtt --listen 127.0.0.1:1883 >/dev/null 2>&1 & serving=$!; sleep 0.5; \
                  \"$0\" load mqtt://127.0.0.1/other -c 5 -r 400/s -d 4s -s 1kB -q --out other >/dev/null 2>&1 & other=$!; \
                  \"$0\" load mqtt://127.0.0.1/own -c 2 -n 50 -r 50/s -s 16B -q --out own --json -; wait $other; kill $serving";
    let said = in_namespaces(home.path(), "--net", script);
    let load = load_of(&said);
    let publish = phase(&load, "publish");
    assert_eq!(publish["outcomes"]["acknowledged"], 50, "{publish}");
    let bytes = |way: &str| publish["wire"][way]["bytes"].as_u64().expect("a count");
    let packets = publish["wire"]["up"]["packets"].as_u64().expect("a count");
    // 50 messages of 16 B: each with its PUBLISH, and at most one bare acknowledgement.
    assert!((50..=110).contains(&packets), "{publish}");
    assert!((50 * 70..12_000).contains(&bytes("up")), "{publish}");
    assert!((50 * 44..12_000).contains(&bytes("down")), "{publish}");
    assert!(load["wire_of_all"].is_null());
}
