//! The client with a server that breaks the rules.

use wirecost_mqtt::client::{Client, Command, Config, Event};
use wirecost_mqtt::codec::{DecodeError, PropertiesBuf, Property, ProtocolError, ReasonCode, Text, Version};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer};

use crate::common::{hex, of_version, publish};
use wirecost_mqtt::quality::QoS;

/// A client whose server is the test.
pub(crate) struct ClientHarness {
    client: Client,
    flow: FlowId,
    pub(crate) sent: Vec<u8>,
    pub(crate) events: Vec<Event>,
    closed: bool,
}

impl ClientHarness {
    pub(crate) fn new(config: Config) -> Self {
        let mut harness = Self {
            client: Client::new(config),
            flow: FlowId(0),
            sent: Vec::new(),
            events: Vec::new(),
            closed: false,
        };
        let peer: Peer = "10.0.0.1:1".parse().expect("an address");
        let flow = FlowId(0);
        harness.input(Input::Opened { flow, peer });
        harness.sent.clear();
        harness
    }

    /// A connected MQTT 5 client.
    fn connected() -> Self {
        let mut harness = Self::new(of_version(Version::V5));
        harness.receive("2003 00 00 00");
        harness
    }

    /// The error of the client, if it failed.
    pub(crate) fn failure(&self) -> Option<DecodeError> {
        self.events.iter().find_map(|event| match event {
            Event::Failed(error) => Some(*error),
            _ => None,
        })
    }

    /// Opens another flow after the server has closed the last one.
    pub(crate) fn reopen(&mut self) {
        let peer: Peer = "10.0.0.1:1".parse().expect("an address");
        self.input(Input::PeerClosed { flow: self.flow });
        self.flow = FlowId(self.flow.0 + 1);
        let flow = self.flow;
        self.input(Input::Opened { flow, peer });
    }

    pub(crate) fn receive(&mut self, bytes: &str) {
        let (flow, bytes) = (self.flow, hex(bytes));
        self.input(Input::Received { flow, bytes: &bytes });
    }

    pub(crate) fn input(&mut self, input: Input<'_, Command>) {
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
        let mut harness = ClientHarness::new(of_version(Version::V5));
        harness.receive(bytes);
        assert!(harness.closed && harness.sent.is_empty(), "{bytes}");
        assert!(matches!(harness.events.last(), Some(Event::Failed(_))), "{bytes}");
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
        let mut harness = ClientHarness::connected();
        harness.receive(bytes);
        assert_eq!(harness.sent, hex(&format!("e001 {code}")), "{bytes}");
        assert!(harness.closed);
    }
}

#[test]
fn a_packet_above_the_clients_limit_is_refused() {
    let mut harness = ClientHarness::new(Config {
        maximum_packet_size: Some(50),
        ..of_version(Version::V5)
    });
    harness.receive("2003 00 00 00");
    harness.receive("30 7f");
    assert_eq!(harness.sent, hex("e001 95"));
    let error = DecodeError::TooLarge {
        bytes: 129,
        limit: 50,
    };
    assert_eq!(harness.events.last(), Some(&Event::Failed(error)));
}

#[test]
fn a_server_of_3_1_1_refuses_version_5_in_its_own_words() {
    let mut harness = ClientHarness::new(of_version(Version::V5));
    harness.receive("2002 00 01");
    let Some(Event::Rejected { reason }) = harness.events.last() else {
        panic!("{:?}", harness.events);
    };
    assert_eq!(reason.to_string(), "1 Unsupported Protocol Version");
    assert!(
        harness.sent.is_empty(),
        "no DISCONNECT of a version that it does not know"
    );
    let mut harness = ClientHarness::new(of_version(Version::V5));
    harness.receive("2002 00 05");
    assert!(
        matches!(harness.events.last(), Some(Event::Failed(_))),
        "no other code says that: {:?}",
        harness.events
    );
}

#[test]
fn a_servers_disconnect_is_reported_and_the_flow_closed() {
    let mut harness = ClientHarness::connected();
    harness.receive("e001 8b");
    let Some(Event::Disconnected { reason }) = harness.events.last() else {
        panic!("{:?}", harness.events);
    };
    assert_eq!(reason.code, ReasonCode::ServerShuttingDown);
    assert!(harness.closed && harness.sent.is_empty());
    harness.input(Input::PeerClosed { flow: FlowId(0) });
    assert_eq!(harness.events.last(), Some(&Event::Closed));
}

#[test]
fn unexpected_answers_are_counted() {
    let mut harness = ClientHarness::connected();
    for bytes in ["4002 0001", "7002 0001", "9004 0001 00 00", "b004 0001 00 00"] {
        harness.receive(bytes);
    }
    assert_eq!(harness.client.stats().unexpected_answers, 4);
    harness.receive("5002 0005 6202 0006");
    assert_eq!(harness.sent, hex("6203 0005 92 7003 0006 92"));
    assert!(!harness.closed);
}

#[test]
fn a_message_of_qos_2_is_reported_once_until_it_is_released() {
    let mut harness = ClientHarness::connected();
    for bytes in ["3406 0001 61 0001 00", "3c06 0001 61 0001 00", "6202 0001"] {
        harness.receive(bytes);
    }
    let messages = harness
        .events
        .iter()
        .filter(|event| matches!(event, Event::MessageReceived(_)));
    assert_eq!(messages.count(), 1);
    assert_eq!(harness.sent, hex("5002 0001 5002 0001 7002 0001"));
    assert_eq!(harness.client.stats().duplicates, 1);
}

