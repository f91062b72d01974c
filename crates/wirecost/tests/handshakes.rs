//! Comparisons with other certificates and groups, in virtual time.

mod common;

use wirecost_results::Summary;
use wirecost_results::summary::Cell;

use common::{open_folder, said, wirecost};

/// Why each cell is not run, and the bytes of its connect.
fn connects(arguments: &str) -> Vec<(String, u64)> {
    let cells = cells(arguments).into_iter();
    cells
        .map(|cell| {
            let connect = cell.connect.as_ref();
            let bytes = connect.map_or(0, |connect| connect.up.wire.min + connect.down.wire.min);
            (cell.not_run.unwrap_or_default(), bytes)
        })
        .collect()
}

fn cells(arguments: &str) -> Vec<Cell> {
    let home = open_folder();
    let line = format!("compare {arguments} -n 2 --engine sim -q -o run");
    let out = said(wirecost(home.path()).args(line.split_whitespace()));
    assert_eq!(out.code, Some(0), "{line}: {}", out.stderr);
    let text = std::fs::read_to_string(home.path().join("run/summary.json")).expect("summary.json");
    let summary: Summary = serde_json::from_str(&text).expect("a summary");
    summary.cells
}

/// What a run says that cannot begin, and its exit code.
fn refused(arguments: &str) -> (Option<i32>, String) {
    let home = open_folder();
    let line = format!("compare {arguments} -n 2 -q -o run");
    let out = said(wirecost(home.path()).args(line.split_whitespace()));
    assert!(!home.path().join("run").exists(), "{line}: nothing half written");
    (out.code, out.stderr)
}

#[test]
fn a_handshake_as_public_servers_have_it_is_thousands_of_bytes_larger() {
    let plain = connects("mqtt-qos1+tls1.3,http3");
    let public =
        connects("mqtt-qos1+tls1.3,http3 --certificate rsa2048 --chain intermediate --group x25519mlkem768");
    for ((_, plain), (reason, public)) in plain.iter().zip(&public) {
        assert_eq!(reason, "");
        assert!(public - plain > 3_000, "{plain} B, then {public} B");
    }
}

#[test]
fn a_first_flight_that_does_not_fit_costs_a_round_trip() {
    let round_trips = |arguments: &str| {
        let cells = cells(&format!("http3,mqtt-qos1+tls1.3 --rtt 100ms {arguments}"));
        let of = |cell: &Cell| cell.connect.as_ref().and_then(|connect| connect.round_trips);
        cells.iter().map(of).collect::<Vec<_>>()
    };
    let within = round_trips("--certificate rsa2048 --chain cross-signed");
    assert_eq!(within, [Some(1.0), Some(3.0)]);
    // RFC 9000 section 8.1: a server sends three times what it has received until it has validated the address, 3.6 kB here.
    let beyond_quic = round_trips("--certificate rsa3072 --chain cross-signed");
    assert_eq!(beyond_quic, [Some(2.0), Some(3.0)]);
    // A ClientHello with ML-KEM fills two datagrams, so that the server may send twice as much.
    let two_datagrams = round_trips("--certificate rsa3072 --chain cross-signed --group x25519mlkem768");
    assert_eq!(two_datagrams, [Some(1.0), Some(3.0)]);
    // RFC 6928: TCP begins with ten segments.
    let beyond_tcp = round_trips("--certificate mldsa65 --chain intermediate");
    assert_eq!(beyond_tcp, [Some(2.0), Some(4.0)]);
}

#[test]
fn the_default_is_named_by_its_names() {
    let named = "--certificate p256 --chain leaf --group x25519 --server-group x25519";
    let stacks = "mqtt-qos1+tls1.3,mqtt-qos1+tls1.2";
    assert_eq!(connects(stacks), connects(&format!("{stacks} {named}")));
}

#[test]
fn a_cell_that_no_version_defines_is_not_run_with_its_reason() {
    let cells =
        connects("mqtt-qos1+tls1.3,mqtt-qos1+tls1.2,coap-con+dtls1.3,mqtt-qos1 --certificate mldsa44");
    let reasons: Vec<&str> = cells.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons[0], "");
    assert!(reasons[1].contains("TLS 1.2 has no ML-DSA"), "{reasons:?}");
    assert!(reasons[2].contains("one P-256 leaf and X25519"), "{reasons:?}");
    assert_eq!(reasons[3], "");
}

#[test]
fn a_wrong_handshake_is_refused_in_one_sentence() {
    for (arguments, why) in [
        ("--certificate rsa1024", "rsa1024"),
        ("--chain root", "root"),
        ("--group x448", "unknown group \"x448\""),
        ("--group p256,p256", "p256 is named twice"),
        (
            "--group p256 --server-group x25519",
            "no common group: devices have p256, the server x25519",
        ),
        (
            "--target mosquitto --certificate p384",
            "it works with the built-in servers",
        ),
    ] {
        let (code, said) = refused(&format!("mqtt-qos1+tls1.3 {arguments}"));
        assert_eq!(code, Some(2), "{arguments}: {said}");
        assert!(said.contains(why), "{arguments}: {said}");
    }
}
