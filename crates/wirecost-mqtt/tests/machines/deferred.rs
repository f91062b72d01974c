//! A client that acknowledges on command.

use wirecost_mqtt::client::{Command, Config, Event};
use wirecost_mqtt::codec::{DecodeError, ProtocolError, Version};
use wirecost_proto::Input;

use crate::common::{hex, of_version};
use crate::server_faults::ClientHarness;

/// A client of version 3.1.1 or 5 whose server has this CONNACK.
fn client(version: Version, receive_maximum: u16) -> ClientHarness {
    let config = Config {
        acknowledges_on_command: true,
        clean_start: false,
        receive_maximum,
        ..of_version(version)
    };
    let mut client = ClientHarness::new(config);
    accept(&mut client, version, false);
    client
}

fn accept(client: &mut ClientHarness, version: Version, session_present: bool) {
    let flag = u8::from(session_present);
    client.receive(&match version {
        Version::V3_1_1 => format!("2002 {flag:02x} 00"),
        Version::V5 => format!("2003 {flag:02x} 00 00"),
    });
    client.sent.clear();
}

/// PUBLISH of `payload` to the topic `t`; `first` is its first byte in hex.
fn publish(version: Version, first: &str, id: u8, payload: u8) -> String {
    match version {
        Version::V3_1_1 => format!("{first}06 0001 74 00{id:02x} {payload:02x}"),
        Version::V5 => format!("{first}07 0001 74 00{id:02x} 00 {payload:02x}"),
    }
}

const QOS1: &str = "32";
const QOS1_DUP: &str = "3a";
const QOS2: &str = "34";
const QOS2_DUP: &str = "3c";

fn acknowledge(client: &mut ClientHarness, delivery: u64) {
    client.input(Input::Command(Command::Acknowledge { delivery }));
}

/// The payloads and numbers of the messages that were reported since the last call.
fn reported(client: &mut ClientHarness) -> Vec<(u8, Option<u64>)> {
    let events = std::mem::take(&mut client.events);
    let messages = events.into_iter().filter_map(|event| match event {
        Event::MessageReceived(message) => Some((message.payload[0], message.delivery)),
        _ => None,
    });
    messages.collect()
}

fn sent(client: &mut ClientHarness) -> Vec<u8> {
    std::mem::take(&mut client.sent)
}

const VERSIONS: [Version; 2] = [Version::V3_1_1, Version::V5];

#[test]
fn answers_wait_for_the_command_and_leave_in_the_order_of_arrival() {
    for version in VERSIONS {
        let mut client = client(version, 10);
        for (first, id) in [(QOS1, 1), (QOS2, 2), (QOS1, 3)] {
            client.receive(&publish(version, first, id, id));
        }
        assert_eq!(reported(&mut client), [(1, Some(0)), (2, Some(1)), (3, Some(2))]);
        acknowledge(&mut client, 1);
        acknowledge(&mut client, 2);
        assert_eq!(sent(&mut client), [], "the first has no acknowledgement");
        acknowledge(&mut client, 0);
        assert_eq!(sent(&mut client), hex("4002 0001 5002 0002 4002 0003"));
        client.receive("6202 0002");
        assert_eq!(sent(&mut client), hex("7002 0002"), "PUBREL is answered at once");
        acknowledge(&mut client, 0);
        acknowledge(&mut client, 77);
        assert_eq!(sent(&mut client), [], "an answer leaves once");
    }
}

