//! `wirecost load`: the generator reports as many sent messages as the counting target reports arrivals.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Runs a load whose results folder is removed after the test.
fn load(arguments: &[&str]) -> Output {
    let home = TempDir::new().expect("a folder");
    Command::new(env!("CARGO_BIN_EXE_wirecost"))
        .current_dir(home.path())
        .arg("load")
        .args(arguments)
        .args(["--quiet", "--json", "-"])
        .output()
        .expect("the program runs")
}

/// A load that has figures. A busy machine makes times invalid, never counts.
fn loaded(arguments: &[&str]) -> Value {
    let output = load(arguments);
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 14)),
        "{arguments:?}: {code:?} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    summary["loads"][0].clone()
}

/// The publishing phase of such a load.
fn published(arguments: &[&str]) -> Value {
    let load = loaded(arguments);
    let phases = load["phases"].as_array().expect("phases");
    let publish = phases.iter().find(|phase| phase["name"] == "publish");
    publish.expect("a publishing phase").clone()
}

#[test]
fn every_sent_message_has_arrived_on_every_stack() {
    for stack in [
        "tcp",
        "udp",
        "mqtt-qos0",
        "mqtt-qos1",
        "mqtt-qos2",
        "mqtt5-qos0",
        "mqtt5-qos1",
        "mqtt5-qos2",
        "coap-non",
        "coap-con",
        "amqp-settled",
        "amqp-unsettled",
        "http1",
        "http3",
        "mqtt-qos1+tls1.3",
        "coap-con+dtls1.3",
        "coap-con+dtls1.2-psk",
        "coap-con+oscore",
        "amqp-unsettled+cose+tls1.3",
    ] {
        let publish = published(&[stack, "-c", "3", "-r", "100/s", "-d", "1s"]);
        let outcomes = &publish["outcomes"];
        let carried = outcomes["acknowledged"]
            .as_u64()
            .zip(outcomes["delivered"].as_u64());
        assert_eq!(outcomes["offered"], 100, "{stack}: {publish}");
        assert_eq!(
            carried.map(|(one, other)| one + other),
            Some(100),
            "{stack}: {publish}"
        );
        assert_eq!(publish["sent"], 100, "{stack}");
        assert_eq!(publish["deliveries"]["arrived"], 100, "{stack}");
    }
}

#[test]
fn the_warm_up_is_in_no_figure() {
    let figures = |arguments: &[&str]| {
        let publish = published(&[&["coap-non", "-c", "3", "-r", "100/s"], arguments].concat());
        let counts = [
            &publish["outcomes"]["offered"],
            &publish["outcomes"]["delivered"],
            &publish["deliveries"]["arrived"],
            &publish["one_way_delay_ns"]["n"],
            &publish["socket_bytes_up"],
        ];
        counts.map(|count| count.as_u64().expect("a count"))
    };
    let [offered, delivered, arrived, delays, bytes] = figures(&["-d", "3s", "--warmup", "1s"]);
    assert_eq!([offered, delivered, arrived, delays], [200; 4]);
    let without = figures(&["-d", "2s"]);
    assert_eq!(without[0], 200);
    // A message that is due at the end of the warm-up may count on either side of it.
    assert!(
        bytes.abs_diff(without[4]) <= 3 * bytes / offered,
        "{bytes} B, {} B",
        without[4]
    );
}

#[test]
fn cpu_time_of_the_warm_up_is_that_of_its_messages() {
    let load = loaded(&["udp", "-c", "3", "-r", "500/s", "-d", "2s", "--warmup", "1900ms"]);
    for side in ["generator", "target_use"] {
        let used = |name: &str| load[side][name].as_f64().expect("CPU time");
        let of_all_messages = used("cpu_s_per_million") / 1e6 * 1_000.0;
        let in_all = used("user_s") + used("system_s");
        assert!(
            of_all_messages <= in_all + 1e-9,
            "{side}: {of_all_messages} s of {in_all} s"
        );
    }
}

#[test]
fn a_count_of_random_arrivals_lasts_until_the_last_of_them() {
    // By this seed the last of 1,000 is intended later than the 2 s that the rate takes, whether one part draws or two.
    for threads in ["1", "2"] {
        let arguments = "http1 -c 20 -n 1000 -r 500/s --poisson --seed 1 --threads";
        let arguments: Vec<&str> = arguments.split(' ').chain([threads]).collect();
        let publish = published(&arguments);
        let measured = publish["measured_s"].as_f64().expect("a time");
        assert!(measured > 2.0, "{publish}");
        assert_eq!(publish["outcomes"]["offered"], 1_000);
        assert_eq!(publish["offered_rate"].as_f64(), Some(1_000.0 / measured));
    }
}

#[test]
fn without_stamps_arrivals_in_the_warm_up_belong_to_it() {
    let publish = published(&[
        "coap-non", "-c", "3", "-r", "100/s", "-d", "3s", "--warmup", "1s", "-s", "8B",
    ]);
    assert_eq!(publish["outcomes"]["offered"], 200);
    assert_eq!(publish["outcomes"]["delivered"], 200);
    let arrived = publish["deliveries"]["arrived"].as_u64();
    assert!(arrived.is_some_and(|arrived| arrived < 300), "{arrived:?}");
}

