//! MQTT-SN: messages, client and gateway.

use std::sync::Arc;

use wirecost_mqtt::client::PublishTemplate;
use wirecost_mqtt::quality::QoS;
use wirecost_mqtt::sn::client::{Client, Command, Config};
use wirecost_mqtt::sn::codec::Message;
use wirecost_mqtt::sn::gateway::{self, Gateway};
use wirecost_proto::Buffer;
use wirecost_proto::bare::Transport;

use crate::rig::Rig;
use crate::script::Script;

/// A datagram: its description covers it, and a message that parses is emitted to one that parses to the same.
/// Returns whether it is a message.
pub fn message(bytes: &[u8]) -> bool {
    let mut out = Buffer::new();
    wirecost_mqtt::sn::describe(bytes, &mut out);
    assert_eq!(out.covered(), bytes.len() as u64);
    let Ok(message) = Message::parse(bytes) else {
        return false;
    };
    let mut emitted = Vec::new();
    message
        .emit(&mut emitted)
        .expect("a message that came in a datagram");
    assert_eq!(emitted.len(), message.size());
    assert_eq!(Message::parse(&emitted), Ok(message));
    true
}

/// A client under a script. The first byte chooses its configuration. Returns whether every datagram was a message.
pub fn client(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let config = Config {
        keep_alive: if choice & 1 == 0 { 0 } else { 60 },
        is_connectionless: choice & 2 != 0,
        registers: (choice & 4 != 0).then(|| "test".to_owned()),
        ..Config::new("wc-00001")
    };
    let mut rig = Rig::new(Client::new(config), Transport::Datagram, 1, assert_message);
    rig.play(&mut script, |number| Some(client_command(number)));
    rig.endpoint.stats().malformed == 0
}

fn client_command(number: u8) -> Command {
    if number & 0x07 == 7 {
        return Command::Disconnect;
    }
    let qos = QoS::ALL[usize::from(number & 0x03) % 3];
    let topic = ["ab", "test", "another/topic"][usize::from(number >> 2 & 0x03) % 3];
    let template = PublishTemplate::new(topic, qos, vec![7; 20]).expect("a message");
    Command::Publish {
        message: u64::from(number >> 4),
        template: Arc::new(template),
        stamp: None,
    }
}

/// A gateway with small limits and four peers, under a script. The first byte chooses its configuration. Returns whether
/// every datagram was a message that a gateway receives.
pub fn gateway(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let config = gateway::Config {
        maximum_clients: 3,
        maximum_topics: usize::from(choice & 1) + 1,
        maximum_held_bytes: 200,
    };
    let mut rig = Rig::new(Gateway::new(config), Transport::Datagram, 4, assert_message);
    rig.play(&mut script, |_| None);
    assert!(rig.endpoint.clients() <= 3);
    rig.endpoint.stats().ignored == 0
}

fn assert_message(bytes: &[u8]) {
    assert!(Message::parse(bytes).is_ok(), "{bytes:02x?}");
}
