//! Our DTLS 1.3 and wolfSSL's shake hands, both ways, and tell each other something.

use std::time::Duration;

use wirecost_proto::bare::{self, Transport};
use wirecost_proto::{Buffer, Endpoint, FlowId, Front, Input, Instant, Layer, Output, Span};
use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::dtls::{
    Accept, Certificates, Client, ClientConfig, Common, Offer, Server, ServerConfig, Trust,
};
use wirecost_security::layer::Event;
use wirecost_security::{Epoch, KeyLog};
use witness_dtls13::Peer;

const FLOW: FlowId = FlowId(0);
const FROM_US: &[u8] = b"from wirecost\n";
const FROM_THEM: &[u8] = b"from wolfSSL\n";

/// More exchanges of datagrams than a handshake takes.
const MOST_TURNS: u64 = 20;

/// Our end: what it says of its bytes is kept and checked.
struct Ours<E: Endpoint> {
    endpoint: E,
    now: Instant,
    sent: Vec<Vec<u8>>,
    events: Vec<E::Event>,
    /// Of all that was sent and received.
    spans: Vec<Span>,
    bytes: usize,
}

impl<E: Endpoint> Ours<E> {
    fn new(endpoint: E) -> Self {
        let mut ours = Self {
            endpoint,
            now: Instant::START,
            sent: Vec::new(),
            events: Vec::new(),
            spans: Vec::new(),
            bytes: 0,
        };
        let peer = ([127, 0, 0, 1], 5684).into();
        ours.input(Input::Opened { flow: FLOW, peer });
        ours
    }

    fn input(&mut self, input: Input<'_, E::Command>) {
        if let Input::Received { bytes, .. } = &input {
            self.bytes += bytes.len();
        }
        assert!(self.endpoint.handle_input(input, self.now).is_ok());
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => {
                    self.bytes += out.bytes().len();
                    self.spans.extend(out.spans());
                    self.sent.push(out.bytes().to_vec());
                }
                Output::Consumed { .. } => self.spans.extend(out.spans()),
                Output::Event(event) => self.events.push(event),
                Output::Close { .. } => {}
                Output::Timeout(_) => return,
            }
        }
    }

    /// Every datagram goes to the other side; returns how many did.
    fn exchange(&mut self, peer: &mut Peer) -> usize {
        let (up, down) = (std::mem::take(&mut self.sent), peer.sent());
        up.iter().for_each(|datagram| peer.receive(datagram));
        for bytes in &down {
            self.input(Input::Received { flow: FLOW, bytes });
        }
        self.now = self.now + Duration::from_millis(10);
        self.input(Input::Timeout);
        up.len() + down.len()
    }

    /// Exchanges datagrams until both ends are done.
    fn shake_hands<I>(&mut self, peer: &mut Peer)
    where
        E: Endpoint<Event = Event<I>>,
    {
        let mut is_established = false;
        for _ in 0..MOST_TURNS {
            is_established |= peer.shake_hands();
            let ours = self
                .events
                .iter()
                .any(|event| matches!(event, Event::Established { .. }));
            if self.exchange(peer) == 0 && is_established && ours {
                assert!(peer.is_dtls13());
                return;
            }
        }
        panic!("no handshake after {MOST_TURNS} turns");
    }

    /// Every byte has a description, and those within the records are `inner`.
    fn assert_described(&self, inner: usize) {
        let described: usize = self.spans.iter().map(|span| span.len as usize).sum();
        assert_eq!(described, self.bytes);
        let within = self.spans.iter().filter(|span| span.layer != Layer::Security);
        assert_eq!(within.map(|span| span.len as usize).sum::<usize>(), inner);
    }
}

struct World {
    authority: Authority,
    server: Identity,
    common: Common,
}

impl World {
    fn new() -> Self {
        let authority = Authority::generate().expect("an authority");
        let epoch = Epoch {
            monotonic: std::time::Instant::now(),
            unix: VALID_FROM + Duration::from_secs(365 * 86_400),
        };
        Self {
            server: Identity::generate(&authority).expect("a server"),
            authority,
            common: Common::new(epoch, KeyLog::new()),
        }
    }

    fn client(&self) -> Client<bare::Client> {
        let trust = Trust::Authorities {
            certificates: vec![self.authority.certificate().to_vec()],
            server_name: "server".to_owned(),
        };
        let certificates = Certificates {
            trust,
            identity: None,
        };
        let config = ClientConfig::new(self.common.clone(), Offer::Dtls13(certificates));
        Client::new(config.expect("a client"), bare::Client::new(Transport::Datagram))
    }

    fn server(&self, cookie: bool) -> Server<bare::Server> {
        let accept = Accept {
            identity: Some(self.server.clone()),
            cookie,
            ..Accept::default()
        };
        let config = ServerConfig::new(self.common.clone(), accept).expect("a server");
        Server::new(config, bare::Server::new(Transport::Datagram))
    }
}

#[test]
fn our_client_talks_to_wolfssl() {
    let world = World::new();
    let mut peer = Peer::server(world.server.certificate(), world.server.private_key());
    let mut ours = Ours::new(world.client());
    ours.shake_hands(&mut peer);
    ours.input(Input::Command(bare::ClientCommand::Send {
        message: 0,
        content: FROM_US.into(),
    }));
    ours.exchange(&mut peer);
    assert_eq!(peer.read(), FROM_US);
    peer.write(FROM_THEM);
    ours.exchange(&mut peer);
    assert_eq!(ours.endpoint.inner().ignored_bytes(), FROM_THEM.len() as u64);
    ours.assert_described(FROM_US.len() + FROM_THEM.len());
}

#[test]
fn wolfssl_talks_to_our_server() {
    let world = World::new();
    for cookie in [false, true] {
        let mut peer = Peer::client(world.authority.certificate(), "server");
        let mut ours = Ours::new(world.server(cookie));
        ours.shake_hands(&mut peer);
        peer.write(FROM_THEM);
        ours.exchange(&mut peer);
        let message = bare::ServerEvent::Message {
            flow: FLOW,
            payload_bytes: FROM_THEM.len() as u64,
            front: Front::from_payload(FROM_THEM),
        };
        assert!(ours.events.contains(&Event::Inner(message)), "{:?}", ours.events);
        ours.assert_described(FROM_THEM.len());
    }
}
