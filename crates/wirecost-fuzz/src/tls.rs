//! TLS: records, certificates as text, client, server, and both while their bytes are changed under way.

use wirecost_proto::bare::{self, Transport};
use wirecost_security::certificate::Identity;
use wirecost_security::layer::Event;
use wirecost_security::tls::record::{Header, records};
use wirecost_security::tls::{Client, Server, Versions};

use crate::conversation::Conversation;
use crate::fixture::{Fixture, is_without_fault};
use crate::rig::Rig;
use crate::script::Script;

/// A stream: its whole records follow one another, and each is as long as its header says. Returns whether it
/// consists of whole records.
pub fn stream(bytes: &[u8]) -> bool {
    let mut at = 0;
    for record in records(bytes) {
        assert_eq!(record, &bytes[at..at + record.len()]);
        let header = Header::parse(record).expect("a record").expect("a whole header");
        assert_eq!(header.record_bytes(), record.len());
        at += record.len();
    }
    at > 0 && at == bytes.len()
}

/// Certificates and a private key as text. Returns whether both were read; then they are the same once written.
pub fn pem(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Ok(identity) = Identity::from_pem(&text, &text) else {
        return false;
    };
    let chain = identity
        .certificates_to_pem()
        .expect("what was read can be written");
    let key = identity
        .private_key_to_pem()
        .expect("what was read can be written");
    let again = Identity::from_pem(&chain, &key).expect("what was written can be read");
    assert_eq!(again.chain(), identity.chain());
    assert_eq!(again.private_key(), identity.private_key());
    true
}

/// A client that has something to send, under a script. The first byte chooses its versions. Returns whether what it
/// received is a server's.
pub fn client(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut rig = client_rig(choice);
    rig.play(&mut script, |number| Some(command(number)));
    is_without_fault(&rig.events)
}

/// A server with up to four flows, under a script. The first byte chooses whether it takes early data. Returns whether
/// what it received is a client's.
pub fn server(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut rig = server_rig(choice, 4);
    rig.play(&mut script, |_| None);
    is_without_fault(&rig.events)
}

/// A connection with a message, of which a script changes what is under way. The first byte chooses the versions.
/// Returns whether the message arrived.
pub fn connection(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut conversation = Conversation::open(client_rig(choice), server_rig(choice, 1));
    conversation.converse(&mut script, [command(1)]);
    // Nothing is changed any more: rustls with debug assertions takes no nonsense behind its own close_notify.
    conversation.converse(&mut Script::new(&[]), [command(0)]);
    let message = |event: &_| matches!(event, Event::Inner(bare::ServerEvent::Message { .. }));
    conversation.server.events.iter().any(message)
}

fn client_rig(choice: u8) -> Rig<Client<bare::Client>> {
    let versions = match choice & 0x03 {
        0 => Versions::Tls12,
        1 => Versions::Both,
        _ => Versions::Tls13,
    };
    let config = Fixture::get().tls_client(versions, &[]);
    let client = Client::new(config, bare::Client::new(Transport::Stream));
    Rig::new(client, Transport::Stream, 1, assert_records)
}

fn server_rig(choice: u8, flows: usize) -> Rig<Server<bare::Server>> {
    let config = Fixture::get().tls_server(choice & 0x04 != 0, &[]);
    let server = Server::new(&config, bare::Server::new(Transport::Stream));
    Rig::new(server, Transport::Stream, flows, assert_records)
}

fn command(number: u8) -> bare::ClientCommand {
    match number {
        0 => bare::ClientCommand::Close,
        _ => bare::ClientCommand::Send {
            message: 0,
            content: vec![7; usize::from(number) * 100].into(),
        },
    }
}

/// Checks that our side sends whole records.
fn assert_records(bytes: &[u8]) {
    assert!(stream(bytes), "{bytes:02x?}");
}
