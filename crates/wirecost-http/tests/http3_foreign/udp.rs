//! A single-threaded driver over a UDP socket.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use wirecost_proto::{Buffer, Cause, Endpoint, FlowId, Input, Instant, Layer, Output, Phase, Span};
use wirecost_security::Epoch;

/// An endpoint and its socket.
pub(crate) struct Driver<E: Endpoint> {
    pub(crate) endpoint: E,
    pub(crate) events: Vec<E::Event>,
    pub(crate) received: Tally,
    pub(crate) sent: Tally,
    /// Every datagram in order.
    pub(crate) datagrams: Vec<Datagram>,
    socket: UdpSocket,
    epoch: Epoch,
    flows: BTreeMap<FlowId, SocketAddr>,
    next_flow: u32,
    wakes: Option<Instant>,
    incoming: Vec<u8>,
}

/// A datagram on the wire, and the endpoint's spans.
pub(crate) struct Datagram {
    pub(crate) flow: FlowId,
    pub(crate) is_sent: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) spans: Vec<Span>,
}

/// Spans and their bytes.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) spans: Vec<Span>,
}

impl Tally {
    /// Bytes of one layer and phase, each counted once.
    pub(crate) fn count(&self, layer: Layer, phase: Phase) -> u64 {
        let is_new = |span: &&Span| span.cause != Cause::Retransmission;
        let fits = |span: &&Span| span.layer == layer && span.phase == phase;
        let fitting = self.spans.iter().filter(is_new).filter(fits);
        fitting.map(|span| u64::from(span.len)).sum()
    }

    /// Bytes that the spans cover.
    pub(crate) fn covered(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.len)).sum()
    }
}

impl<E: Endpoint<Error = Infallible>> Driver<E> {
    pub(crate) fn new(endpoint: E, epoch: Epoch) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        socket
            .set_read_timeout(Some(Duration::from_millis(2)))
            .expect("a time-out");
        Self {
            endpoint,
            events: Vec::new(),
            received: Tally::default(),
            sent: Tally::default(),
            datagrams: Vec::new(),
            socket,
            epoch,
            flows: BTreeMap::new(),
            next_flow: 0,
            wakes: None,
            incoming: Vec::new(),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("an address")
    }

    fn now(&self) -> Instant {
        self.epoch.instant_of(std::time::Instant::now())
    }

    /// Opens a flow to `peer` from a new port, so that no late packet reaches it.
    pub(crate) fn connect(&mut self, peer: SocketAddr) {
        self.socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        self.socket
            .set_read_timeout(Some(Duration::from_millis(2)))
            .expect("a time-out");
        self.open(peer);
    }

    fn open(&mut self, peer: SocketAddr) -> FlowId {
        let flow = FlowId(self.next_flow);
        self.next_flow += 1;
        self.flows.insert(flow, peer);
        self.input(Input::Opened { flow, peer });
        flow
    }

    /// Passes an input and takes every output. A command right after an opening is passed together with it.
    pub(crate) fn input(&mut self, input: Input<'_, E::Command>) {
        let now = self.now();
        let Ok(()) = self.endpoint.handle_input(input, now);
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => {
                    assert_eq!(out.covered(), out.bytes().len() as u64);
                    self.sent.bytes += out.bytes().len() as u64;
                    self.sent.spans.extend_from_slice(out.spans());
                    self.note(flow, true, out.bytes(), out.spans());
                    // A peer that is gone is not an error of the test.
                    let _ = self.socket.send_to(out.bytes(), self.flows[&flow]);
                }
                Output::Consumed { flow } => {
                    self.received.spans.extend_from_slice(out.spans());
                    let bytes = std::mem::take(&mut self.incoming);
                    self.note(flow, false, &bytes, out.spans());
                }
                Output::Close { flow, .. } => {
                    self.flows.remove(&flow);
                }
                Output::Event(event) => self.events.push(event),
                Output::Timeout(at) => {
                    self.wakes = at;
                    return;
                }
            }
        }
    }

    fn note(&mut self, flow: FlowId, is_sent: bool, bytes: &[u8], spans: &[Span]) {
        self.datagrams.push(Datagram {
            flow,
            is_sent,
            bytes: bytes.to_vec(),
            spans: spans.to_vec(),
        });
    }

    /// Waits for one datagram or time-out.
    pub(crate) fn turn(&mut self) {
        if self.wakes.is_some_and(|at| at <= self.now()) {
            self.input(Input::Timeout);
        }
        let mut bytes = [0; 2048];
        let Ok((len, peer)) = self.socket.recv_from(&mut bytes) else {
            return;
        };
        let known = self.flows.iter().find(|(_, address)| **address == peer);
        let known = known.map(|(flow, _)| *flow);
        let flow = known.unwrap_or_else(|| self.open(peer));
        self.received.bytes += len as u64;
        let bytes = &bytes[..len];
        self.incoming = bytes.to_vec();
        self.input(Input::Received { flow, bytes });
    }

    /// Runs until a condition is true, at most 10 s.
    pub(crate) fn until(&mut self, what: &str, mut is_true: impl FnMut(&Self) -> bool) {
        let began = std::time::Instant::now();
        while !is_true(self) {
            assert!(began.elapsed() < Duration::from_secs(10), "no {what} in 10 s");
            self.turn();
        }
    }

    /// Runs for a duration.
    pub(crate) fn linger(&mut self, duration: Duration) {
        let began = std::time::Instant::now();
        while began.elapsed() < duration {
            self.turn();
        }
    }
}

/// A driver that runs in a thread until it is stopped.
pub(crate) struct Running<E: Endpoint> {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Driver<E>>,
}

impl<E> Running<E>
where
    E: Endpoint<Error = Infallible> + Send + 'static,
    E::Event: Send,
{
    pub(crate) fn start(mut driver: Driver<E>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let address = driver.address();
        let thread = std::thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                driver.turn();
            }
            driver
        });
        Self {
            address,
            stop,
            thread,
        }
    }

    pub(crate) fn stop(self) -> Driver<E> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("a driver")
    }
}
