//! How many readings are found, and how sure that is.

use serde_json::Value;

use super::build::{self, RAW, Talk, mqtt};
use super::folder;
use crate::common::{said, wirecost};

/// A record of application data of TLS 1.2 with AES-GCM: 24 B beside its content.
fn record(content: usize) -> Vec<u8> {
    let length = content + 24;
    [
        &[23, 3, 3, (length >> 8) as u8, length as u8][..],
        &vec![0xa5; length],
    ]
    .concat()
}

/// A client's hello and a server's of TLS, as far as they are needed to know them.
fn hello(kind: u8) -> Vec<u8> {
    let hello = [&[kind, 0, 0, 38, 3, 3][..], &[7; 32], &[0, 0xc0, 0x2f, 0]].concat();
    [&[22, 3, 3, 0, hello.len() as u8][..], &hello].concat()
}

/// Connections of TLS to a port: the sizes of the records up and of their answers, by connection.
fn connections(port: u16, each: &[&[(usize, &[usize])]]) -> Vec<u8> {
    let mut packets = Vec::new();
    for (number, records) in each.iter().enumerate() {
        let mut talk = Talk::open(40_000 + number as u16, port, &[]);
        talk.say(true, &hello(1)).say(false, &hello(2));
        for (content, answers) in *records {
            talk.say(true, &record(*content));
            for answer in *answers {
                talk.say(false, &record(*answer));
            }
        }
        talk.close();
        packets.extend(talk.packets);
    }
    build::pcap(RAW, &packets)
}

fn what_if(file: &[u8]) -> Value {
    let folder = folder(file);
    let command = "what-if capture udp --every 1min -q --json - --out run";
    let said = said(wirecost(folder.path()).args(command.split(' ')));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    serde_json::from_str(&said.stdout).expect("JSON")
}

/// A connection for each reading: CONNECT, CONNACK, a publication, perhaps its acknowledgement, DISCONNECT.
const QOS_0: &[(usize, &[usize])] = &[(40, &[4]), (62, &[]), (2, &[])];
const QOS_1: &[(usize, &[usize])] = &[(40, &[11]), (64, &[4]), (2, &[])];
/// Requests of HTTP with short answers.
const HTTP: &[(usize, &[usize])] = &[(150, &[27]), (150, &[27]), (150, &[27])];
/// Bare messages behind tickets.
const BARE: &[(usize, &[usize])] = &[(62, &[200, 200]), (62, &[]), (62, &[])];

#[test]
fn the_connect_of_mqtt_is_no_reading_at_any_port() {
    for port in [8_883, 8_884, 443, 14_883] {
        for connection in [QOS_0, QOS_1] {
            let found = what_if(&connections(port, &[connection; 3]));
            assert_eq!(found["readings"], 3, "{port}: {found}");
            assert_eq!(
                (&found["readings_least"], &found["readings_most"]),
                (&3.into(), &3.into())
            );
            assert_eq!(found["readings_by"], "encrypted records");
            let notes = found["notes"].to_string();
            assert!(
                notes.contains("3 readings found, by the sizes of encrypted records"),
                "{notes}"
            );
        }
    }
}

#[test]
fn the_first_request_of_http_is_a_reading() {
    for port in [443, 8_884] {
        let found = what_if(&connections(port, &[HTTP; 2]));
        assert_eq!(
            (&found["readings"], &found["readings_least"]),
            (&6.into(), &6.into()),
            "{found}"
        );
    }
}

#[test]
fn what_may_be_a_connect_is_said_to_be_unsure() {
    let found = what_if(&connections(8_884, &[BARE; 2]));
    let bounds = (
        &found["readings"],
        &found["readings_least"],
        &found["readings_most"],
    );
    assert_eq!(bounds, (&6.into(), &4.into(), &6.into()), "{found}");
    let notes = found["notes"].to_string();
    assert!(
        notes.contains("not sure, 2 of them may open a connection"),
        "{notes}"
    );
    assert!(notes.contains("so that there are 4 to 6"), "{notes}");
}

#[test]
fn readings_by_their_payload_are_sure() {
    let found = what_if(&build::pcap(RAW, &mqtt()));
    assert_eq!(
        (&found["readings"], &found["readings_by"]),
        (&3.into(), &"payload".into())
    );
    assert!(
        found["notes"]
            .to_string()
            .contains("3 readings found, by their payload: sure"),
        "{found}"
    );
}

#[test]
fn cost_says_how_many_readings_it_found() {
    let table = [
        (
            build::pcap(RAW, &mqtt()),
            "10.0.0.2: 3 readings found, by their payload: sure",
        ),
        (
            connections(8_884, &[QOS_1; 3]),
            "10.0.0.2: 3 readings found, by the sizes of encrypted records: likely, not sure",
        ),
    ];
    for (file, note) in table {
        let folder = folder(&file);
        let command = "cost capture --tariff per-mb --interval 15min";
        let said = said(wirecost(folder.path()).args(command.split(' ')));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stdout.contains(note), "{}", said.stdout);
        let repeated =
            "10.0.0.2: one of the 3 readings every 15 min, with its share of the capture as it was recorded";
        assert!(said.stdout.contains(repeated), "{}", said.stdout);
    }
}
