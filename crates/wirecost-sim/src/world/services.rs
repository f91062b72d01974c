//! The servers' side, with the behaviour of the server loop on kernel sockets: on the emulated link, servers wait for their
//! clients without a time limit.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::director::Director;
use wirecost_proto::driver::{FlowReport, Service, ServiceObserver};
use wirecost_proto::{Buffer, Direction, Endpoint, FlowId, Input, Instant, Output, ResetReason};

use super::World;
use super::status::EndpointStatus;
use crate::carrier::Carrier;
use crate::network::flow::{Body, Flow, ServerEnd};
use crate::network::socket::Readable;
use crate::queue::Event;
use crate::tap::Tap;

/// A service with the driver's state of it.
#[derive(Debug)]
pub(super) struct ServiceSlot<S> {
    service: Service<S>,
    /// Index of each flow ever opened, by its number; [`GONE`] after its end.
    flows: Vec<u32>,
    pub(super) status: EndpointStatus,
}

/// The index of a flow that has ended.
const GONE: u32 = u32::MAX;

impl<S> ServiceSlot<S> {
    pub(super) const fn new(service: Service<S>) -> Self {
        Self {
            service,
            flows: Vec::new(),
            status: EndpointStatus::new(),
        }
    }

    pub(super) fn listens_at(&self, address: SocketAddr, transport: Transport) -> bool {
        self.service.address == address && self.service.transport == transport
    }

    pub(super) const fn port(&self) -> u16 {
        self.service.address.port()
    }

    /// Index of a flow that has not ended.
    fn flow(&self, id: FlowId) -> Option<u32> {
        self.flows
            .get(id.0 as usize)
            .copied()
            .filter(|flow| *flow != GONE)
    }

    fn open(&mut self, flow: u32) -> FlowId {
        let id = FlowId(u32::try_from(self.flows.len()).unwrap_or(GONE));
        self.flows.push(flow);
        id
    }

    fn forget(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(id.0 as usize) {
            *flow = GONE;
        }
    }
}

