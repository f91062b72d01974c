//! `wirecost pcap` on captures of `wirecost compare`: the packets must yield what the endpoints reported about their
//! bytes.

#[path = "../common/mod.rs"]
mod common;
mod hosts;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use wirecost_results::{Cell, Section};

use common::{Run, open_folder, said, wirecost};

/// The output of `wirecost pcap` for a capture.
fn pcap(capture: &Path) -> Value {
    let mut command = wirecost(Path::new("."));
    command.arg("pcap").arg(capture).args(["--json", "-"]);
    let said = said(&mut command);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

/// Bytes by layer of a section of the summary, up and down.
fn layers(section: &Section) -> [[u64; 7]; 2] {
    let sums = |bytes: &wirecost_results::summary::Bytes| {
        [
            bytes.packets.sum,
            bytes.ip.sum,
            bytes.transport.sum,
            bytes.security.sum,
            bytes.application.sum,
            bytes.payload.sum,
            bytes.wire.sum,
        ]
    };
    [sums(&section.up), sums(&section.down)]
}

/// The same of a section of the table.
fn layers_of(section: &Value) -> [[u64; 7]; 2] {
    let names = [
        "packets",
        "ip",
        "transport",
        "security",
        "application",
        "payload",
        "wire",
    ];
    ["up", "down"].map(|way| names.map(|name| section[way][name].as_u64().expect("a number")))
}

/// Packets by phase and direction as the comments in the capture have them, with warm-up messages and the connections that
/// got tickets, which the capture's table counts.
fn packets_by_comment(capture: &Path, phase: &str) -> [u64; 2] {
    let rows = common::tshark::fields(capture, "ip or ipv6", &[common::tshark::WAY, "frame.comment"]);
    let count = |way: &str| {
        let of_phase = |row: &&Vec<String>| {
            let counted = row[1].split(" | ").nth(1).unwrap_or_default();
            let own = match counted.trim_start_matches("ticket ") {
                "warm-up" => "message",
                own => own,
            };
            row[0] == way && own == phase
        };
        rows.iter().filter(of_phase).count() as u64
    };
    [count("0"), count("1")]
}

/// Checks that the table of a capture of these stacks, each with what it is to be called, is that of the comparison, which
/// leaves out the warm-up messages.
fn assert_same_table(stacks: &[(&str, &str)]) {
    let names: Vec<&str> = stacks.iter().map(|(stack, _)| *stack).collect();
    let names = names.join(",");
    let run = Run::compare(&format!("--size 128B,3kB -n 2 --settle 150ms --rtt 20ms {names}"));
    let capture = run.file("capture/all.pcapng");
    let table = pcap(&capture);
    let protocols: BTreeSet<&str> = stacks.iter().map(|(_, protocol)| *protocol).collect();
    let groups = table["groups"].as_array().expect("a list");
    let found = groups.iter().filter_map(|group| group["protocol"].as_str());
    assert_eq!(found.collect::<BTreeSet<_>>(), protocols);
    for protocol in protocols {
        let spoken = |stack: &str| stacks.contains(&(stack, protocol));
        let cells = run.summary.cells.iter().filter(|cell| spoken(&cell.stack));
        let groups = groups.iter().filter(|group| group["protocol"] == protocol);
        assert_same_group(protocol, &cells.collect::<Vec<_>>(), &groups.collect::<Vec<_>>());
    }
    assert_same_packets(&table, &capture, &names);
}

/// The same of the stacks that speak one protocol.
fn assert_same_group(protocol: &str, cells: &[&Cell], groups: &[&Value]) {
    let section_of = |cell: &Cell, phase: &str| match phase {
        "connect" => cell.connect.as_ref().map(layers),
        "close" => cell.close.as_ref().map(layers),
        _ => cell.keep_alive.as_ref().map(layers),
    };
    for phase in ["connect", "close", "keep_alive"] {
        let of_cells = cells.iter().filter_map(|cell| section_of(cell, phase));
        let of_groups = groups.iter().map(|group| layers_of(&group[phase]));
        assert_eq!(sum(of_groups), sum(of_cells), "{protocol} {phase}");
    }
    let messages: Vec<&Value> = groups.iter().map(|group| &group["message"]).collect();
    assert_payload(protocol, cells, &messages);
}

/// Layers added up.
fn sum(all: impl Iterator<Item = [[u64; 7]; 2]>) -> [[u64; 7]; 2] {
    all.fold([[0; 7]; 2], |mut sums, layers| {
        let pairs = sums.iter_mut().flatten().zip(layers.as_flattened());
        pairs.for_each(|(sum, more)| *sum += more);
        sums
    })
}

/// Checks that the payload is what two devices of each cell send, a warm-up and a message, once; and what a machine that
/// was held up sent again is in the table as that.
fn assert_payload(protocol: &str, cells: &[&Cell], messages: &[&Value]) {
    let once: u64 = cells.iter().map(|cell| 2 * 2 * cell.payload_bytes).sum();
    let sum = |name: &str| -> u64 {
        let ways = messages
            .iter()
            .flat_map(|message| [&message["up"], &message["down"]]);
        ways.map(|way| way[name].as_u64().expect("a number")).sum()
    };
    let (payload, again) = (sum("payload"), sum("retransmission"));
    assert!(
        (once..=once + again).contains(&payload),
        "{protocol}: {payload} B of {once} B, and {again} B again with their headers"
    );
}

/// Checks that each phase has as many packets as the comments say, and that nothing was left out.
fn assert_same_packets(table: &Value, capture: &Path, what: &str) {
    for phase in ["connect", "message", "close"] {
        let packets = layers_of(&table["total"][phase]).map(|way| way[0]);
        assert_eq!(packets, packets_by_comment(capture, phase), "{what} {phase}");
    }
    let left_out: Vec<&Value> = table["unattributed"].as_array().expect("a list").iter().collect();
    // The echoes of the link check belong to no flow.
    assert!(
        left_out.iter().all(|entry| entry["what"] == "ICMP"),
        "{what}: {left_out:?}"
    );
}

#[test]
#[ignore = "needs root and tshark"]
fn the_packets_of_databases_yield_what_their_endpoints_reported() {
    assert_same_table(&[("postgres", "PostgreSQL"), ("mariadb", "MariaDB or MySQL")]);
}

#[test]
#[ignore = "needs root and tshark"]
fn plain_stacks() {
    let stacks = [
        ("tcp", "bare"),
        ("udp", "bare"),
        ("mqtt-qos2", "MQTT 3.1.1"),
        ("mqtt5-qos1", "MQTT 5"),
        ("mqttsn-qos-1", "MQTT-SN"),
        ("mqttsn-qos2", "MQTT-SN"),
        ("coap-con", "CoAP"),
        ("coap-non", "CoAP"),
        ("coap-tcp", "CoAP over TCP"),
        ("http1", "HTTP/1.1"),
        ("amqp-unsettled", "AMQP 1.0"),
    ];
    assert_same_table(&stacks);
}

#[test]
#[ignore = "needs root and tshark"]
fn secure_stacks() {
    let stacks = [
        ("tcp+tls1.3", "bare over TLS 1.3"),
        ("mqtt-qos1+tls1.2", "MQTT 3.1.1 over TLS 1.2"),
        ("http1+tls1.3", "HTTP/1.1 over TLS 1.3"),
        ("coap-tcp+tls1.3", "CoAP over TCP over TLS 1.3"),
        ("udp+dtls1.2", "bare over DTLS 1.2"),
        ("coap-con+dtls1.2-psk", "CoAP over DTLS 1.2"),
        ("coap-con+dtls1.2-cid", "CoAP over DTLS 1.2"),
    ];
    assert_same_table(&stacks);
}

#[test]
#[ignore = "needs root and tshark"]
fn resumed_early_and_impaired_connections() {
    // The connection that fetches a ticket is in the capture and not in the summary; so is what loss did to warm-ups.
    let cases = [
        "--start resumed mqtt-qos1+tls1.3",
        "--start 0rtt mqtt-qos1+tls1.3,http1+tls1.3",
        "--loss 5% mqtt-qos1+tls1.2,coap-con+dtls1.2,mqtt-qos2,coap-con",
        "--reorder 15% --duplicate 5% tcp,mqtt-qos1,http1",
        "--ipv6 tcp+tls1.3,coap-con,mqtt5-qos1",
    ];
    for arguments in cases {
        let run = Run::compare(&format!(
            "--size 128B,3kB -n 4 --settle 150ms --rtt 20ms {arguments}"
        ));
        let capture = run.file("capture/all.pcapng");
        assert_same_packets(&pcap(&capture), &capture, arguments);
    }
}

#[test]
#[ignore = "needs root and tshark"]
fn reordering_moves_nothing_into_the_connect() {
    let run = Run::compare("tcp --size 100kB -n 10 --settle 150ms --rtt 20ms --reorder 10%");
    let capture = run.file("capture/all.pcapng");
    let table = pcap(&capture);
    // A SYN of 60 B and an ACK of 52 B up, a SYN-ACK of 60 B down.
    let connect = layers(run.summary.cells[0].connect.as_ref().expect("a connect")).map(|way| way[6]);
    assert_eq!(connect, [1_120, 600]);
    assert_eq!(layers_of(&table["total"]["connect"]).map(|way| way[6]), connect);
    assert_same_packets(&table, &capture, "reordered");
}

/// What the handshakes had, from the packets and their secrets: the chain of a public server, a group after a HelloRetryRequest, and what
/// a resumption saves. Without the secrets TLS 1.3 hides its certificates, and TLS 1.2 does not.
#[test]
fn handshakes_have_their_suite_group_and_chain() {
    let home = open_folder();
    let stacks = "mqtt-qos1+tls1.3,mqtt-qos1+tls1.2";
    let line = format!(
        "compare {stacks} --engine sim -n 2 --start cold,resumed --chain letsencrypt-ecdsa --group p384,x25519 \
         --server-group x25519,p256 -q --out run"
    );
    let made = said(wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let capture = home.path().join("run/capture/sim.pcapng");
    let table = pcap(&capture);
    let groups = table["groups"].as_array().expect("groups").iter();
    let all: Vec<&Value> = groups
        .filter_map(|group| group["handshakes"].as_array())
        .flatten()
        .collect();
    let of = |suite: &str, resumed: bool| -> &Value {
        let is_it = |one: &&&Value| one["suite"] == suite && one["is_resumed"] == resumed;
        all.iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{suite} {resumed}: {all:?}"))
    };
    let tls13 = "TLS_AES_128_GCM_SHA256";
    let tls12 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
    for suite in [tls13, tls12] {
        let full = of(suite, false);
        let bytes = full["certificates"].as_array().expect("a chain").iter();
        let bytes: Vec<u64> = bytes.filter_map(|one| one["bytes"].as_u64()).collect();
        assert_eq!(bytes, [1_000, 699], "{full}");
        assert_eq!(full["group"], "X25519", "{full}");
        assert_eq!(full["is_retried"], suite == tls13, "{full}");
        let resumed = of(suite, true);
        assert_eq!(
            resumed["certificates"].as_array().map(Vec::len),
            Some(0),
            "{resumed}"
        );
        let number = |one: &Value, key: &str| one[key].as_f64().expect(key);
        let down = |one: &Value| number(one, "security_bytes_down") / number(one, "handshakes");
        assert!(down(full) - down(resumed) > 1_699.0, "{full} {resumed}");
    }
    let text = said(wirecost(home.path()).arg("pcap").arg(&capture)).stdout;
    for expected in [
        "X25519 after a HelloRetryRequest, which took a round trip",
        "1699 B of certificates: localhost 1000 B, ",
        " B less than a full one",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let line =
        format!("compare {stacks} --engine sim -n 1 --chain letsencrypt-ecdsa --no-keys -q --out closed");
    let made = said(wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let closed = home.path().join("closed/capture/sim.pcapng");
    let text = said(wirecost(home.path()).arg("pcap").arg(closed)).stdout;
    assert!(
        text.contains("certificates: encrypted") && text.contains("1699 B of certificates: "),
        "{text}"
    );
}

/// A capture in virtual time.
fn simulated(home: &Path, line: &str) -> std::path::PathBuf {
    let made = said(wirecost(home).args(line.split_whitespace()));
    assert_eq!(made.code, Some(0), "{line}: {}", made.stderr);
    let out = line.rsplit_once("--out ").expect("a folder").1;
    home.join(out).join("capture/sim.pcapng")
}

/// The handshakes of the groups whose protocol ends like this.
fn handshakes_of(table: &Value, protocol: &str) -> Vec<Value> {
    let groups = table["groups"].as_array().expect("groups").iter();
    let of_protocol = groups.filter(|group| {
        group["protocol"]
            .as_str()
            .is_some_and(|name| name.ends_with(protocol))
    });
    let kinds = of_protocol.filter_map(|group| group["handshakes"].as_array());
    kinds.flatten().cloned().collect()
}

/// Bytes of each certificate.
fn chain_of(handshake: &Value) -> Vec<u64> {
    let chain = handshake["certificates"].as_array().expect("a chain").iter();
    chain.filter_map(|one| one["bytes"].as_u64()).collect()
}

/// What datagrams carry has the same lines: DTLS 1.2 shows its chain, QUIC hides it in Handshake packets and shows ServerHello in packets
/// whose keys everyone can derive, and DTLS 1.3 is not decrypted.
#[test]
fn handshakes_in_datagrams_have_their_suite_group_and_chain() {
    let home = open_folder();
    let dtls = "coap-con+dtls1.2,coap-con+dtls1.2-psk,coap-con+dtls1.3";
    let line = format!(
        "compare {dtls},http3 --engine sim -n 2 --start cold,resumed --dtls-cookie --chain letsencrypt-ecdsa --dtls-leaf -q"
    );
    let open = pcap(&simulated(home.path(), &format!("{line} --out open")));
    let closed = pcap(&simulated(home.path(), &format!("{line} --no-keys --out closed")));
    for (table, is_open) in [(&open, true), (&closed, false)] {
        let quic = handshakes_of(table, if is_open { "HTTP/3" } else { "QUIC" });
        let [full, resumed] = [false, true].map(|is_resumed| {
            let found = quic.iter().find(|one| one["is_resumed"] == is_resumed);
            found.unwrap_or_else(|| panic!("{is_resumed}: {quic:?}"))
        });
        assert_eq!(
            (&full["suite"], &full["group"]),
            (&"TLS_AES_128_GCM_SHA256".into(), &"X25519".into())
        );
        let expected: &[u64] = if is_open { &[1_000, 699] } else { &[] };
        assert_eq!(chain_of(full), expected, "{full}");
        assert_eq!(chain_of(resumed), [0; 0], "{resumed}");

        let plain = handshakes_of(table, "DTLS 1.2");
        let of = |suite: &str| -> Vec<&Value> { plain.iter().filter(|one| one["suite"] == suite).collect() };
        let [certified] = of("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")[..] else {
            panic!("{plain:?}");
        };
        assert_eq!(
            (&certified["group"], &certified["is_address_checked"]),
            (&"X25519".into(), &true.into())
        );
        assert!(matches!(chain_of(certified)[..], [390..=440]), "{certified}");
        let keyed: Vec<bool> = of("TLS_PSK_WITH_AES_128_CCM_8")
            .iter()
            .filter_map(|one| one["is_resumed"].as_bool())
            .collect();
        assert!(keyed.contains(&true) && keyed.contains(&false), "{plain:?}");

        let [hidden] = &handshakes_of(table, "DTLS 1.3")[..] else {
            panic!("{table}");
        };
        assert_eq!(
            (&hidden["suite"], &hidden["group"]),
            (&"TLS_AES_128_GCM_SHA256".into(), &"X25519".into())
        );
        assert_eq!(
            (&hidden["is_address_checked"], &hidden["is_retried"]),
            (&true.into(), &false.into())
        );
    }
    let text = said(wirecost(home.path()).arg("pcap").arg("closed/capture/sim.pcapng")).stdout;
    for expected in [
        "after a check of the address",
        "a pre-shared key, no certificates",
        "certificates: encrypted",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let retried = simulated(
        home.path(),
        "compare http3 --engine sim -n 1 --group p384,x25519 --server-group x25519 -q --out retried",
    );
    let retried = handshakes_of(&pcap(&retried), "HTTP/3");
    assert!(
        retried
            .iter()
            .all(|one| one["is_retried"] == true && one["group"] == "X25519"),
        "{retried:?}"
    );
    assert!(!retried.is_empty());
}

#[test]
fn a_file_that_is_not_a_capture_is_refused() {
    let folder = common::open_folder();
    let cases: [(&[u8], &str); 3] = [
        (b"", "the file is empty"),
        (
            b"GET / HTTP/1.1",
            "not a capture: a pcap or pcapng file starts with a magic number, this one with 0x47455420",
        ),
        (
            &[0x1f, 0x8b, 8, 0],
            "the file is compressed with gzip: decompress it first",
        ),
    ];
    for (bytes, text) in cases {
        std::fs::write(folder.path().join("file"), bytes).expect("a file");
        let said = said(wirecost(folder.path()).args(["pcap", "file"]));
        assert_eq!((said.code, said.line("error: file: ")), (Some(2), Some(text)));
    }
    let said = said(wirecost(folder.path()).args(["pcap", "nowhere"]));
    assert_eq!(said.code, Some(2));
}

#[test]
fn the_capture_of_a_results_folder_is_named() {
    let folder = common::open_folder();
    let refused = || said(wirecost(folder.path()).args(["pcap", "run"]));
    std::fs::create_dir_all(folder.path().join("run/capture")).expect("a folder");
    let empty = refused();
    assert_eq!(empty.line("error: "), Some("run is a folder, not a capture"));
    assert!(
        empty.line("hint: give a file that tcpdump").is_some(),
        "{}",
        empty.stderr
    );
    std::fs::write(folder.path().join("run/capture/sim.pcapng"), "").expect("a file");
    let full = refused();
    assert_eq!(full.code, Some(2));
    assert_eq!(
        full.line("hint: "),
        Some("give its capture, e.g. run/capture/sim.pcapng")
    );
}
