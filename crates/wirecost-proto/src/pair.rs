//! Two endpoints over any [`Path`] in virtual time: the harness of the protocol crates' tests.
//!
//! The client is the device (it sends [`Direction::Up`]), the server may have many flows, of which the harness
//! opens one per [`Pair::open`]. The path takes datagrams unchanged. A stream is an ideal reliable one without TCP: the
//! harness offers a chunk that the path loses or corrupts again after 200 ms, and bytes arrive in order. The
//! harness compares every byte that arrives with the spans that its receiver reports in `Consumed`.

mod arrived;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

use crate::bare::Transport;
use crate::{Buffer, Delivery, Direction, Endpoint, FlowId, Input, Instant, Output, Path, ResetReason, Span};
use arrived::Arrived;

/// How long an ideal stream waits before it offers a lost chunk again.
pub(crate) const STREAM_RETRY: Duration = Duration::from_millis(200);

/// The flow that [`Pair::open`] opens first; the client and the server know it by the same number.
pub const FIRST_FLOW: FlowId = FlowId(0);

/// A client, a server and the path between them.
pub struct Pair<C: Endpoint, S: Endpoint, P> {
    /// The device's endpoint.
    pub client: C,
    /// The server's endpoint.
    pub server: S,
    /// The path between them.
    pub path: P,
    /// Virtual time.
    pub now: Instant,
    /// The client's events with their times.
    pub client_events: Vec<(Instant, C::Event)>,
    /// The server's events with their times.
    pub server_events: Vec<(Instant, S::Event)>,
    /// Everything that was transmitted, in order: each datagram, each stream chunk.
    pub sent: Vec<Sent>,
    transport: Transport,
    client_wakes: Option<Instant>,
    server_wakes: Option<Instant>,
    arrivals: BTreeMap<(Instant, u64), Arrival>,
    order: u64,
    flows: BTreeMap<(FlowId, Direction), FlowState>,
}

/// One transmission, as its sender described it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When it was sent.
    pub at: Instant,
    /// The direction of travel.
    pub direction: Direction,
    /// The flow.
    pub flow: FlowId,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The spans that cover them.
    pub spans: Vec<Span>,
}

enum What {
    Bytes { bytes: Vec<u8>, spans: Vec<Span> },
    Close { reset: bool },
}

struct Arrival {
    flow: FlowId,
    direction: Direction,
    what: What,
}

#[derive(Default)]
struct FlowState {
    last_arrival: Instant,
    arrived: Arrived,
    closed: bool,
}

