//! Our clients of the secure and web stacks against Mosquitto, RabbitMQ, Caddy, Apache and libcoap: valid, all acknowledged,
//! every byte with its layer.

mod common;

use wirecost_results::Environment;
use wirecost_results::summary::{Cell, Section};

use common::{Run, alone_with, need_program};

const SAMPLES: u64 = 3;

#[test]
#[ignore = "needs root and mosquitto"]
fn mosquitto_takes_messages_over_tls() {
    need_program("mosquitto", "mosquitto");
    let run = run(
        "mosquitto",
        "mqtt-qos1+tls1.3,mqtt5-qos2+tls1.2 --start cold,resumed",
    );
    check(
        &run,
        &[("mqtt-qos1+tls1.3", "cold"), ("mqtt-qos1+tls1.3", "resumed")],
    );
    check(
        &run,
        &[("mqtt5-qos2+tls1.2", "cold"), ("mqtt5-qos2+tls1.2", "resumed")],
    );
    check_resumption(&run, "mqtt-qos1+tls1.3");
    check_resumption(&run, "mqtt5-qos2+tls1.2");
    // It has no early data: the cell is not run, neither cold nor resumed in its place.
    let early = self::run("mosquitto", "mqtt-qos1+tls1.3 --start cold,0rtt");
    check_refused(cell(&early, "mqtt-qos1+tls1.3", "0rtt"));
}

#[test]
#[ignore = "needs root and mosquitto"]
fn mosquitto_takes_what_is_sent_behind_connect() {
    need_program("mosquitto", "mosquitto");
    // It leaves Nagle's algorithm on, so that of two small answers the second waits until the first is acknowledged: PUBACK
    // behind CONNACK, and over TLS CONNACK behind the tickets.
    pipelines(
        "mosquitto",
        &[("mqtt-qos0", 1.0), ("mqtt-qos1", 0.0), ("mqtt5-qos0+tls1.3", 2.0)],
    );
}

#[test]
#[ignore = "needs root and rabbitmq-server"]
fn rabbitmq_takes_what_is_sent_behind_connect_and_behind_its_sasl_header() {
    need_program("rabbitmq-server", "rabbitmq-server");
    pipelines(
        "rabbitmq",
        &[
            ("mqtt-qos1", 1.0),
            ("mqtt-qos1+tls1.3", 1.0),
            ("amqp-unsettled", 2.0),
            ("amqp-unsettled+tls1.3", 2.0),
        ],
    );
}

/// Every message arrives, and the first one by these round trips earlier.
fn pipelines(target: &str, gains: &[(&str, f64)]) {
    let stacks: Vec<&str> = gains.iter().map(|(stack, _)| *stack).collect();
    let list = format!("{} --rtt 100ms", stacks.join(","));
    let pipelined = run(target, &format!("{list} --pipelined-connect"));
    let waiting = run(target, &format!("{list} --messages-per-connection 1"));
    for (stack, gained) in gains {
        check(&pipelined, &[(stack, "cold")]);
        let trips = |run: &Run| cell(run, stack, "cold").first_message_round_trips;
        let (before, after) = (trips(&waiting), trips(&pipelined));
        assert_eq!(before, after.map(|after| after + gained), "{stack} on {target}");
    }
}

#[test]
#[ignore = "needs root and rabbitmq-server"]
fn rabbitmq_takes_messages_of_both_protocols() {
    need_program("rabbitmq-server", "rabbitmq-server");
    let run = run(
        "rabbitmq",
        "amqp-unsettled,amqp-settled+tls1.3,mqtt-qos1,mqtt-qos1+tls1.3",
    );
    let stacks = [
        "amqp-unsettled",
        "amqp-settled+tls1.3",
        "mqtt-qos1",
        "mqtt-qos1+tls1.3",
    ];
    check(&run, &stacks.map(|stack| (stack, "cold")));
    let resumed = self::run(
        "rabbitmq",
        "amqp-unsettled+tls1.3,mqtt-qos1+tls1.3 --start cold,resumed,0rtt",
    );
    for stack in ["amqp-unsettled+tls1.3", "mqtt-qos1+tls1.3"] {
        check(&resumed, &[(stack, "cold"), (stack, "resumed")]);
        check_resumption(&resumed, stack);
        check_refused(cell(&resumed, stack, "0rtt"));
    }
}

#[test]
#[ignore = "needs root and caddy"]
fn caddy_takes_posts_over_every_transport() {
    need_program("caddy", "caddy");
    let run = run("caddy", "http1,http1+tls1.3,http3");
    check(
        &run,
        &["http1", "http1+tls1.3", "http3"].map(|stack| (stack, "cold")),
    );
    let early = self::run("caddy", "http3,http1+tls1.3 --start resumed,0rtt");
    check(
        &early,
        &[
            ("http3", "resumed"),
            ("http3", "0rtt"),
            ("http1+tls1.3", "resumed"),
        ],
    );
}

