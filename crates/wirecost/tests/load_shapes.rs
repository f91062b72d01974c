//! What devices of a load are and do beside sending messages, with exact counts, against our broker and Mosquitto. The
//! counts are the subject: how late the generator was on a busy machine is not.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

mod common;

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{Said, eventually, said, signal, wirecost};
use serde_json::Value;
use tempfile::TempDir;

/// The counts of a load.
struct Counted(Value);

impl Counted {
    /// Runs a load with arguments that are separated by blanks.
    fn from_arguments(arguments: &str) -> Self {
        let home = TempDir::new().expect("a folder");
        let mut command = load(home.path(), arguments);
        Self::read(&said(&mut command), arguments)
    }

    fn read(said: &Said, arguments: &str) -> Self {
        // 14: the generator was late, which is no matter here.
        assert!(
            matches!(said.code, Some(0 | 14)),
            "{arguments}: {:?}\n{}",
            said.code,
            said.stderr
        );
        Self(serde_json::from_str(&said.stdout).expect("a summary"))
    }

    fn phases(&self) -> &[Value] {
        self.0["loads"][0]["phases"].as_array().expect("phases")
    }

    /// A count, added up over all phases of that name, or over all.
    fn sum(&self, phase: Option<&str>, section: &str, name: &str) -> u64 {
        let phases = self.phases().iter();
        phases
            .filter(|one| phase.is_none_or(|phase| one["name"] == phase))
            .map(|one| one[section][name].as_u64().unwrap_or(0))
            .sum()
    }

    fn deliveries(&self, name: &str) -> u64 {
        self.sum(None, "deliveries", name)
    }

    /// Every offered message of a phase has one outcome, and these are the outcomes.
    fn assert_outcomes(&self, phase: &str, expected: &[(&str, u64)]) {
        for (name, count) in expected {
            assert_eq!(self.sum(Some(phase), "outcomes", name), *count, "{phase}: {name}");
        }
    }

    /// Every expected message has arrived, once and in order.
    fn assert_delivered(&self, expected: u64) {
        let counts = ["expected", "arrived", "duplicates", "out_of_order"].map(|name| self.deliveries(name));
        assert_eq!(counts, [expected, expected, 0, 0]);
    }
}

fn load(home: &Path, arguments: &str) -> Command {
    let mut command = wirecost(home);
    command
        .args(["load", "--quiet", "--json", "-"])
        .args(arguments.split(' '));
    command
}

/// The same load against our broker and Mosquitto, which is addressed by URL.
fn on_both(qos: u8, arguments: &str, check: impl Fn(&Counted)) {
    let broker = Mosquitto::start();
    let targets = [
        format!("mqtt-qos{qos}"),
        format!("mqtt://127.0.0.1:{}/test --qos {qos}", broker.port),
    ];
    for target in targets {
        let arguments = format!("{target} {arguments}");
        eprintln!("{arguments}");
        check(&Counted::from_arguments(&arguments));
    }
}

#[test]
#[ignore = "needs mosquitto"]
fn every_subscriber_receives_every_message_that_it_asked_for() {
    on_both(
        1,
        "-c 5 -r 100/s -n 100 --resource t/%d/s --subscribers 50",
        |counted| {
            counted.assert_outcomes("publish", &[("offered", 100), ("acknowledged", 100)]);
            counted.assert_delivered(5_000);
        },
    );
    on_both(
        2,
        "-c 4 -r 100/s -n 100 --resource t/%d/s --subscribers 4 --filter t/%d/+",
        |counted| {
            counted.assert_delivered(100);
        },
    );
}

#[test]
#[ignore = "needs mosquitto"]
fn unacknowledged_messages_are_delivered() {
    on_both(0, "-c 5 -r 100/s -n 100 --subscribers 3", |counted| {
        counted.assert_delivered(300);
        let outcomes = [
            ("acknowledged", 0),
            ("unknown", 0),
            ("delivered", 100),
            ("lost", 0),
        ];
        counted.assert_outcomes("publish", &outcomes);
    });
    let builtin = Counted::from_arguments("mqtt-qos0 -c 5 -r 100/s -n 100");
    builtin.assert_outcomes("publish", &[("offered", 100), ("delivered", 100), ("lost", 0)]);
}

#[test]
#[ignore = "needs mosquitto"]
fn a_shared_subscription_receives_each_message_once() {
    on_both(
        1,
        "-c 5 -r 100/s -n 200 --resource t/%d --subscribers 8 --shared g",
        |counted| {
            counted.assert_delivered(200);
        },
    );
}

