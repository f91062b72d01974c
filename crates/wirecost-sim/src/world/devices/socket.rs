//! A device's socket: its events, its bytes and its end.

use wirecost_proto::director::Director;
use wirecost_proto::driver::ServiceObserver;
use wirecost_proto::{Direction, Endpoint, Input, ResetReason};

use super::super::World;
use crate::carrier::Carrier;
use crate::network::flow::Body;
use crate::network::socket::Readable;
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
    /// Handles a device's socket that is ready: first writes, then reads.
    pub(in crate::world) fn device_socket_ready(&mut self, flow: u32) {
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
            match self.network.read(flow, Direction::Up, &mut buffer) {
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

    /// Closes the socket of a stream whose two directions are closed.
    pub(in crate::world) fn drop_closed(&mut self, index: usize) {
        let Some(flow) = self.devices.get(index).and_then(|slot| slot.socket) else {
            return;
        };
        let socket = self.network.socket(flow, Direction::Up);
        if socket.is_some_and(|socket| socket.is_closed()) {
            self.close_socket(index);
        }
    }

    pub(in crate::world) fn opened(&mut self, index: usize) {
        if let Some(slot) = self.devices.get(index)
            && let Some(&peer) = self.network.servers.get(slot.server as usize)
        {
            let flow = slot.flow_id();
            self.device_input(index, Input::Opened { flow, peer }, &[]);
        }
    }

    /// Handles the loss of a flow; `unopened` if it was never usable.
    fn lost(&mut self, index: usize, reason: ResetReason, unopened: bool) {
        let now = self.network.now;
        self.close_socket(index);
        if unopened {
            self.director.failed(index, reason, now);
        }
        self.device_flow_input(index, |flow| Input::Reset { flow, reason });
    }

    /// Reads the bytes that the peer sent before it refused a write, then ends the flow.
    pub(in crate::world) fn read_out(&mut self, index: usize, refusal: ResetReason) {
        let mut buffer = Vec::new();
        let reason = loop {
            let Some(flow) = self.devices.get(index).and_then(|slot| slot.socket) else {
                return;
            };
            match self.network.read(flow, Direction::Up, &mut buffer) {
                Readable::Bytes => self.device_received(index, &buffer),
                Readable::Reset(reason) => break reason,
                Readable::Nothing | Readable::PeerClosed => break refusal,
            }
        };
        self.lost(index, reason, false);
    }

    /// Closes a device's socket.
    pub(in crate::world) fn close_socket(&mut self, index: usize) {
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
}
