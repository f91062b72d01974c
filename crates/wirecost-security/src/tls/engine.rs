//! The common part of client and server: flows, the inner endpoint, and the order of outputs.

mod output;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

use rustls::Connection;
use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Peer, ResetReason};

use super::fault;
use super::flow::{Arrival, Flow, Scratch, Stage};
use super::negotiated::Negotiated;
use crate::layer::{Event, Fault};
use crate::provider::Clock;

/// The flows around an endpoint, and the queued steps.
pub(super) struct Engine<E: Endpoint> {
    inner: E,
    flows: BTreeMap<FlowId, Flow>,
    deadlines: BTreeSet<(Instant, FlowId)>,
    /// The flow whose first flight waits for a command.
    withheld: Option<FlowId>,
    steps: VecDeque<Step<E::Command, E::Event>>,
    /// The step for the inner endpoint's last output. It precedes the next output.
    urgent: Option<Step<E::Command, E::Event>>,
    /// Whether the inner endpoint may have more outputs.
    inner_busy: bool,
    inner_wakes: Option<Instant>,
    inner_error: Option<E::Error>,
    /// Plaintext of the bytes received last.
    plain: Vec<u8>,
    arrivals: Vec<Arrival>,
    /// The bytes of the inner endpoint's output.
    inner_out: Buffer,
    scratch: Scratch,
    clock: Clock,
    now: Instant,
    timeout: Duration,
}

/// A queued step.
enum Step<C, V> {
    /// Pass this input to the inner endpoint once it has no more outputs.
    Inner(Inner<C>),
    /// Send everything that may be sent.
    Send(FlowId),
    /// Describe received bytes, as far as possible.
    Consumed(FlowId),
    Report(Event<V>),
    /// Send a close_notify and close.
    Shutdown(FlowId),
    /// Close the flow on the transport.
    Close {
        flow: FlowId,
        reset: bool,
    },
}

/// An owned input for the inner endpoint.
enum Inner<C> {
    Opened(FlowId, Peer),
    Received(FlowId, Range<usize>),
    PeerClosed(FlowId),
    Reset(FlowId, ResetReason),
    Writable(FlowId),
    Command(C),
    Timeout,
}

impl<E: Endpoint> Engine<E> {
    pub(super) fn new(inner: E, clock: Clock, timeout: Duration) -> Self {
        Self {
            inner,
            flows: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            withheld: None,
            steps: VecDeque::new(),
            urgent: None,
            inner_busy: false,
            inner_wakes: None,
            inner_error: None,
            plain: Vec::new(),
            arrivals: Vec::new(),
            inner_out: Buffer::new(),
            scratch: Scratch::default(),
            clock,
            now: Instant::START,
            timeout,
        }
    }

    pub(super) const fn inner(&self) -> &E {
        &self.inner
    }