#[test]
#[ignore = "needs mosquitto"]
fn sessions_receive_exactly_their_queued_messages() {
    for qos in [1, 2] {
        let arguments = "-c 5 -r 100/s -n 50 --subscribers 4 --session-expiry 60s --replay";
        on_both(qos, arguments, |counted| {
            counted.assert_outcomes("reconnect", &[("offered", 4), ("acknowledged", 4)]);
            counted.assert_delivered(200);
            assert_eq!(counted.deliveries("replayed"), 200);
        });
    }
}

#[test]
#[ignore = "needs mosquitto"]
fn messages_beyond_the_brokers_room_are_missing() {
    let broker = Mosquitto::with_queues_of(100);
    let counted = Counted::from_arguments(&format!(
        "mqtt://127.0.0.1:{}/qz -c 3 -n 300 --closed-loop --subscribers 2 --session-expiry 1h --replay",
        broker.port
    ));
    counted.assert_outcomes("publish", &[("offered", 300), ("acknowledged", 300)]);
    assert_eq!(counted.deliveries("expected"), 600);
    let mut publish = counted.phases().iter().filter(|phase| phase["name"] == "publish");
    let publish = publish.next().expect("the phase");
    let missing = publish["missing"].as_u64().expect("a count");
    assert!(missing > 0, "{publish}");
    assert_eq!(missing, 600 - counted.deliveries("arrived"));
    let warnings = publish["warnings"].as_array().expect("warnings").iter();
    assert!(
        warnings
            .into_iter()
            .any(|warning| warning["kind"] == "deliveries-missing")
    );
}

#[test]
#[ignore = "needs mosquitto"]
fn late_subscribers_receive_retained_messages() {
    on_both(
        1,
        "-c 6 -r 100/s -n 18 --resource r/%d --subscribers 3 --retain --late-subscribers",
        |counted| {
            counted.assert_delivered(18);
            assert_eq!(counted.deliveries("replayed"), 18);
        },
    );
}

#[test]
#[ignore = "needs mosquitto"]
fn devices_that_are_lost_leave_their_wills_and_come_back() {
    let storm = "-c 50 -d 1s --reconnect-storm --backoff 1s..2s --subscribers 2 --filter w/#";
    on_both(1, &format!("{storm} --will-topic w/%d"), |counted| {
        counted.assert_delivered(100);
        counted.assert_outcomes("reconnect", &[("offered", 50), ("acknowledged", 50)]);
        assert_eq!(counted.sum(Some("drop"), "connects", "lost"), 50);
        assert_eq!(counted.sum(Some("reconnect"), "connects", "established"), 50);
    });
}

#[test]
fn a_storm_reports_usage_and_the_bottleneck() {
    let counted = Counted::from_arguments("mqtt-qos1+tls1.3 -c 40 -d 1s --reconnect-storm --backoff 1s..2s");
    let load = &counted.0["loads"][0];
    for side in ["generator", "target_use"] {
        let used = &load[side];
        let cpu_s = used["user_s"].as_f64().zip(used["system_s"].as_f64());
        assert!(
            cpu_s.is_some_and(|(user_s, system_s)| user_s + system_s > 0.0),
            "{side}: {used}"
        );
        assert!(used["cpu_share"].as_f64().is_some_and(|share| share > 0.0));
        assert!(used["cpu_s_per_million"].is_null(), "no message was sent");
    }
    assert!(load["bottleneck"]["who"].is_string(), "{load}");
}

#[test]
fn handshakes_keep_to_their_rate_and_their_start() {
    for (start, kind) in [
        ("cold", None),
        ("resumed", Some("resumed")),
        ("0rtt", Some("early")),
    ] {
        let counted = Counted::from_arguments(&format!(
            "mqtt-qos1+tls1.3 -c 5 -r 50/s -n 50 --connect-only --start {start}"
        ));
        counted.assert_outcomes("handshakes", &[("offered", 50), ("acknowledged", 50)]);
        for name in ["resumed", "early"] {
            let expected = if kind == Some(name) { 50 } else { 0 };
            assert_eq!(
                counted.sum(Some("handshakes"), "connects", name),
                expected,
                "{start}: {name}"
            );
        }
    }
}

#[test]
fn requests_are_answered_with_the_resources_payload() {
    for stack in ["http1", "coap-con", "http3"] {
        let counted = Counted::from_arguments(&format!("{stack} -c 3 -r 50/s -n 50 --get"));
        counted.assert_outcomes("request", &[("offered", 50), ("acknowledged", 50)]);
    }
}

#[test]
fn observers_receive_changes() {
    for stack in ["coap-con", "coap-con+oscore"] {
        let counted = Counted::from_arguments(&format!("{stack} -c 2 -r 20/s -n 20 --subscribers 3"));
        counted.assert_outcomes("publish", &[("offered", 21), ("acknowledged", 21)]);
        // Of the latest state at least, not of each one (RFC 7641, section 1.3).
        let arrived = counted.deliveries("arrived");
        assert!((3..=60).contains(&arrived), "{stack}: {arrived}");
    }
}

