//! One endpoint on a socket of the loopback interface.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "these tests talk to other programs, in their time"
)]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant as Clock};

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};

/// The time limit of every step.
const PATIENCE: Duration = Duration::from_secs(20);

/// An endpoint, its socket and its events.
pub(crate) struct Live<E: Endpoint> {
    pub(crate) endpoint: E,
    pub(crate) events: Vec<E::Event>,
    /// The datagrams that have arrived.
    pub(crate) received: Vec<Vec<u8>>,
    socket: UdpSocket,
    /// The peers, by the numbers of their flows.
    peers: Vec<SocketAddr>,
    began: Clock,
    wakes: Option<Instant>,
}

impl<E: Endpoint<Error: std::fmt::Debug, Event: std::fmt::Debug>> Live<E> {
    pub(crate) fn new(endpoint: E) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        Self {
            endpoint,
            events: Vec::new(),
            received: Vec::new(),
            socket,
            peers: Vec::new(),
            began: Clock::now(),
            wakes: None,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.socket.local_addr().expect("an address").port()
    }

    /// Opens a flow to a port of the loopback interface.
    pub(crate) fn connect(&mut self, port: u16) {
        self.flow((Ipv4Addr::LOCALHOST, port).into());
    }

    pub(crate) fn command(&mut self, command: E::Command) {
        self.input(Input::Command(command));
    }

    /// Runs until a condition holds.
    pub(crate) fn run_until(&mut self, mut is_so: impl FnMut(&Self) -> bool) {
        let began = Clock::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "in vain: {:?}", self.events);
            self.step();
        }
    }

    /// Receives a datagram if one arrives within a few milliseconds, and handles time-outs.
    fn step(&mut self) {
        let timeout = Some(Duration::from_millis(5));
        self.socket.set_read_timeout(timeout).expect("a time-out");
        // aiocoap sends the first response to a registration in one datagram, whatever its size.
        let mut datagram = [0; 65_536];
        if let Ok((len, peer)) = self.socket.recv_from(&mut datagram) {
            let flow = self.flow(peer);
            let bytes = &datagram[..len];
            self.received.push(bytes.to_vec());
            self.input(Input::Received { flow, bytes });
        }
        if self.wakes.is_some_and(|at| at <= self.now()) {
            self.input(Input::Timeout);
        }
    }

    fn now(&self) -> Instant {
        Instant::START + self.began.elapsed()
    }

    /// The flow of a peer, opened if it is new.
    fn flow(&mut self, peer: SocketAddr) -> FlowId {
        if let Some(at) = self.peers.iter().position(|known| *known == peer) {
            return FlowId(at as u32);
        }
        let flow = FlowId(self.peers.len() as u32);
        self.peers.push(peer);
        self.input(Input::Opened { flow, peer });
        flow
    }

    fn input(&mut self, input: Input<'_, E::Command>) {
        let now = self.now();
        self.endpoint.handle_input(input, now).expect("it goes on");
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => {
                    let peer = self.peers[flow.0 as usize];
                    self.socket.send_to(out.bytes(), peer).expect("it is sent");
                }
                Output::Event(event) => self.events.push(event),
                Output::Timeout(at) => {
                    self.wakes = at;
                    return;
                }
                Output::Consumed { .. } | Output::Close { .. } => {}
            }
        }
    }
}