    pub(super) const fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }

    /// What layer and inner endpoint hold for a flow.
    pub(super) fn held(&self, flow: FlowId) -> Held {
        let layer = self.flows.get(&flow).map_or(Held::default(), Flow::held);
        layer.and(self.inner.held(flow))
    }

    /// The negotiated parameters of a flow.
    pub(super) fn negotiated(&self, flow: FlowId) -> Option<Negotiated> {
        let state = self.flows.get(&flow)?;
        Some(Negotiated::from_connection(state.connection()))
    }

    /// Forgets every flow: the client has a new one.
    pub(super) fn forget(&mut self) {
        self.flows.clear();
        self.deadlines.clear();
        self.withheld = None;
    }

    /// Starts the handshake of a flow. With `early`, its first flight waits for a command, and the inner endpoint is
    /// opened at once.
    pub(super) fn open(&mut self, flow: FlowId, peer: Peer, connection: Connection, early: bool) {
        self.remove(flow);
        let deadline = self.now + self.timeout;
        self.deadlines.insert((deadline, flow));
        let stage = match early {
            true => Stage::Withheld { deadline },
            false => Stage::Handshake { deadline },
        };
        self.flows.insert(flow, Flow::new(peer, connection, stage));
        if early {
            self.withheld = Some(flow);
            self.open_inner(flow);
        } else {
            self.steps.push_back(Step::Send(flow));
        }
    }

    /// Closes a flow whose handshake cannot start.
    pub(super) fn refuse(&mut self, flow: FlowId, fault: Fault) {
        self.report(Event::Failed { flow, fault });
        self.steps.push_back(Step::Close { flow, reset: false });
    }

    /// Handles an input. Returns a flow to open: client and server open flows themselves.
    pub(super) fn handle_input(
        &mut self,
        input: Input<'_, E::Command>,
        now: Instant,
    ) -> Result<Option<(FlowId, Peer)>, E::Error> {
        if let Input::Congested { flow } = input {
            self.congested(flow, now);
            return Ok(None);
        }
        self.now = now;
        self.clock.set(now);
        self.plain.clear();
        self.inner_error.take().map_or(Ok(()), Err)?;
        match input {
            Input::Opened { flow, peer } => return Ok(Some((flow, peer))),
            Input::Congested { .. } => {}
            Input::Received { flow, bytes } => self.receive(flow, bytes),
            Input::Writable { flow } => self.give(Inner::Writable(flow)),
            Input::PeerClosed { flow } => self.peer_closed(flow),
            Input::Reset { flow, reason } => self.reset(flow, reason),
            Input::Command(command) => {
                self.give(Inner::Command(command));
                self.release_first_flight();
            }
            Input::Timeout => {
                self.expire();
                self.give(Inner::Timeout);
                self.release_first_flight();
            }
        }
        Ok(None)
    }

    /// Tells the inner endpoint at once that a flow is congested, between two of its outputs and before queued
    /// inputs.
    fn congested(&mut self, flow: FlowId, now: Instant) {
        match self.inner.handle_input(Input::Congested { flow }, now) {
            Ok(()) => self.inner_busy = true,
            Err(error) => self.inner_error = Some(error),
        }
    }

    fn give(&mut self, input: Inner<E::Command>) {
        self.steps.push_back(Step::Inner(input));
    }

    fn report(&mut self, event: Event<E::Event>) {
        self.steps.push_back(Step::Report(event));
    }

    fn open_inner(&mut self, flow: FlowId) {
        let Some(state) = self.flows.get_mut(&flow) else {
            return;
        };
        let peer = state.peer;
        if !std::mem::replace(&mut state.opened, true) {
            self.give(Inner::Opened(flow, peer));
        }
    }

    /// Releases a first flight that waited for this input.
    fn release_first_flight(&mut self) {
        let Some(flow) = self.withheld.take() else { return };
        if let Some(state) = self.flows.get_mut(&flow)
            && let Stage::Withheld { deadline } = state.stage
        {
            state.stage = Stage::Handshake { deadline };
            self.steps.push_back(Step::Send(flow));
        }
    }

    fn expire(&mut self) {
        while let Some(&(deadline, flow)) = self.deadlines.first()
            && deadline <= self.now
        {
            self.deadlines.pop_first();
            self.fail(flow, fault::TIMED_OUT, ResetReason::TimedOut);
        }
    }

    fn receive(&mut self, flow: FlowId, bytes: &[u8]) {
        let Some(state) = self.flows.get_mut(&flow) else {
            return;
        };
        let deadline = state.deadline();
        let mut arrivals = std::mem::take(&mut self.arrivals);
        state.receive(bytes, &mut self.plain, &mut arrivals);
        if let Some(deadline) = deadline.filter(|_| state.deadline().is_none()) {
            self.deadlines.remove(&(deadline, flow));
        }
        for arrival in arrivals.drain(..) {
            self.arrive(flow, arrival);
        }
        self.arrivals = arrivals;
        self.steps.push_back(Step::Send(flow));
        self.steps.push_back(Step::Consumed(flow));
    }

    fn arrive(&mut self, flow: FlowId, arrival: Arrival) {
        match arrival {
            Arrival::Plain { range, early } => {
                if early {
                    let bytes = range.len();
                    self.open_inner(flow);
                    self.report(Event::EarlyData { flow, bytes });
                }
                self.give(Inner::Received(flow, range));
            }
            Arrival::Established { start, closing } => {
                // The last flight precedes all outputs of the inner endpoint.
                self.steps.push_back(Step::Send(flow));
                self.report(Event::Established { flow, start });
                self.open_inner(flow);
                if closing {
                    self.steps.push_back(Step::Shutdown(flow));
                }
            }
            Arrival::PeerClosed => self.give(Inner::PeerClosed(flow)),
            Arrival::Failed(fault) => self.fail(flow, fault, ResetReason::Local),
        }
    }

    /// The peer's FIN. RFC 8446 section 6.1: without a preceding close_notify, data may be missing.
    fn peer_closed(&mut self, flow: FlowId) {
        let Some(state) = self.flows.get_mut(&flow) else {
            return;
        };
        state.fin = true;
        match state.stage {
            Stage::Open if state.peer_closed => {}
            Stage::Open => self.fail(flow, fault::truncated(), ResetReason::ByPeer),
            Stage::Withheld { .. } | Stage::Handshake { .. } | Stage::Closing { .. } => {
                let reason = "it closed the connection during the handshake";
                self.fail(flow, fault::protocol(reason), ResetReason::ByPeer);
            }
            Stage::Closed => {
                if !state.peer_closed {
                    self.give(Inner::PeerClosed(flow));
                }
                self.remove(flow);
            }
            Stage::Failed => drop(self.remove(flow)),
        }
    }

    fn reset(&mut self, flow: FlowId, reason: ResetReason) {
        match self.remove(flow) {
            Some(state) if !state.opened => {
                let fault = Fault::Other(format!("{reason} during the TLS handshake").into());
                self.report(Event::Failed { flow, fault });
            }
            Some(state) if state.stage == Stage::Failed => {}
            _ => self.give(Inner::Reset(flow, reason)),
        }
    }

    fn remove(&mut self, flow: FlowId) -> Option<Flow> {
        let state = self.flows.remove(&flow)?;
        if let Some(deadline) = state.deadline() {
            self.deadlines.remove(&(deadline, flow));
        }
        Some(state)
    }

    fn fail(&mut self, flow: FlowId, fault: Fault, reason: ResetReason) {
        let Some(state) = self.flows.get_mut(&flow) else {
            return;
        };
        if let Some(deadline) = state.deadline() {
            self.deadlines.remove(&(deadline, flow));
        }
        state.end();
        let opened = state.opened;
        self.steps.push_back(Step::Send(flow));
        self.report(Event::Failed { flow, fault });
        if opened {
            self.give(Inner::Reset(flow, reason));
        }
        self.steps.push_back(Step::Close { flow, reset: false });
    }
}
