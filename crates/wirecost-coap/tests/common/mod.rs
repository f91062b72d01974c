//! Helpers for tests of whole exchanges: a client and the server over a path that drops selected datagrams.
#![allow(dead_code, reason = "every test file uses a part of this")]

use std::sync::Arc;
use std::time::Duration;

use wirecost_coap::client::{Client, Command, Config, Event, Request, RequestTemplate, Response};
use wirecost_coap::code::Code;
use wirecost_coap::message::{Repr, Type};
use wirecost_coap::server::{self, Server};
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::{FIRST_FLOW, Pair, Sent};
use wirecost_proto::{BothWays, Delivery, Direction, Endpoint, Fate, FlowId, Input, Instant, Path, Rng};

/// One direction of the path.
pub(crate) const DELAY: Duration = Duration::from_millis(10);

/// Drops the listed datagrams (counted per direction from 0), and a share of all others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lossy {
    pub(crate) up: Vec<usize>,
    pub(crate) down: Vec<usize>,
    pub(crate) share: f64,
    pub(crate) duplicate: bool,
    pub(crate) rng: Option<Rng>,
    pub(crate) sent: BothWays<usize>,
}

impl Lossy {
    pub(crate) fn share(share: f64, seed: u64) -> Self {
        Self {
            share,
            rng: Some(Rng::new(seed)),
            ..Self::default()
        }
    }
}

impl Path for Lossy {
    fn offer(&mut self, direction: Direction, _: usize, now: Instant, out: &mut Vec<Delivery>) -> Fate {
        let place = self.sent[direction];
        self.sent[direction] += 1;
        let listed = match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        };
        let unlucky = self.rng.as_mut().is_some_and(|rng| rng.next_f64() < self.share);
        if listed.contains(&place) || unlucky {
            return Fate::Lost;
        }
        let (at, flip_bit) = (now + DELAY, None);
        out.push(Delivery { at, flip_bit });
        if self.duplicate {
            let at = at + Duration::from_millis(1);
            out.push(Delivery { at, flip_bit });
        }
        Fate::Delivered
    }
}

pub(crate) type CoapPair = Pair<Client, Server, Lossy>;

pub(crate) fn pair(path: Lossy) -> CoapPair {
    pair_with(path, client_config(), server_config())
}

pub(crate) fn client_config() -> Config {
    Config::new(Rng::new(1))
}

pub(crate) fn server_config() -> server::Config {
    server::Config::new(Rng::new(2))
}

pub(crate) fn pair_with(path: Lossy, client: Config, server: server::Config) -> CoapPair {
    let mut pair = Pair::new(
        Transport::Datagram,
        Client::new(client),
        Server::new(server),
        path,
    );
    pair.open();
    pair.client_events.clear();
    pair
}

pub(crate) fn request(request: Request) -> Command {
    let template = Arc::new(RequestTemplate::new(request).expect("the options fit"));
    Command::Request { message: 1, template }
}

pub(crate) fn observe(message: u64, path: &str) -> Command {
    let template = Arc::new(RequestTemplate::new(Request::get(path)).expect("the options fit"));
    Command::Observe { message, template }
}

/// The response to one request over a path without loss.
pub(crate) fn exchange(pair: &mut CoapPair, what: Request) -> Response {
    pair.client_events.clear();
    pair.command(request(what));
    pair.drive_for(Duration::from_secs(5));
    match responses(pair).pop() {
        Some(response) => response,
        None => panic!("no response: {:?}", pair.client_events),
    }
}

pub(crate) fn ask(what: Request) -> Response {
    exchange(&mut pair(Lossy::default()), what)
}

pub(crate) fn responses(pair: &CoapPair) -> Vec<Response> {
    let response = |(_, event): &(Instant, Event)| match event {
        Event::Response(response) => Some(response.clone()),
        _ => None,
    };
    pair.client_events.iter().filter_map(response).collect()
}

pub(crate) fn notifications(pair: &CoapPair) -> Vec<Response> {
    let notification = |(_, event): &(Instant, Event)| match event {
        Event::Notification(response) => Some(response.clone()),
        _ => None,
    };
    pair.client_events.iter().filter_map(notification).collect()
}

pub(crate) fn sent(pair: &CoapPair, direction: Direction) -> Vec<&Sent> {
    pair.sent
        .iter()
        .filter(|sent| sent.direction == direction)
        .collect()
}

/// Type and code of every datagram sent, with its direction's arrow: `>CON 0.03`.
pub(crate) fn flow_of(pair: &CoapPair) -> Vec<String> {
    let line = |sent: &Sent| {
        let repr = Repr::parse(&sent.bytes).expect("we send messages");
        let arrow = match sent.direction {
            Direction::Up => '>',
            Direction::Down => '<',
        };
        format!("{arrow}{} {}", type_name(repr.kind), repr.code)
    };
    pair.sent.iter().map(line).collect()
}

fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Confirmable => "CON",
        Type::NonConfirmable => "NON",
        Type::Acknowledgement => "ACK",
        Type::Reset => "RST",
    }
}

/// The payload bytes of each message that the server processed, without duplicates.
pub(crate) fn processed_bodies(pair: &CoapPair) -> Vec<u64> {
    let message = |(_, event): &(Instant, server::Event)| match event {
        server::Event::MessageReceived {
            payload_bytes,
            duplicate: false,
            ..
        } => Some(*payload_bytes),
        _ => None,
    };
    pair.server_events.iter().filter_map(message).collect()
}

pub(crate) fn pattern(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Rng::new(len as u64).fill(&mut bytes);
    bytes
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let byte = |digits: &str| u8::from_str_radix(digits, 16).expect("two hex digits");
    text.split_whitespace().map(byte).collect()
}

/// The answer of an endpoint to a datagram, and whether it accounted for all bytes.
pub(crate) fn answer_to<E: Endpoint<Error: std::fmt::Debug>>(
    endpoint: &mut E,
    datagram: &[u8],
    now: Instant,
) -> Vec<Vec<u8>> {
    let flow = FIRST_FLOW;
    let received = Input::Received {
        flow,
        bytes: datagram,
    };
    endpoint
        .handle_input(received, now)
        .expect("no datagram ends an endpoint");
    drain(endpoint, datagram.len())
}

pub(crate) fn drain<E: Endpoint>(endpoint: &mut E, consumed: usize) -> Vec<Vec<u8>> {
    let (mut out, mut sent, mut covered) = (wirecost_proto::Buffer::new(), Vec::new(), 0);
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            wirecost_proto::Output::Transmit { flow: FlowId(0) } => sent.push(out.bytes().to_vec()),
            wirecost_proto::Output::Consumed { .. } => covered += out.covered(),
            wirecost_proto::Output::Timeout(_) => break,
            _ => {}
        }
    }
    assert_eq!(covered, consumed as u64, "every datagram is consumed whole");
    sent
}

pub(crate) fn code_of(datagram: &[u8]) -> Code {
    Repr::parse(datagram).expect("we send messages").code
}

/// Opens the first flow of a client without a server.
pub(crate) fn open(client: &mut Client) {
    let peer = "192.0.2.1:5683".parse().unwrap();
    let flow = FIRST_FLOW;
    client
        .handle_input(Input::Opened { flow, peer }, Instant::START)
        .unwrap();
}
