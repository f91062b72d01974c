//! `wirecost load` over an emulated link: counts are exact, times hold what was asked, and what the link did is said.

mod common;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use common::tshark::fields;
use common::{Said, as_nobody, need_program, need_root, open_folder, said, wirecost};

/// A load of words that are separated by blanks, in a folder of its own; `prepare` may have it run by somebody else.
fn run(arguments: &str, prepare: impl FnOnce(Command, &Path) -> Command) -> Said {
    need_root();
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.arg("load").args(arguments.split(' '));
    command.args(["--quiet", "--json", "-", "--out", "run"]);
    said(&mut prepare(command, home.path()))
}

/// The load of a run that has figures: nothing against it but what a busy machine earns, which counts do not feel.
fn load(arguments: &str) -> Value {
    figures(arguments, &run(arguments, |command, _| command))
}

fn figures(arguments: &str, said: &Said) -> Value {
    assert!(
        matches!(said.code, Some(0 | 13 | 14)),
        "{arguments}: {:?} {}",
        said.code,
        said.stderr
    );
    let mut summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    summary["loads"][0].take()
}

/// The summary of a run whose only fault may be a busy machine.
fn summary_of(said: &Said) -> Value {
    assert!(
        matches!(said.code, Some(0 | 14)),
        "{:?} {}",
        said.code,
        said.stderr
    );
    serde_json::from_str(&said.stdout).expect("a summary")
}

fn phase<'a>(load: &'a Value, name: &str) -> &'a Value {
    let phases = load["phases"].as_array().expect("phases");
    let found = phases.iter().find(|phase| phase["name"] == name);
    found.unwrap_or_else(|| panic!("no phase {name} in {load}"))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Messages that have ended in any way.
fn ended(outcomes: &Value) -> u64 {
    [
        "acknowledged",
        "refused",
        "failed",
        "late",
        "unknown",
        "delivered",
        "lost",
    ]
    .into_iter()
    .map(|name| count(&outcomes[name]))
    .sum()
}

/// The link could give no more; a generator that a busy machine has held up is named before it, and spoils its load.
fn is_the_bottleneck(load: &Value) -> bool {
    let who = load["bottleneck"]["who"].as_str();
    who == Some("link") || load["valid"] == false && who == Some("generator")
}

/// No packet arrives before its time but for the precision of histograms: 0.1 %.
fn at_least(times: &Value, nanos: f64, what: &str) {
    let median = times["p50"].as_f64().unwrap_or_else(|| panic!("{what}: {times}"));
    assert!(median >= nanos * 0.99, "{what}: a median of {median} ns");
}

#[test]
#[ignore = "needs root"]
fn counts_are_exact_and_times_hold_the_round_trip() {
    for stack in [
        "tcp",
        "udp",
        "mqtt-qos1",
        "coap-con",
        "amqp-unsettled+tls1.3",
        "http3",
        "coap-con+dtls1.3",
    ] {
        let load = load(&format!("{stack} -c 3 -r 50/s -n 50 --rtt 40ms"));
        let publish = phase(&load, "publish");
        let outcomes = &publish["outcomes"];
        let carried = count(&outcomes["acknowledged"]) + count(&outcomes["delivered"]);
        assert_eq!(
            (count(&outcomes["offered"]), carried),
            (50, 50),
            "{stack}: {load}"
        );
        assert_eq!(
            (&publish["sent"], &publish["deliveries"]["arrived"]),
            (&50.into(), &50.into())
        );
        at_least(&publish["one_way_delay_ns"], 20e6, stack);
        if !publish["response_kind"].is_null() {
            at_least(&publish["response_time_ns"], 40e6, stack);
        }
        let link = &load["link"];
        at_least(
            &serde_json::json!({"p50": link["achieved"]["rtt_p50_ns"]}),
            40e6,
            "echoes",
        );
        assert_eq!(link["dropped_packets"], 0, "{link}");
        assert!(count(&publish["link"]["up"]["packets"]) >= 50, "{publish}");
        assert_eq!(publish["link"]["up"]["lost"], 0);
        assert!(count(&link["emulator"]["packets"]) >= 50, "{link}");
    }
}