#[test]
fn what_arrives_again_on_a_later_connection_is_reported_once_and_answered() {
    for version in VERSIONS {
        let mut client = client(version, 10);
        client.receive(&publish(version, QOS1, 1, 0xa));
        client.receive(&publish(version, QOS2, 2, 0xb));
        client.receive(&publish(version, QOS1, 3, 0xc));
        assert_eq!(reported(&mut client).len(), 3);
        client.reopen();
        // Stored while there is no connection.
        acknowledge(&mut client, 0);
        accept(&mut client, version, true);
        assert_eq!(sent(&mut client), []);
        client.receive(&publish(version, QOS1_DUP, 1, 0xa));
        client.receive(&publish(version, QOS2_DUP, 2, 0xb));
        // Another message under an identifier that the server has forgotten.
        client.receive(&publish(version, QOS1_DUP, 3, 0xd));
        assert_eq!(reported(&mut client), [(0xd, Some(3))]);
        assert_eq!(sent(&mut client), hex("4002 0001"));
        acknowledge(&mut client, 3);
        acknowledge(&mut client, 1);
        assert_eq!(sent(&mut client), hex("5002 0002 4002 0003"));
    }
}

#[test]
fn a_qos_2_message_whose_pubrec_was_lost_is_answered_again_and_not_reported() {
    for version in VERSIONS {
        let mut client = client(version, 1);
        client.receive(&publish(version, QOS2, 2, 0xb));
        acknowledge(&mut client, 0);
        assert_eq!(sent(&mut client), hex("5002 0002"));
        client.reopen();
        accept(&mut client, version, true);
        reported(&mut client);
        client.receive(&publish(version, QOS2_DUP, 2, 0xb));
        assert_eq!(reported(&mut client), []);
        assert_eq!(sent(&mut client), hex("5002 0002"));
    }
}

#[test]
fn a_declined_message_is_reported_when_it_arrives_again() {
    for version in VERSIONS {
        let mut client = client(version, 10);
        client.receive(&publish(version, QOS1, 1, 0xa));
        client.receive(&publish(version, QOS1, 2, 0xb));
        client.input(Input::Command(Command::Decline { delivery: 0 }));
        acknowledge(&mut client, 1);
        assert_eq!(sent(&mut client), hex("4002 0002"), "it blocks no other answer");
        client.reopen();
        accept(&mut client, version, true);
        reported(&mut client);
        client.receive(&publish(version, QOS1_DUP, 1, 0xa));
        let events = std::mem::take(&mut client.events);
        let [.., Event::MessageReceived(message)] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!((message.delivery, message.dup), (Some(2), true));
        assert!(!message.may_be_known, "it was declined");
    }
}

#[test]
fn a_number_of_a_lost_session_acknowledges_nothing() {
    for version in VERSIONS {
        let mut client = client(version, 10);
        client.receive(&publish(version, QOS1, 1, 0xa));
        client.reopen();
        accept(&mut client, version, false);
        reported(&mut client);
        client.receive(&publish(version, QOS1_DUP, 1, 0xa));
        assert_eq!(reported(&mut client), [(0xa, Some(1))]);
        acknowledge(&mut client, 0);
        assert_eq!(sent(&mut client), []);
        acknowledge(&mut client, 1);
        assert_eq!(sent(&mut client), hex("4002 0001"));
    }
}

/// Mosquitto 2.0 does so after a reconnection.
#[test]
fn a_server_that_sends_more_than_the_receive_maximum_is_not_disconnected() {
    let mut client = client(Version::V5, 2);
    for id in 1..=4 {
        client.receive(&publish(Version::V5, QOS1, id, id));
    }
    assert_eq!(client.failure(), None);
    assert_eq!(reported(&mut client).len(), 4);
}

#[test]
fn there_are_no_more_messages_without_acknowledgement_than_identifiers() {
    let mut client = client(Version::V3_1_1, 10);
    let mut bytes = String::new();
    for id in 1..=u16::MAX {
        bytes.push_str(&format!("3206 0001 74 {id:04x} 00"));
    }
    client.receive(&bytes);
    assert_eq!(client.failure(), None);
    client.receive("3206 0001 74 0001 01");
    let failure = DecodeError::from(ProtocolError::ReceiveMaximum(u16::MAX));
    assert_eq!(client.failure(), Some(failure));
}
