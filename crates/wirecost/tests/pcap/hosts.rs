//! `wirecost pcap --merge-hosts`: the captures of two hosts, made from one whose packets' fates are known.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wirecost_wire::capture::{Item, Reader};
use wirecost_wire::pcapng::{Capture, Way, Writer};

use crate::common::{open_folder, said, tshark, wirecost};

/// A packet of a capture in virtual time, with what its comment says of it.
struct Known {
    bytes: Vec<u8>,
    at_ns: u64,
    is_up: bool,
    /// How long it took; `None` if it was lost.
    delay_ns: Option<u64>,
}

/// The packets of a capture in virtual time.
fn known(capture: &Path) -> Vec<Known> {
    let fates = tshark::fields(capture, "frame", &[tshark::WAY, "frame.comment"]);
    let file = fs::File::open(capture).expect("a capture");
    let mut reader = Reader::new(file).expect("a capture");
    let mut packets = Vec::new();
    while let Some(item) = reader.item().expect("a whole capture") {
        let Item::Packet(packet) = item else { continue };
        let [way, comment] = &fates[packets.len()][..] else {
            panic!("two fields");
        };
        let delay = comment.split("delivered after ").nth(1);
        let delay = delay.and_then(|text| text.split(" ms").next()?.parse::<f64>().ok());
        assert_eq!(delay.is_none(), comment.contains("| lost"), "{comment}");
        packets.push(Known {
            bytes: packet.bytes.to_vec(),
            at_ns: packet.timestamp_ns.expect("a time"),
            is_up: way == "0",
            delay_ns: delay.map(|ms| (ms * 1e6).round() as u64),
        });
    }
    packets
}

/// Writes what the loggers of the device's host and of the server's see; the server's clock is `ahead_ns` ahead.
fn logged(folder: &Path, packets: &[Known], ahead_ns: u64) -> [PathBuf; 2] {
    [("device.pcapng", true, 0), ("server.pcapng", false, ahead_ns)].map(|(name, sends_up, ahead_ns)| {
        let mut seen: Vec<(u64, &[u8])> = packets
            .iter()
            .filter_map(|packet| {
                let after = match packet.is_up == sends_up {
                    true => 0,
                    false => packet.delay_ns?,
                };
                Some((packet.at_ns + after + ahead_ns, &*packet.bytes))
            })
            .collect();
        seen.sort_by_key(|(at, _)| *at);
        let path = folder.join(name);
        let file = fs::File::create(&path).expect("a file");
        let mut writer = Writer::new(file, &Capture::default()).expect("a capture");
        for (at, bytes) in seen {
            writer.packet(Way::Unknown, at, bytes, None).expect("a packet");
        }
        writer.finish().expect("a capture");
        path
    })
}

fn simulated(folder: &Path, line: &str) -> Vec<Known> {
    let made = said(wirecost(folder).args(line.split_whitespace()));
    assert_eq!(made.code, Some(0), "{line}: {}", made.stderr);
    known(&folder.join("run/capture/sim.pcapng"))
}

