//! MQTT: packets, framing, client and broker.

use std::slice::Chunks;

use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self, Client, Command, PublishTemplate};
use wirecost_mqtt::codec::framing::LARGEST_PACKET;
use wirecost_mqtt::codec::{Footprint, Frame, Framer, Packet, ReasonCode, SubscriptionOptions, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::Buffer;
use wirecost_proto::bare::Transport;

use crate::rig::Rig;
use crate::script::{Script, read_in_pieces};

/// The largest packet taken, in bytes, where there is a limit.
const LIMIT: u32 = 1_000;

/// A packet on its own, in both versions: what decodes is covered by its footprint, is emitted, and decodes to the
/// same. Returns whether it decodes in one version.
pub fn packet(bytes: &[u8]) -> bool {
    Version::ALL
        .iter()
        .filter(|version| decodes(Frame::new(bytes), **version))
        .count()
        > 0
}

fn decodes(frame: Frame<'_>, version: Version) -> bool {
    let _ = (frame.packet_type(), frame.flags(), frame.body());
    let mut out = Buffer::new();
    Footprint::from_frame(frame, None).cover(&mut out);
    assert_eq!(out.covered(), frame.bytes().len() as u64);
    let Ok(packet) = Packet::decode(frame, version) else {
        return false;
    };
    out.clear();
    Footprint::from_frame(frame, Some(&packet)).cover(&mut out);
    assert_eq!(out.covered(), frame.bytes().len() as u64);
    out.clear();
    packet.emit(version, &mut out).expect("a packet that came in one");
    assert_eq!(out.covered(), out.bytes().len() as u64);
    assert_eq!(Packet::decode(Frame::new(out.bytes()), version), Ok(packet));
    true
}

/// A stream in chunks: the packets do not depend on where it is cut. The first byte seeds the cuts. Returns whether
/// the stream ends with a packet.
pub fn framer(bytes: &[u8]) -> bool {
    let frames = read_in_pieces(bytes, frames);
    frames.is_some_and(|(stream, frames)| frames.is_some_and(|frames| frames.concat().len() == stream.len()))
}

/// The packets in the chunks; `None` where the stream cannot be read on.
fn frames(chunks: Chunks<'_, u8>) -> Option<Vec<Vec<u8>>> {
    let mut framer = Framer::new(LIMIT);
    let mut frames = Vec::new();
    for chunk in chunks {
        let mut left = chunk;
        while let Some(frame) = framer.next(&mut left).ok()? {
            frames.push(frame.bytes().to_vec());
        }
        assert!(left.is_empty(), "no packet, so all is taken");
        assert!(framer.held() <= LIMIT as usize);
    }
    Some(frames)
}

/// A client with messages to send, under a script. The first byte chooses its configuration. Returns whether the
/// client took every input as its own.
pub fn client(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let is = |bit: u8| choice & bit != 0;
    let client = Client::new(client::Config {
        version: if is(1) { Version::V5 } else { Version::V3_1_1 },
        maximum_packet_size: is(2).then_some(LIMIT),
        topic_alias_maximum: if is(4) { 2 } else { 0 },
        ..client::Config::default()
    });
    let mut rig = Rig::new(client, Transport::Stream, 1, assert_packets);
    rig.play(&mut script, |number| Some(client_command(number)));
    rig.endpoint.stats().foreign_inputs == 0
}

fn client_command(number: u8) -> Command {
    let topic = ["a", "b/c"][usize::from(number >> 3) % 2];
    match number & 0x07 {
        3 => Command::subscribe(topic, SubscriptionOptions::default()).expect("a filter"),
        4 => Command::unsubscribe(topic).expect("a filter"),
        5 => Command::Ping,
        6 => Command::Disconnect(ReasonCode::Success),
        qos => Command::Publish(template(topic, qos).into()),
    }
}

fn template(topic: &str, qos: u8) -> PublishTemplate {
    let qos = QoS::ALL[usize::from(qos) % QoS::ALL.len()];
    PublishTemplate::new(topic, qos, *b"hi").expect("a message")
}

/// A broker with small limits and up to four flows, under a script. The first byte chooses its configuration.
/// Returns whether the clients made no fault and published something.
pub fn broker(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let broker = Broker::new(broker_config(choice));
    let mut rig = Rig::new(broker, Transport::Stream, 4, assert_packets);
    rig.play(&mut script, |number| Some(broker_command(number)));
    let broker = &rig.endpoint;
    assert!(broker.sessions() <= 3 && broker.retained() <= 2);
    let stats = broker.stats();
    (stats.faults, stats.ignored_bytes) == (0, 0) && stats.published > 0
}

fn broker_config(choice: u8) -> broker::Config {
    let is = |bit: u8| choice & bit != 0;
    broker::Config {
        maximum_packet_size: is(1).then_some(LIMIT),
        maximum_queued: 10,
        maximum_sessions: 3,
        maximum_retained: 2,
        maximum_inflight: if is(2) { 1 } else { u16::MAX },
        receive_maximum: if is(2) { 2 } else { u16::MAX },
        topic_alias_maximum: if is(4) { 2 } else { 0 },
        sent_topic_aliases: if is(4) { 2 } else { 0 },
        maximum_qos: if is(8) { QoS::AtLeastOnce } else { QoS::ExactlyOnce },
        retain_available: !is(16),
        wildcard_subscriptions: !is(16),
        subscription_identifiers: !is(16),
        shared_subscriptions: !is(16),
        server_keep_alive: is(32).then_some(5),
        maximum_subscriptions: 8,
        ..broker::Config::default()
    }
}

fn broker_command(number: u8) -> broker::Command {
    match number & 0x07 {
        0..=3 => broker::Command::Publish(template("a", number).retained().into()),
        4 => broker::Command::Shutdown,
        _ => broker::Command::DisconnectClient {
            client_id: ["a", "b"][usize::from(number >> 3) % 2].into(),
            reason: ReasonCode::AdministrativeAction,
        },
    }
}

/// Checks that our side sends whole packets that decode.
fn assert_packets(bytes: &[u8]) {
    let mut framer = Framer::new(LARGEST_PACKET);
    let mut left = bytes;
    while let Some(frame) = framer.next(&mut left).expect("we send packets") {
        let decodes = |version: &Version| Packet::decode(frame, *version).is_ok();
        assert!(Version::ALL.iter().any(decodes), "{frame:02x?}");
    }
    assert_eq!(framer.held(), 0, "we send whole packets");
}