#[test]
#[ignore = "needs root and libapache2-mod-php"]
fn apache_takes_posts() {
    need_program("apache2", "libapache2-mod-php");
    let run = run("apache", "http1");
    check(&run, &[("http1", "cold")]);
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn libcoap_takes_puts_over_dtls() {
    need_program("coap-server-openssl", "libcoap3-bin");
    let run = run(
        "libcoap",
        "coap-con,coap-con+dtls1.2,coap-con+dtls1.2-psk,coap-non+dtls1.2-psk",
    );
    let stacks = [
        "coap-con",
        "coap-con+dtls1.2",
        "coap-con+dtls1.2-psk",
        "coap-non+dtls1.2-psk",
    ];
    check(&run, &stacks.map(|stack| (stack, "cold")));
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn libcoap_takes_puts_over_tcp_and_tls() {
    need_program("coap-server-openssl", "libcoap3-bin");
    let stacks = ["coap-tcp", "coap-tcp+tls1.3", "coap-tcp+tls1.2"];
    let run = run("libcoap", &stacks.join(","));
    check(&run, &stacks.map(|stack| (stack, "cold")));
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn libcoap_on_gnutls_takes_puts_over_dtls() {
    need_program("coap-server-gnutls", "libcoap3-bin");
    let run = run("libcoap-gnutls", "coap-con+dtls1.2,coap-con+dtls1.2-psk");
    check(
        &run,
        &["coap-con+dtls1.2", "coap-con+dtls1.2-psk"].map(|stack| (stack, "cold")),
    );
}

fn run(target: &str, arguments: &str) -> Run {
    let _alone = alone_with(target);
    let arguments = format!("--target {target} {arguments} -n {SAMPLES} --settle 300ms");
    Run::undisturbed(|| Run::compare(&arguments))
}

fn check(run: &Run, expected: &[(&str, &str)]) {
    for (stack, start) in expected {
        check_cell(cell(run, stack, start));
    }
    let text = std::fs::read_to_string(run.file("env.json")).expect("env.json");
    let environment: Environment = serde_json::from_str(&text).expect("an environment");
    assert_eq!(environment.unattributed_packets, 0);
}

fn cell<'a>(run: &'a Run, stack: &str, start: &str) -> &'a Cell {
    let mut cells = run.summary.cells.iter();
    let found = cells.find(|cell| cell.stack == stack && cell.start == start);
    found.unwrap_or_else(|| panic!("no cell {stack} {start}"))
}

fn check_cell(cell: &Cell) {
    let place = format!("{} {} on {}", cell.stack, cell.start, cell.target);
    assert_eq!(cell.not_run, None, "{place}");
    assert!(cell.valid, "{place}: {:?}", cell.warnings);
    let kinds: Vec<&str> = cell.warnings.iter().map(|warning| warning.kind.name()).collect();
    assert_eq!(kinds, ["few-samples"], "{place}: {:?}", cell.warnings);
    assert_eq!(cell.outcomes.offered, SAMPLES, "{place}");
    assert!(cell.all_arrived(), "{place}: {:?}", cell.outcomes);
    let message = cell.message.as_ref().expect("a message");
    assert_eq!(
        (message.up.payload.min, message.up.payload.max),
        (128, 128),
        "{place}"
    );
    assert_eq!(message.down.payload.max, 0, "{place}");
    for section in [&cell.connect, &cell.message, &cell.close].into_iter().flatten() {
        check_sums(&place, section);
    }
}

fn check_refused(cell: &Cell) {
    let why = cell.not_run.as_deref().expect("a reason");
    assert!(why.contains("0rtt: it granted resumed"), "{}: {why}", cell.stack);
    assert!(cell.message.is_none(), "{}", cell.stack);
}

fn check_sums(place: &str, section: &Section) {
    for bytes in [&section.up, &section.down] {
        let layers = [
            bytes.ip,
            bytes.transport,
            bytes.security,
            bytes.application,
            bytes.payload,
        ];
        let sum: u64 = layers.iter().map(|layer| layer.sum).sum();
        assert_eq!(sum, bytes.wire.sum, "{place}: layers");
    }
}

/// A resumed handshake brings no certificate down.
fn check_resumption(run: &Run, stack: &str) {
    let down = |start| {
        let connect = cell(run, stack, start).connect.as_ref().expect("a connect");
        connect.down.security.max
    };
    assert!(
        down("resumed") < down("cold"),
        "{stack}: {} and {}",
        down("resumed"),
        down("cold")
    );
}
