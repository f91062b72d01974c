//! The `coap` crate: confirmable PUTs, one at a time on each socket.

use coap::UdpCoAPClient;
use coap::request::{Method, RequestBuilder};
use load_peers::{Arguments, Meter};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments = Arguments::read();
    let mut clients = Vec::new();
    for _ in 0..arguments.connections {
        clients.push(UdpCoAPClient::new(arguments.address).await.expect("a socket"));
    }
    let meter = Meter::start();
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|client| tokio::spawn(async move { put(&client, arguments).await }))
        .collect();
    for task in tasks {
        task.await.expect("every message is answered");
    }
    meter.finish(arguments.each() * arguments.connections);
}

async fn put(client: &UdpCoAPClient, arguments: Arguments) {
    for number in 0..arguments.each() {
        let request = RequestBuilder::new("/test", Method::Put)
            .data(Some(vec![7; arguments.payload]))
            .token(Some((number as u16).to_be_bytes().to_vec()))
            .confirmable(true)
            .build();
        client.send(request).await.expect("an answer");
    }
}