impl<C, S, P> Pair<C, S, P>
where
    C: Endpoint<Error: Debug>,
    S: Endpoint<Error: Debug>,
    P: Path,
{
    /// A pair that is not connected yet.
    pub fn new(transport: Transport, client: C, server: S, path: P) -> Self {
        Self {
            client,
            server,
            path,
            now: Instant::START,
            client_events: Vec::new(),
            server_events: Vec::new(),
            sent: Vec::new(),
            transport,
            client_wakes: None,
            server_wakes: None,
            arrivals: BTreeMap::new(),
            order: 0,
            flows: BTreeMap::new(),
        }
    }

    /// Opens [`FIRST_FLOW`] on both sides, at once.
    pub fn open(&mut self) {
        self.open_flow(FIRST_FLOW);
    }

    /// Opens a flow on both sides, at once. After a close or a reset, a client connects again with a new number.
    pub fn open_flow(&mut self, flow: FlowId) {
        let address = |last, port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 77, 0, last)), port);
        self.server_input(Input::Opened {
            flow,
            peer: address(2, 40_000),
        });
        self.client_input(Input::Opened {
            flow,
            peer: address(1, 1_000),
        });
    }

    /// Gives the client a command now.
    pub fn command(&mut self, command: C::Command) {
        self.client_input(Input::Command(command));
    }

    /// Gives the server a command now.
    pub fn server_command(&mut self, command: S::Command) {
        self.server_input(Input::Command(command));
    }

    /// Resets a flow on both sides at once, and drops the bytes in transit.
    pub fn reset(&mut self, flow: FlowId, reason: ResetReason) {
        self.arrivals.retain(|_, arrival| arrival.flow != flow);
        self.client_input(Input::Reset { flow, reason });
        self.server_input(Input::Reset { flow, reason });
    }

    /// Advances to the next arrival or time-out and handles it; false if there is none.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next_step() else {
            return false;
        };
        self.now = self.now.max(next);
        let first = self.arrivals.first_entry();
        if let Some(arrival) = first.filter(|first| first.key().0 <= self.now) {
            let arrival = arrival.remove();
            self.arrive(arrival);
        } else if self.client_wakes.is_some_and(|at| at <= self.now) {
            self.client_input(Input::Timeout);
        } else {
            self.server_input(Input::Timeout);
        }
        true
    }

    /// Steps until `deadline` (not beyond) or until nothing is left to do; `now` is then the deadline.
    pub fn drive_until(&mut self, deadline: Instant) {
        while self.next_step().is_some_and(|at| at <= deadline) {
            self.step();
        }
        self.now = self.now.max(deadline);
    }

    /// Steps for `duration` of virtual time.
    pub fn drive_for(&mut self, duration: Duration) {
        self.drive_until(self.now + duration);
    }

    /// The time of the next [`Pair::step`].
    pub fn next_step(&self) -> Option<Instant> {
        let arrival = self.arrivals.keys().next().map(|(at, _)| *at);
        [arrival, self.client_wakes, self.server_wakes]
            .into_iter()
            .flatten()
            .min()
    }

    fn arrive(&mut self, arrival: Arrival) {
        let Arrival {
            flow,
            direction,
            what,
        } = arrival;
        match what {
            What::Bytes { bytes, spans } => {
                let is_datagram = self.transport == Transport::Datagram;
                self.flow(flow, direction).arrived.add(spans, is_datagram);
                self.receiver_input(direction, Input::Received { flow, bytes: &bytes });
            }
            What::Close { reset: true } => {
                let reason = ResetReason::ByPeer;
                self.receiver_input(direction, Input::Reset { flow, reason });
            }
            What::Close { reset: false } => self.receiver_input(direction, Input::PeerClosed { flow }),
        }
    }

    fn receiver_input(&mut self, direction: Direction, input: Input<'_, Infallible>) {
        match direction {
            Direction::Up => self.server_input(input.map_command(|never| match never {})),
            Direction::Down => self.client_input(input.map_command(|never| match never {})),
        }
    }

    fn client_input(&mut self, input: Input<'_, C::Command>) {
        self.client
            .handle_input(input, self.now)
            .expect("the client must not end");
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.client.poll_output(&mut out) {
                Output::Transmit { flow } => self.transmit(Direction::Up, flow, &out),
                Output::Consumed { flow } => self.flow(flow, Direction::Down).arrived.consume(&out),
                Output::Close { flow, reset } => self.close(Direction::Up, flow, reset),
                Output::Event(event) => self.client_events.push((self.now, event)),
                Output::Timeout(at) => {
                    self.client_wakes = at;
                    return;
                }
            }
        }
    }

    fn server_input(&mut self, input: Input<'_, S::Command>) {
        self.server
            .handle_input(input, self.now)
            .expect("the server must not end");
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.server.poll_output(&mut out) {
                Output::Transmit { flow } => self.transmit(Direction::Down, flow, &out),
                Output::Consumed { flow } => self.flow(flow, Direction::Up).arrived.consume(&out),
                Output::Close { flow, reset } => self.close(Direction::Down, flow, reset),
                Output::Event(event) => self.server_events.push((self.now, event)),
                Output::Timeout(at) => {
                    self.server_wakes = at;
                    return;
                }
            }
        }
    }

    fn transmit(&mut self, direction: Direction, flow: FlowId, out: &Buffer) {
        assert_eq!(
            out.covered(),
            out.bytes().len() as u64,
            "every transmitted byte has one span"
        );
        assert!(
            !self.flow(flow, direction).closed,
            "{flow} transmits {direction:?} after its close"
        );
        let (bytes, spans) = (out.bytes().to_vec(), out.spans().to_vec());
        self.sent.push(Sent {
            at: self.now,
            direction,
            flow,
            bytes: bytes.clone(),
            spans: spans.clone(),
        });
        match self.transport {
            Transport::Datagram => {
                for delivery in self.offer(direction, bytes.len(), self.now) {
                    let mut bytes = bytes.clone();
                    if let Some(bit) = delivery.flip_bit {
                        let index = bit as usize / 8 % bytes.len().max(1);
                        if let Some(byte) = bytes.get_mut(index) {
                            *byte ^= 1 << (bit % 8);
                        }
                    }
                    let what = What::Bytes {
                        bytes,
                        spans: spans.clone(),
                    };
                    self.schedule(delivery.at, flow, direction, what);
                }
            }
            Transport::Stream => {
                let at = self.reliable_arrival(flow, direction, bytes.len());
                self.schedule(at, flow, direction, What::Bytes { bytes, spans });
            }
        }
    }

    fn close(&mut self, direction: Direction, flow: FlowId, reset: bool) {
        self.flow(flow, direction).closed = true;
        if reset {
            self.flow(flow, direction.reverse()).closed = true;
        }
        if self.transport == Transport::Stream {
            let at = self.reliable_arrival(flow, direction, 0);
            self.schedule(at, flow, direction, What::Close { reset });
        }
    }

    /// When a chunk arrives, in order, after as many retries as the path requires.
    fn reliable_arrival(&mut self, flow: FlowId, direction: Direction, len: usize) -> Instant {
        let mut offered = self.now;
        let at = loop {
            let intact = self
                .offer(direction, len, offered)
                .into_iter()
                .find(|copy| copy.flip_bit.is_none());
            match intact {
                Some(copy) => break copy.at,
                None => offered += STREAM_RETRY,
            }
        };
        let state = self.flow(flow, direction);
        state.last_arrival = state.last_arrival.max(at);
        state.last_arrival
    }

    fn offer(&mut self, direction: Direction, len: usize, at: Instant) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        self.path.offer(direction, len, at, &mut deliveries);
        deliveries
    }

    fn schedule(&mut self, at: Instant, flow: FlowId, direction: Direction, what: What) {
        self.order += 1;
        let arrival = Arrival {
            flow,
            direction,
            what,
        };
        self.arrivals.insert((at, self.order), arrival);
    }

    fn flow(&mut self, flow: FlowId, direction: Direction) -> &mut FlowState {
        self.flows.entry((flow, direction)).or_default()
    }

    /// Bytes that arrived and that the receiver has not described yet.
    pub fn unconsumed(&self) -> u64 {
        self.flows.values().map(|flow| flow.arrived.bytes()).sum()
    }
}

#[cfg(test)]
mod tests;
