//! `wirecost what-if`: the readings of a capture over other stacks.

mod common;

use std::path::{Path, PathBuf};

use serde_json::Value;

use common::{need_root, open_folder, said, wirecost};

/// Runs a command that succeeds.
fn run(home: &Path, arguments: &str) -> String {
    let said = said(wirecost(home).args(arguments.split_whitespace()));
    assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
    said.stdout
}

/// Runs a command that is refused.
fn refused(home: &Path, arguments: &str) -> String {
    let said = said(wirecost(home).args(arguments.split_whitespace()));
    assert_eq!(said.code, Some(2), "{arguments}: {}", said.stderr);
    assert!(said.stderr.contains("hint: "), "{}", said.stderr);
    said.stderr
}

/// One device that sends 48 B.
const ONE: &str = "--size 48B -n 1";

/// Captures four readings of each device, a minute apart, without keep-alives.
fn captured(home: &Path, stack: &str, more: &str) -> PathBuf {
    run(
        home,
        &format!(
            "compare {stack} --engine sim --interval 1min --messages-per-connection 4 --keep-alive 0s --out {stack} {more}"
        ),
    );
    home.join(stack).join("capture/sim.pcapng")
}

fn asked(home: &Path, capture: &Path, stacks: &str) -> Value {
    let out = capture.with_extension("if");
    let text = run(
        home,
        &format!(
            "what-if {} {stacks} --keep-alive 0s -q --json - --out {}",
            capture.display(),
            out.display()
        ),
    );
    serde_json::from_str(&text).expect("JSON")
}

/// The capture without its blocks of secrets (pcapng, block type 10).
fn without_secrets(capture: &Path) -> PathBuf {
    let bytes = std::fs::read(capture).expect("a capture");
    let (mut kept, mut rest) = (Vec::new(), bytes.as_slice());
    while let Some((kind, length)) = rest.first_chunk::<8>().map(|head| {
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        (word(0), word(4) as usize)
    }) {
        let (block, after) = rest.split_at(length);
        if kind != 10 {
            kept.extend_from_slice(block);
        }
        rest = after;
    }
    let path = capture.with_file_name("closed.pcapng");
    std::fs::write(&path, kept).expect("a capture");
    path
}

#[test]
fn the_captured_stack_has_the_bytes_that_were_captured() {
    let home = open_folder();
    let capture = captured(home.path(), "mqtt-qos1", ONE);
    let found = asked(home.path(), &capture, "mqtt-qos1,coap-con");
    assert_eq!(
        (&found["readings"], &found["size_bytes"], &found["interval_s"]),
        (&4.into(), &48.into(), &60.0.into())
    );
    let rows = found["rows"].as_array().expect("rows");
    let same = rows
        .iter()
        .find(|row| row["connection"] == "persistent for 4")
        .expect("a row");
    assert_eq!(same["bytes_per_reading"], found["bytes_per_reading"], "{found}");
    assert_eq!(same["layers"], found["layers"], "{found}");
    assert_eq!(found["layers"]["payload"], 48.0);
}

#[test]
fn the_readings_of_each_protocol_are_found() {
    let home = open_folder();
    for stack in [
        "mqtt-qos0",
        "mqtt-qos2+tls1.3",
        "coap-con",
        "coap-non",
        "http1",
        "http1+tls1.2",
        "amqp-unsettled",
        "tcp",
        "udp",
        "coap-con+dtls1.2-psk",
    ] {
        let capture = captured(home.path(), stack, ONE);
        let found = asked(home.path(), &capture, "udp");
        assert_eq!(
            (&found["readings"], &found["size_bytes"], &found["interval_s"]),
            (&4.into(), &48.into(), &60.0.into()),
            "{stack}: {found}"
        );
        assert_eq!(found["layers"]["payload"], 48.0, "{stack}");
    }
}