#[test]
fn cpu_shares_never_exceed_the_machines_cpus() {
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    // Subscribers of CoAP need a message before they subscribe, in a phase of its own that takes no time.
    for arguments in [
        [
            "coap-con",
            "--subscribers",
            "3",
            "-r",
            "20/s",
            "-d",
            "1s",
            "-c",
            "5",
        ]
        .as_slice(),
        ["coap-con", "--closed-loop", "-n", "1", "-c", "1"].as_slice(),
    ] {
        let output = load(arguments);
        let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
        for side in ["generator", "target_use"] {
            let used = &summary["loads"][0][side];
            let share = used["cpu_share"].as_f64();
            let is_long = used["wall_s"].as_f64().is_some_and(|wall_s| wall_s >= 0.1);
            assert_eq!(share.is_some(), is_long, "{arguments:?}: {used}");
            assert!(share.is_none_or(|share| share <= cpus as f64), "{used}");
            let thread = used["busiest_thread_share"].as_f64();
            assert!(thread.is_none_or(|share| share <= 1.0), "{used}");
        }
    }
}

#[test]
fn a_ramp_offers_less_than_was_asked_for() {
    let publish = published(&["mqtt-qos1", "-c", "2", "-r", "100/s", "-d", "1s", "--ramp", "1s"]);
    assert_eq!(publish["outcomes"]["offered"], 50);
    assert_eq!(publish["asked_rate"].as_f64(), Some(100.0));
    assert_eq!(publish["offered_rate"].as_f64(), Some(50.0));
}

#[test]
fn a_count_ends_both_loops_exactly() {
    for arguments in [
        ["mqtt-qos1", "--closed-loop", "-n", "57", "-c", "4"].as_slice(),
        ["mqtt-qos1", "-n", "57", "-c", "4", "-r", "200/s"].as_slice(),
        ["http1", "--closed-loop", "-n", "57", "-c", "60"].as_slice(),
    ] {
        let publish = published(arguments);
        assert_eq!(publish["outcomes"]["offered"], 57, "{arguments:?}");
        assert_eq!(publish["outcomes"]["acknowledged"], 57, "{arguments:?}");
        assert_eq!(publish["deliveries"]["arrived"], 57, "{arguments:?}");
    }
}

#[test]
fn lists_make_a_matrix_in_the_order_of_scenarios() {
    let output = load(&[
        "tcp,mqtt-qos1",
        "-c",
        "1,3",
        "-r",
        "100/s,200/s",
        "-s",
        "16B,64B",
        "-n",
        "10",
    ]);
    assert!(matches!(output.status.code(), Some(0 | 14)));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let loads = summary["loads"].as_array().expect("loads");
    let rate = |load: &Value| {
        let phases = load["phases"].as_array().expect("phases").iter();
        phases.filter_map(|phase| phase["offered_rate"].as_f64()).next()
    };
    let points: Vec<_> = loads
        .iter()
        .map(|load| {
            (
                load["stack"].as_str(),
                load["payload_bytes"].as_u64(),
                load["clients"].as_u64(),
                rate(load),
            )
        })
        .collect();
    assert_eq!(points.len(), 16);
    let first = |clients, rate| (Some("tcp"), Some(16), Some(clients), Some(rate));
    assert_eq!(
        points[..4],
        [first(1, 100.0), first(1, 200.0), first(3, 100.0), first(3, 200.0)]
    );
    assert_eq!(points[15], (Some("mqtt-qos1"), Some(64), Some(3), Some(200.0)));
    for load in loads {
        let phases = load["phases"].as_array().expect("phases").iter();
        let arrived = phases.filter_map(|phase| phase["deliveries"]["arrived"].as_u64());
        assert_eq!(arrived.sum::<u64>(), 10, "{load}");
    }
    let double = load(&["tcp", "-c", "1,2,1"]);
    let said = String::from_utf8_lossy(&double.stderr).into_owned();
    assert_eq!(double.status.code(), Some(2), "{said}");
    assert!(said.contains("load 3 of 3 has been asked for before"), "{said}");
}

#[test]
fn closed_loops_and_saturation_runs_say_so() {
    for (arguments, kind, words) in [
        (
            ["mqtt-qos1", "--closed-loop", "-n", "20"].as_slice(),
            "closed",
            "a closed loop: ",
        ),
        (
            ["mqtt-qos1", "--closed-loop", "-n", "20", "--inflight", "4"].as_slice(),
            "saturation",
            "a closed loop, as fast as it goes: ",
        ),
        (
            // One request at a time is all that the protocol allows.
            ["http1", "--closed-loop", "-n", "20", "--inflight", "4"].as_slice(),
            "closed",
            "a closed loop: ",
        ),
    ] {
        let output = load(arguments);
        let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
        let load = &summary["loads"][0];
        assert_eq!(load["loop_kind"], kind, "{arguments:?}");
        let phases = load["phases"].as_array().expect("phases").iter();
        let warnings = phases.filter_map(|phase| phase["warnings"].as_array()).flatten();
        let mut texts = warnings.filter_map(|warning| warning["text"].as_str());
        assert!(texts.any(|text| text.contains(words)), "{load}");
    }
}

