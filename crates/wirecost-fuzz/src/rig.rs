//! An endpoint under a script. Checks the rules of the contract (`wirecost_proto::endpoint`).

use std::fmt::Debug;

use wirecost_proto::bare::Transport;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer, ResetReason};

use crate::script::{Script, Step};

/// More outputs to one input than this count as an endless loop.
const MOST_OUTPUTS: usize = 200_000;

/// An endpoint that asks for a time in the past after this number of time-outs would keep its driver busy forever.
const MOST_TIMEOUTS: usize = 1_000;

/// A flow of the script.
#[derive(Clone, Copy, Debug)]
struct Flow {
    id: FlowId,
    state: State,
    received: u64,
    consumed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Open,
    /// The peer has ended its direction.
    PeerClosed,
    /// The endpoint has closed the flow; bytes may still be in transit.
    Closed,
    Gone,
}

/// An endpoint, its flows and the time.
pub(crate) struct Rig<E: Endpoint> {
    pub(crate) endpoint: E,
    /// Its events.
    pub(crate) events: Vec<E::Event>,
    /// The bytes it sent, if they are collected.
    sent: Option<Vec<Vec<u8>>>,
    transport: Transport,
    flows: Vec<Option<Flow>>,
    opened: u32,
    now: Instant,
    wakes: Option<Instant>,
    /// Checks what the endpoint sends.
    check: fn(&[u8]),
}

impl<E: Endpoint<Error: Debug>> Rig<E> {
    /// An endpoint that has at most `flows` flows at once and sends what `check` finds well-formed.
    pub(crate) fn new(endpoint: E, transport: Transport, flows: usize, check: fn(&[u8])) -> Self {
        Self {
            endpoint,
            events: Vec::new(),
            sent: None,
            transport,
            flows: vec![None; flows],
            opened: 0,
            now: Instant::START,
            wakes: None,
            check,
        }
    }

    /// The bytes it has sent since the last call; the first call starts the collection.
    pub(crate) fn take_sent(&mut self) -> Vec<Vec<u8>> {
        self.sent.replace(Vec::new()).unwrap_or_default()
    }

    /// When it asked to be woken.
    pub(crate) const fn wakes(&self) -> Option<Instant> {
        self.wakes
    }

    /// The current time.
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// Whether it has closed the flow in a slot.
    pub(crate) fn has_closed(&self, slot: usize) -> bool {
        self.flows[slot].is_some_and(|flow| flow.state == State::Closed)
    }

    /// Plays the script to its end; `command` gives the command of a number, if there is one.
    pub(crate) fn play(&mut self, script: &mut Script<'_>, command: impl Fn(u8) -> Option<E::Command>) {
        while let Some((slot, step)) = script.step() {
            let slot = slot % self.flows.len();
            match step {
                Step::Open => self.open(slot),
                Step::Receive(bytes) => self.receive(slot, bytes),
                Step::PeerClosed => self.peer_closed(slot),
                Step::Reset => self.reset(slot),
                Step::Writable => self.tell_open(slot, |flow| Input::Writable { flow }),
                Step::Congested => self.tell_open(slot, |flow| Input::Congested { flow }),
                Step::Command(number) => self.command(command(number)),
                Step::Wait(duration) => self.wait_until(self.now + duration),
                Step::Wake => self.wait_until(self.now.max(self.wakes.unwrap_or(self.now))),
            }
        }
    }

    pub(crate) fn command(&mut self, command: Option<E::Command>) {
        if let Some(command) = command {
            self.input(Input::Command(command));
        }
    }

    pub(crate) fn open(&mut self, slot: usize) {
        let is_free = |flow: Flow| matches!(flow.state, State::Closed | State::Gone);
        if !self.flows[slot].is_none_or(is_free) {
            return;
        }
        // The contract: no number is used again.
        let id = FlowId(self.opened);
        self.opened += 1;
        self.flows[slot] = Some(Flow {
            id,
            state: State::Open,
            received: 0,
            consumed: 0,
        });
        let peer = Peer::from(([192, 0, 2, slot as u8 + 1], 40_000));
        self.input(Input::Opened { flow: id, peer });
    }

