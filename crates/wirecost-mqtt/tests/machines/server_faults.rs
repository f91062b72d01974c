//! The client with a server that breaks the rules.

use wirecost_mqtt::client::{Client, Command, Config, Event};
use wirecost_mqtt::codec::{DecodeError, ProtocolError, ReasonCode, Version};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer};

use crate::common::{hex, of_version, publish};
use wirecost_mqtt::quality::QoS;

/// A client whose server is the test.
struct Played {
    client: Client,
    flow: FlowId,
    sent: Vec<u8>,
    events: Vec<Event>,
    closed: bool,
}

impl Played {
    fn new(config: Config) -> Self {
        let mut played = Self {
            client: Client::new(config),
            flow: FlowId(0),
            sent: Vec::new(),
            events: Vec::new(),
            closed: false,
        };
        let peer: Peer = "10.0.0.1:1".parse().expect("an address");
        let flow = FlowId(0);
        played.input(Input::Opened { flow, peer });
        played.sent.clear();
        played
    }

    /// A connected MQTT 5 client.
    fn connected() -> Self {
        let mut played = Self::new(of_version(Version::V5));
        played.receive("2003 00 00 00");
        played
    }

    /// The error of the client, if it failed.
    fn failure(&self) -> Option<DecodeError> {
        self.events.iter().find_map(|event| match event {
            Event::Failed(error) => Some(*error),
            _ => None,
        })
    }

    /// Opens another flow after the server has closed the last one.
    fn reopen(&mut self) {
        let peer: Peer = "10.0.0.1:1".parse().expect("an address");
        self.input(Input::PeerClosed { flow: self.flow });
        self.flow = FlowId(self.flow.0 + 1);
        let flow = self.flow;
        self.input(Input::Opened { flow, peer });
    }

    fn receive(&mut self, bytes: &str) {
        let (flow, bytes) = (self.flow, hex(bytes));
        self.input(Input::Received { flow, bytes: &bytes });
    }

    fn input(&mut self, input: Input<'_, Command>) {
        self.client
            .handle_input(input, Instant::START)
            .expect("the client lives on");
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.client.poll_output(&mut out) {
                Output::Transmit { .. } => self.sent.extend_from_slice(out.bytes()),
                Output::Close { .. } => self.closed = true,
                Output::Event(event) => self.events.push(event),
                Output::Consumed { .. } => {}
                Output::Timeout(_) => return,
            }
        }
    }
}

#[test]
fn an_error_before_connack_closes_without_a_packet() {
    for bytes in ["d000", "2003 02 00 00", "2003 01 00 00", "0000", "e001 00"] {
        let mut played = Played::new(of_version(Version::V5));
        played.receive(bytes);
        assert!(played.closed && played.sent.is_empty(), "{bytes}");
        assert!(matches!(played.events.last(), Some(Event::Failed(_))), "{bytes}");
    }
}

#[test]
fn an_error_after_connack_is_answered_with_disconnect() {
    let table = [
        ("2003 00 00 00", "82"),
        ("8207 0001 00 0001 61 00", "82"),
        ("3007 0001 61 03 23 0001", "94"),
        ("3003 0001 23", "81"),
        ("c000", "82"),
        ("f000", "82"),
    ];
    for (bytes, code) in table {
        let mut played = Played::connected();
        played.receive(bytes);
        assert_eq!(played.sent, hex(&format!("e001 {code}")), "{bytes}");
        assert!(played.closed);
    }
}

#[test]
fn a_packet_above_the_clients_limit_is_refused() {
    let mut played = Played::new(Config {
        maximum_packet_size: Some(50),
        ..of_version(Version::V5)
    });
    played.receive("2003 00 00 00");
    played.receive("30 7f");
    assert_eq!(played.sent, hex("e001 95"));
    let error = DecodeError::TooLarge {
        bytes: 129,
        limit: 50,
    };
    assert_eq!(played.events.last(), Some(&Event::Failed(error)));
}

#[test]
fn a_servers_disconnect_is_reported_and_the_flow_closed() {
    let mut played = Played::connected();
    played.receive("e001 8b");
    let reason = ReasonCode::ServerShuttingDown;
    assert_eq!(played.events.last(), Some(&Event::Disconnected { reason }));
    assert!(played.closed && played.sent.is_empty());
    played.input(Input::PeerClosed { flow: FlowId(0) });
    assert_eq!(played.events.last(), Some(&Event::Closed));
}

#[test]
fn unexpected_answers_are_counted() {
    let mut played = Played::connected();
    for bytes in ["4002 0001", "7002 0001", "9004 0001 00 00", "b004 0001 00 00"] {
        played.receive(bytes);
    }
    assert_eq!(played.client.stats().unexpected_answers, 4);
    played.receive("5002 0005 6202 0006");
    assert_eq!(played.sent, hex("6203 0005 92 7003 0006 92"));
    assert!(!played.closed);
}

#[test]
fn a_message_of_qos_2_is_reported_once_until_it_is_released() {
    let mut played = Played::connected();
    for bytes in ["3406 0001 61 0001 00", "3c06 0001 61 0001 00", "6202 0001"] {
        played.receive(bytes);
    }
    let messages = played
        .events
        .iter()
        .filter(|event| matches!(event, Event::MessageReceived(_)));
    assert_eq!(messages.count(), 1);
    assert_eq!(played.sent, hex("5002 0001 5002 0001 7002 0001"));
    assert_eq!(played.client.stats().duplicates, 1);
}

