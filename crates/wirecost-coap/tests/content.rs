//! A protected object keeps its layers, whole and in blocks.

mod common;

use common::*;
use wirecost_coap::client::{Client, Request};
use wirecost_coap::server::Server;
use wirecost_proto::content::Part;
use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Buffer, Content, Endpoint, Input, Instant, Layer, Output};

/// 20 B of a header, payload, 16 B of a tag.
fn object(payload: usize) -> Content {
    let part = |len, layer| Part { len, layer };
    let parts = [
        part(20, Layer::Security),
        part(payload, Layer::Payload),
        part(16, Layer::Security),
    ];
    Content::protected(pattern(20 + payload + 16), &parts)
}

/// Every datagram of a PUT, with its spans. A server cannot tell objects from payload, so its spans are not compared.
fn put(content: Content) -> Vec<Buffer> {
    let (mut client, mut server) = (Client::new(client_config()), Server::new(server_config()));
    let (flow, peer) = (FIRST_FLOW, "192.0.2.1:5683".parse().unwrap());
    let mut sent = Vec::new();
    let mut next = Input::Opened { flow, peer };
    let mut command = Some(request(Request::put("/test", content)));
    let mut answer;
    loop {
        client.handle_input(next, Instant::START).unwrap();
        let Some(datagram) = transmitted(&mut client) else {
            let Some(command) = command.take() else {
                return sent;
            };
            next = Input::Command(command);
            continue;
        };
        let answers = answer_to(&mut server, datagram.bytes(), Instant::START);
        sent.push(datagram);
        answer = answers.into_iter().next().expect("every block is answered");
        let bytes = &answer;
        next = Input::Received { flow, bytes };
    }
}

/// The next datagram of the client, if there is one.
fn transmitted(client: &mut Client) -> Option<Buffer> {
    loop {
        let mut out = Buffer::new();
        match client.poll_output(&mut out) {
            Output::Transmit { .. } => return Some(out),
            Output::Timeout(_) => return None,
            _ => {}
        }
    }
}

#[test]
fn the_bytes_of_an_object_belong_to_the_security_layer() {
    for (size, datagrams) in [(0, 1), (1, 1), (988, 1), (989, 2), (5_000, 5)] {
        let sent = put(object(size));
        assert_eq!(sent.len(), datagrams, "{size} B");
        let of = |layer| {
            let spans = sent.iter().flat_map(|out| out.spans());
            let matching = spans.filter(|span| span.layer == layer);
            matching.map(|span| span.len as usize).sum::<usize>()
        };
        assert_eq!((of(Layer::Payload), of(Layer::Security)), (size, 36));
    }
}