    pub(crate) fn receive(&mut self, slot: usize, bytes: &[u8]) {
        let Some(flow) = self.flows[slot].as_mut() else {
            return;
        };
        if !matches!(flow.state, State::Open | State::Closed) {
            return;
        }
        flow.received += bytes.len() as u64;
        let (id, was_open) = (flow.id, flow.state == State::Open);
        self.input(Input::Received { flow: id, bytes });
        let Some(flow) = self.flows[slot] else { return };
        assert!(
            flow.consumed <= flow.received,
            "more consumed than received: {flow:?}"
        );
        if self.transport == Transport::Datagram && was_open {
            assert_eq!(flow.consumed, flow.received, "a datagram is consumed whole");
        }
    }

    pub(crate) fn peer_closed(&mut self, slot: usize) {
        if let Some(flow) = self.flows[slot].as_mut().filter(|flow| flow.state == State::Open) {
            flow.state = State::PeerClosed;
            let flow = flow.id;
            self.input(Input::PeerClosed { flow });
        }
    }

    fn reset(&mut self, slot: usize) {
        if let Some(flow) = self.flows[slot].as_mut().filter(|flow| flow.state != State::Gone) {
            flow.state = State::Gone;
            let (flow, reason) = (flow.id, ResetReason::ByPeer);
            self.input(Input::Reset { flow, reason });
        }
    }

    fn tell_open(&mut self, slot: usize, input: impl FnOnce(FlowId) -> Input<'static, E::Command>) {
        if let Some(Flow {
            id: flow,
            state: State::Open,
            ..
        }) = self.flows[slot]
        {
            self.input(input(flow));
        }
    }

    pub(crate) fn wait_until(&mut self, at: Instant) {
        self.now = at.max(self.now);
        self.input(Input::Timeout);
        for _ in 0..MOST_TIMEOUTS {
            if self.wakes.is_none_or(|wakes| wakes > self.now) {
                return;
            }
            self.input(Input::Timeout);
        }
        panic!(
            "after {MOST_TIMEOUTS} time-outs it waits for {:?} at {:?}",
            self.wakes, self.now
        );
    }

    fn input(&mut self, input: Input<'_, E::Command>) {
        let handled = self.endpoint.handle_input(input, self.now);
        handled.expect("nothing that a peer does ends an endpoint");
        let mut out = Buffer::new();
        for _ in 0..MOST_OUTPUTS {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => self.transmitted(flow, &out),
                Output::Consumed { flow } => self.consumed(flow, &out),
                Output::Close { flow, .. } => self.closed(flow),
                Output::Event(event) => self.events.push(event),
                Output::Timeout(at) => {
                    self.wakes = at;
                    return;
                }
            }
        }
        panic!("more than {MOST_OUTPUTS} outputs to one input");
    }

    fn transmitted(&mut self, flow: FlowId, out: &Buffer) {
        assert_eq!(
            out.covered(),
            out.bytes().len() as u64,
            "spans cover what is sent"
        );
        let flow = self.flow(flow);
        assert!(
            matches!(flow.state, State::Open | State::PeerClosed),
            "sends on {flow:?}"
        );
        (self.check)(out.bytes());
        if let Some(sent) = &mut self.sent {
            sent.push(out.bytes().to_vec());
        }
    }

    /// Notes that the endpoint closed a flow. The flow may be reset later, when its slot has another flow.
    fn closed(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.iter_mut().flatten().find(|known| known.id == flow) {
            flow.state = State::Closed;
        }
    }

    fn consumed(&mut self, flow: FlowId, out: &Buffer) {
        assert!(out.bytes().is_empty(), "consumed bytes have spans only");
        // The endpoint may describe received bytes after the flow has ended and its slot has another flow.
        if let Some(flow) = self.flows.iter_mut().flatten().find(|known| known.id == flow) {
            flow.consumed += out.covered();
        }
    }

    fn flow(&mut self, id: FlowId) -> &mut Flow {
        let mut flows = self.flows.iter_mut().flatten();
        flows.find(|flow| flow.id == id).expect("the flow exists")
    }
}
