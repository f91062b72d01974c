//! A PUBLISH in either version and at every QoS, client and broker, compared with mqtt-protocol-core in both roles.

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
mod measure;

use std::sync::Arc;
use std::time::Duration;

use measure::{Bench, Loop, PAYLOAD};
use mqtt_protocol_core::mqtt as peer;
use peer::common::Cursor;
use peer::connection::Event;
use peer::packet::{GenericPacketTrait, Packet, Qos, v3_1_1, v5_0};
use peer::result_code::{ConnectReasonCode, ConnectReturnCode};
use peer::role;
use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self, Client, Command, PublishTemplate};
use wirecost_mqtt::codec::Version;
use wirecost_mqtt::quality::QoS;

fn main() {
    let mut bench = Bench::from_arguments();
    for (version, name) in [(Version::V3_1_1, "mqtt"), (Version::V5, "mqtt5")] {
        for (qos, theirs) in QoS::ALL
            .into_iter()
            .zip([Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce])
        {
            let name = format!("{name}-qos{}", theirs as u8);
            let template = Arc::new(PublishTemplate::new("test", qos, PAYLOAD).expect("a message"));
            let mut both = ours(version);
            bench.ours(&name, || both.message(Command::Publish(Arc::clone(&template))));
            let mut pair = PeerPair::connected(version);
            bench.peer(&format!("{name}, mqtt-protocol-core"), || pair.publish(theirs));
        }
    }
}

fn ours(version: Version) -> Loop<Client, Broker> {
    let config = client::Config {
        version,
        ..client::Config::default()
    };
    let (client, broker) = (Client::new(config), Broker::new(broker::Config::default()));
    Loop::connected(client, broker, Duration::from_millis(1))
}

/// The compared implementation as client and server. It handles sessions and packets, but not topics and subscriptions.
struct PeerPair {
    version: Version,
    client: peer::Connection<role::Client>,
    server: peer::Connection<role::Server>,
}

impl PeerPair {
    fn connected(version: Version) -> Self {
        let theirs = match version {
            Version::V3_1_1 => peer::Version::V3_1_1,
            Version::V5 => peer::Version::V5_0,
        };
        let mut pair = Self {
            version,
            client: peer::Connection::new(theirs),
            server: peer::Connection::new(theirs),
        };
        pair.client.set_auto_pub_response(true);
        pair.server.set_auto_pub_response(true);
        pair.connect();
        pair
    }

    fn connect(&mut self) {
        let refused = "a packet that can be built";
        let (request, answer): (Packet, Packet) = match self.version {
            Version::V3_1_1 => (
                v3_1_1::Connect::builder()
                    .client_id("c")
                    .expect(refused)
                    .build()
                    .expect(refused)
                    .into(),
                v3_1_1::Connack::builder()
                    .session_present(false)
                    .return_code(ConnectReturnCode::Accepted)
                    .build()
                    .expect(refused)
                    .into(),
            ),
            Version::V5 => (
                v5_0::Connect::builder()
                    .client_id("c")
                    .expect(refused)
                    .build()
                    .expect(refused)
                    .into(),
                v5_0::Connack::builder()
                    .session_present(false)
                    .reason_code(ConnectReasonCode::Success)
                    .build()
                    .expect(refused)
                    .into(),
            ),
        };
        let events = self.client.send(request);
        self.carry_up(events);
        let events = self.server.send(answer);
        let answers = received(&mut self.client, events);
        self.carry_up(answers);
    }

    fn publish(&mut self, qos: Qos) {
        let refused = "a packet that can be built";
        let id =
            (qos != Qos::AtMostOnce).then(|| self.client.acquire_packet_id().expect("a free identifier"));
        macro_rules! publish {
            ($module:ident) => {{
                let packet = $module::Publish::builder()
                    .topic_name("test")
                    .expect(refused)
                    .qos(qos);
                let packet = match id {
                    Some(id) => packet.packet_id(id),
                    None => packet,
                };
                packet
                    .payload(PAYLOAD.as_slice())
                    .build()
                    .expect(refused)
                    .into()
            }};
        }
        let packet: Packet = match self.version {
            Version::V3_1_1 => publish!(v3_1_1),
            Version::V5 => publish!(v5_0),
        };
        let events = self.client.send(packet);
        self.carry_up(events);
    }

    /// Carries the client's packets and all answers.
    fn carry_up(&mut self, mut events: Vec<Event>) {
        while !events.is_empty() {
            let answers = received(&mut self.server, events);
            events = received(&mut self.client, answers);
        }
    }
}

/// Encodes the packets of the other side and passes them to `connection`.
fn received<R: role::RoleType>(connection: &mut peer::Connection<R>, events: Vec<Event>) -> Vec<Event> {
    let mut answers = Vec::new();
    for event in events {
        if let Event::RequestSendPacket { packet, .. } = event {
            let bytes = packet.to_continuous_buffer();
            answers.extend(connection.recv(&mut Cursor::new(bytes.as_slice())));
        }
    }
    answers
}
