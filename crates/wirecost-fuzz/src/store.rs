//! Databases: client and reference server.

use wirecost_proto::Content;
use wirecost_proto::bare::Transport;
use wirecost_store::client::{Client, Command, Config};
use wirecost_store::server::{Event, Server};
use wirecost_store::{Column, Store};

use crate::rig::Rig;
use crate::script::Script;

/// The kind of database that the first byte chooses.
const fn store(choice: u8) -> Store {
    match choice & 0x11 {
        0x00 => Store::Postgres,
        0x01 => Store::Mariadb,
        _ => Store::Mongodb,
    }
}

/// A client with rows to insert, under a script. The first byte chooses its configuration. Returns whether the client took
/// every input as its own.
pub fn client(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let is = |bit: u8| choice & bit != 0;
    let client = Client::new(Config {
        password: is(2).then(|| "secret".to_owned()),
        column: if is(4) { Column::Json } else { Column::Bytes },
        setup: if is(8) {
            vec!["{\"create\": \"readings\"}".to_owned()]
        } else {
            Vec::new()
        },
        ..Config::new(store(choice), "readings", "device")
    });
    let mut rig = Rig::new(client, Transport::Stream, 1, assert_something);
    rig.play(&mut script, |number| Some(client_command(number)));
    rig.endpoint.stats().foreign_inputs == 0
}

fn client_command(number: u8) -> Command {
    match number & 0x0f {
        0x0f => Command::Close,
        0x0e => Command::Execute {
            message: number.into(),
            statement: "DELETE".into(),
        },
        _ => Command::Insert {
            message: number.into(),
            key: None,
            content: Content::from(vec![7; usize::from(number) * 10]),
        },
    }
}

/// A server with up to four flows, under a script. The first byte chooses its protocol. Returns whether the clients made no
/// fault and a row arrived.
pub fn server(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut rig = Rig::new(Server::new(store(choice)), Transport::Stream, 4, assert_something);
    rig.play(&mut script, |_| None);
    let is_fault = |event: &Event| matches!(event, Event::Faulted { .. });
    let is_row = |event: &Event| matches!(event, Event::Inserted { .. });
    !rig.events.iter().any(is_fault) && rig.events.iter().any(is_row)
}

fn assert_something(bytes: &[u8]) {
    assert!(!bytes.is_empty(), "a transmission has bytes");
}
