//! A counting target receives exactly the messages that a load reports as sent.

use crate::rig::{Target, load};

/// Messages of each load.
const COUNT: u64 = 3_000;

/// Every stack that a URL names, with the flags that ask for it.
const STACKS: [(&str, &str, &str); 7] = [
    ("mqtt-qos0", "mqtt", "--qos 0"),
    ("mqtt-qos1", "mqtt", "--qos 1"),
    ("mqtt-qos2", "mqtt", "--qos 2"),
    ("amqp-settled", "amqp", "--qos 0"),
    ("amqp-unsettled", "amqp", "--qos 1"),
    ("http1", "http", ""),
    ("coap-con", "coap", "--qos 1"),
];

/// Windows: one, some, and as many as the protocol allows.
const WINDOWS: [&str; 3] = ["--inflight 1", "--inflight 16", ""];

/// Runs a load of a target, and compares both counts.
fn hold(stack: &str, scheme: &str, flags: &str) {
    let mut target = Target::start(stack);
    let url = target.url(scheme);
    let arguments = format!("{url} --clients 10 --count {COUNT} {flags}");
    let arguments = arguments.split_whitespace().collect::<Vec<_>>().join(" ");
    let loaded = load(&arguments);
    let (outcomes, sent, arrived) = (loaded.outcomes(), loaded.sent(), target.messages());
    assert_eq!(
        outcomes.offered, COUNT,
        "{stack} {flags}: {outcomes:?}\n{}",
        loaded.stderr
    );
    assert_eq!((sent, arrived), (COUNT, COUNT), "{stack} {flags}: {outcomes:?}");
}

#[test]
fn messages_sent_at_a_rate_have_arrived() {
    for (stack, scheme, flags) in STACKS {
        for window in WINDOWS {
            hold(stack, scheme, &format!("{flags} --rate 3000/s {window}"));
        }
    }
}

#[test]
fn messages_sent_in_a_closed_loop_have_arrived() {
    for (stack, scheme, flags) in STACKS {
        for window in ["--inflight 1", "--inflight 16"] {
            hold(stack, scheme, &format!("{flags} --closed-loop {window}"));
        }
    }
}

/// Those that no URL names have the target of their own that a stack's name starts: it counts for the load.
#[test]
fn messages_sent_to_an_own_target_have_arrived() {
    for stack in [
        "tcp",
        "udp",
        "coap-non",
        "http3",
        "mqtt5-qos1",
        "mqtt5-qos2",
        "mqtt-qos1+tls1.3",
        "amqp-unsettled+tls1.3",
        "http1+tls1.3",
        "coap-con+dtls1.3",
        "coap-con+oscore",
    ] {
        // Nobody sends a datagram again that found the target's socket buffer full: a target that is held up for a quarter
        // of a second still takes all of this rate.
        let rate = if matches!(stack, "udp" | "coap-non") {
            1_000
        } else {
            3_000
        };
        let loaded = load(&format!("{stack} --clients 10 --count {COUNT} --rate {rate}/s"));
        let outcomes = loaded.outcomes();
        assert_eq!(
            (outcomes.offered, loaded.sent()),
            (COUNT, COUNT),
            "{stack}: {outcomes:?}"
        );
        let arrived: u64 = loaded
            .only()
            .phases
            .iter()
            .filter_map(|phase| phase.deliveries.as_ref())
            .map(|deliveries| deliveries.arrived)
            .sum();
        assert_eq!(arrived, COUNT, "{stack}: {outcomes:?}");
    }
}
