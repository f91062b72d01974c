//! Complete connections with another implementation: our client with its server, and its client with our broker.

use mqtt_protocol_core::mqtt::packet::{GenericPacketTrait, Packet, Qos, SubEntry, SubOpts, v3_1_1, v5_0};
use mqtt_protocol_core::mqtt::role::{Client as TheirClient, RoleType, Server as TheirServer};
use mqtt_protocol_core::mqtt::{Connection, Version as TheirVersion, common::Cursor, connection::Event};
use mqtt_protocol_core::mqtt::{result_code::ConnectReasonCode, result_code::ConnectReturnCode};

use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self, Client, Command, PublishTemplate};
use wirecost_mqtt::codec::{ReasonCode, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

const FLOW: FlowId = FlowId(0);

/// One of our endpoints and its sent bytes.
struct Ours<E: Endpoint> {
    endpoint: E,
    sent: Vec<u8>,
    events: Vec<E::Event>,
}

impl<E: Endpoint> Ours<E> {
    fn new(endpoint: E) -> Self {
        let mut ours = Self {
            endpoint,
            sent: Vec::new(),
            events: Vec::new(),
        };
        let peer = "10.0.0.1:1".parse().expect("an address");
        ours.input(Input::Opened { flow: FLOW, peer });
        ours
    }

    fn input(&mut self, input: Input<'_, E::Command>) {
        assert!(self.endpoint.handle_input(input, Instant::START).is_ok());
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => self.sent.extend_from_slice(out.bytes()),
                Output::Event(event) => self.events.push(event),
                Output::Timeout(_) => return,
                Output::Consumed { .. } | Output::Close { .. } => {}
            }
        }
    }
}

/// A connection of the other implementation and its received packets.
struct Theirs<R: RoleType> {
    connection: Connection<R>,
    sent: Vec<u8>,
    received: Vec<Packet>,
}

impl<R: RoleType> Theirs<R> {
    fn new(version: TheirVersion) -> Self {
        let mut connection = Connection::new(version);
        connection.set_auto_pub_response(true);
        connection.set_auto_ping_response(true);
        Self {
            connection,
            sent: Vec::new(),
            received: Vec::new(),
        }
    }

    fn note(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::RequestSendPacket { packet, .. } => self.sent.extend(packet.to_continuous_buffer()),
                Event::NotifyPacketReceived(packet) => self.received.push(packet),
                Event::NotifyError(error) => panic!("the peer objects: {error:?}"),
                Event::RequestClose => panic!("the peer closes"),
                _ => {}
            }
        }
    }

    fn send(&mut self, packet: Packet) {
        let events = self.connection.send(packet);
        self.note(events);
    }

    fn receive(&mut self, bytes: &[u8]) {
        let mut cursor = Cursor::new(bytes);
        while cursor.position() < bytes.len() as u64 {
            let events = self.connection.recv(&mut cursor);
            self.note(events);
        }
    }
}

/// Carries bytes in both directions until both sides are idle. `answer` may react to received packets.
fn exchange<E: Endpoint, R: RoleType>(
    ours: &mut Ours<E>,
    theirs: &mut Theirs<R>,
    answer: impl Fn(&mut Theirs<R>, Packet),
) {
    while !ours.sent.is_empty() || !theirs.sent.is_empty() {
        let up = std::mem::take(&mut ours.sent);
        theirs.receive(&up);
        for packet in std::mem::take(&mut theirs.received) {
            answer(theirs, packet);
        }
        let down = std::mem::take(&mut theirs.sent);
        ours.input(Input::Received {
            flow: FLOW,
            bytes: &down,
        });
    }
}

/// Publishes a message to `a` from the peer.
fn send_message<R: RoleType>(peer: &mut Theirs<R>, version: TheirVersion, qos: Qos) {
    macro_rules! publish {
        ($module:ident) => {{
            let mut publish = $module::Publish::builder()
                .topic_name("a")
                .expect("a topic")
                .qos(qos);
            if qos != Qos::AtMostOnce {
                publish = publish.packet_id(peer.connection.acquire_packet_id().expect("an identifier"));
            }
            publish.payload(b"hi").build().expect("a PUBLISH").into()
        }};
    }
    let packet = match version {
        TheirVersion::V5_0 => publish!(v5_0),
        _ => publish!(v3_1_1),
    };
    peer.send(packet);
}

