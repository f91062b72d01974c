//! Many observations at once: the limits per peer, and the effect on other peers.

mod common;

use std::time::Duration;

use common::server_config;
use wirecost_coap::code::Code;
use wirecost_coap::message::{Repr, Type};
use wirecost_coap::server::{Config, Server};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

/// A server, the time, and its sent datagrams.
struct ServerHarness {
    server: Server,
    now: Instant,
    sent: Vec<(FlowId, Vec<u8>)>,
    next_id: u16,
    timeout: Option<Instant>,
}

impl ServerHarness {
    fn new(config: Config) -> Self {
        Self {
            server: Server::new(config),
            now: Instant::START,
            sent: Vec::new(),
            next_id: 0,
            timeout: None,
        }
    }

    fn input(&mut self, input: Input<'_, std::convert::Infallible>) {
        self.server
            .handle_input(input, self.now)
            .expect("nothing ends a server");
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.server.poll_output(&mut out) {
                Output::Transmit { flow } => self.sent.push((flow, out.bytes().to_vec())),
                Output::Timeout(at) => return self.timeout = at,
                _ => {}
            }
        }
    }

    /// Sends a confirmable GET of a peer, which registers if `observe`. Returns the datagrams that the server sends.
    fn get(&mut self, peer: u32, path: &str, token: u32, observe: bool) -> Vec<Reply> {
        self.next_id = self.next_id.wrapping_add(1);
        let [high, low] = self.next_id.to_be_bytes();
        let mut bytes = vec![0x44, 1, high, low];
        bytes.extend(&token.to_be_bytes());
        // Observe is option 6, Uri-Path 11; an Observe of 0 is empty.
        match observe {
            true => bytes.extend([0x60, 0x50 | path.len() as u8]),
            false => bytes.push(0xb0 | path.len() as u8),
        }
        bytes.extend(path.as_bytes());
        let (flow, before) = (FlowId(peer), self.sent.len());
        self.input(Input::Received { flow, bytes: &bytes });
        self.sent[before..].iter().map(Reply::new).collect()
    }

    /// Lets time pass until `end`, without answers.
    fn pass(&mut self, end: Instant) {
        while let Some(at) = self.timeout.filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.input(Input::Timeout);
        }
        self.now = end;
    }

    /// Registers observations of `/obs` by a peer. Returns the number of accepted ones.
    fn observe(&mut self, peer: u32, count: u32) -> usize {
        let taken = |harness: &mut Self, token| {
            let replies = harness.get(peer, "obs", token, true);
            replies[0].observed
        };
        (0..count).filter(|token| taken(self, *token)).count()
    }
}

/// The fields of a datagram that tests check.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    peer: u32,
    kind: Type,
    code: Code,
    observed: bool,
}

impl Reply {
    fn new((flow, datagram): &(FlowId, Vec<u8>)) -> Self {
        let repr = Repr::parse(datagram).expect("the server sends messages");
        Self {
            peer: flow.0,
            kind: repr.kind,
            code: repr.code,
            observed: repr.options.observe().is_some(),
        }
    }
}

#[test]
fn the_observation_limit_applies_to_each_peer() {
    let mut harness = ServerHarness::new(server_config());
    assert_eq!(harness.observe(1, 1_100), 1_024);
    assert_eq!(harness.observe(2, 10), 10);
    assert_eq!(harness.server.observers(), 1_034);
}

#[test]
fn the_observation_limit_applies_to_all_peers_together() {
    let mut config = server_config();
    config.max_observers = 30;
    let mut harness = ServerHarness::new(config);
    let taken: Vec<usize> = (0..4).map(|peer| harness.observe(peer, 10)).collect();
    assert_eq!(taken, [10, 10, 10, 0]);
}

#[test]
fn a_peer_without_acks_loses_all_observations_at_one_time_out() {
    let mut harness = ServerHarness::new(server_config());
    harness.observe(1, 100);
    let registered = harness.sent.len();
    // The first change is after 5 s, the time-out after 93 s at most (RFC 7252 section 4.8.2).
    harness.pass(Instant::START + Duration::from_secs(5 + 94));
    assert_eq!(harness.server.observers(), 0);
    assert_eq!(
        harness.sent.len() - registered,
        5,
        "one notification under way (NSTART), sent 5 times"
    );
    assert_eq!(harness.timeout, None, "nothing is left to be done");
}

#[test]
fn an_observer_that_acknowledges_stays_when_another_is_removed() {
    let mut harness = ServerHarness::new(server_config());
    harness.observe(1, 1);
    harness.observe(2, 1);
    let mut seen = harness.sent.len();
    for second in 1..120 {
        harness.pass(Instant::from_millis(second * 1_000));
        let to_second: Vec<Vec<u8>> = harness.sent[seen..]
            .iter()
            .filter(|(flow, _)| flow.0 == 2)
            .map(|(_, datagram)| datagram.clone())
            .collect();
        seen = harness.sent.len();
        for notification in to_second {
            let ack = [0x60, 0, notification[2], notification[3]];
            let flow = FlowId(2);
            harness.input(Input::Received { flow, bytes: &ack });
        }
    }
    assert_eq!(harness.server.observers(), 1);
}

#[test]
fn unacknowledged_observations_do_not_affect_other_peers() {
    let mut harness = ServerHarness::new(server_config());
    for peer in 1..=100 {
        assert_eq!(harness.observe(peer, 100), 100);
    }
    harness.pass(Instant::START + Duration::from_secs(6));
    let answered = harness.get(200, "test", 1, false);
    let answers: Vec<_> = answered
        .iter()
        .map(|reply| (reply.peer, reply.kind, reply.code))
        .collect();
    assert_eq!(answers, [(200, Type::Acknowledgement, Code::CONTENT)]);
    // A separate response, after its empty ACK.
    let separate = harness.get(200, "separate", 2, false);
    assert_eq!(
        (separate[0].kind, separate[0].code),
        (Type::Acknowledgement, Code::EMPTY)
    );
}
