//! DTLS: records, client, server, and both while their datagrams are changed under way.

use wirecost_proto::bare::{self, Transport};
use wirecost_proto::{Buffer, Rng};
use wirecost_security::KeyLog;
use wirecost_security::dtls::record::{Form, records};
use wirecost_security::dtls::{
    Accept, Certificates, Client, ClientConfig, Common, Offer, Psk, Server, ServerConfig, Trust, describe,
    describe_psk,
};
use wirecost_security::layer::Event;

use crate::conversation::Conversation;
use crate::fixture::{Fixture, is_without_fault};
use crate::rig::Rig;
use crate::script::Script;

/// A datagram: its records lie end to end and their descriptions cover it. Returns whether it consists of records.
pub fn datagram(bytes: &[u8]) -> bool {
    let mut at = 0;
    let mut is_understood = !bytes.is_empty();
    for record in records(bytes) {
        assert_eq!(record.bytes, &bytes[at..at + record.bytes.len()]);
        assert!(record.header <= record.bytes.len() && !record.bytes.is_empty());
        let _ = record.handshake_type();
        at += record.bytes.len();
        is_understood &= record.form != Form::Unknown;
    }
    assert_eq!(at, bytes.len());
    for describe in [describe, describe_psk] {
        let mut out = Buffer::new();
        describe(bytes, &mut out);
        assert_eq!(out.covered(), bytes.len() as u64);
    }
    is_understood
}

/// A client that has something to send, under a script. The first byte chooses its version. Returns whether what it
/// received is a server's.
pub fn client(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut rig = client_rig(choice);
    rig.play(&mut script, |number| Some(command(number)));
    rig.endpoint.stats().ignored_datagrams == 0 && is_without_fault(&rig.events)
}

/// A server with up to four flows, under a script. The first byte chooses whether it asks for a cookie. Returns whether
/// a client opened a connection or began to.
pub fn server(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut rig = server_rig(choice, 4);
    rig.play(&mut script, |_| None);
    rig.endpoint.stats().ignored_datagrams == 0 && is_without_fault(&rig.events)
}

/// A connection with a message, of which a script changes what is under way. The first byte chooses the version.
/// Returns whether the message arrived.
pub fn connection(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut conversation = Conversation::open(client_rig(choice), server_rig(choice, 1));
    conversation.converse(&mut script, [command(1), command(0)]);
    let message = |event: &_| matches!(event, Event::Inner(bare::ServerEvent::Message { .. }));
    conversation.server.events.iter().any(message)
}

fn client_rig(choice: u8) -> Rig<Client<bare::Client>> {
    let certificates = Certificates {
        trust: Trust::Authorities {
            certificates: vec![Fixture::get().authority.certificate().to_vec()],
            server_name: "server".to_owned(),
        },
        identity: None,
    };
    let offer = match choice & 0x03 {
        0 if choice & 0x08 != 0 => Offer::Dtls12Cid(psk()),
        0 => Offer::Dtls12Psk(psk()),
        1 => Offer::Dtls12(certificates),
        _ => Offer::Dtls13(certificates),
    };
    let config = ClientConfig::new(common(2), offer).expect("a client");
    let client = Client::new(config, bare::Client::new(Transport::Datagram));
    Rig::new(client, Transport::Datagram, 1, assert_records)
}

fn server_rig(choice: u8, flows: usize) -> Rig<Server<bare::Server>> {
    let accept = Accept {
        identity: Some(Fixture::get().server.clone()),
        psks: vec![psk()],
        cookie: choice & 0x04 != 0,
        ..Accept::default()
    };
    let config = ServerConfig::new(common(3), accept).expect("a server");
    let server = Server::new(config, bare::Server::new(Transport::Datagram));
    Rig::new(server, Transport::Datagram, flows, assert_records)
}

fn common(seed: u64) -> Common {
    Common::new(Fixture::get().epoch, KeyLog::disabled()).with_seed(Rng::new(seed))
}

fn psk() -> Psk {
    Psk::new(b"0123456789abcdef".as_slice())
}

fn command(number: u8) -> bare::ClientCommand {
    match number {
        0 => bare::ClientCommand::Close,
        _ => bare::ClientCommand::Send {
            message: 0,
            content: vec![7; usize::from(number)].into(),
        },
    }
}

/// Checks that our side sends records.
fn assert_records(bytes: &[u8]) {
    assert!(datagram(bytes), "{bytes:02x?}");
}