#[test]
fn a_payload_is_a_file_or_a_text() {
    let home = TempDir::new().expect("a folder");
    std::fs::write(home.path().join("payload"), "twenty-three characters").expect("a file");
    for payload in [
        "--payload-file payload",
        "--payload-template {\"d\":%d,\"n\":%n,\"r\":\"%r\"}",
    ] {
        let arguments =
            format!("mqtt-qos1 -c 2 -r 50/s -n 20 --resource a/%d/%n --subscribers 1 --filter # {payload}");
        let counted = Counted::read(&said(&mut load(home.path(), &arguments)), &arguments);
        assert_eq!(counted.deliveries("arrived"), 20);
        assert!(
            counted
                .phases()
                .iter()
                .all(|phase| phase["one_way_delay_ns"].is_null())
        );
    }
}

#[test]
fn a_missing_feature_of_a_stack_is_a_usage_error() {
    let home = TempDir::new().expect("a folder");
    for (arguments, reason) in [
        ("http1 --subscribers 3", "pushes nothing"),
        ("mqtt-qos1 --get", "no requests"),
        ("coap-con --retain", "no retained messages"),
        ("udp --connect-only", "no connections"),
        ("http1+tls1.3 --connect-only --start 0rtt", "early data"),
        ("mqtt-qos1+tls1.3 --start resumed", "connects once"),
        ("mqtt-qos1 --resource t/%y", "topic: %"),
        (
            "mqtt-qos1 --subscribers 2 --filter t/%n",
            "only %d can stand here",
        ),
        (
            "mqtt-qos1 --reconnect-storm --backoff 9s..1s",
            "must not be above",
        ),
    ] {
        let said = said(&mut load(home.path(), arguments));
        assert_eq!(said.code, Some(2), "{arguments}: {}", said.stderr);
        assert!(said.stderr.contains(reason), "{arguments}: {}", said.stderr);
    }
}

/// Mosquitto that keeps sessions on disk, so that it can be killed and started again.
struct Mosquitto {
    home: TempDir,
    port: u16,
    child: Child,
}

impl Mosquitto {
    fn start() -> Self {
        Self::with_queues_of(0)
    }

    /// A broker that queues this many messages for a session; 0 means no limit.
    fn with_queues_of(messages: u32) -> Self {
        let home = TempDir::new().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        let configuration = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\nuser root\npersistence true\n\
             persistence_location {}/\nautosave_on_changes true\nautosave_interval 1\nmax_queued_messages {messages}\n",
            home.path().display()
        );
        std::fs::write(home.path().join("mosquitto.conf"), configuration).expect("a configuration");
        let child = Self::spawn(home.path(), port);
        Self { home, port, child }
    }

    fn spawn(home: &Path, port: u16) -> Child {
        let child = Command::new("/usr/sbin/mosquitto")
            .args(["-c", "mosquitto.conf"])
            .current_dir(home)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Debian's package mosquitto is installed");
        eventually("Mosquitto listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        child
    }

    fn kill(&mut self) {
        signal(self.child.id(), "KILL");
        self.child.wait().expect("it ends");
    }

    fn restart(&mut self) {
        self.child = Self::spawn(self.home.path(), self.port);
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
#[ignore = "needs mosquitto"]
fn devices_reconnect_to_a_killed_broker_and_all_messages_end() {
    let mut broker = Mosquitto::start();
    let arguments = format!(
        "mqtt://127.0.0.1:{}/t -c 20 -r 100/s -d 8s --subscribers 2 --session-expiry 60s --timeout 20s",
        broker.port
    );
    let home = TempDir::new().expect("a folder");
    let mut command = load(home.path(), &arguments);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a load");
    thread::sleep(Duration::from_secs(3));
    broker.kill();
    thread::sleep(Duration::from_secs(1));
    broker.restart();
    let said = common::ended(child);
    assert!(
        matches!(said.code, Some(0 | 13 | 14)),
        "{:?}: {}",
        said.code,
        said.stderr
    );
    let counted = Counted(serde_json::from_str(&said.stdout).expect("a summary"));
    let outcome = |name| counted.sum(Some("publish"), "outcomes", name);
    let ends = [
        "acknowledged",
        "refused",
        "failed",
        "late",
        "unknown",
        "delivered",
        "lost",
    ];
    assert_eq!(outcome("offered"), 800);
    assert_eq!(ends.into_iter().map(outcome).sum::<u64>(), 800);
    assert_eq!(
        outcome("acknowledged") + outcome("late"),
        800,
        "sessions send again what was not answered"
    );
    assert_eq!(counted.sum(Some("publish"), "connects", "lost"), 22);
    assert_eq!(counted.sum(Some("publish"), "connects", "established"), 22);
    assert!(counted.sum(Some("publish"), "connects", "attempted") >= 22);
}
