//! The final table equals that of `wirecost pcap`, and tshark's sums.

use std::os::unix::fs::PermissionsExt as _;

use super::common::need_program;
use super::common::tshark::{WAY, fields};
use super::{Home, MOSQUITTO, assert_code};

/// Packets, IP bytes and transport header bytes of each direction, from tshark.
fn tshark_sums(home: &Home) -> [[u64; 4]; 2] {
    let names = [WAY, "frame.len", "ip.hdr_len", "tcp.hdr_len"];
    let mut sums = [[0; 4]; 2];
    for row in fields(&home.capture(), "tcp", &names) {
        let number = |index: usize| row[index].parse::<u64>().unwrap_or(0);
        let way = &mut sums[number(0) as usize];
        // RFC 8200 section 3: an IPv6 header has 40 bytes.
        let ip = if row[2].is_empty() { 40 } else { number(2) };
        let packet = [1, number(1), ip, number(3)];
        way.iter_mut().zip(packet).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// The same from `link.json`.
fn our_sums(home: &Home) -> [[u64; 4]; 2] {
    let summary = home.summary();
    let all = &summary["report"]["total"]["all"];
    let names = ["packets", "wire", "ip", "transport"];
    ["up", "down"].map(|way| names.map(|name| all[way][name].as_u64().expect("a number")))
}

/// Asserts that the run's table equals its capture's table, and tshark's.
fn assert_accounted(home: &Home, stderr: &str) {
    let table = home.pcap();
    assert!(
        stderr.contains(table.trim_end()),
        "link:\n{stderr}\npcap:\n{table}"
    );
    assert_eq!(our_sums(home), tshark_sums(home));
}

#[test]
#[ignore = "needs root, mosquitto, mosquitto-clients and tshark"]
fn a_publisher_and_its_broker() {
    need_program("mosquitto", "mosquitto");
    need_program("mosquitto_pub", "mosquitto-clients");
    let home = Home::new();
    let configuration = home.write("mosquitto.conf", MOSQUITTO);
    let server = format!("mosquitto -c {}", configuration.display());
    let publisher = [
        "mosquitto_pub",
        "-h",
        "{server}",
        "-t",
        "test",
        "-m",
        "hello",
        "-q",
        "1",
    ];
    let said = home.run_with(&server, "--rtt 100ms", &publisher);
    assert_code(&said, 0);
    assert_eq!(said.stdout, "", "stdout is the program's");
    assert_accounted(&home, &said.stderr);
    let summary = home.summary();
    let group = &summary["report"]["groups"][0];
    assert_eq!(group["server"], "10.78.0.1:1883");
    assert_eq!(group["protocol"], "MQTT 3.1.1");
    // MQTT 3.1.1 sections 3.1, 3.3, 3.14: CONNECT 14 B without its identifier, PUBLISH 2 + 2 + 4 + 2, DISCONNECT 2.
    let up = &group["all"]["up"];
    assert_eq!(
        (up["application"].as_u64(), up["payload"].as_u64()),
        (Some(26), Some(5))
    );
    assert_eq!(summary["report"]["unattributed"], serde_json::json!([]));
    // Packets are in the capture as they entered the link: the broker answers half a round trip later.
    let syn = fields(&home.capture(), "tcp.flags.syn == 1", &["frame.time_relative"]);
    let answered: f64 = syn[1][0].parse().expect("seconds");
    assert!(answered > 0.049, "SYN-ACK after {answered} s");
}

#[test]
#[ignore = "needs root, caddy, curl, openssl and tshark"]
fn curl_and_caddy_with_the_keys_of_both() {
    need_program("curl", "curl");
    need_program("caddy", "caddy");
    need_program("openssl", "openssl");
    let home = Home::new();
    let certificate = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \
                       -out certificate.pem -days 2 -subj /CN=server -addext subjectAltName=DNS:server";
    let made = std::process::Command::new("sh")
        .args(["-c", certificate])
        .current_dir(home.path())
        .output();
    assert!(made.is_ok_and(|output| output.status.success()), "a certificate");
    home.write(
        "Caddyfile",
        "{\n admin off\n auto_https off\n}\nhttps://server:443 {\n tls certificate.pem key.pem\n respond \"answer\"\n}\n",
    );
    let curl = [
        "curl",
        "-sS",
        "--http1.1",
        "--cacert",
        "certificate.pem",
        "--resolve",
        "server:443:{server}",
        "https://server/path",
    ];
    let server = "caddy run --config Caddyfile --adapter caddyfile";
    let said = home.run_with(server, "--rtt 20ms", &curl);
    assert_code(&said, 0);
    assert_eq!(said.stdout, "answer");
    assert_accounted(&home, &said.stderr);
    let group = &home.summary()["report"]["groups"][0];
    assert_eq!(group["protocol"], "HTTP/1.1 over TLS 1.3");
    assert_eq!(group["all"]["down"]["payload"], "answer".len());
    // Only tshark can show whether the keys in the capture decrypt it.
    let requests = fields(&home.capture(), "http.request", &["http.request.uri"]);
    assert_eq!(requests, [["/path"]]);
    for secret in ["keys.log", "capture/all.pcapng"] {
        let mode = std::fs::metadata(home.file(secret))
            .expect(secret)
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{secret}");
    }
}

#[test]
#[ignore = "needs root"]
fn without_keys_the_programs_log_where_they_like() {
    let home = Home::new();
    let mut command = home.command("--no-keys -q", &["sh", "-c", "echo $SSLKEYLOGFILE"]);
    let said = super::said(command.env("SSLKEYLOGFILE", "/dev/null"));
    assert_code(&said, 0);
    assert_eq!(said.stdout, "/dev/null\n");
    assert!(!home.file("keys.log").exists());
}

#[test]
#[ignore = "needs root, python3 and tshark"]
fn echo_requests_of_ipv6_go_over_the_link_and_are_named() {
    need_program("python3", "python3");
    let home = Home::new();
    // Type 128, code 0; the kernel fills in the checksum of a raw ICMPv6 socket (RFC 3542 section 3.1).
    let ping = "import socket, sys, time\n\
                s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)\n\
                s.settimeout(5)\n\
                for n in range(3):\n\
                \x20   sent = time.monotonic()\n\
                \x20   s.sendto(bytes([128, 0, 0, 0, 0, 1, 0, n]), (sys.argv[1], 0))\n\
                \x20   while s.recv(100)[0] != 129: pass\n\
                \x20   print(time.monotonic() - sent)\n";
    let said = home.run("--ipv6 --rtt 60ms", &["python3", "-c", ping, "{server}"]);
    assert_code(&said, 0);
    let times: Vec<f64> = said
        .stdout
        .lines()
        .map(|line| line.parse().expect("seconds"))
        .collect();
    assert!(
        times.len() == 3 && times.iter().all(|time| *time > 0.059),
        "{times:?}"
    );
    let unattributed = &home.summary()["report"]["unattributed"][0];
    assert_eq!(unattributed["what"], "ICMP");
    let requests = fields(&home.capture(), "icmpv6.type == 128", &["frame.len"]);
    let replies = fields(&home.capture(), "icmpv6.type == 129", &["frame.len"]);
    assert_eq!(
        (requests.len(), replies.len()),
        (3, 3),
        "the link's own check is left out"
    );
}

#[test]
#[ignore = "needs root and python3"]
fn lost_packets_are_counted() {
    need_program("python3", "python3");
    let home = Home::new();
    let sender = "import socket, sys\n\
                  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                  for n in range(200): s.sendto(b'x' * 100, (sys.argv[1], 9))\n";
    let options = "--serve udp --up loss=100% -q";
    let said = home.run(options, &["python3", "-c", sender, "{server}"]);
    assert_code(&said, 0);
    let summary = home.summary();
    assert_eq!(summary["fates"], serde_json::json!({ "lost": 200 }));
    assert_eq!(summary["report"]["wire_bytes"], 200 * (20 + 8 + 100));
}
