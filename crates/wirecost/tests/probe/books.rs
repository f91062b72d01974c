//! The figures of a probe against tshark's, on the capture that the probe wrote.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::certificates::Authority;
use crate::common::{need_root, tshark::fields};
use crate::servers::{caddy, open_mosquitto};
use crate::{report, step};

const WAYS: [&str; 2] = ["up", "down"];

/// The sum of a field over the packets of each direction; several values in one packet are separated by commas.
fn sums(capture: &Path, field: &str, port: u16) -> [u64; 2] {
    ["dstport", "srcport"].map(|way| {
        let filter = format!("tcp.{way} == {port} || udp.{way} == {port}");
        let rows = fields(capture, &filter, &[field]);
        let values = rows.iter().flat_map(|row| row[0].split(','));
        values.filter_map(|value| value.parse::<u64>().ok()).sum()
    })
}

/// The lengths in the fixed headers of all MQTT packets of one direction; tshark is told what speaks on the port.
fn mqtt_lens(capture: &Path, way: &str, port: u16) -> Vec<u64> {
    let output = Command::new("tshark")
        .args(["-n", "-d", &format!("tcp.port=={port},tls")])
        .args(["-d", &format!("tls.port=={port},mqtt"), "-r"])
        .arg(capture)
        .args([
            "-Y",
            &format!("mqtt && tcp.{way} == {port}"),
            "-T",
            "fields",
            "-e",
            "mqtt.len",
        ])
        .output()
        .expect("tshark starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let lens = text.split([',', '\n']);
    lens.filter_map(|len| len.parse().ok()).collect()
}

fn total(report: &Value, layers: &[&str]) -> [u64; 2] {
    WAYS.map(|way| {
        let bytes = |layer: &&str| report["total"][way][*layer].as_u64().unwrap_or(0);
        layers.iter().map(bytes).sum()
    })
}

#[test]
#[ignore = "needs root, mosquitto, openssl and tshark"]
fn the_bytes_of_mqtts_are_tsharks() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let files = Authority::new(folder.path()).good();
    for version in ["1.2", "1.3"] {
        let server = open_mosquitto(Some(&files));
        let port = server.port;
        let arguments =
            format!("mqtts://127.0.0.1:{port}/a --cacert ca.pem --tls-version {version} --out p.pcapng");
        let report = report(folder.path(), &arguments);
        let capture = folder.path().join("p.pcapng");
        let mode = capture.metadata().expect("the capture").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "there are secrets in it");
        assert_eq!(total(&report, &["ip"]), sums(&capture, "ip.hdr_len", port));
        assert_eq!(
            total(&report, &["transport"]),
            sums(&capture, "tcp.hdr_len", port)
        );
        let content = ["security", "application", "payload"];
        assert_eq!(total(&report, &content), sums(&capture, "tcp.len", port));
        // One byte of type and flags and the length itself are in front of what the length says.
        let mqtt = ["dstport", "srcport"].map(|way| {
            let lens = mqtt_lens(&capture, way, port);
            lens.into_iter()
                .map(|len| len + if len < 128 { 2 } else { 3 })
                .sum::<u64>()
        });
        assert_eq!(total(&report, &["application", "payload"]), mqtt, "TLS {version}");
        assert_eq!(step(&report, "message")["up"]["payload"], 128);
        let packets = WAYS.map(|way| report["total"][way]["packets"].as_u64().expect("a number"));
        let seen = ["dstport", "srcport"].map(|way| {
            let rows = fields(&capture, &format!("tcp.{way} == {port}"), &["frame.number"]);
            rows.len() as u64
        });
        assert_eq!(packets, seen);
    }
}

#[test]
#[ignore = "needs root, caddy, openssl and tshark"]
fn the_bytes_of_h3_are_tsharks() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let files = Authority::new(folder.path()).good();
    let server = caddy(Some(&files));
    let port = server.port;
    let arguments = format!("h3://127.0.0.1:{port}/a --cacert ca.pem --out p.pcapng");
    let report = report(folder.path(), &arguments);
    let capture = folder.path().join("p.pcapng");
    assert_eq!(total(&report, &["ip"]), sums(&capture, "ip.hdr_len", port));
    let all = ["transport", "security", "application", "payload"];
    assert_eq!(total(&report, &all), sums(&capture, "udp.length", port));
    let crypto = sums(&capture, "quic.crypto.length", port);
    let [up, down] = total(&report, &["security"]);
    // The frames' own headers are of a few bytes each.
    assert!(up >= crypto[0] && up < crypto[0] + 40, "{up} B of {crypto:?}");
    assert!(
        down >= crypto[1] && down < crypto[1] + 40,
        "{down} B of {crypto:?}"
    );
}

#[test]
#[ignore = "needs root, mosquitto, openssl and tshark"]
fn without_keys_there_are_none_in_the_capture() {
    need_root();
    let folder = TempDir::new().expect("a folder");
    let files = Authority::new(folder.path()).good();
    let server = open_mosquitto(Some(&files));
    let arguments = format!(
        "mqtts://127.0.0.1:{}/a --cacert ca.pem --out p.pcapng --no-keys",
        server.port
    );
    report(folder.path(), &arguments);
    let capture = folder.path().join("p.pcapng");
    assert!(mqtt_lens(&capture, "dstport", server.port).is_empty());
    let bytes = std::fs::read(&capture).expect("the capture");
    let label = b"CLIENT_HANDSHAKE_TRAFFIC_SECRET";
    assert!(!bytes.windows(label.len()).any(|window| window == label));
}
