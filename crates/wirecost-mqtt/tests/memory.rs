//! The memory of an idle client and of an idle connection in the broker. It limits the size of a load.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

#[path = "../../wirecost-proto/benches/measure/allocator.rs"]
mod allocator;

use allocator::held_bytes;
use wirecost_mqtt::broker::{self, Broker};
use wirecost_mqtt::client::{self, Client};
use wirecost_mqtt::codec::Version;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer};

const CLIENTS: u32 = 1_000;
/// The client's part of 2 KiB per connection. The driver and the allocator use the rest.
const CLIENT_BYTES: usize = 700;
/// The broker's part of 4 KiB per connection.
const BROKER_BYTES: usize = 1_200;

fn held() -> usize {
    usize::try_from(held_bytes()).unwrap_or_default()
}

/// Polls all outputs of `endpoint`. Appends transmitted bytes to `wire`.
fn drain<E: Endpoint>(endpoint: &mut E, out: &mut Buffer, wire: &mut Vec<u8>) {
    loop {
        out.clear();
        match endpoint.poll_output(out) {
            Output::Transmit { .. } => wire.extend_from_slice(out.bytes()),
            Output::Timeout(_) => return,
            _ => {}
        }
    }
}

/// The bytes per connected client, and per client in the broker.
fn bytes_per_connection(version: Version) -> (usize, usize) {
    let mut broker = Broker::new(broker::Config::default());
    let mut clients: Vec<Client> = Vec::with_capacity(CLIENTS as usize);
    let (mut out, mut up, mut down) = (Buffer::new(), Vec::new(), Vec::new());
    let peer: Peer = "10.0.0.1:1".parse().expect("an address");
    let (mut at_clients, mut at_broker) = (0, 0);
    for number in 0..CLIENTS {
        let (flow, now) = (FlowId(number), Instant::from_millis(number.into()));
        let before = held();
        let mut client = Client::new(client::Config {
            version,
            client_id: format!("wc-{number:05}").parse().expect("an identifier"),
            ..client::Config::default()
        });
        let _ = client.handle_input(Input::Opened { flow, peer }, now);
        drain(&mut client, &mut out, &mut up);
        at_clients += held() - before;
        let before = held();
        let _ = broker.handle_input(Input::Opened { flow, peer }, now);
        let _ = broker.handle_input(Input::Received { flow, bytes: &up }, now);
        drain(&mut broker, &mut out, &mut down);
        at_broker += held() - before;
        let before = held();
        let _ = client.handle_input(Input::Received { flow, bytes: &down }, now);
        drain(&mut client, &mut out, &mut up);
        at_clients = at_clients + held() - before;
        assert!(client.is_connected());
        clients.push(client);
        up.clear();
        down.clear();
    }
    let count = CLIENTS as usize;
    (at_clients / count + size_of::<Client>(), at_broker / count)
}

#[test]
fn an_idle_connection_holds_little_on_either_side() {
    for version in [Version::V3_1_1, Version::V5] {
        let (client, broker) = bytes_per_connection(version);
        println!("{version:?}: {client} B at the client, {broker} B at the broker");
        assert!(client <= CLIENT_BYTES, "{client} B at a client");
        assert!(broker <= BROKER_BYTES, "{broker} B at the broker");
    }
}
