//! How connections start: what a stack cannot do, what every start costs each time, and where its secrets go.

mod common;

use wirecost_results::Environment;
use wirecost_results::summary::{Cell, Section};

use common::Run;
use common::capture::{DECRYPTION_SECRETS, ENHANCED_PACKET, blocks, files_with_secrets, mode};
use common::tshark::fields;

#[test]
#[ignore = "needs root and tshark"]
fn a_start_that_a_stack_has_not_is_not_run() {
    let stacks =
        "coap-con+dtls1.3,coap-con+dtls1.2,udp+dtls1.2-cid,coap-con+oscore,mqtt-qos1,mqtt-qos1+tls1.2";
    let run = Run::compare(&format!("{stacks} --start resumed,0rtt -n 2 --settle 200ms"));
    let reasons = [
        ("coap-con+dtls1.3", "no session resumption"),
        ("coap-con+oscore", "no handshake that could be resumed"),
        ("mqtt-qos1", "no handshake that could be resumed"),
    ];
    for (stack, reason) in reasons {
        for start in ["resumed", "0rtt"] {
            check_not_run(cell(&run, stack, start), reason);
        }
    }
    check_not_run(cell(&run, "coap-con+dtls1.2", "resumed"), "no session resumption");
    for stack in ["mqtt-qos1+tls1.2", "coap-con+dtls1.2", "udp+dtls1.2-cid"] {
        check_not_run(cell(&run, stack, "0rtt"), "TLS 1.2 has no 0-RTT");
    }
    for stack in ["mqtt-qos1+tls1.2", "udp+dtls1.2-cid"] {
        let resumed = cell(&run, stack, "resumed");
        assert!(resumed.not_run.is_none() && resumed.all_arrived(), "{stack}");
    }
    // No packet of theirs is in the capture: they are not run cold instead.
    let comments = fields(&run.file("capture/all.pcapng"), "!icmp", &["frame.comment"]);
    let resumed = [
        "mqtt-qos1+tls1.2 resumed 128 B | ",
        "udp+dtls1.2-cid resumed 128 B | ",
    ];
    let of_resumed = |row: &Vec<String>| resumed.iter().any(|begin| row[0].starts_with(begin));
    assert!(!comments.is_empty() && comments.iter().all(of_resumed));
}

/// message_1 behind CBOR `true`, message_2 and message_3 (RFC 9528, RFC 9668), with credentials as long as those of RFC 9529.
#[test]
fn a_handshake_of_edhoc_precedes_oscore_alone() {
    let stacks = "coap-con+oscore,coap-non+oscore,coap-con+dtls1.3";
    let run = Run::compare(&format!(
        "{stacks} --start cold,edhoc,edhoc-by-value --engine sim -n 2"
    ));
    assert!(cell(&run, "coap-con+oscore", "cold").connect.is_none());
    let expected = [("edhoc", [38 + 19, 47]), ("edhoc-by-value", [38 + 128, 47 + 96])];
    for (start, bytes) in expected {
        let agreed = cell(&run, "coap-con+oscore", start);
        assert_eq!(connect_bytes(agreed), bytes, "{start}");
        assert!(agreed.valid && agreed.all_arrived(), "{start}");
        check_not_run(cell(&run, "coap-non+oscore", start), "nothing answers");
        check_not_run(cell(&run, "coap-con+dtls1.3", start), "the stack has none");
    }
}