#[test]
fn bare_payloads_go_to_tcp_and_udp_urls() {
    const MESSAGES: usize = 20;
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("tcp://{}", tcp.local_addr().expect("an address"));
    let taking = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let (mut peer, _) = tcp.accept().expect("a device");
        peer.read_to_end(&mut bytes).expect("what it sends");
        bytes.len()
    });
    let publish = published(&[&url, "-c", "1", "-r", "200/s", "-n", "20", "-s", "32B"]);
    assert_eq!(publish["sent"], MESSAGES, "{publish}");
    assert_eq!(taking.join().expect("no panic"), MESSAGES * (4 + 32));

    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    udp.set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a time-out");
    let url = format!("udp://{}", udp.local_addr().expect("an address"));
    let publish = published(&[&url, "-c", "2", "-r", "200/s", "-n", "20", "-s", "32B"]);
    assert_eq!(publish["sent"], MESSAGES, "{publish}");
    let mut buffer = [0; 64];
    for _ in 0..MESSAGES {
        assert_eq!(udp.recv(&mut buffer).expect("a datagram"), 32);
    }
}

#[test]
fn an_unreachable_target_is_reported() {
    let output = load(&["mqtt://127.0.0.1:1", "-d", "1s"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(11), "{said}");
    assert!(
        said.contains("error: no device could connect to mqtt://127.0.0.1:1/"),
        "{said}"
    );
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn an_unreachable_datagram_target_is_reported_too() {
    // No socket listens on a port that has just been released.
    let free = || UdpSocket::bind("127.0.0.1:0").and_then(|udp| udp.local_addr());
    let free = free().expect("a port");
    let port = free.port();
    for arguments in [
        format!("udp://{free} -n 10 -r 20/s"),
        format!("coap://{free}/x -n 10 -r 20/s -c 2"),
        format!("coap://{free}/x -n 10 -r 20/s -c 2 --shared-socket"),
        format!("coap://[::1]:{port}/x --qos 0 -n 10 -r 20/s -c 2 --shared-socket"),
        "mqtt://127.0.0.1:1 --connect-only -n 10 -r 20/s".to_owned(),
    ] {
        let output = load(&arguments.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(11), "{arguments}: {said}");
        assert!(
            said.contains("error: no device could connect to ") && said.contains(": connection refused"),
            "{arguments}: {said}"
        );
    }
}

#[test]
fn a_load_without_a_target_ends_before_its_phase() {
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|udp| udp.local_addr());
    let url = format!("coap://{}/x", free.expect("a port"));
    for more in ["", "--shared-socket -c 20"] {
        let home = TempDir::new().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirecost"));
        command.current_dir(home.path()).args(["load", &url]);
        command.args(["-r", "20/s", "-d", "5min", "--connect-timeout", "1s"]);
        command.args(more.split_whitespace());
        let output = command.output().expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(11), "{more}: {said}");
        // One line for each second.
        let seconds = said.lines().filter(|line| line.contains(" offered ")).count();
        assert!((1..60).contains(&seconds), "{seconds} of {said}");
    }
}

#[test]
fn a_source_address_of_another_machine_is_named() {
    let output = load(&["mqtt-qos1", "-d", "1s", "--source", "192.0.2.9"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(10), "{said}");
    assert!(
        said.contains("error: cannot send from source address 192.0.2.9: "),
        "{said}"
    );
}

#[test]
fn a_certificate_that_is_not_trusted_is_a_refusal() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_wirecost"))
        .args(["serve", "mqtt", "--tls", "--listen", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut line = String::new();
    let mut log = BufReader::new(server.stderr.take().expect("its messages"));
    log.read_line(&mut line).expect("a message");
    let address = line
        .strip_prefix("serving MQTT on ")
        .and_then(|rest| rest.split(' ').next());
    let address = address.unwrap_or_else(|| panic!("no address in {line:?}"));
    let output = load(&[&format!("mqtts://{address}"), "-d", "1s"]);
    server.kill().expect("it runs");
    server.wait().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(12), "{said}");
    // The same text as in a probe, with its hint.
    for text in [
        "certificate for 127.0.0.1 is not trusted: issued by \"wirecost test CA\", not among the ",
        "hint: --cacert FILE.pem to trust its issuer, --insecure to measure anyway",
    ] {
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn a_strangers_server_is_loaded_with_consent_only() {
    for flags in [
        &["-r", "101/s"][..],
        &["-r", "50/s", "-c", "101"],
        &["-r", "50/s", "-c", "1000", "--connect-rate", "101/s"],
        &["-r", "50/s", "--subscribers", "2"],
    ] {
        let output = load(&[&["mqtt://192.0.2.1", "-d", "1s"], flags].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--i-own-this-target"), "{said}");
    }
}
