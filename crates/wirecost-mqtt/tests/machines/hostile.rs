//! Invalid packets, and the answer of each version (section 4.13).

use std::time::Duration;

use crate::common::*;
use wirecost_mqtt::broker::{Config, Event};
use wirecost_mqtt::codec::ReasonCode;
use wirecost_mqtt::quality::QoS;

/// CONNECT of client `a`, keep-alive 10 s.
pub(crate) const CONNECT_4: &str = "100d 0004 4d515454 04 02 000a 0001 61";
pub(crate) const CONNECT_5: &str = "100e 0004 4d515454 05 02 000a 00 0001 61";

fn connected(connect: &str, config: Config) -> Raw {
    let mut raw = Raw::new(config);
    raw.open(0);
    let answer = raw.send(0, &hex(connect));
    assert!(!answer.closed && answer.bytes[3] == 0, "accepted: {answer:02x?}");
    raw
}

/// The answer to `bytes` on a flow without a connection.
fn first(bytes: &str, config: Config) -> Answer {
    let mut raw = Raw::new(config);
    raw.open(0);
    raw.send(0, &hex(bytes))
}

fn closing(bytes: &str) -> Answer {
    Answer {
        bytes: hex(bytes),
        closed: true,
    }
}

#[test]
fn a_connection_without_a_valid_connect_is_refused() {
    let table = [
        // [MQTT-3.1.0-1]: anything but CONNECT
        ("c000", ""),
        ("3003 0001 61", ""),
        ("0000", ""),
        // [MQTT-3.1.2-1], [MQTT-3.1.2-2]: name and level
        ("100c 0004 4d515450 04 02 000a 0000", ""),
        ("100c 0004 4d515454 03 02 000a 0000", "2002 00 01"),
        ("100c 0004 4d515454 06 02 000a 0000", "2003 00 84 00"),
        // [MQTT-3.1.2-3]: reserved flag
        ("100c 0004 4d515454 04 03 000a 0000", ""),
        ("100d 0004 4d515454 05 03 000a 00 0000", "2003 00 81 00"),
        // [MQTT-3.1.2-14] of 3.1.1: will QoS 3
        ("1012 0004 4d515454 04 1e 000a 0001 61 0001 77 0000", ""),
        // [MQTT-3.1.3-8] of 3.1.1: no identifier and no clean session
        ("100c 0004 4d515454 04 00 000a 0000", "2002 00 02"),
        // Section 3.1.2.11.10: authentication data without a method
        (
            "1011 0004 4d515454 05 02 000a 04 16 0001 6d 0000",
            "2003 00 82 00",
        ),
        // [MQTT-4.7.3-1]: a will with a response topic of no characters
        (
            "1015 0004 4d515454 05 06 000a 00 0000 03 08 0000 0001 77 0000",
            "2003 00 82 00",
        ),
        // Section 4.7.2: a will to a reserved topic
        (
            "1016 0004 4d515454 05 06 000a 00 0000 00 0004 24535953 0000",
            "2003 00 90 00",
        ),
        // Section 4.12: enhanced authentication
        (
            "1011 0004 4d515454 05 02 000a 04 15 0001 6d 0000",
            "2003 00 8c 00",
        ),
        // Section 3.1.2.11.3: receive maximum of 0
        ("1010 0004 4d515454 05 02 000a 03 21 0000 0000", "2003 00 82 00"),
        // Trailing and missing bytes
        ("100d 0004 4d515454 04 02 000a 0000 00", ""),
        ("100b 0004 4d515454 05 02 000a 00 00", "2003 00 81 00"),
        // [MQTT-1.5.4-2]: U+0000 in the identifier
        ("100e 0004 4d515454 05 02 000a 00 0001 00", "2003 00 81 00"),
        // Section 1.5.4: control characters and what is no character, in the identifier, the user name and the will
        ("100e 0004 4d515454 05 02 000a 00 0001 01", "2003 00 81 00"),
        ("100e 0004 4d515454 04 02 000a 0001 1f 00", ""),
        ("1010 0004 4d515454 05 02 000a 00 0003 efbfbf", "2003 00 81 00"),
        (
            "1011 0004 4d515454 05 82 000a 00 0001 61 0001 7f",
            "2003 00 81 00",
        ),
        (
            "1014 0004 4d515454 05 06 000a 00 0001 61 00 0002 c280 0000",
            "2003 00 81 00",
        ),
    ];
    for (bytes, answer) in table {
        assert_eq!(first(bytes, Config::default()), closing(answer), "{bytes}");
    }
}

