//! A DTLS handshake by version, a message of 128 bytes, and the memory of a connection. The time of a handshake
//! covers both ends and close_notify. All starts are cold.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
mod measure;

#[path = "../tests/dtls_world/mod.rs"]
mod dtls_world;

use std::time::Duration;

use dtls_world::World;
use measure::{Bench, Loop, PAYLOAD, held_bytes};
use wirecost_proto::bare::{self, ClientCommand, Transport};
use wirecost_security::dtls::{Client, ClientConfig, Server, ServerConfig, Version};

type Both = Loop<Client<bare::Client>, Server<bare::Server>>;

fn main() {
    let mut bench = Bench::from_arguments();
    let world = World::new();
    let server = world.server_config();
    for version in Version::ALL {
        let client = world.client_config(version);
        let name = match version {
            Version::Dtls13 => "dtls1.3",
            Version::Dtls12 => "dtls1.2",
            Version::Dtls12Psk => "dtls1.2-psk",
            Version::Dtls12Cid => "dtls1.2-cid",
        };
        bench.peer(&format!("{name} handshake, cold"), || {
            connected(&client, &server).message(ClientCommand::Close);
        });
        let mut both = connected(&client, &server);
        bench.peer(&format!("{name} message"), || {
            both.message(ClientCommand::Send {
                message: 0,
                content: PAYLOAD.into(),
            });
        });
        println!(
            "{name} memory per connection: {} bytes, both ends",
            memory(&client, &server)
        );
    }
}

fn connected(client: &ClientConfig, server: &ServerConfig) -> Both {
    let inner = bare::Client::new(Transport::Datagram);
    let client = Client::new(client.clone(), inner);
    let server = Server::new(server.clone(), bare::Server::new(Transport::Datagram));
    Loop::connected(client, server, Duration::from_millis(1))
}

/// Mean memory of a pair of connections after a message, in bytes.
fn memory(client: &ClientConfig, server: &ServerConfig) -> i64 {
    const CONNECTIONS: i64 = 50;
    let before = held_bytes();
    let pairs = (0..CONNECTIONS).map(|_| {
        let mut both = connected(client, server);
        both.message(ClientCommand::Send {
            message: 0,
            content: PAYLOAD.into(),
        });
        both
    });
    let pairs: Vec<Both> = pairs.collect();
    let held = held_bytes() - before;
    drop(pairs);
    held / CONNECTIONS
}
