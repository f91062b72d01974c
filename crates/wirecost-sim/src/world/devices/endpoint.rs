//! A device's endpoint: its input and its output.

use wirecost_proto::bare::Transport;
use wirecost_proto::director::Director;
use wirecost_proto::driver::ServiceObserver;
use wirecost_proto::{Buffer, Direction, Endpoint, FlowId, Input, Output, ResetReason};

use super::super::World;
use crate::awake::{Entry, Sleeper};
use crate::carrier::Carrier;
use crate::tap::Tap;

impl<C, D, S, L, T, O> World<C, D, S, L, T, O>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Director<C>,
    S: Endpoint<Error: std::fmt::Display>,
    L: Carrier,
    T: Tap,
    O: ServiceObserver<S>,
{
    pub(in crate::world) fn device_received(&mut self, index: usize, bytes: &[u8]) {
        if let Some(slot) = self.devices.get(index) {
            let flow = slot.flow_id();
            self.device_input(index, Input::Received { flow, bytes }, bytes);
        }
    }

    pub(in crate::world) fn device_flow_input(
        &mut self,
        index: usize,
        input: impl FnOnce(FlowId) -> Input<'static, C::Command>,
    ) {
        if let Some(slot) = self.devices.get(index) {
            let input = input(slot.flow_id());
            self.device_input(index, input, &[]);
        }
    }

    /// Gives the endpoint an input and carries out its output. `received` are the bytes of the input, if any.
    pub(in crate::world) fn device_input(
        &mut self,
        index: usize,
        input: Input<'_, C::Command>,
        received: &[u8],
    ) {
        let now = self.network.now;
        let Some(slot) = self.devices.get_mut(index) else {
            return;
        };
        if !slot.status.input(&mut slot.endpoint, input, now) {
            return;
        }
        let mut out = std::mem::take(&mut self.out);
        while let Some(slot) = self.devices.get_mut(index)
            && let Some(said) = slot.status.poll(&mut slot.endpoint, &mut out)
        {
            match said {
                Output::Transmit { .. } => self.device_transmits(index, &out),
                Output::Consumed { .. } => slot.note_consumed(received, &out),
                Output::Close { flow, reset } if flow == slot.flow_id() => self.close_flow(index, reset),
                // The socket is that of a later flow: an endpoint may end one that its successor has replaced.
                Output::Close { .. } => {}
                Output::Event(event) => self.director.event(index, event, now),
                Output::Timeout(_) => {}
            }
        }
        self.out = out;
        self.note_awake(index);
        if let Some(at) = self.devices.get(index).and_then(|slot| slot.status.wanted) {
            self.wake_device_at(index, at);
        }
        self.flush(index);
    }

    /// Notes that the endpoint of a device has handled something.
    fn note_awake(&mut self, index: usize) {
        let now = self.network.now;
        if let (Some(slot), Ok(device)) = (self.devices.get_mut(index), u32::try_from(index)) {
            let sleeper = Sleeper::Device { device };
            self.network.awake.note(sleeper, &mut slot.activity, now);
        }
    }

    /// Lets the endpoint of a device that has handled nothing lately keep less, if nothing is on its way.
    pub(in crate::world) fn rest_device(&mut self, device: u32, entry: Entry) {
        let now = self.network.now;
        if let Some(slot) = self.devices.get_mut(device as usize)
            && self.network.awake.falls_asleep(entry, &mut slot.activity, now)
        {
            slot.endpoint.rest();
        }
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
        if slot.transport == Transport::Stream {
            return self.network.queue_bytes(flow, Direction::Up, out);
        }
        let sent = self
            .network
            .send_datagram(flow, Direction::Up, out.bytes(), out.spans());
        if sent.is_err() {
            self.director.failed(index, ResetReason::Local, now);
        }
    }

    pub(in crate::world) fn close_flow(&mut self, index: usize, reset: bool) {
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

    pub(in crate::world) fn flush(&mut self, index: usize) {
        let now = self.network.now;
        let Some(slot) = self.devices.get(index) else {
            return;
        };
        let flushed = match (slot.socket, slot.transport) {
            // The bytes that waited for the socket are gone with it.
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
            self.director.flushed(index, now);
        }
        self.note_congestion(index);
        self.drop_closed(index);
    }

    /// Withholds commands while too many bytes are unsent, and tells the endpoint when that ends.
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
}