/// The report of a flow that a service has, if logs were kept.
pub(super) fn report(flow: Flow) -> Option<FlowReport> {
    Some(FlowReport {
        service: flow.service? as usize,
        peer: flow.client,
        log: *flow.server_end?.log?,
        cpu: Duration::ZERO,
    })
}

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Director<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Carrier,
    T: Tap,
    O: ServiceObserver<S>,
{
    /// Wakes a service that is due.
    pub(super) fn wake_service(&mut self, index: usize) {
        let now = self.network.now;
        let Some(slot) = self.services.get_mut(index) else {
            return;
        };
        if !slot.status.wake(now) {
            return;
        }
        match slot.status.wanted {
            Some(at) if at <= now => self.service_input(index, None, Input::Timeout, &[]),
            Some(at) => self.wake_service_at(index, at),
            None => {}
        }
    }

    fn wake_service_at(&mut self, index: usize, at: Instant) {
        let Some(slot) = self.services.get_mut(index) else {
            return;
        };
        let at = slot.status.queue(at, self.network.now);
        if let (Some(at), Ok(service)) = (at, u32::try_from(index)) {
            self.network.queue.push(at, Event::Service { service });
        }
    }

    /// Handles a datagram from a device.
    pub(super) fn service_receives(&mut self, flow: u32, bytes: &[u8]) {
        let Some(entry) = self.network.flows.get(flow) else {
            return;
        };
        let Some(service) = entry.service.map(|service| service as usize) else {
            return self.network.refuse_datagram(flow, Direction::Up, bytes);
        };
        let seen_port = entry.seen_port;
        // The address translator has given the device another port: to the service, a stranger begins to send. Nothing tells the
        // service that its old peer is gone, and what it sends there ends at the translator.
        if entry
            .server_end
            .as_ref()
            .is_some_and(|end| end.seen_port != seen_port)
        {
            self.drop_service_flow(flow);
        }
        let end = self.server_end(flow);
        let id = match end {
            Some(end) => end.id,
            None => match self.open_flow(service, flow) {
                Some(id) => id,
                None => return,
            },
        };
        let input = Input::Received { flow: id, bytes };
        self.service_input(service, Some(flow), input, bytes);
    }

    /// Gives a service a new flow.
    fn open_flow(&mut self, service: usize, flow: u32) -> Option<FlowId> {
        let slot = self.services.get_mut(service)?;
        let log = self.network.new_log(slot.service.transport);
        let entry = self.network.flows.get_mut(flow)?;
        let seen = SocketAddr::new(entry.client.ip(), entry.seen_port);
        let peer = match slot.service.transport {
            Transport::Stream => entry.client,
            Transport::Datagram => seen,
        };
        let id = slot.open(flow);
        entry.server_end = Some(ServerEnd {
            id,
            seen_port: peer.port(),
            congested: false,
            last_output_at: Instant::START,
            log,
        });
        self.service_input(service, Some(flow), Input::Opened { flow: id, peer }, &[]);
        Some(id)
    }

    /// Handles a service's socket that is ready: first writes, then reads.
    pub(super) fn service_socket_ready(&mut self, flow: u32) {
        let Some(service) = self.network.flows.get(flow).and_then(|flow| flow.service) else {
            return;
        };
        let service = service as usize;
        if !self.accept(service, flow) {
            return;
        }
        self.flush_service(service, flow);
        self.read_service(service, flow);
    }

    /// Whether the application has the connection; it gets the connection when the handshake is complete.
    fn accept(&mut self, service: usize, flow: u32) -> bool {
        let Some(socket) = self.network.socket(flow, Direction::Down) else {
            return false;
        };
        if socket.is_accepted || !socket.is_open {
            return socket.is_accepted && socket.is_owned;
        }
        socket.is_accepted = true;
        socket.is_owned = true;
        self.open_flow(service, flow).is_some()
    }

    fn flush_service(&mut self, service: usize, flow: u32) {
        if let Err(reason) = self.network.flush(flow, Direction::Down) {
            return self.lost_service(service, flow, reason);
        }
        let congested = self.is_congested(flow);
        let entry = self.network.flows.get_mut(flow);
        if let Some(end) = entry.and_then(|flow| flow.server_end.as_mut())
            && end.congested
            && !congested
        {
            end.congested = false;
            let id = end.id;
            self.service_input(service, Some(flow), Input::Writable { flow: id }, &[]);
        }
        self.drop_closed_service(flow);
    }

    fn is_congested(&mut self, flow: u32) -> bool {
        let socket = self.network.socket(flow, Direction::Down);
        socket.is_some_and(|socket| socket.is_congested())
    }

    fn read_service(&mut self, service: usize, flow: u32) {
        let mut buffer = std::mem::take(&mut self.read);
        // The service does not read from a client that does not read: the answers to its requests would fill the memory.
        while let Some(end) = self.server_end(flow).filter(|end| !end.congested) {
            let id = end.id;
            match self.network.read(flow, Direction::Down, &mut buffer) {
                Readable::Bytes => {
                    let input = Input::Received {
                        flow: id,
                        bytes: &buffer,
                    };
                    self.service_input(service, Some(flow), input, &buffer);
                }
                Readable::Nothing => break,
                Readable::PeerClosed => {
                    self.service_input(service, Some(flow), Input::PeerClosed { flow: id }, &[]);
                    self.drop_closed_service(flow);
                }
                Readable::Reset(reason) => {
                    self.lost_service(service, flow, reason);
                    break;
                }
            }
        }
        self.read = buffer;
    }

    fn server_end(&self, flow: u32) -> Option<&ServerEnd> {
        self.network.flows.get(flow)?.server_end.as_ref()
    }

    fn lost_service(&mut self, service: usize, flow: u32, reason: ResetReason) {
        let Some(id) = self.server_end(flow).map(|end| end.id) else {
            return;
        };
        self.drop_service_flow(flow);
        self.service_input(service, None, Input::Reset { flow: id, reason }, &[]);
    }

    fn drop_closed_service(&mut self, flow: u32) {
        let socket = self.network.socket(flow, Direction::Down);
        if socket.is_some_and(|socket| socket.is_closed()) {
            self.drop_service_flow(flow);
        }
    }

    /// Ends a flow of a service.
    fn drop_service_flow(&mut self, flow: u32) {
        let now = self.network.now;
        let Some(entry) = self.network.flows.get_mut(flow) else {
            return;
        };
        let (peer, is_stream) = (entry.client, matches!(entry.body, Body::Stream(_)));
        let (Some(end), Some(service)) = (entry.server_end.take(), entry.service) else {
            return;
        };
        if let Some(slot) = self.services.get_mut(service as usize) {
            slot.forget(end.id);
        }
        self.flows.extend(end.log.map(|log| FlowReport {
            service: service as usize,
            peer,
            log: *log,
            cpu: Duration::ZERO,
        }));
        if is_stream {
            self.network.close(flow, Direction::Down, now);
        }
        self.network.release(flow);
    }

    /// Gives a service's endpoint an input and carries out its output. `flow` is the flow that caused the input, if one did.
    pub(super) fn service_input(
        &mut self,
        service: usize,
        flow: Option<u32>,
        input: Input<'_, S::Command>,
        received: &[u8],
    ) {
        let now = self.network.now;
        let peer = flow
            .and_then(|flow| self.network.flows.get(flow))
            .map(|flow| flow.client);
        let Some(slot) = self.services.get_mut(service) else {
            return;
        };
        if !slot.status.input(&mut slot.service.endpoint, input, now) {
            return;
        }
        let mut out = std::mem::take(&mut self.out);
        while let Some(slot) = self.services.get_mut(service)
            && let Some(said) = slot.status.poll(&mut slot.service.endpoint, &mut out)
        {
            if self.workers.is_some() {
                self.take_output(service, peer, said, received, &out);
                continue;
            }
            match said {
                Output::Transmit { flow } => {
                    if self.service_transmits(service, flow, &out) {
                        self.tell_congested(service, flow);
                    }
                }
                Output::Consumed { flow } => self.note_service_consumed(service, flow, received, &out),
                Output::Close { flow, reset } => self.close_service_flow(service, flow, reset),
                Output::Event(event) => self.observer.event(service, peer, event, now),
                Output::Timeout(_) => {}
            }
        }
        self.out = out;
        self.send_pending(service);
        if let Some(at) = self.services.get(service).and_then(|slot| slot.status.wanted) {
            self.wake_service_at(service, at);
        }
    }

    pub(super) fn flow_of(&self, service: usize, id: FlowId) -> Option<u32> {
        self.services.get(service)?.flow(id)
    }

    pub(super) fn server_end_mut(&mut self, service: usize, id: FlowId) -> Option<&mut ServerEnd> {
        let flow = self.flow_of(service, id)?;
        self.network.flows.get_mut(flow)?.server_end.as_mut()
    }

    pub(super) fn note_service_consumed(
        &mut self,
        service: usize,
        id: FlowId,
        received: &[u8],
        out: &Buffer,
    ) {
        if !self.network.settings.keeps_logs {
            return;
        }
        let end = self.server_end_mut(service, id);
        if let Some(log) = end.and_then(|end| end.log.as_mut()) {
            log.consumed(Direction::Up, received, out);
        }
    }

    fn tell_congested(&mut self, service: usize, flow: FlowId) {
        let now = self.network.now;
        if let Some(slot) = self.services.get_mut(service) {
            let input = Input::Congested { flow };
            slot.status.input(&mut slot.service.endpoint, input, now);
        }
    }

    /// Sends the bytes of a service. Returns whether the flow is now congested, so that the endpoint must be told.
    pub(super) fn service_transmits(&mut self, service: usize, id: FlowId, out: &Buffer) -> bool {
        let Some(flow) = self.flow_of(service, id) else {
            return false;
        };
        let Some(entry) = self.network.flows.get_mut(flow) else {
            return false;
        };
        if let Some(log) = entry.server_end.as_mut().and_then(|end| end.log.as_mut()) {
            log.transmitted(Direction::Down, out);
        }
        if matches!(entry.body, Body::Datagram { .. }) {
            // A datagram that is too large for IP is lost; the protocol's own repair applies.
            let _ = self
                .network
                .send_datagram(flow, Direction::Down, out.bytes(), out.spans());
            return false;
        }
        self.network.queue_bytes(flow, Direction::Down, out);
        // A failed flush shows when the socket is read.
        let _ = self.network.flush(flow, Direction::Down);
        let congested = self.is_congested(flow);
        let end = self.server_end_mut(service, id);
        end.is_some_and(|end| congested && !std::mem::replace(&mut end.congested, true))
    }

    pub(super) fn close_service_flow(&mut self, service: usize, id: FlowId, reset: bool) {
        let now = self.network.now;
        let Some(flow) = self.flow_of(service, id) else {
            return;
        };
        let Some(socket) = self.network.socket(flow, Direction::Down) else {
            return self.drop_service_flow(flow);
        };
        if reset {
            socket.connection.abort(now);
            return self.drop_service_flow(flow);
        }
        socket.request_fin();
        if self.network.flush(flow, Direction::Down).is_err() {
            return self.drop_service_flow(flow);
        }
        self.drop_closed_service(flow);
    }
}