/// [MQTT-3.2.2-5]
#[test]
fn a_new_session_forgets_the_packet_identifiers_of_the_old_one() {
    let mut harness = ClientHarness::connected();
    harness.receive("3406 0001 61 0001 00");
    harness.reopen();
    harness.receive("2003 00 00 00 3406 0001 61 0001 00");
    assert_eq!(harness.client.stats().duplicates, 0);
}

/// [MQTT-3.3.4-9]
#[test]
fn a_server_must_stay_within_the_clients_receive_maximum() {
    let mut harness = ClientHarness::new(Config {
        receive_maximum: 1,
        ..of_version(Version::V5)
    });
    harness.receive("2003 00 00 00 3406 0001 61 0001 00 3c06 0001 61 0001 00");
    assert!(!harness.closed);
    harness.receive("3406 0001 61 0002 00");
    assert!(harness.sent.ends_with(&hex("e001 93")));
}

#[test]
fn a_refusal_in_pubrec_ends_the_exchange() {
    let mut harness = ClientHarness::connected();
    harness.input(Input::Command(publish("a", QoS::ExactlyOnce, b"")));
    harness.sent.clear();
    harness.receive("5003 0001 97");
    let reason = ReasonCode::QuotaExceeded;
    assert_eq!(
        harness.events.last(),
        Some(&Event::Acknowledged { message: 0, reason })
    );
    assert!(harness.sent.is_empty());
    assert_eq!(harness.client.in_flight(), 0);
}

#[test]
fn the_assigned_identifier_is_used_from_then_on() {
    let mut harness = ClientHarness::new(Config {
        client_id: Default::default(),
        ..of_version(Version::V5)
    });
    harness.receive("2007 00 00 04 12 0001 7a");
    harness.reopen();
    assert!(harness.sent.ends_with(&[0, 1, b'z']));
}

/// Refused before the packet is complete: a peer that is not a server uses no memory.
#[test]
fn a_packet_above_the_clients_packet_size_is_refused() {
    let too_large =
        |limit| move |error| matches!(error, DecodeError::TooLarge { limit: found, .. } if found == limit);
    for version in Version::ALL {
        // A CONNACK of 100 MB
        let mut harness = ClientHarness::new(of_version(version));
        harness.receive("20 80c2d72f 00 00");
        assert!(
            harness.failure().is_some_and(too_large(512 << 10)),
            "{:?}",
            harness.events
        );
        assert!(harness.closed);
    }
    let mut harness = ClientHarness::connected();
    // A packet of 64 MiB has a remaining length of 67,108,859 B.
    harness.receive("30 fbffff1f");
    assert_eq!(harness.failure(), None, "{:?}", harness.events);
    let mut harness = ClientHarness::connected();
    harness.receive("30 fcffff1f");
    assert!(
        harness.failure().is_some_and(too_large(64 << 20)),
        "{:?}",
        harness.events
    );
    let mut small = ClientHarness::new(Config {
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
        let mut harness = ClientHarness::connected();
        harness.input(Input::Command(publish("t", qos, b"x")));
        harness.sent.clear();
        harness.receive(answer);
        assert!(
            matches!(harness.failure(), Some(DecodeError::Protocol(_))),
            "{answer}"
        );
        assert_eq!(
            (harness.sent.as_slice(), harness.closed),
            (&hex("e001 82")[..], true),
            "{answer}"
        );
    }
    let mut harness = ClientHarness::connected();
    harness.receive("5003 0007 80");
    assert_eq!(
        (harness.failure(), harness.sent.len()),
        (None, 0),
        "[MQTT-4.3.3-4]"
    );
}

#[test]
fn client_packets_from_the_server_end_the_connection() {
    // [MQTT-3.14.2-2]: a session expiry interval in the server's DISCONNECT
    let mut harness = ClientHarness::connected();
    harness.receive("e007 00 05 11 00000001");
    assert_eq!(
        harness.failure(),
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
        let mut harness = ClientHarness::new(of_version(Version::V5));
        harness.receive(connack);
        assert_eq!(harness.failure(), Some(error.into()), "{connack}");
        assert!(harness.closed);
    }
}

/// A client that its user asked for more than a packet can have.
#[test]
fn a_packet_that_mqtt_cannot_frame_is_not_sent() {
    let value = "v".repeat(65_535);
    let text = Text::new(&value).expect("a text");
    let mut properties = PropertiesBuf::new();
    for _ in 0..2_100 {
        properties.push(Property::UserProperty(text, text));
    }
    let config = Config {
        properties: properties.clone(),
        ..of_version(Version::V5)
    };
    let harness = ClientHarness::new(config);
    assert!(
        matches!(harness.failure(), Some(DecodeError::TooLarge { .. })),
        "{:?}",
        harness.events
    );
    assert!(harness.sent.is_empty() && harness.closed);
    let mut harness = ClientHarness::connected();
    let Command::Subscribe { filters, .. } = Command::subscribe("a", Default::default()).expect("a filter")
    else {
        panic!("a subscription");
    };
    harness.input(Input::Command(Command::Subscribe { filters, properties }));
    assert!(
        matches!(harness.failure(), Some(DecodeError::TooLarge { .. })),
        "{:?}",
        harness.events
    );
    let disconnect = hex("e001 95");
    assert_eq!(
        harness.sent, disconnect,
        "packet too large, and no part of the SUBSCRIBE"
    );
    assert!(harness.closed);
}