#[test]
fn a_connected_client_that_breaks_a_rule_is_disconnected() {
    let table = [
        // [MQTT-3.1.0-2]: a second CONNECT
        (CONNECT_5, "82"),
        ("100e 0004 4d515454 06 02 000a 00 0001 61", "82"),
        // Packets that only servers send
        ("2003 00 00 00", "82"),
        ("9004 0001 00 00", "82"),
        ("d000", "82"),
        // AUTH without a method
        ("f000", "82"),
        // Reserved types and flags
        ("0000", "81"),
        ("c100", "81"),
        ("3606 0001 61 0001 00", "81"),
        // Topics
        ("3004 0001 23 00", "81"),
        ("3003 0000 00", "82"),
        // Section 1.5.4: control characters and what is no character, in topic names, filters and properties
        ("3004 0001 1b 00", "81"),
        ("3005 0002 c29b 00", "81"),
        ("3006 0003 efb790 00", "81"),
        ("8207 0001 00 0001 07 00", "81"),
        ("a206 0001 00 0001 7f", "81"),
        ("3008 0001 61 04 03 0001 0a", "81"),
        ("300b 0001 61 07 26 0001 61 0001 08", "81"),
        ("e007 81 05 1f 0002 c285", "81"),
        // [MQTT-3.3.2-9]: an alias where none is taken
        ("3007 0001 61 03 23 0001", "94"),
        // [MQTT-4.7.3-1]: a response topic of no characters
        ("3007 0001 61 03 08 0000", "82"),
        // [MQTT-3.3.4-6]: a subscription identifier from a client
        ("3006 0001 61 02 0b 01", "82"),
        // [MQTT-3.8.3-2]
        ("8203 0001 00", "82"),
        // Section 3.14.2.2.2: an expiry interval for a session without one
        ("e007 00 05 11 00000001", "82"),
        // Remaining length of five bytes
        ("30 ffffffff 01", "81"),
    ];
    for (bytes, code) in table {
        let mut raw = connected(CONNECT_5, Config::default());
        let answer = raw.send(0, &hex(bytes));
        assert_eq!(answer, closing(&format!("e001 {code}")), "{bytes}");
        assert_eq!(raw.broker.stats().faults, 1);
        assert_eq!(raw.broker.sessions(), 0, "the session ended with its connection");
    }
}

/// MQTT 3.1.1 has no DISCONNECT from the server [MQTT-4.8.0-1 of 3.1.1].
#[test]
fn version_3_1_1_is_closed_without_a_packet() {
    let table = [
        CONNECT_4,
        "3003 0001 1b",
        "0000",
        "f000",
        "c100",
        "3004 0001 23 00",
        "8202 0001",
        "8206 0001 0001 61 03",
    ];
    for bytes in table {
        let mut raw = connected(CONNECT_4, Config::default());
        assert_eq!(raw.send(0, &hex(bytes)), closing(""), "{bytes}");
    }
}

/// Refused before the packet is complete: a client without a connection uses no memory.
#[test]
fn the_first_packet_has_the_size_limit_of_a_connect() {
    let small = || Config {
        maximum_connect_size: 16,
        ..Config::default()
    };
    // A packet of 512 KiB has a remaining length of 524,284 B.
    for (bytes, config) in [
        ("10 ffffff7f", Config::default()),
        ("10 fdff1f", Config::default()),
        ("10 0f", small()),
        ("30 ffffff7f", small()),
    ] {
        assert_eq!(first(bytes, config), closing(""), "{bytes}");
    }
    assert_eq!(first("10 fcff1f", Config::default()), Answer::default());
    let large_publish = "30 ffffff7f";
    let mut raw = connected(CONNECT_5, small());
    assert_eq!(raw.send(0, &hex(large_publish)), Answer::default());
    let at_once = first(&format!("{CONNECT_5}{large_publish}"), small());
    assert!(!at_once.closed, "{at_once:02x?}");
}

