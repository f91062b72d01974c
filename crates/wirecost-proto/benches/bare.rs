//! A message of the bare stacks, client and server.

mod measure;

use std::time::Duration;

use measure::{Bench, Loop, PAYLOAD};
use wirecost_proto::Content;
use wirecost_proto::bare::{Client, ClientCommand, Server, Transport};

fn main() {
    let mut bench = Bench::from_arguments();
    let payload: Content = PAYLOAD.as_slice().into();
    for (name, transport) in [("tcp", Transport::Stream), ("udp", Transport::Datagram)] {
        let (client, server) = (Client::new(transport), Server::new(transport));
        let mut both = Loop::connected(client, server, Duration::from_millis(1));
        bench.ours(name, || {
            both.message(ClientCommand::Send {
                message: 0,
                content: payload.clone(),
            })
        });
    }
}
