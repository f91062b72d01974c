//! Normative statements of MQTT 5 that no other test covers, each with bytes that violate it.

use crate::common::*;
use crate::hostile::{CONNECT_4, CONNECT_5};
use wirecost_mqtt::broker::Config;

const SUBSCRIBER_5: &str = "100e 0004 4d515454 05 02 000a 00 0001 62";
const SUBSCRIBER_4: &str = "100d 0004 4d515454 04 02 000a 0001 62";

/// A broker that has sent a message of `qos` with the identifier 1 to the subscriber on flow 1.
fn sent(qos: u8, version: u8) -> Raw {
    let mut raw = Raw::new(Config::default());
    let (subscriber, subscribe, publish) = match version {
        5 => (SUBSCRIBER_5, "8207 0001 00 0001 74 02", "06 0001 74 0007 00"),
        _ => (SUBSCRIBER_4, "8206 0001 0001 74 02", "05 0001 74 0007"),
    };
    raw.open(1);
    raw.send(1, &hex(subscriber));
    raw.send(1, &hex(subscribe));
    raw.open(0);
    raw.send(0, &hex(if version == 5 { CONNECT_5 } else { CONNECT_4 }));
    let first = 0x30 | qos << 1;
    let answer = raw.send(0, &hex(&format!("{first:02x}{publish}")));
    assert_eq!(answer.bytes.len(), 4, "{answer:02x?}");
    raw
}

fn closing(bytes: &str) -> Answer {
    Answer {
        bytes: hex(bytes),
        closed: true,
    }
}

/// [MQTT-3.1.2-24]: a client gets no CONNACK, SUBACK or UNSUBACK above its maximum packet size.
#[test]
fn no_answer_exceeds_the_clients_packet_size() {
    let limited = |limit: u32, id: &str| format!("1013 0004 4d515454 05 02 000a 05 27 {limit:08x} 0001 {id}");
    let connect = |limit, config| {
        let mut raw = Raw::new(config);
        raw.open(0);
        let answer = raw.send(0, &hex(&limited(limit, "61")));
        (raw, answer)
    };
    let aliases = || Config {
        topic_alias_maximum: 32,
        ..Config::default()
    };
    let (raw, answer) = connect(2, aliases());
    assert_eq!((answer, raw.broker.sessions()), (closing(""), 0));
    assert_eq!(connect(7, aliases()).1, closing("2003 00 95 00"));
    assert_eq!(connect(8, aliases()).1.bytes, hex("2006 00 00 03 22 0020"));
    assert_eq!(connect(4, Config::default()).1, closing(""));
    let (mut raw, answer) = connect(6, Config::default());
    assert!(!answer.closed);
    let one = raw.send(0, &hex("8207 0001 00 0001 74 02"));
    assert_eq!(one.bytes, hex("9004 0001 00 02"));
    assert_eq!(
        raw.send(0, &hex("820b 0001 00 0001 74 02 0001 75 02")),
        closing("e001 95")
    );
    let (mut raw, _) = connect(6, Config::default());
    assert_eq!(
        raw.send(0, &hex("a209 0001 00 0001 74 0001 75")),
        closing("e001 95")
    );
}

/// Sections 4.3.2, 4.3.3 and 4.13.1
#[test]
fn an_acknowledgement_of_the_wrong_type_ends_the_connection() {
    let cases = [
        (1, "7002 0001"),
        (1, "5002 0001"),
        (1, "5003 0001 80"),
        (2, "4002 0001"),
        (2, "7002 0001"),
    ];
    for (qos, answer) in cases {
        let mut raw = sent(qos, 5);
        assert_eq!(
            raw.send(1, &hex(answer)),
            closing("e001 82"),
            "QoS {qos}: {answer}"
        );
    }
    for (qos, answer) in [
        (1, "7002 0001"),
        (1, "5002 0001"),
        (2, "4002 0001"),
        (2, "7002 0001"),
    ] {
        let mut raw = sent(qos, 4);
        assert_eq!(raw.send(1, &hex(answer)), closing(""), "QoS {qos}: {answer}");
    }
    let mut raw = sent(2, 5);
    raw.send(1, &hex("5002 0001"));
    assert_eq!(raw.send(1, &hex("4002 0001")), closing("e001 82"), "after PUBREL");
}

/// [MQTT-4.3.3-4]: PUBREL answers a PUBREC of less than 0x80 and no other.
#[test]
fn a_refused_message_gets_no_pubrel() {
    let mut raw = sent(2, 5);
    assert_eq!(raw.send(1, &hex("5003 0001 80")), Answer::default());
    assert_eq!(
        raw.send(1, &hex("5003 0001 80")),
        Answer::default(),
        "refused again"
    );
    assert_eq!(raw.send(1, &hex("5003 0009 97")), Answer::default(), "never sent");
    assert_eq!(raw.send(1, &hex("5002 0009")).bytes, hex("6203 0009 92"));
    assert_eq!(raw.broker.stats().unexpected_answers, 3);
}

/// Sections 4.7.2 and 4.8.2: clients cannot publish to names that are reserved for servers.
#[test]
fn clients_cannot_publish_to_topics_of_the_broker() {
    let names = [
        ("24535953", "$SYS"),
        ("2473686172652f672f61", "$share/g/a"),
        ("245359532f61", "$SYS/a"),
    ];
    for (name, text) in names {
        let bytes = name.len() / 2;
        let publish = |qos: u8, version: u8| {
            let properties = if version == 5 { "00" } else { "" };
            let length = bytes + 4 + properties.len() / 2;
            hex(&format!(
                "{:02x}{length:02x}{bytes:04x}{name}0001{properties}",
                0x30 | qos << 1
            ))
        };
        let mut raw = Raw::new(Config::default());
        raw.open(0);
        raw.send(0, &hex(CONNECT_5));
        raw.send(0, &hex("820a 0001 00 0004 24535953 00"));
        assert_eq!(raw.send(0, &publish(1, 5)).bytes, hex("4003 0001 90"), "{text}");
        assert_eq!(raw.send(0, &publish(2, 5)).bytes, hex("5003 0001 90"), "{text}");
        assert_eq!(raw.broker.stats().published, 0);
        // [MQTT-3.3.5-2] of 3.1.1: it can only be acknowledged.
        let mut raw = Raw::new(Config::default());
        raw.open(0);
        raw.send(0, &hex(CONNECT_4));
        assert_eq!(raw.send(0, &publish(1, 4)).bytes, hex("4002 0001"), "{text}");
        assert_eq!(raw.broker.stats().dropped_by_limit, 1);
    }
}