#[test]
fn announced_limits_are_enforced() {
    let limited = || Config {
        maximum_packet_size: Some(40),
        receive_maximum: 1,
        maximum_qos: QoS::ExactlyOnce,
        retain_available: false,
        ..Config::default()
    };
    // [MQTT-3.2.2-15], reported before the packet is complete
    let mut raw = connected(CONNECT_5, limited());
    assert_eq!(raw.send(0, &hex("30 7f")), closing("e001 95"));
    // [MQTT-3.3.4-7]
    let mut raw = connected(CONNECT_5, limited());
    assert_eq!(
        raw.send(0, &hex("3406 0001 61 0001 00")).bytes,
        hex("5003 0001 10")
    );
    assert_eq!(raw.send(0, &hex("3c06 0001 61 0001 00")).bytes, hex("5002 0001"));
    assert_eq!(raw.send(0, &hex("3406 0001 61 0002 00")), closing("e001 93"));
    // [MQTT-3.2.2-14]
    let mut raw = connected(CONNECT_5, limited());
    assert_eq!(raw.send(0, &hex("3104 0001 61 00")), closing("e001 9a"));
    // [MQTT-3.2.2-13]
    let with_will = "1013 0004 4d515454 05 26 000a 00 0000 00 0001 77 0000";
    assert_eq!(first(with_will, limited()), closing("2003 00 9a 00"));
    // [MQTT-3.2.2-11]
    let at_most_once = Config {
        maximum_qos: QoS::AtMostOnce,
        ..Config::default()
    };
    let mut raw = connected(CONNECT_5, at_most_once);
    // [MQTT-3.2.2-10]: a subscription may ask for more and is granted less.
    assert_eq!(
        raw.send(0, &hex("8207 0001 00 0001 61 02")).bytes,
        hex("9004 0001 00 00")
    );
    assert_eq!(raw.send(0, &hex("3206 0001 61 0001 00")), closing("e001 9b"));
}

#[test]
fn limits_that_are_not_announced_refuse_one_thing_only() {
    let config = Config {
        maximum_topic_levels: 2,
        maximum_subscriptions: 1,
        shared_subscriptions: false,
        wildcard_subscriptions: false,
        subscription_identifiers: false,
        maximum_retained: 1,
        ..Config::default()
    };
    let mut raw = connected(CONNECT_5, config);
    let answers = [
        ("320a 0005 612f622f63 0001 00", "4003 0001 90"),
        ("340a 0005 612f622f63 0001 00", "5003 0001 90"),
        ("3c0a 0005 612f622f63 0001 00", "5003 0001 90"),
        ("820b 0001 00 0005 612f622f63 00", "9004 0001 00 8f"),
        ("8207 0001 00 0001 23 00", "9004 0001 00 a2"),
        ("8210 0001 00 000a 2473686172652f672f61 00", "9004 0001 00 9e"),
        ("8209 0001 02 0b 01 0001 61 00", "9004 0001 00 a1"),
        ("8207 0001 00 0001 61 02", "9004 0001 00 02"),
        ("8207 0001 00 0001 62 02", "9004 0001 00 97"),
        ("8207 0001 00 0001 61 01", "9004 0001 00 01"),
        ("3108 0001 78 00 61616161", ""),
        ("3108 0001 79 00 61616161", ""),
    ];
    for (bytes, answer) in answers {
        assert_eq!(raw.send(0, &hex(bytes)).bytes, hex(answer), "{bytes}");
    }
    assert_eq!(raw.broker.retained(), 1);
    assert_eq!(raw.broker.stats().dropped_by_limit, 4);
}

