//! The devices' side, as the loop of the devices on kernel sockets does it.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{Device, DeviceReport, Observer};
use wirecost_proto::log::FlowLog;
use wirecost_proto::path::Links;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{
    Buffer, Direction, Endpoint, FlowId, Input, Instant, Output, Phase, ResetReason, Script,
};

use super::{READ_BYTES, World};
use crate::network::flow::{Body, Flow};
use crate::network::streams::earlier;
use crate::queue::What;
use crate::tap::Tap;

/// A device and what the driver keeps of it.
#[derive(Debug)]
pub(super) struct DeviceSlot<C, D> {
    device: Device<C, D>,
    /// Index of the service that it talks to; `None` where nobody listens.
    service: Option<u32>,
    /// Index of the flow whose socket is open.
    socket: Option<u32>,
    /// Flows opened so far; the current one is the last.
    flows: u32,
    /// Bytes of the current flow that the endpoint has handed out; a datagram counts one more.
    transmitted: u64,
    congested: bool,
    unsent_command: bool,
    finished: bool,
    logs: Vec<(SocketAddr, FlowLog)>,
    error: Option<String>,
    /// When the endpoint wants to be woken.
    endpoint_wakes: Option<Instant>,
    /// The earliest wake-up of this device that the queue holds.
    wakes: Option<Instant>,
    /// When the script wants to be asked again.
    script_wakes: Option<Instant>,
}

impl<C, D> DeviceSlot<C, D> {
    pub(super) const fn new(service: Option<u32>, device: Device<C, D>) -> Self {
        Self {
            device,
            service,
            socket: None,
            flows: 0,
            transmitted: 0,
            congested: false,
            unsent_command: false,
            finished: false,
            logs: Vec::new(),
            error: None,
            endpoint_wakes: None,
            wakes: None,
            script_wakes: None,
        }
    }

    const fn flow_id(&self) -> FlowId {
        FlowId(self.flows.saturating_sub(1))
    }

    /// Notes what the endpoint has handed out.
    fn note_transmitted(&mut self, out: &Buffer) {
        self.transmitted += out.covered() + u64::from(self.device.transport == Transport::Datagram);
        if let Some((_, log)) = self.logs.last_mut() {
            log.transmitted(Direction::Up, out);
        }
    }

    /// Notes what the endpoint said of bytes that it received.
    fn note_consumed(&mut self, received: &[u8], out: &Buffer) {
        if let Some((_, log)) = self.logs.last_mut() {
            log.consumed(Direction::Down, received, out);
        }
    }

    pub(super) fn into_report(self) -> DeviceReport<D> {
        DeviceReport {
            host: self.device.host,
            script: self.device.script,
            finished: self.finished,
            logs: self.logs,
            cpu: Duration::ZERO,
            error: self.error,
        }
    }
}

