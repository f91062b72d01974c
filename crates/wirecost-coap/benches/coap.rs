//! A confirmable and a non-confirmable PUT, plain and with OSCORE, client and server, compared with the codec of
//! coap-lite for the same messages.

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
mod measure;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use coap_lite::{CoapOption, MessageClass, MessageType, Packet, RequestType, ResponseType};
use measure::{Bench, Loop, PAYLOAD};
use wirecost_coap::client::{self, Client, Command, Request, RequestTemplate};
use wirecost_coap::oscore::{Context, Role};
use wirecost_coap::server::{self, Server};
use wirecost_proto::Rng;

fn main() {
    let mut bench = Bench::from_arguments();
    let con = Request::put("/test", PAYLOAD.to_vec());
    let non = Request::put_without_response("/test", PAYLOAD.to_vec());
    for (name, request, kind) in [
        ("coap-con", con, MessageType::Confirmable),
        ("coap-non", non, MessageType::NonConfirmable),
    ] {
        let template = Arc::new(RequestTemplate::new(request).expect("a request that fits"));
        let mut both = connected();
        bench.ours(name, || {
            let template = Arc::clone(&template);
            both.message(Command::Request { message: 1, template });
        });
        let mut both = protected();
        bench.ours(&format!("{name}+oscore"), || {
            let template = Arc::clone(&template);
            both.message(Command::Request { message: 1, template });
        });
        // The compared codec has no message layer: no duplicates, no time-outs, no block-wise transfer.
        bench.peer(&format!("{name}, coap-lite"), || peer_exchange(kind));
    }
}

/// The same with OSCORE: a request and possibly a response, each encrypted once and decrypted once.
fn protected() -> Loop<Client, Server> {
    let context = |role| Context::lab(&[7; 16], role, 1).expect("ids that fit");
    let client = client::Config::new(Rng::new(1)).with_oscore(context(Role::Client));
    let server = server::Config::new(Rng::new(2)).with_oscore([context(Role::Server)], true);
    Loop::connected(Client::new(client), Server::new(server), Duration::from_secs(1))
}

/// A message a second, like a device: EXCHANGE_LIFETIME (RFC 7252, section 4.8.2) limits the recorded messages.
fn connected() -> Loop<Client, Server> {
    let client = Client::new(client::Config::new(Rng::new(1)));
    let server = Server::new(server::Config::new(Rng::new(2)));
    Loop::connected(client, server, Duration::from_secs(1))
}

fn peer_exchange(kind: MessageType) {
    let mut request = Packet::new();
    request.header.set_type(kind);
    request.header.code = MessageClass::Request(RequestType::Put);
    request.header.message_id = 7;
    request.set_token(vec![1, 2]);
    request.add_option(CoapOption::UriPath, b"test".to_vec());
    request.add_option(CoapOption::ContentFormat, vec![42]);
    if kind == MessageType::NonConfirmable {
        request.add_option(CoapOption::NoResponse, vec![26]); // RFC 7967, section 2.1
    }
    request.payload = PAYLOAD.to_vec();
    let received = carried(&request);
    if kind == MessageType::Confirmable {
        let mut answer = Packet::new();
        answer.header.set_type(MessageType::Acknowledgement);
        answer.header.code = MessageClass::Response(ResponseType::Changed);
        answer.header.message_id = received.header.message_id;
        answer.set_token(received.get_token().to_vec());
        black_box(carried(&answer));
    }
}

/// Encodes and decodes a packet.
fn carried(packet: &Packet) -> Packet {
    let bytes = packet.to_bytes().expect("a packet that can be written");
    Packet::from_bytes(&bytes).expect("a packet that can be read")
}