#[test]
fn users_need_their_password() {
    let users = [("u".to_string(), b"p".to_vec())].into();
    let config = || Config {
        users: Some(std::collections::BTreeMap::clone(&users)),
        ..Config::default()
    };
    let with = |password: &str| {
        let hex = format!("1013 0004 4d515454 05 c2 000a 00 0000 0001 75 0001 {password}");
        first(&hex, config())
    };
    assert!(!with("70").closed);
    assert_eq!(with("71"), closing("2003 00 86 00"));
    // A user who is not known is answered like one whose password is wrong.
    let unknown = "1013 0004 4d515454 05 c2 000a 00 0000 0001 78 0001 70";
    assert_eq!(first(unknown, config()), closing("2003 00 86 00"));
    let nothing = "1012 0004 4d515454 05 c2 000a 00 0000 0001 75 0000";
    assert_eq!(first(nothing, config()), closing("2003 00 86 00"));
    assert_eq!(first(CONNECT_5, config()), closing("2003 00 86 00"));
    assert_eq!(first(CONNECT_4, config()), closing("2002 00 04"));
}

#[test]
fn the_number_of_sessions_is_limited() {
    let config = Config {
        maximum_sessions: 1,
        ..Config::default()
    };
    let mut raw = connected(CONNECT_5, config);
    raw.open(1);
    let other = CONNECT_5.replace("0001 61", "0001 62");
    assert_eq!(raw.send(1, &hex(&other)), closing("2003 00 97 00"));
    let refused = Event::ClientRefused {
        flow: wirecost_proto::FlowId(1),
        reason: ReasonCode::QuotaExceeded,
    };
    assert_eq!(raw.events.last(), Some(&refused));
}

#[test]
fn a_flow_without_connect_is_closed() {
    let mut raw = Raw::new(Config::default());
    raw.open(0);
    raw.send(0, &hex("10"));
    assert!(!raw.wait(0, Duration::from_secs(29)).closed);
    assert!(raw.wait(0, Duration::from_secs(1)).closed);
}

/// [MQTT-3.1.2-22]: one and a half times the keep-alive of 10 s.
#[test]
fn a_silent_client_is_disconnected_after_1_5_keep_alives() {
    for (connect, answer) in [(CONNECT_5, "e001 8d"), (CONNECT_4, "")] {
        let mut raw = connected(connect, Config::default());
        raw.wait(0, Duration::from_secs(9));
        assert_eq!(raw.send(0, &hex("c000")).bytes, hex("d000"));
        assert_eq!(raw.wait(0, Duration::from_millis(14_999)), Answer::default());
        assert_eq!(raw.wait(0, Duration::from_millis(1)), closing(answer));
    }
}

#[test]
fn bytes_after_disconnect_are_counted_and_ignored() {
    let mut raw = connected(CONNECT_4, Config::default());
    assert_eq!(raw.send(0, &hex("e000")), Answer::default());
    assert_eq!(raw.send(0, &hex("c000")), closing(""));
    assert_eq!(raw.broker.stats().ignored_bytes, 2);
}

#[test]
fn a_client_that_sends_after_disconnect_is_closed_at_once() {
    // A failure for which the client disconnects (section 4.13.1)
    let mut raw = connected(CONNECT_5, Config::default());
    assert_eq!(raw.send(0, &hex("e001 82")), closing(""));
    // [MQTT-3.14.4-1]
    let mut raw = connected(CONNECT_4, Config::default());
    assert_eq!(raw.send(0, &hex("e000")), Answer::default());
    assert_eq!(raw.send(0, &hex("c000")), closing(""));
    let mut raw = connected(CONNECT_5, Config::default());
    assert_eq!(raw.send(0, &hex("e000 c000")), closing(""));
    assert_eq!(raw.wait(0, Duration::from_secs(2)), Answer::default());
}

#[test]
fn the_broker_closes_if_the_client_does_not_after_disconnect() {
    let mut raw = connected(CONNECT_4, Config::default());
    assert_eq!(raw.send(0, &hex("e000")), Answer::default());
    assert_eq!(raw.wait(0, Duration::from_millis(999)), Answer::default());
    assert_eq!(raw.wait(0, Duration::from_millis(1)), closing(""));
}