/// The ports that Linux gives to sockets which ask for none (net.ipv4.ip_local_port_range), the upper end left out.
const EPHEMERAL_PORTS: std::ops::Range<u16> = 32_768..60_999;
/// Which of a host's random numbers is its first port.
const FIRST_PORT: u64 = 0x7369_6d02;
/// Which of a host's random numbers are the first identifications of its flows.
const IDENTIFICATIONS: u64 = 0x7369_6d03;

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Script<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Links,
    T: Tap,
    O: Observer<S>,
{
    pub(super) fn wake_device_at(&mut self, index: usize, at: Instant) {
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        let at = at.max(self.network.now);
        if let (Some(at), Ok(device)) = (earlier(&mut slot.wakes, Some(at)), u32::try_from(index)) {
            self.network.queue.push(at, What::Device { device });
        }
    }

    /// Wakes a device whose time has come.
    pub(super) fn wake_device(&mut self, index: usize) {
        let now = self.network.now;
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        // An earlier wake-up has replaced this one.
        if slot.wakes != Some(now) {
            return;
        }
        slot.wakes = None;
        if slot.finished {
            return;
        }
        if slot.endpoint_wakes.is_some_and(|at| at <= now) {
            self.device_input(index, Input::Timeout, &[]);
        } else if let Some(at) = slot.endpoint_wakes {
            // It was put off after this wake-up had been queued for it.
            self.wake_device_at(index, at);
        }
        self.advance(index);
    }

    /// Takes a datagram from the service.
    pub(super) fn device_receives(&mut self, flow: u32, bytes: &[u8]) {
        let Some(index) = self.device_with(flow) else {
            return self.network.refuse_datagram(flow, Direction::Down, bytes);
        };
        self.device_received(index, bytes);
        self.advance(index);
    }

    /// Takes the news that nobody has the port that a datagram was for. A connected UDP socket reports it and survives
    /// it; a service's, which is not connected, hears nothing of it.
    pub(super) fn device_refused(&mut self, flow: u32, direction: Direction) {
        let Some(index) = self.device_with(flow).filter(|_| direction == Direction::Down) else {
            return;
        };
        let reason = ResetReason::Refused;
        self.device_flow_input(index, |flow| Input::Reset { flow, reason });
        self.advance(index);
    }

    /// The device whose open socket this flow's is.
    fn device_with(&self, flow: u32) -> Option<usize> {
        let index = self.network.flows.get(flow)?.device as usize;
        let slot = self.devices.get(index)?;
        (slot.socket == Some(flow) && !slot.finished).then_some(index)
    }

    /// Takes what a device's connection has for it: first what may be written, then what can be read.
    pub(super) fn device_socket_ready(&mut self, flow: u32) {
        let Some(index) = self.device_with(flow) else {
            return;
        };
        self.device_writable(index, flow);
        self.device_readable(index, flow);
        self.advance(index);
    }

    fn device_writable(&mut self, index: usize, flow: u32) {
        let Some(socket) = self.network.socket(flow, Direction::Up) else {
            return;
        };
        if socket.is_accepted {
            return self.flush(index);
        }
        if let Some(reason) = socket.reset {
            return self.lost(index, reason, true);
        }
        if socket.is_open {
            socket.is_accepted = true;
            self.opened(index);
            self.flush(index);
        }
    }

    fn device_readable(&mut self, index: usize, flow: u32) {
        let mut buffer = std::mem::take(&mut self.read);
        while self.device_with(flow).is_some() {
            match self.read_socket(flow, Direction::Up, &mut buffer) {
                Readable::Bytes => self.device_received(index, &buffer),
                Readable::Nothing => break,
                Readable::PeerClosed => self.device_flow_input(index, |flow| Input::PeerClosed { flow }),
                Readable::Reset(reason) => {
                    self.lost(index, reason, false);
                    break;
                }
            }
            self.drop_closed(index);
        }
        self.read = buffer;
    }

    /// Reads what one end of a connection has.
    pub(super) fn read_socket(&mut self, flow: u32, sends: Direction, buffer: &mut Vec<u8>) -> Readable {
        let now = self.network.now;
        buffer.clear();
        let Some(socket) = self.network.socket(flow, sends) else {
            return Readable::Nothing;
        };
        if !socket.is_accepted || socket.fin_received {
            return Readable::Nothing;
        }
        if socket.connection.read(buffer, READ_BYTES, now) > 0 {
            self.network.pump(flow, sends);
            return Readable::Bytes;
        }
        if socket.peer_has_closed {
            socket.fin_received = true;
            return Readable::PeerClosed;
        }
        socket.reset.map_or(Readable::Nothing, Readable::Reset)
    }

    fn device_received(&mut self, index: usize, bytes: &[u8]) {
        if let Some(slot) = self.devices.get(index) {
            let flow = slot.flow_id();
            self.device_input(index, Input::Received { flow, bytes }, bytes);
        }
    }

    fn device_flow_input(&mut self, index: usize, input: impl FnOnce(FlowId) -> Input<'static, C::Command>) {
        if let Some(slot) = self.devices.get(index) {
            let input = input(slot.flow_id());
            self.device_input(index, input, &[]);
        }
    }

    /// Drops a stream whose two directions are closed.
    fn drop_closed(&mut self, index: usize) {
        let Some(flow) = self.devices.get(index).and_then(|slot| slot.socket) else {
            return;
        };
        let socket = self.network.socket(flow, Direction::Up);
        if socket.is_some_and(|socket| socket.is_closed()) {
            self.close_socket(index);
        }
    }

    fn opened(&mut self, index: usize) {
        if let Some(slot) = self.devices.get(index) {
            let (flow, peer) = (slot.flow_id(), slot.device.remote);
            self.device_input(index, Input::Opened { flow, peer }, &[]);
        }
    }

    /// The flow is gone; `unopened` where it was never usable.
    fn lost(&mut self, index: usize, reason: ResetReason, unopened: bool) {
        let now = self.network.now;
        self.close_socket(index);
        if let Some(slot) = self.devices.get_mut(index).filter(|_| unopened) {
            slot.device.script.failed(reason, now);
        }
        self.device_flow_input(index, |flow| Input::Reset { flow, reason });
    }

    /// The peer takes no more: what it had said before is read, and then the flow is gone.
    fn read_out(&mut self, index: usize, refusal: ResetReason) {
        let mut buffer = Vec::new();
        let reason = loop {
            let Some(flow) = self.devices.get(index).and_then(|slot| slot.socket) else {
                return;
            };
            match self.read_socket(flow, Direction::Up, &mut buffer) {
                Readable::Bytes => self.device_received(index, &buffer),
                Readable::Reset(reason) => break reason,
                Readable::Nothing | Readable::PeerClosed => break refusal,
            }
        };
        self.lost(index, reason, false);
    }

    /// Lets go of a device's socket.
    fn close_socket(&mut self, index: usize) {
        let now = self.network.now;
        let Some(flow) = self.devices.get_mut(index).and_then(|slot| slot.socket.take()) else {
            return;
        };
        match self.network.flows.get_mut(flow).map(|flow| &mut flow.body) {
            Some(Body::Datagram { is_open }) => {
                *is_open = false;
                self.network.release(flow);
            }
            Some(Body::Stream(_)) => self.network.close(flow, Direction::Up, now),
            None => {}
        }
    }

    /// Gives the endpoint an input and carries out what it says. `received` are the bytes of the input, if any.
    fn device_input(&mut self, index: usize, input: Input<'_, C::Command>, received: &[u8]) {
        let now = self.network.now;
        let Some(slot) = self.devices.get_mut(index).filter(|slot| slot.error.is_none()) else {
            return;
        };
        if let Err(error) = slot.device.endpoint.handle_input(input, now) {
            slot.error = Some(error.to_string());
            return;
        }
        let mut out = std::mem::take(&mut self.out);
        while let Some(slot) = self.devices.get_mut(index) {
            out.clear();
            match slot.device.endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => self.device_transmits(index, &out),
                Output::Consumed { .. } => slot.note_consumed(received, &out),
                Output::Close { reset, .. } => self.close_flow(index, reset),
                Output::Event(event) => slot.device.script.event(event, now),
                Output::Timeout(at) => {
                    slot.endpoint_wakes = at;
                    break;
                }
            }
        }
        self.out = out;
        if let Some(at) = self.devices.get(index).and_then(|slot| slot.endpoint_wakes) {
            self.wake_device_at(index, at);
        }
        self.flush(index);
    }

    fn device_transmits(&mut self, index: usize, out: &Buffer) {
        let now = self.network.now;
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        slot.note_transmitted(out);
        let Some(flow) = slot.socket else {
            return;
        };
        if slot.device.transport == Transport::Stream {
            return self.network.queue_bytes(flow, Direction::Up, out);
        }
        let sent = self
            .network
            .send_datagram(flow, Direction::Up, out.bytes(), out.spans());
        if sent.is_err() {
            slot.device.script.failed(ResetReason::Local, now);
        }
    }

    fn close_flow(&mut self, index: usize, reset: bool) {
        let Some(slot) = self.devices.get(index) else {
            return;
        };
        let Some(flow) = slot.socket else {
            return;
        };
        let now = self.network.now;
        match self.network.socket(flow, Direction::Up) {
            Some(socket) if reset => {
                socket.connection.abort(now);
                self.close_socket(index);
            }
            Some(socket) => socket.request_fin(),
            None => self.close_socket(index),
        }
    }

    fn flush(&mut self, index: usize) {
        let now = self.network.now;
        let Some(slot) = self.devices.get(index) else {
            return;
        };
        let flushed = match (slot.socket, slot.device.transport) {
            // What waited for the socket has gone with it.
            (None, _) => false,
            (Some(_), Transport::Datagram) => true,
            (Some(flow), Transport::Stream) => match self.network.flush(flow, Direction::Up) {
                Ok(flushed) => flushed,
                Err(reason) => return self.read_out(index, reason),
            },
        };
        if let Some(slot) = self.devices.get_mut(index).filter(|_| flushed)
            && std::mem::take(&mut slot.unsent_command)
        {
            slot.device.script.sent(now);
        }
        self.note_congestion(index);
        self.drop_closed(index);
    }

    /// Withholds commands while too much is unsent, and lets the endpoint know when no longer.
    fn note_congestion(&mut self, index: usize) {
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        let socket = slot
            .socket
            .and_then(|flow| self.network.socket(flow, Direction::Up));
        let congested = socket.is_some_and(|socket| socket.is_congested());
        if std::mem::replace(&mut slot.congested, congested) && !congested {
            self.device_flow_input(index, |flow| Input::Writable { flow });
        }
    }

    /// Does what the script wants until it waits.
    fn advance(&mut self, index: usize) {
        let now = self.network.now;
        while let Some(slot) = self.devices.get_mut(index) {
            if slot.finished {
                return;
            }
            if slot.error.is_some() {
                return self.finish(index);
            }
            let context = Context {
                now,
                link_busy_until: self.network.busy_until(index as u32),
                cpu: Duration::ZERO,
                transmitted: slot.transmitted,
                congested: slot.congested,
            };
            match slot.device.script.next(context) {
                Step::Connect => self.connect(index),
                Step::Command(command) => {
                    slot.unsent_command = true;
                    self.device_input(index, Input::Command(command), &[]);
                }
                Step::Wait(at) => {
                    slot.script_wakes = at;
                    return at.map_or((), |at| self.wake_device_at(index, at));
                }
                Step::Finished => return self.finish(index),
            }
        }
    }

    fn finish(&mut self, index: usize) {
        self.close_socket(index);
        if let Some(slot) = self.devices.get_mut(index) {
            slot.finished = true;
            self.running -= 1;
        }
    }

    fn connect(&mut self, index: usize) {
        self.close_socket(index);
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        let (transport, number) = (slot.device.transport, slot.flows);
        let client = SocketAddr::new(
            slot.device.local.ip(),
            self.network.port(slot.device.host, number),
        );
        let rng = self.network.settings.rng.host(u64::from(slot.device.host));
        let first = rng.purpose(IDENTIFICATIONS).at(u64::from(number));
        let flow = self.network.open(Flow {
            device: index as u32,
            host: slot.device.host,
            client,
            server: slot.device.remote,
            service: slot.service,
            server_end: None,
            body: match transport {
                Transport::Stream => Body::Stream(Box::default()),
                Transport::Datagram => Body::Datagram { is_open: true },
            },
            phase: match transport {
                Transport::Stream => Phase::Connect,
                Transport::Datagram => Phase::Message,
            },
            in_flight: 0,
            identifications: [first as u16, (first >> 16) as u16],
        });
        slot.flows += 1;
        slot.transmitted = 0;
        slot.socket = Some(flow);
        if self.network.settings.keeps_logs {
            slot.logs.push((client, FlowLog::new(transport)));
        }
        match transport {
            Transport::Stream => self.network.connect(flow),
            Transport::Datagram => self.opened(index),
        }
    }
}

/// What reading found.
pub(super) enum Readable {
    /// Bytes, in the buffer.
    Bytes,
    /// Nothing now.
    Nothing,
    /// The peer's FIN.
    PeerClosed,
    /// The connection is gone.
    Reset(ResetReason),
}

impl<L: Links, T: Tap> crate::network::Network<L, T> {
    /// The port of a device's flow: after a random first one, each flow has the next.
    fn port(&self, host: u32, number: u32) -> u16 {
        let ports = u64::from(EPHEMERAL_PORTS.end - EPHEMERAL_PORTS.start);
        let mut rng = self.settings.rng.host(u64::from(host)).purpose(FIRST_PORT);
        let offset = (rng.next_below(ports) + u64::from(number)) % ports;
        EPHEMERAL_PORTS.start + offset as u16
    }
}
