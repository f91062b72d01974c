//! Captures of other programs. The attribution agrees with tshark to the byte.

mod stage;

use stage::Recording;
use wirecost_cost::Traffic;
use wirecost_dissect::Report;
use wirecost_dissect::report::{Group, Section};
use wirecost_proto::Layer;

/// Bytes of a TLS record's header.
const RECORD_HEADER_BYTES: u64 = 5;

fn only_group(report: &Report) -> &Group {
    assert_eq!(report.groups.len(), 1, "{:?}", report.groups);
    &report.groups[0]
}

fn both(section: &Section, value: fn(&Traffic) -> u64) -> u64 {
    value(&section.up) + value(&section.down)
}

/// Checks packets, wire bytes and IP headers against tshark's fields.
fn assert_packets(recording: &Recording, report: &Report) {
    let all = &report.total.all;
    let packets = recording.fields("ip", &["ip.len"]).len() as u64;
    assert_eq!(both(all, |way| way.packets()), packets);
    assert_eq!(both(all, |way| way.wire_bytes()), recording.sum("ip", "ip.len"));
    assert_eq!(
        both(all, |way| way.bytes(Layer::Ip)),
        recording.sum("ip", "ip.hdr_len")
    );
}

/// Also checks TCP and UDP headers.
fn assert_headers(recording: &Recording, report: &Report) {
    assert_packets(recording, report);
    let tcp = recording.sum("tcp", "tcp.hdr_len");
    let udp = 8 * recording.fields("udp", &["udp.length"]).len() as u64;
    assert_eq!(
        both(&report.total.all, |way| way.bytes(Layer::Transport)),
        tcp + udp
    );
}

/// Checks the security layer against tshark's records. `overhead` bytes of an application data record are protection.
/// All bytes of other records are.
fn assert_records(recording: &Recording, report: &Report, overhead: u64) {
    let (mut connect, mut message, mut close) = (0, 0, 0);
    for row in recording.fields("tls.record", &["tls.record.content_type", "tls.record.length"]) {
        for (kind, length) in row[0].iter().zip(&row[1]) {
            match kind {
                23 => message += RECORD_HEADER_BYTES + overhead,
                21 => close += RECORD_HEADER_BYTES + length,
                _ => connect += RECORD_HEADER_BYTES + length,
            }
        }
    }
    let total = &report.total;
    let security = |section| both(section, |way| way.bytes(Layer::Security));
    let ours = [&total.connect, &total.message, &total.close].map(security);
    assert_eq!(ours, [connect, message, close]);
    let content = recording.sum("tcp", "tcp.len") - connect - message - close;
    assert_eq!(
        both(&total.all, |way| way.bytes(Layer::Application))
            + both(&total.all, |way| way.bytes(Layer::Payload)),
        content
    );
}

/// A server that answers GET /body with 20,000 B over TLS, and its clients.
fn https(server: &str, client: &str) -> String {
    format!(
        "openssl s_server -accept 4433 -cert cert.pem -key key.pem -WWW -quiet {server} >/dev/null 2>&1 & server=$!
        sleep 0.5
        {client}
        sleep 0.3
        kill $server
        test -s keys"
    )
}

/// Sends requests with openssl.
fn ask(arguments: &str) -> String {
    format!(
        "printf 'GET /body HTTP/1.0\\r\\n\\r\\n' | timeout 5 openssl s_client -connect 127.0.0.1:4433 -ign_eof -quiet \
         -keylogfile keys {arguments} >answer 2>/dev/null || true"
    )
}

fn assert_https(recording: &Recording, protocol: &str, overhead: u64, responses: u64) -> Report {
    let report = recording.report();
    let group = only_group(&report);
    assert_eq!(group.protocol, protocol);
    assert_eq!(report.unattributed, []);
    assert_headers(recording, &report);
    assert_records(recording, &report, overhead);
    assert_eq!(report.total.all.down.bytes(Layer::Payload), responses * 20_000);
    assert_eq!(report.total.all.up.bytes(Layer::Payload), 0);
    report
}

/// Sends one request with each of these options.
fn ask_each(options: &[&str]) -> String {
    let questions: Vec<String> = options.iter().map(|options| ask(options)).collect();
    questions.join("\n")
}