#[test]
#[ignore = "needs root"]
fn under_loss_every_message_has_one_outcome() {
    // What got no answer ends by the time-out, which the load waits for. TCP repeats for longer.
    for (stack, timeout) in [
        ("udp", "5s"),
        ("coap-non", "5s"),
        ("coap-con", "5s"),
        ("mqtt-qos1", "30s"),
    ] {
        let load = load(&format!(
            "{stack} -c 5 -r 200/s -n 400 --rtt 10ms --loss 5% --timeout {timeout}"
        ));
        let publish = phase(&load, "publish");
        let outcomes = &publish["outcomes"];
        assert_eq!(
            (count(&outcomes["offered"]), ended(outcomes)),
            (400, 400),
            "{stack}: {load}"
        );
        assert!(count(&publish["link"]["up"]["lost"]) > 0, "{stack}: {publish}");
        if matches!(stack, "udp" | "coap-non") {
            let arrived = &publish["deliveries"]["arrived"];
            assert_eq!(&outcomes["delivered"], arrived, "{stack}");
            assert!(count(&outcomes["lost"]) > 0, "{stack}: {outcomes}");
            assert!(is_the_bottleneck(&load), "{stack}: {load}");
        } else if stack == "mqtt-qos1" {
            // TCP repeats until it gets through; a confirmable message may have no answer in time, and hold up others.
            assert_eq!(outcomes["acknowledged"], 400, "{stack}: {load}");
        }
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn devices_that_share_sockets_share_the_link_too() {
    /// Of an IPv4 and a UDP header, in bytes.
    const HEADERS: u64 = 28;
    let load = load("coap-con -c 200 -r 400/s -n 800 --rtt 40ms --shared-socket --threads 1");
    assert_eq!(load["shared_socket"], true, "{load}");
    let publish = phase(&load, "publish");
    let outcomes = &publish["outcomes"];
    assert_eq!(
        (&outcomes["offered"], &outcomes["acknowledged"], &publish["sent"]),
        (&800.into(), &800.into(), &800.into()),
        "{load}"
    );
    assert_eq!(publish["deliveries"]["arrived"], 800, "{publish}");
    at_least(&publish["response_time_ns"], 40e6, "coap-con");
    // Each datagram is a packet, and what sockets were given is what the link has carried, to the byte.
    let up = &publish["link"]["up"];
    let packets = count(&up["packets"]);
    assert!(packets >= 800, "{publish}");
    assert_eq!(
        count(&publish["socket_bytes_up"]) + HEADERS * packets,
        count(&up["bytes"]),
        "{publish}"
    );
}

#[test]
#[ignore = "needs root and tshark"]
fn devices_speak_ipv6_where_that_is_asked_for() {
    /// Of an IPv6 and a UDP header, in bytes.
    const HEADERS: u64 = 48;
    need_root();
    let home = open_folder();
    let mut command = wirecost(home.path());
    let arguments = "load coap-con -c 300 -r 200/s -n 200 --rtt 20ms --processes 2 --ipv6 --capture";
    command.args(arguments.split(' '));
    let said = said(command.args(["--quiet", "--json", "-", "--out", "run"]));
    let mut summary = summary_of(&said);
    let load = summary["loads"][0].take();
    assert_eq!(load["ipv6"], true, "{load}");
    let publish = phase(&load, "publish");
    assert_eq!(publish["outcomes"]["acknowledged"], 200, "{load}");
    at_least(&publish["response_time_ns"], 20e6, "coap-con");
    let up = &publish["link"]["up"];
    assert_eq!(
        count(&publish["socket_bytes_up"]) + HEADERS * count(&up["packets"]),
        count(&up["bytes"]),
        "{publish}"
    );
    let capture = load["capture"].as_str().expect("the name of a capture");
    let capture = home.path().join("run").join(capture);
    assert!(fields(&capture, "ip", &["frame.number"]).is_empty());
    let requests = fields(&capture, "coap.code == 2 || coap.code == 3", &["ipv6.src"]);
    let devices: std::collections::BTreeSet<_> = requests.iter().flatten().collect();
    assert!(requests.len() >= 200 && devices.len() > 150, "{}", devices.len());
}

#[test]
#[ignore = "needs root and mosquitto"]
fn real_servers_and_loopback_speak_ipv6_as_well() {
    need_program("mosquitto", "mosquitto");
    for arguments in [
        "mqtt-qos1 -c 3 -r 100/s -n 60 --target mosquitto --rtt 10ms --ipv6",
        "mqtt-qos1 -c 3 -r 100/s -n 60 --ipv6",
        "coap-con -c 3 -r 100/s -n 60 --ipv6",
    ] {
        let load = load(arguments);
        let publish = phase(&load, "publish");
        assert_eq!(publish["outcomes"]["acknowledged"], 60, "{arguments}: {load}");
    }
}

#[test]
#[ignore = "needs root"]
fn packets_in_transit_for_over_a_second_are_awaited() {
    let one = load("udp -c 1 -n 1 --rtt 2600ms");
    let publish = phase(&one, "publish");
    assert_eq!(publish["outcomes"]["delivered"], 1, "{publish}");
    let told = load("mqtt-qos0 -c 1 -n 1 --subscribers 1 --rtt 1500ms");
    let arrived = told["phases"].as_array().expect("phases").iter();
    let arrived = arrived.filter_map(|phase| phase["deliveries"]["arrived"].as_u64());
    assert_eq!(arrived.sum::<u64>(), 1, "{told}");
}

#[test]
#[ignore = "needs root"]
fn a_link_that_lets_nothing_through_ends_the_load_in_time() {
    let said = run(
        "mqtt-qos1 -c 2 -n 10 --loss 100% --connect-timeout 500ms --timeout 500ms",
        |command, _| command,
    );
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("error: no device could connect to builtin on 10.78.0.1:1883")
    );
    let load = load("udp -c 2 -r 100/s -n 20 --up loss=100% --timeout 500ms");
    let publish = phase(&load, "publish");
    assert_eq!(publish["outcomes"]["lost"], 20, "{publish}");
    assert_eq!(publish["deliveries"], Value::Null, "{publish}");
    assert_eq!(publish["link"]["up"]["lost"], 20, "{publish}");
    assert!(is_the_bottleneck(&load), "{load}");
}

#[test]
#[ignore = "needs root"]
fn a_link_that_is_full_is_the_bottleneck() {
    let load = load("udp -c 2 -r 200/s -n 600 --rtt 10ms --up rate=50kbit,queue=8packets");
    let publish = phase(&load, "publish");
    let outcomes = &publish["outcomes"];
    assert_eq!(
        (count(&outcomes["offered"]), ended(outcomes)),
        (600, 600),
        "{publish}"
    );
    let up = &publish["link"]["up"];
    assert_eq!(up["queue_dropped"], outcomes["lost"], "{publish}");
    assert!(count(&up["queue_dropped"]) > 300, "a fifth fits: {up}");
    assert!(is_the_bottleneck(&load), "{load}");
}

/// Beyond the knee messages wait, and arrive when nothing is offered any more: they are no part of what the link carries in
/// the time of the offer.
#[test]
#[ignore = "needs root"]
fn unanswered_messages_are_carried_at_the_links_rate() {
    // A message of UDP has 128 bytes and 28 of headers: a link of 50 kbit/s carries 40 of them in a second.
    for stack in ["udp", "mqtt-qos0"] {
        for (rate, expected, is_saturated) in [(100, 20.0..60.0, true), (20, 10.0..20.1, false)] {
            let load = load(&format!(
                "{stack} -c 2 -r {rate}/s -d 3s --rtt 10ms --up rate=50kbit,queue=1000packets"
            ));
            let publish = phase(&load, "publish");
            assert_eq!(publish["outcomes"]["delivered"], 3 * rate, "{stack}: {load}");
            let carried = publish["carried_rate"].as_f64().expect("a rate");
            let warnings = publish["warnings"].as_array().expect("warnings");
            let is_warned_of = warnings.iter().any(|warning| warning["kind"] == "saturation");
            assert!(expected.contains(&carried), "{stack}: {load}");
            // A generator that a busy machine has held up for long is named instead.
            let is_spoiled = load["valid"] == false;
            assert!(is_warned_of == is_saturated || is_spoiled, "{stack}: {load}");
        }
    }
}

#[test]
#[ignore = "needs root and mosquitto"]
fn worker_processes_and_real_servers_live_on_their_sides() {
    need_program("mosquitto", "mosquitto");
    for arguments in [
        "mqtt-qos1 -c 4 --processes 2 -r 100/s -n 100 --rtt 20ms",
        "mqtt-qos1 --target mosquitto -c 4 -r 100/s -n 100 --rtt 20ms",
        "mqtt-qos1 -c 4 --subscribers 2 -r 100/s -n 100 --rtt 20ms",
    ] {
        let load = load(arguments);
        let publish = phase(&load, "publish");
        assert_eq!(publish["outcomes"]["acknowledged"], 100, "{arguments}: {load}");
        at_least(&publish["response_time_ns"], 20e6, arguments);
    }
}

#[test]
#[ignore = "needs root"]
fn a_user_without_privileges_has_the_same_link() {
    let arguments = "mqtt-qos1 -c 3 -r 100/s -n 100 --rtt 20ms";
    let said = run(arguments, as_nobody);
    let load = figures(arguments, &said);
    let publish = phase(&load, "publish");
    assert_eq!(publish["outcomes"]["acknowledged"], 100, "{load}");
    at_least(&publish["response_time_ns"], 20e6, "veth");
}

#[test]
#[ignore = "needs root"]
fn loads_with_and_without_a_link_follow_one_another() {
    need_root();
    let home = open_folder();
    let scenario = "wirecost: 1\nstack: mqtt-qos1\nclients: 2\n\
                    phases: [{do: connect}, {do: publish, rate: 50/s, count: 20}, {do: close}]\n\
                    loads: [{link: {rtt: 20ms}}, {}, {link: {rtt: 5ms}}]\n";
    std::fs::write(home.path().join("links.yaml"), scenario).expect("written");
    let run = |out: &str| {
        let mut command = wirecost(home.path());
        command.args(["run", "links.yaml", "--quiet", "--json", "-", "--out", out]);
        command
    };
    let by_root = said(&mut run("root"));
    let by_nobody = said(&mut as_nobody(run("nobody"), home.path()));
    for said in [by_root, by_nobody] {
        let summary = summary_of(&said);
        let loads = summary["loads"].as_array().expect("loads");
        let delays: Vec<Option<u64>> = loads
            .iter()
            .map(|load| load["link"]["up"]["delay_ns"].as_u64())
            .collect();
        assert_eq!(delays, [Some(10_000_000), None, Some(2_500_000)]);
        for load in loads {
            assert_eq!(phase(load, "publish")["outcomes"]["acknowledged"], 20, "{load}");
        }
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn every_packet_on_the_link_is_recorded_where_that_is_asked_for() {
    need_root();
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args([
        "load",
        "mqtt-qos1",
        "-c",
        "3",
        "-r",
        "50/s",
        "-n",
        "50",
        "--rtt",
        "10ms,20ms",
    ]);
    command.args(["--capture", "--quiet", "--json", "-", "--out", "run"]);
    let said = said(&mut command);
    let summary = summary_of(&said);
    let loads = summary["loads"].as_array().expect("loads");
    assert_eq!(loads.len(), 2);
    for load in loads {
        let capture = load["capture"].as_str().expect("the name of a capture");
        let capture = home.path().join("run").join(capture);
        let seen = |packet: &str| -> usize {
            let rows = fields(&capture, &format!("mqtt.msgtype == {packet}"), &["mqtt.msgtype"]);
            let types = rows.iter().flatten().flat_map(|types| types.split(','));
            types.filter(|number| *number == packet).count()
        };
        // CONNECT, PUBLISH, PUBACK and DISCONNECT.
        assert_eq!(
            ["1", "3", "4", "14"].map(seen),
            [3, 50, 50, 3],
            "{}",
            capture.display()
        );
        // What a loop says on the way of the echoes that check the link is no load's.
        assert_eq!(fields(&capture, "icmp", &["frame.number"]).len(), 0);
    }
}

#[test]
#[ignore = "needs root"]
fn without_a_link_nothing_is_recorded() {
    let said = run("mqtt-qos1 --capture", |command, _| command);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("there is none"), "{}", said.stderr);
}