/// Accepts connections and returns every message with the same QoS.
fn serve(server: &mut Theirs<TheirServer>, packet: Packet) {
    match packet {
        Packet::V3_1_1Connect(_) => {
            let connack = v3_1_1::Connack::builder()
                .session_present(false)
                .return_code(ConnectReturnCode::Accepted);
            server.send(connack.build().expect("a CONNACK").into());
        }
        Packet::V5_0Connect(_) => {
            let connack = v5_0::Connack::builder()
                .session_present(false)
                .reason_code(ConnectReasonCode::Success);
            server.send(connack.build().expect("a CONNACK").into());
        }
        Packet::V3_1_1Publish(publish) => send_message(server, TheirVersion::V3_1_1, publish.qos()),
        Packet::V5_0Publish(publish) => send_message(server, TheirVersion::V5_0, publish.qos()),
        _ => {}
    }
}

#[test]
fn our_client_talks_to_their_server() {
    for version in Version::ALL {
        let mut ours = Ours::new(Client::new(client::Config {
            version,
            ..client::Config::default()
        }));
        let mut theirs = Theirs::<TheirServer>::new(TheirVersion::Undetermined);
        exchange(&mut ours, &mut theirs, serve);
        assert!(ours.endpoint.is_connected());
        for qos in QoS::ALL {
            let template = PublishTemplate::new("test", qos, *b"hi").expect("a message");
            ours.input(Input::Command(Command::Publish(template.into())));
        }
        ours.input(Input::Command(Command::Ping));
        exchange(&mut ours, &mut theirs, serve);
        for message in [1, 2] {
            let reason = ReasonCode::Success;
            let acknowledged = client::Event::Acknowledged { message, reason };
            assert!(ours.events.contains(&acknowledged), "{version:?} {message}");
        }
        let qualities = ours.events.iter().filter_map(|event| match event {
            client::Event::MessageReceived(message) => Some(message.qos),
            _ => None,
        });
        assert_eq!(qualities.collect::<Vec<_>>(), QoS::ALL);
        assert!(ours.events.contains(&client::Event::Pong));
        assert_eq!(ours.endpoint.stats().unexpected_answers, 0);
    }
}

/// The first packets of the other client: CONNECT, and SUBSCRIBE to all topics with QoS 2.
fn hello(version: TheirVersion) -> [Packet; 2] {
    let filter = || SubEntry::new("#", SubOpts::new().set_qos(Qos::ExactlyOnce)).expect("a filter");
    if version == TheirVersion::V5_0 {
        let connect = v5_0::Connect::builder().client_id("c").expect("an identifier");
        let subscribe = v5_0::Subscribe::builder().packet_id(1u16).entries(vec![filter()]);
        return [
            connect.build().expect("a CONNECT").into(),
            subscribe.build().expect("a SUBSCRIBE").into(),
        ];
    }
    let connect = v3_1_1::Connect::builder().client_id("c").expect("an identifier");
    let subscribe = v3_1_1::Subscribe::builder()
        .packet_id(1u16)
        .entries(vec![filter()]);
    [
        connect.clean_session(true).build().expect("a CONNECT").into(),
        subscribe.build().expect("a SUBSCRIBE").into(),
    ]
}

#[test]
fn their_client_talks_to_our_broker() {
    for version in [TheirVersion::V3_1_1, TheirVersion::V5_0] {
        let mut ours = Ours::new(Broker::new(broker::Config::default()));
        let mut theirs = Theirs::<TheirClient>::new(version);
        for packet in hello(version) {
            if matches!(packet, Packet::V3_1_1Subscribe(_) | Packet::V5_0Subscribe(_)) {
                theirs.connection.register_packet_id(1).expect("free");
            }
            theirs.send(packet);
            exchange(&mut ours, &mut theirs, |_, _| {});
        }
        for qos in [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce] {
            send_message(&mut theirs, version, qos);
            exchange(&mut ours, &mut theirs, |_, _| {});
        }
        let stats = ours.endpoint.stats();
        assert_eq!((stats.published, stats.delivered), (3, 3));
        assert_eq!((stats.faults, stats.unexpected_answers), (0, 0));
    }
}