#[test]
#[ignore = "needs root, openssl and tshark"]
fn tls_1_3_with_every_suite() {
    let suites = [
        "-ciphersuites TLS_AES_128_GCM_SHA256",
        "-ciphersuites TLS_AES_256_GCM_SHA384",
        "-ciphersuites TLS_CHACHA20_POLY1305_SHA256",
    ];
    let recording = Recording::from_script(&https("-tls1_3", &ask_each(&suites)));
    assert_https(&recording, "HTTP/1.1 over TLS 1.3", 17, 3);
}

#[test]
#[ignore = "needs root, openssl and tshark"]
fn tls_1_2_with_every_kind_of_suite() {
    let any = "-tls1_2 -cipher ALL:@SECLEVEL=0";
    let explicit_nonce = [
        "-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256",
        "-tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384",
        "-tls1_2 -cipher ECDHE-ECDSA-AES256-CCM",
    ];
    let recording = Recording::from_script(&https(any, &ask_each(&explicit_nonce)));
    assert_https(&recording, "HTTP/1.1 over TLS 1.2", 24, 3);
    let short = [
        "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305",
        "-tls1_2 -cipher ECDHE-ECDSA-AES128-CCM8:@SECLEVEL=0",
    ];
    let recording = Recording::from_script(&https(any, &ask_each(&short)));
    assert_https(&recording, "HTTP/1.1 over TLS 1.2", 16, 2);
}

#[test]
#[ignore = "needs root, openssl and tshark"]
fn resumption_early_data_and_retry() {
    let cold = ask("-sess_out session");
    let resumed = ask("-sess_in session");
    let early = "printf 'GET /body HTTP/1.0\\r\\n\\r\\n' >early; sleep 3 | timeout 5 openssl s_client -connect \
                 127.0.0.1:4433 -ign_eof -quiet -keylogfile keys -sess_in session -early_data early >/dev/null 2>&1 || true";
    let recording = Recording::from_script(&https("", &format!("{cold}\n{resumed}")));
    let report = assert_https(&recording, "HTTP/1.1 over TLS 1.3", 17, 2);
    assert_eq!(only_group(&report).flows, 2);
    // The server of -WWW refuses early data, and the client does not repeat the request.
    let recording = Recording::from_script(&https("", &format!("{cold}\n{early}")));
    let report = recording.report();
    assert_headers(&recording, &report);
    // A server without X25519 requests another ClientHello.
    let recording = Recording::from_script(&https("-groups P-384", &ask("-groups X25519:P-384")));
    assert_https(&recording, "HTTP/1.1 over TLS 1.3", 17, 1);
}

#[test]
#[ignore = "needs root, openssl and tshark"]
fn tls_without_secrets_is_left_out_by_name() {
    let recording = Recording::from_script(&https("", &ask("")));
    let report = recording.report_without_secrets();
    let [left_out] = report.unattributed.as_slice() else {
        panic!("{:?}", report.unattributed);
    };
    assert_eq!(
        (left_out.what.as_str(), left_out.why),
        ("TLS 1.3 (TCP port 4433)", "encrypted, no secrets")
    );
    assert_headers(&recording, &report);
    assert_eq!(report.total.all.down.bytes(Layer::Payload), 0);
    assert_eq!(report.total.all.wire(), recording.report().total.all.wire());
}

#[test]
#[ignore = "needs root, openssl and tshark"]
fn every_format_of_a_capture_gives_the_same_table() {
    let recording = Recording::from_script(&https("", &ask("")));
    let table = wirecost_dissect::table(&recording.report());
    for format in ["pcap", "nsecpcap", "pcapng"] {
        assert_eq!(
            wirecost_dissect::table(&recording.report_as(format)),
            table,
            "{format}"
        );
    }
}

#[test]
#[ignore = "needs root, mosquitto, mosquitto-clients, openssl and tshark"]
fn mqtt_with_mosquitto() {
    let recording = Recording::from_script(
        "printf 'listener 1883 127.0.0.1\\nallow_anonymous true\\n' >mosquitto.conf
        mosquitto -c mosquitto.conf >/dev/null 2>&1 & broker=$!
        sleep 0.5
        mosquitto_sub -V 5 -t '#' -q 1 -C 6 >/dev/null & subscriber=$!
        sleep 0.3
        for version in 311 5; do for qos in 0 1 2; do
            mosquitto_pub -V $version -t some/topic -q $qos -f body
        done; done
        wait $subscriber
        kill $broker",
    );
    let report = recording.report();
    assert_eq!(report.unattributed, []);
    assert_headers(&recording, &report);
    // Six messages of 20,000 B to the broker and six from it.
    assert_eq!(
        both(&report.total.all, |way| way.bytes(Layer::Payload)),
        12 * 20_000
    );
    assert_eq!(
        both(&report.total.all, |way| way.bytes(Layer::Application)),
        recording.sum("tcp", "tcp.len") - 12 * 20_000
    );
    let labels: Vec<_> = report
        .groups
        .iter()
        .map(|group| group.protocol.as_str())
        .collect();
    assert_eq!(labels, ["MQTT 5", "MQTT 3.1.1"]);
}