/// 50 devices agree on a context each, on kernel sockets and in virtual time, and again for each message where they connect for it.
#[test]
fn the_devices_of_a_load_agree_by_edhoc() {
    let home = common::open_folder();
    for (number, more) in [
        "--engine sim",
        "--engine sim --connection per-message",
        "--target builtin",
        "--target builtin --start edhoc-by-value",
    ]
    .into_iter()
    .enumerate()
    {
        let start = if more.contains("--start") {
            ""
        } else {
            " --start edhoc"
        };
        let line =
            format!("load coap-con+oscore -c 50 -r 100/s -d 1s -q --out run{number} --json - {more}{start}");
        let out = common::said(common::wirecost(home.path()).args(line.split_whitespace()));
        // Times of a busy machine may be no good; that every message is answered is not a question of time.
        assert!(matches!(out.code, Some(0 | 14)), "{line}: {}", out.stderr);
        let summary: serde_json::Value = serde_json::from_str(&out.stdout).expect("JSON");
        let phases = summary["loads"][0]["phases"].as_array().expect("phases");
        let sum = |key: &str| {
            phases
                .iter()
                .filter_map(|phase| phase["outcomes"][key].as_u64())
                .sum::<u64>()
        };
        assert!(sum("offered") >= 100, "{line}: {}", sum("offered"));
        assert_eq!(sum("acknowledged"), sum("offered"), "{line}");
    }
}

/// Beyond the first time-out both sides repeat their flights. Only the side of the last flight answers a repetition (RFC
/// 6347, section 4.2.4): otherwise each answer is answered for ever.
#[test]
fn repetitions_of_a_psk_handshake_end_beyond_the_time_out() {
    let stacks = "coap-con+dtls1.2-psk,coap-con+dtls1.2-cid --start cold,resumed";
    let run = Run::compare(&format!("{stacks} --engine sim --rtt 1100ms -n 1"));
    for cell in run.summary.cells {
        let connect = cell.connect.as_ref().expect("a connect");
        // Five flights in full, three resumed; the first ones are repeated once each.
        assert!(
            connect.up.packets.sum <= 8 && connect.down.packets.sum <= 8,
            "{}",
            cell.stack
        );
        assert!(cell.all_arrived(), "{}", cell.stack);
    }
}

fn check_not_run(cell: &Cell, reason: &str) {
    let place = format!("{} {}", cell.stack, cell.start);
    let why = cell
        .not_run
        .as_deref()
        .unwrap_or_else(|| panic!("{place} was run"));
    assert!(why.contains(reason), "{place}: {why}");
    let sections = [&cell.connect, &cell.message, &cell.keep_alive, &cell.close];
    assert!(sections.iter().all(|section| section.is_none()), "{place}");
    assert_eq!(cell.outcomes.offered, 0, "{place}");
}

fn cell<'a>(run: &'a Run, stack: &str, start: &str) -> &'a Cell {
    let found = run
        .summary
        .cells
        .iter()
        .find(|cell| cell.stack == stack && cell.start == start);
    found.unwrap_or_else(|| panic!("no cell {stack} {start}"))
}

/// Keys and certificates are new in every run and in every connection, their sizes are not.
#[test]
#[ignore = "needs root"]
fn a_connect_costs_the_same_bytes_every_time() {
    let resumable = "mqtt-qos1+tls1.3,amqp-unsettled+tls1.3,http1+tls1.3,http3 --start cold,resumed,0rtt";
    let run = |stacks| Run::undisturbed(|| Run::compare(&format!("{stacks} -n 5 --settle 300ms")));
    let others = "mqtt-qos1+tls1.2,coap-con+dtls1.3,coap-con+dtls1.2,udp+dtls1.3";
    check_sizes(&run(others));
    check_sizes_of_sessions();
    let run = run(resumable);
    check_sizes(&run);
    let cold = |stack| connect_bytes(cell(&run, stack, "cold"));
    for stack in [
        "mqtt-qos1+tls1.3",
        "amqp-unsettled+tls1.3",
        "http1+tls1.3",
        "http3",
    ] {
        let resumed = connect_bytes(cell(&run, stack, "resumed"));
        assert!(resumed[0] > cold(stack)[0], "{stack}: a ticket goes up");
        assert!(resumed[1] < cold(stack)[1], "{stack}: no certificate comes down");
    }
}

