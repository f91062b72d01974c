//! Every file of the corpus and seeded mutations of it, fed to the parser, a client and a server.

mod common;

use std::fs;
use std::path::Path;

use common::*;
use proptest::prelude::*;
use wirecost_coap::client::{Client, Request};
use wirecost_coap::message::{Repr, View};
use wirecost_coap::server::Server;
use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Rng};

const MUTATIONS: usize = 300;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/message");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the corpus is part of the crate")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| fs::read(file).expect("the file can be read"))
        .collect()
}

fn mutate(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=rng.next_below(3) {
        let at = rng.next_below(bytes.len() as u64 + 1) as usize;
        match rng.next_below(4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, rng.next_u64() as u8),
            2 if at < bytes.len() => bytes[at] ^= 1 << rng.next_below(8),
            _ if at < bytes.len() => bytes[at] = rng.next_u64() as u8,
            _ => {}
        }
    }
    bytes
}

/// A client that waits for a response, so that more than the refusals are reached.
fn waiting_client() -> Client {
    let mut client = Client::new(client_config());
    let (flow, peer) = (FIRST_FLOW, "192.0.2.1:5683".parse().unwrap());
    client
        .handle_input(Input::Opened { flow, peer }, Instant::START)
        .unwrap();
    client
        .handle_input(Input::Command(observe(1, "/obs")), Instant::START)
        .unwrap();
    client
        .handle_input(Input::Command(request(Request::get("/test"))), Instant::START)
        .unwrap();
    drain(&mut client, 0);
    client
}

fn feed(datagram: &[u8], client: &mut Client, server: &mut Server, now: Instant) {
    let view = View::new(datagram);
    let _ = (
        view.version(),
        view.kind(),
        view.token(),
        view.code(),
        view.message_id(),
    );
    let mut out = Buffer::new();
    wirecost_coap::describe(datagram, &mut out);
    assert_eq!(out.covered(), datagram.len() as u64);
    if let Ok(repr) = Repr::parse(datagram) {
        let mut emitted = Vec::new();
        repr.emit(&mut emitted);
        assert_eq!(Repr::parse(&emitted), Ok(repr));
    }
    answer_to(client, datagram, now);
    for answer in answer_to(server, datagram, now) {
        assert!(
            Repr::parse(&answer).is_ok(),
            "a server sends well-formed messages"
        );
    }
}

#[test]
fn nothing_in_the_corpus_or_near_it_breaks_parser_client_or_server() {
    let (mut client, mut server, mut rng) = (waiting_client(), Server::new(server_config()), Rng::new(1));
    let corpus = corpus();
    assert!(corpus.len() >= 12);
    let mut now = Instant::START;
    for seed in &corpus {
        feed(seed, &mut client, &mut server, now);
        for _ in 0..MUTATIONS {
            now += std::time::Duration::from_millis(10);
            feed(&mutate(seed, &mut rng), &mut client, &mut server, now);
        }
        client.handle_input(Input::Timeout, now).unwrap();
        server.handle_input(Input::Timeout, now).unwrap();
        drain(&mut client, 0);
        drain(&mut server, 0);
    }
}

proptest! {
    #[test]
    fn no_datagram_breaks_an_endpoint(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        feed(&bytes, &mut waiting_client(), &mut Server::new(server_config()), Instant::START);
    }
}