#[test]
#[ignore = "needs root, libcoap3-bin and tshark"]
fn coap_with_libcoap() {
    let recording = Recording::from_script(
        "coap-server-notls -A 127.0.0.1 >/dev/null 2>&1 & server=$!
        sleep 0.5
        coap-client-notls -m put -f body -b 512 coap://127.0.0.1/example_data >/dev/null
        coap-client-notls -m get -N coap://127.0.0.1/ >/dev/null
        kill $server",
    );
    let report = recording.report();
    assert_eq!(report.unattributed, []);
    assert_headers(&recording, &report);
    assert!(report.groups.iter().all(|group| group.protocol == "CoAP"));
    let payload: u64 = recording.sum("coap", "coap.payload_length");
    assert_eq!(both(&report.total.all, |way| way.bytes(Layer::Payload)), payload);
    assert!(payload >= 20_000);
}

#[test]
#[ignore = "needs root, openssl and tshark"]
fn dtls_1_2_with_openssl() {
    // Port 10009 means bare messages inside DTLS.
    let cases = [
        ("-cipher ECDHE-ECDSA-AES128-GCM-SHA256", 24),
        ("-cipher ECDHE-ECDSA-CHACHA20-POLY1305", 16),
        ("-psk 0102030405060708 -cipher PSK-AES128-CCM8:@SECLEVEL=0", 16),
    ];
    for (options, overhead) in cases {
        let recording = Recording::from_script(&format!(
            "sleep 4 | openssl s_server -dtls1_2 -accept 10009 -cert cert.pem -key key.pem -quiet {options} >/dev/null 2>&1 & server=$!
            sleep 0.5
            {{ sleep 0.5; echo one; sleep 0.3; echo three; sleep 0.3; }} | timeout 5 openssl s_client -dtls1_2 \
                -connect 127.0.0.1:10009 -quiet -no_ign_eof -keylogfile keys {options} >/dev/null 2>&1 || true
            kill $server 2>/dev/null || true
            test -s keys"
        ));
        let report = recording.report();
        assert_headers(&recording, &report);
        assert_eq!(report.unattributed, [], "{options}");
        assert_eq!(only_group(&report).protocol, "bare over DTLS 1.2");
        assert_eq!(report.total.all.up.bytes(Layer::Payload), 4 + 6);
        assert_eq!(
            report.total.message.up.bytes(Layer::Security),
            2 * (13 + overhead)
        );
        let content = recording.sum("udp", "udp.length") - 8 * both(&report.total.all, |way| way.packets());
        assert_eq!(
            both(&report.total.all, |way| way.bytes(Layer::Security)),
            content - 10
        );
    }
}

#[test]
#[ignore = "needs root, ngtcp2-client, ngtcp2-server, openssl and tshark"]
fn http3_with_ngtcp2() {
    let recording = Recording::from_script(
        "gtlsserver -q -d . 127.0.0.1 4433 key.pem cert.pem >/dev/null 2>&1 & server=$!
        sleep 0.7
        SSLKEYLOGFILE=keys timeout 5 gtlsclient -q --exit-on-all-streams-close 127.0.0.1 4433 \
            https://127.0.0.1:4433/body >/dev/null 2>&1 || true
        sleep 0.3
        kill $server
        test -s keys",
    );
    let report = recording.report();
    assert_packets(&recording, &report);
    assert_eq!(report.unattributed, []);
    assert_eq!(only_group(&report).protocol, "HTTP/3");
    assert_eq!(report.total.all.down.bytes(Layer::Payload), 20_000);
    let crypto = recording.sum("quic", "quic.crypto.length");
    let security = both(&report.total.all, |way| way.bytes(Layer::Security));
    // The header of a CRYPTO frame also belongs to the security layer: three to ten bytes each.
    assert!(
        security > crypto && security < crypto + 200,
        "{security} and {crypto}"
    );
    assert!(
        recording
            .report_without_secrets()
            .unattributed
            .iter()
            .any(|entry| entry.what.starts_with("QUIC"))
    );
}