/// RFC 5246 section 7.3: a session ID of 32 bytes goes up, and neither identity nor ServerHelloDone are exchanged.
fn check_sizes_of_sessions() {
    let stacks = ["coap-con+dtls1.2-psk", "coap-con+dtls1.2-cid"];
    let arguments = format!("{} --start cold,resumed -n 5 --settle 300ms", stacks.join(","));
    let run = Run::undisturbed(|| Run::compare(&arguments));
    check_sizes(&run);
    for stack in stacks {
        let [cold, resumed] = ["cold", "resumed"].map(|start| connect_bytes(cell(&run, stack, start)));
        // Record and message header, length and identity of the ClientKeyExchange.
        assert_eq!(cold[0] + 32, resumed[0] + 25 + 2 + 2, "{stack}");
        assert_eq!(cold[1] - resumed[1], 25, "{stack}: the ServerHelloDone");
    }
}

fn check_sizes(run: &Run) {
    for cell in &run.summary.cells {
        let place = format!("{} {}", cell.stack, cell.start);
        assert!(cell.valid && cell.all_arrived(), "{place}: {:?}", cell.warnings);
        let connect = connect(cell);
        for (way, bytes) in [("up", &connect.up), ("down", &connect.down)] {
            for (layer, count) in [("security", bytes.security), ("application", bytes.application)] {
                assert_eq!(count.min, count.max, "{place}, {way}: {layer}");
            }
            assert_eq!(bytes.wire.min, bytes.wire.max, "{place}, {way}");
        }
    }
    let text = std::fs::read_to_string(run.file("env.json")).expect("env.json");
    let environment: Environment = serde_json::from_str(&text).expect("an environment");
    assert_eq!(environment.unattributed_packets, 0);
}

fn connect(cell: &Cell) -> &Section {
    cell.connect.as_ref().expect("a connect")
}

/// Bytes of security up and down.
fn connect_bytes(cell: &Cell) -> [u64; 2] {
    let connect = connect(cell);
    [connect.up.security.min, connect.down.security.min]
}

#[test]
#[ignore = "needs root and tshark"]
fn the_secrets_precede_the_packets_and_are_private() {
    let run = Run::compare("mqtt-qos1+tls1.3,coap-con+dtls1.2,coap-con+oscore,http3 -n 2 --settle 200ms");
    let capture = run.file("capture/all.pcapng");
    assert_eq!(mode(&capture), 0o600);
    let blocks = blocks(&capture);
    let secrets = blocks.iter().position(|block| block.kind == DECRYPTION_SECRETS);
    let packet = blocks.iter().position(|block| block.kind == ENHANCED_PACKET);
    assert!(secrets.expect("secrets") < packet.expect("packets"));
    for (protocol, filter) in [
        ("MQTT", "tls && mqtt"),
        ("CoAP", "dtls && coap"),
        ("HTTP/3", "http3"),
    ] {
        assert!(
            !fields(&capture, filter, &["frame.number"]).is_empty(),
            "{protocol} is decrypted"
        );
    }
    assert_eq!(files_with_secrets(&run.file("")), [0o600]);
    assert_eq!(mode(&run.file("capture/oscore_contexts")), 0o600);
}

#[test]
#[ignore = "needs root and tshark"]
fn without_keys_there_is_nothing_to_decrypt_by() {
    let run =
        Run::compare("mqtt-qos1+tls1.3,coap-con+dtls1.2,coap-con+oscore,http3 -n 2 --settle 200ms --no-keys");
    let capture = run.file("capture/all.pcapng");
    assert_eq!(mode(&capture), 0o600);
    assert!(
        blocks(&capture)
            .iter()
            .all(|block| block.kind != DECRYPTION_SECRETS)
    );
    assert!(fields(&capture, "mqtt || dtls && coap || http3", &["frame.number"]).is_empty());
    assert_eq!(files_with_secrets(&run.file("")), [0_u32; 0]);
    assert!(!run.file("capture/oscore_contexts").exists());
    assert!(
        run.summary
            .cells
            .iter()
            .all(|cell| cell.valid && cell.all_arrived())
    );
}