/// Neither the handshake nor CONNECT, DISCONNECT and the alert at the end is a reading.
#[test]
fn without_keys_each_reading_has_the_size_of_its_record() {
    let home = open_folder();
    for (stack, record) in [
        // Fixed header 2, topic 6, packet identifier 2, payload 48; content type 1, tag 16.
        ("mqtt-qos1+tls1.3", 75),
        ("mqtt-qos1+tls1.2", 82),
        ("http1+tls1.3", 162),
        ("coap-con+dtls1.3", 79),
        ("coap-con+dtls1.2-psk", 78),
        ("http3", 130),
    ] {
        let capture = without_secrets(&captured(home.path(), stack, ONE));
        let found = asked(home.path(), &capture, "coap-con");
        assert_eq!(
            (&found["readings"], &found["size_bytes"], &found["interval_s"]),
            (&4.into(), &record.into(), &60.0.into()),
            "{stack}: {found}"
        );
        let notes = found["notes"].to_string();
        assert!(
            notes.contains("counts as a reading of its records' size"),
            "{notes}"
        );
    }
}

#[test]
fn each_size_of_a_reading_is_simulated_in_its_share() {
    let home = open_folder();
    let capture = captured(home.path(), "coap-con", "--size 48B,100B -n 1");
    // The device of the other size gets the address of the first one.
    let mut text = std::fs::read(&capture).expect("a capture");
    for at in 0..text.len().saturating_sub(4) {
        if text[at..at + 4] == [10, 77, 0, 3] {
            text[at + 3] = 2;
        }
    }
    std::fs::write(&capture, text).expect("a capture");
    let found = asked(home.path(), &capture, "udp --every 1min");
    assert_eq!(found["sizes"].as_array().expect("sizes").len(), 2, "{found}");
    // A header of IP and one of UDP.
    assert_eq!(found["rows"][0]["bytes_per_reading"], 28.0 + 74.0);
    assert!(
        found["notes"]
            .to_string()
            .contains("the sizes differ: 48 B to 100 B")
    );
}

#[test]
fn both_bills_are_told_where_a_page_does_not_say_its_kilobyte() {
    let home = open_folder();
    // With its topic a reading is above 5,000 and below 5,120 B: two units of the page or one.
    let capture = captured(home.path(), "mqtt-qos1+tls1.3", "--size 5050B -n 1");
    let ask = format!(
        "what-if {} mqtt-qos1+tls1.3 --keep-alive 0s --tariff aws-iot-core --devices 100000 -q --out if",
        capture.display()
    );
    let told = run(home.path(), &ask);
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = std::fs::read_to_string(home.path().join("if/what-if.json")).expect("JSON");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    for (row, name) in [
        (&json, "today (as captured)"),
        (&json["rows"][0], "mqtt-qos1+tls1.3 ("),
    ] {
        let (one, other) = (&row["money_per_month"], &row["money_with_kilobytes_of_1024"]);
        let ratio = one.as_f64().expect("money") / other.as_f64().expect("money");
        assert!((1.1..2.0).contains(&ratio), "{name}: {one} {other}");
        let said = told
            .split("bill* of ")
            .find(|text| text.starts_with(name))
            .expect(name);
        assert!(said.contains("where a KB has 1,000 B, USD"), "{said}");
    }
}

#[test]
fn of_several_devices_one_is_taken_and_the_others_are_named() {
    let home = open_folder();
    let capture = captured(home.path(), "coap-con", "--size 48B -n 2");
    let found = asked(home.path(), &capture, "udp");
    let notes = found["notes"].to_string();
    assert!(
        notes.contains("1 other device in the capture left out, e.g. --client"),
        "{notes}"
    );
    let first = found["device"].as_str().expect("an address").to_owned();
    let other = notes.split("--client ").nth(1).expect("an address");
    let other = &other[..other
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .expect("an end")];
    assert_ne!(first, other);
    let found = run(
        home.path(),
        &format!(
            "what-if {} udp --client {other} -q --json - --out other",
            capture.display()
        ),
    );
    let found: Value = serde_json::from_str(&found).expect("JSON");
    assert_eq!((&found["device"], &found["readings"]), (&other.into(), &4.into()));
}