#[test]
#[ignore = "needs tshark"]
fn two_hosts_tell_what_was_lost_and_how_long_the_rest_took() {
    let home = open_folder();
    let line = "compare mqtt-qos1,coap-con,tcp --engine sim -n 40 --size 64B,3kB --loss 5% --rtt 40ms --delay-variation 4ms -q --out run";
    let packets = simulated(home.path(), line);
    let [device, server] = logged(home.path(), &packets, 7_123_456_789);
    let mut command = wirecost(home.path());
    command
        .arg("pcap")
        .arg(&device)
        .arg("--merge-hosts")
        .arg(&server)
        .args(["--json", "-"]);
    let said = said(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let merged: Value = serde_json::from_str(&said.stdout).expect("JSON");

    let clock = &merged["hosts"]["clock"];
    let number = |value: &Value| value.as_f64().expect("a number");
    let within = number(&clock["within_ns"]);
    // The fastest packets of both directions take 16 ms.
    assert!((16e6..=17e6).contains(&within), "{clock}");
    assert!(
        (number(&clock["ahead_ns"]) - 7_123_456_789.0).abs() <= 2e6,
        "{clock}"
    );
    assert_eq!(clock["drift_ns_per_s"], 0.0);
    let mut left = 0;
    for (name, is_up) in [("up", true), ("down", false)] {
        let of_way = || packets.iter().filter(move |packet| packet.is_up == is_up);
        let way = &merged["hosts"][name];
        let lost = of_way().filter(|packet| packet.delay_ns.is_none()).count() as u64;
        assert!(lost > 10, "{name}: the link lost {lost}");
        let alone = way["sender_only"]["packets"].as_u64().expect("a number");
        assert!((lost - 3..=lost).contains(&alone), "{name}: {alone} of {lost}");
        left += lost - alone;
        assert_eq!(
            way["both"],
            of_way().count() as u64 - lost,
            "{name}: {}",
            merged["hosts"]
        );
        assert_eq!(way["receiver_only"]["packets"], 0, "{name}");
        let slowest = of_way()
            .filter_map(|packet| packet.delay_ns)
            .max()
            .expect("a packet") as f64;
        let longest = number(&way["transit"]["max_ns"]);
        assert!((longest - slowest).abs() <= 2e6, "{name}: {longest} of {slowest}");
    }
    // Of what is lost at either end of the time, nobody knows whether the other logger ran.
    let others = merged["hosts"]["others"]
        .as_array()
        .expect("of both hosts")
        .iter();
    assert_eq!(
        others.filter_map(Value::as_u64).sum::<u64>(),
        left,
        "{}",
        merged["hosts"]
    );
    // What each host has is what `wirecost pcap` says of its file alone.
    for (index, file) in [&device, &server].into_iter().enumerate() {
        assert_eq!(merged["captures"][index], super::pcap(file), "{}", file.display());
    }
}

#[test]
#[ignore = "needs tshark"]
fn two_hosts_are_told_on_a_terminal_before_what_each_has() {
    let home = open_folder();
    let packets = simulated(
        home.path(),
        "compare coap-con --engine sim -n 20 --rtt 40ms -q --out run",
    );
    logged(home.path(), &packets, 0);
    let told = said(wirecost(home.path()).args(["pcap", "device.pcapng", "--merge-hosts", "server.pcapng"]));
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert!(lines[0].contains("at both"), "{}", told.stdout);
    assert!(
        lines[1].starts_with("up    device.pcapng to server.pcapng"),
        "{}",
        told.stdout
    );
    let heads = ["device.pcapng: ", "server.pcapng: "]
        .map(|head| lines.iter().position(|line| line.starts_with(head)));
    assert!(heads[0].is_some() && heads[0] < heads[1], "{}", told.stdout);
}

#[test]
fn captures_that_are_not_of_two_hosts_are_refused() {
    let home = open_folder();
    for (out, stack) in [("one", "coap-con"), ("two", "mqtt-qos1")] {
        let line = format!("compare {stack} --engine sim -n 2 -q --out {out}");
        assert_eq!(
            said(wirecost(home.path()).args(line.split_whitespace())).code,
            Some(0)
        );
    }
    let [one, two] = ["one/capture/sim.pcapng", "two/capture/sim.pcapng"];
    fs::copy(home.path().join(one), home.path().join("copy.pcapng")).expect("a copy");
    let cases = [
        (
            "copy.pcapng",
            format!(
                "{one} and copy.pcapng have the same times for the packets of both directions, as two captures of one host"
            ),
        ),
        (two, format!("no packet of {one} is in {two}")),
        (one, format!("{one} cannot be the capture of both hosts")),
        ("two", "two is a folder, not a capture".to_owned()),
    ];
    for (other, text) in cases {
        let refused = said(wirecost(home.path()).args(["pcap", one, "--merge-hosts", other]));
        assert_eq!(
            (refused.code, refused.line("error: ")),
            (Some(2), Some(&*text)),
            "{}",
            refused.stderr
        );
    }
}