/// [MQTT-3.2.2-5]
#[test]
fn a_new_session_forgets_the_packet_identifiers_of_the_old_one() {
    let mut played = Played::connected();
    played.receive("3406 0001 61 0001 00");
    played.reopen();
    played.receive("2003 00 00 00 3406 0001 61 0001 00");
    assert_eq!(played.client.stats().duplicates, 0);
}

/// [MQTT-3.3.4-9]
#[test]
fn a_server_must_stay_within_the_clients_receive_maximum() {
    let mut played = Played::new(Config {
        receive_maximum: 1,
        ..of_version(Version::V5)
    });
    played.receive("2003 00 00 00 3406 0001 61 0001 00 3c06 0001 61 0001 00");
    assert!(!played.closed);
    played.receive("3406 0001 61 0002 00");
    assert!(played.sent.ends_with(&hex("e001 93")));
}

#[test]
fn a_refusal_in_pubrec_ends_the_exchange() {
    let mut played = Played::connected();
    played.input(Input::Command(publish("a", QoS::ExactlyOnce, b"")));
    played.sent.clear();
    played.receive("5003 0001 97");
    let reason = ReasonCode::QuotaExceeded;
    assert_eq!(
        played.events.last(),
        Some(&Event::Acknowledged { message: 0, reason })
    );
    assert!(played.sent.is_empty());
    assert_eq!(played.client.in_flight(), 0);
}

#[test]
fn the_assigned_identifier_is_used_from_then_on() {
    let mut played = Played::new(Config {
        client_id: Default::default(),
        ..of_version(Version::V5)
    });
    played.receive("2007 00 00 04 12 0001 7a");
    played.reopen();
    assert!(played.sent.ends_with(&[0, 1, b'z']));
}

/// Refused before the packet is complete: a peer that is not a server uses no memory.
#[test]
fn a_packet_above_the_clients_packet_size_is_refused() {
    let too_large =
        |limit| move |error| matches!(error, DecodeError::TooLarge { limit: found, .. } if found == limit);
    for version in Version::ALL {
        // A CONNACK of 100 MB
        let mut played = Played::new(of_version(version));
        played.receive("20 80c2d72f 00 00");
        assert!(
            played.failure().is_some_and(too_large(512 << 10)),
            "{:?}",
            played.events
        );
        assert!(played.closed);
    }
    let mut played = Played::connected();
    // A packet of 64 MiB has a remaining length of 67,108,859 B.
    played.receive("30 fbffff1f");
    assert_eq!(played.failure(), None, "{:?}", played.events);
    let mut played = Played::connected();
    played.receive("30 fcffff1f");
    assert!(
        played.failure().is_some_and(too_large(64 << 20)),
        "{:?}",
        played.events
    );
    let mut small = Played::new(Config {
        largest_packet: 100,
        ..of_version(Version::V5)
    });
    small.receive("2003 00 00 00");
    small.receive("30 63");
    assert!(small.failure().is_some_and(too_large(100)), "{:?}", small.events);
    assert_eq!(small.sent, hex("e001 95"));
}

/// Sections 4.3.2, 4.3.3 and 4.13.1, for the server's answers
#[test]
fn an_acknowledgement_of_the_wrong_type_disconnects_the_client() {
    let cases = [
        (QoS::AtLeastOnce, "7002 0001"),
        (QoS::AtLeastOnce, "5002 0001"),
        (QoS::AtLeastOnce, "9004 0001 00 00"),
        (QoS::ExactlyOnce, "4002 0001"),
        (QoS::ExactlyOnce, "7002 0001"),
    ];
    for (qos, answer) in cases {
        let mut played = Played::connected();
        played.input(Input::Command(publish("t", qos, b"x")));
        played.sent.clear();
        played.receive(answer);
        assert!(
            matches!(played.failure(), Some(DecodeError::Protocol(_))),
            "{answer}"
        );
        assert_eq!(
            (played.sent.as_slice(), played.closed),
            (&hex("e001 82")[..], true),
            "{answer}"
        );
    }
    let mut played = Played::connected();
    played.receive("5003 0007 80");
    assert_eq!((played.failure(), played.sent.len()), (None, 0), "[MQTT-4.3.3-4]");
}

#[test]
fn client_packets_from_the_server_end_the_connection() {
    // [MQTT-3.14.2-2]: a session expiry interval in the server's DISCONNECT
    let mut played = Played::connected();
    played.receive("e007 00 05 11 00000001");
    assert_eq!(
        played.failure(),
        Some(ProtocolError::PropertyNotAllowed(0x11).into())
    );
    // [MQTT-4.12.0-6]: a method that the client has not named, and data of none (section 3.2.2.3.18)
    for (connack, error) in [
        (
            "2007 00 00 04 15 0001 6d",
            ProtocolError::PropertyNotAllowed(0x15),
        ),
        ("2007 00 00 04 16 0001 6d", ProtocolError::NoMethod),
    ] {
        let mut played = Played::new(of_version(Version::V5));
        played.receive(connack);
        assert_eq!(played.failure(), Some(error.into()), "{connack}");
        assert!(played.closed);
    }
}