#[test]
fn a_capture_without_readings_is_refused() {
    let home = open_folder();
    std::fs::write(home.path().join("text.pcap"), "no packets").expect("a file");
    assert!(refused(home.path(), "what-if text.pcap udp").contains("text.pcap: not a capture"));
    std::fs::write(home.path().join("empty.pcap"), "").expect("a file");
    assert!(refused(home.path(), "what-if empty.pcap udp").contains("empty.pcap"));
    // Messages without payload.
    let nothing = "compare coap-con --engine sim --size 0B -n 1 --out none";
    run(home.path(), nothing);
    let said = refused(home.path(), "what-if none/capture/sim.pcapng udp");
    assert!(
        said.contains("none/capture/sim.pcapng has no readings of 10."),
        "{said}"
    );
}

#[test]
fn a_missing_file_and_an_unknown_client_are_refused() {
    let home = open_folder();
    assert!(refused(home.path(), "what-if missing.pcap coap-con").contains("cannot read missing.pcap"));
    let compare = "compare coap-con --engine sim -n 1 --out run";
    let compared = said(wirecost(home.path()).args(compare.split_whitespace()));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    let said = refused(home.path(), "what-if run coap-con");
    assert!(said.contains("run is a folder"), "{said}");
    assert!(
        said.contains("hint: give its capture, e.g. run/capture/sim.pcapng"),
        "{said}"
    );
    let ask = "what-if run/capture/sim.pcapng coap-con";
    let said = refused(home.path(), &format!("{ask} --client 192.0.2.1"));
    assert!(
        said.contains("run/capture/sim.pcapng has no packets of 192.0.2.1"),
        "{said}"
    );
    assert!(said.contains("hint: its only device is 10.77.0.2"), "{said}");
    for every in ["0s", "100d"] {
        let said = refused(home.path(), &format!("{ask} --every {every}"));
        assert!(
            said.contains("--every must be above 0 ms and at most 744 h"),
            "{said}"
        );
    }
}

/// Four lines over one connection of mosquitto_pub, a second apart.
const PUBLISH: &str =
    "(for i in 1 2 3 4; do printf '%048d\\n' $i; sleep 1; done) | mosquitto_pub -h $0 -q 1 -t test -l";

#[test]
#[ignore = "needs root, mosquitto and mosquitto-clients"]
fn a_foreign_client_differs_by_its_client_id_alone() {
    need_root();
    let home = open_folder();
    let configuration = home.path().join("mosquitto.conf");
    std::fs::write(&configuration, "listener 1883\nallow_anonymous true\nuser root\n").expect("a file");
    let server = format!("mosquitto -c {}", configuration.display());
    let link = [
        "link", "--out", "run", "--settle", "300ms", "--server", &server, "--",
    ];
    let recorded = said(
        wirecost(home.path())
            .args(link)
            .args(["sh", "-c", PUBLISH, "{server}"]),
    );
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let capture = home.path().join("run/capture/all.pcapng");
    let found = asked(home.path(), &capture, "mqtt-qos1");
    assert_eq!(
        (&found["readings"], &found["size_bytes"]),
        (&4.into(), &48.into())
    );
    let rows = found["rows"].as_array().expect("rows");
    let same = rows.iter().find(|row| row["connection"] == "persistent for 4");
    let layers = &same.expect("a row")["layers"];
    // Of the four readings together.
    let more_here = |layer: &str| {
        let of = |layers: &Value| layers[layer].as_f64().expect("bytes") * 4.0;
        (of(layers) - of(&found["layers"])).round()
    };
    assert_eq!(
        (more_here("security"), more_here("payload")),
        (0.0, 0.0),
        "{found}"
    );
    // The kernel sends an acknowledgement with the next segment, or alone: 20 B and 32 B of headers.
    let alone = more_here("ip") / 20.0;
    assert!(alone.fract() == 0.0 && alone.abs() <= 2.0, "{found}");
    assert_eq!(more_here("transport"), alone * 32.0, "{found}");
    // The topic has the same length. The identifier has 8 B here and none there.
    assert_eq!(more_here("application"), 8.0, "{found}");
    let table = run(
        home.path(),
        "what-if run/capture/all.pcapng mqtt-qos1 --keep-alive 0s -q --out table",
    );
    assert!(table.contains("21 (+2.0)"), "{table}");
}
