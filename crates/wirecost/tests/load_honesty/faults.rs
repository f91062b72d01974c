//! A target that stops, dies or disappears: the load ends in bounded time, and every message has an outcome.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{WIRECOST, need_root};
use crate::rig::{Loaded, Loading, Target};

const TIMES: &str = "--clients 10 --rate 500/s --duration 4s --timeout 2s --connect-timeout 2s";
/// Four seconds of messages, the time-out, the drain of the same length, and what a busy machine takes beside them.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for the end of a load, which must come soon.
fn ended(loading: Loading) -> Loaded {
    let begun = Instant::now();
    let loaded = loading.end();
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    let outcomes = loaded.outcomes();
    assert_eq!(outcomes.offered, 2_000, "nothing is withheld: {outcomes:?}");
    loaded
}

#[test]
fn a_target_that_stops_for_good_leaves_messages_unknown_or_late() {
    for (stack, scheme) in [
        ("mqtt-qos1", "mqtt"),
        ("coap-con", "coap"),
        ("http1", "http"),
        ("amqp-unsettled", "amqp"),
    ] {
        let target = Target::start(stack);
        let loading = Loading::start(&format!("{} {TIMES}", target.url(scheme)));
        thread::sleep(Duration::from_secs(2));
        target.signal("STOP");
        let outcomes = ended(loading).outcomes();
        target.signal("CONT");
        assert!(outcomes.acknowledged > 0, "{stack}: {outcomes:?}");
        assert!(outcomes.unknown + outcomes.failed > 500, "{stack}: {outcomes:?}");
    }
}

#[test]
fn a_target_that_is_killed_and_started_again_is_used_again() {
    let target = Target::start("mqtt-qos1");
    let address = target.address;
    let loading = Loading::start(&format!("{} {TIMES}", target.url("mqtt")));
    thread::sleep(Duration::from_millis(1_500));
    drop(target);
    thread::sleep(Duration::from_secs(1));
    let mut again = Target::at("mqtt-qos1", address);
    let loaded = ended(loading);
    let outcomes = loaded.outcomes();
    assert!(again.messages() > 0, "its devices come back: {outcomes:?}");
    assert!(outcomes.acknowledged > 0, "{outcomes:?}");
    let load = loaded.only();
    let bottleneck = load.bottleneck.as_ref().expect("a bottleneck");
    assert_eq!(bottleneck.who, "target", "{}", bottleneck.why);
    let mut warnings = load.phases.iter().flat_map(|phase| &phase.warnings);
    assert!(
        warnings.any(|warning| warning.text.starts_with("the target was away: it ended ")),
        "{}",
        loaded.stderr
    );
}

#[test]
#[ignore = "needs root"]
fn a_link_that_swallows_everything_ends_the_load_all_the_same() {
    need_root();
    let home = tempfile::TempDir::new().expect("a folder");
    // In a network of its own, whose one interface goes down in the middle: nothing arrives, and nobody says so.
    let script = format!(
        "ip link set lo up && {{ sleep 2; ip link set lo down; }} & \
         sleep 0.2; exec {WIRECOST} load mqtt-qos1 {TIMES} --json summary.json --quiet"
    );
    let mut command = Command::new("unshare");
    command
        .args(["--net", "sh", "-c", &script])
        .current_dir(home.path());
    let begun = Instant::now();
    let said = crate::common::said(&mut command);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    let text = std::fs::read_to_string(home.path().join("summary.json"));
    let text = text.unwrap_or_else(|error| panic!("{error}\n{}", said.stderr));
    let loaded = Loaded {
        code: said.code,
        summary: serde_json::from_str(&text).expect("a summary"),
        stderr: said.stderr,
    };
    let outcomes = loaded.outcomes();
    assert_eq!(outcomes.offered, 2_000, "{outcomes:?}");
    assert!(
        outcomes.acknowledged > 0 && outcomes.acknowledged < 1_500,
        "{outcomes:?}"
    );
}
