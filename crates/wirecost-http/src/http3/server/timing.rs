//! Transmission, timers and end of a server's connections.

use quinn_proto::EndpointEvent;
use wirecost_proto::{Buffer, FlowId, Output};
use wirecost_security::layer::{self, Fault};

use super::Server;
use super::peer::Stage;
use crate::fault::Code;
use crate::server::Event;

impl Server {
    pub(super) fn expire(&mut self) {
        while let Some((at, flow)) = self.timers.first().copied().filter(|(at, _)| *at <= self.now) {
            self.timers.remove(&(at, flow));
            self.expire_peer(flow);
            self.pump(flow);
        }
        self.resources.expire(self.now);
        self.answer_late();
    }

    pub(super) fn expire_peer(&mut self, flow: FlowId) {
        let (now, monotonic) = (self.now, self.monotonic());
        let Some(peer) = self.peer(flow) else { return };
        peer.scheduled = None;
        peer.connection.quic.handle_timeout(monotonic);
        if let Stage::Handshaking { deadline } = peer.stage
            && deadline <= now
        {
            let fault = Fault::TimedOut { protocol: "QUIC" };
            peer.stage = Stage::Ending(layer::Event::Failed { flow, fault });
            peer.connection.close(monotonic, Code::NoError);
        }
    }

    /// Appends the next datagram of any connection. Connections without one become idle.
    pub(super) fn transmit(&mut self, out: &mut Buffer) -> Option<FlowId> {
        let now = self.monotonic();
        while let Some(flow) = self.busy.first().copied() {
            let known = self.flows.get_mut(&flow);
            let sent_to = known.and_then(|known| known.transmit(now, &self.tap, &mut self.scratch, out));
            self.note_ids(flow);
            if let Some(address) = sent_to {
                return Some(self.path_to(flow, address));
            }
            self.busy.remove(&flow);
            self.rest(flow);
        }
        None
    }

    /// Sets the timer of an idle connection, or ends it.
    pub(super) fn rest(&mut self, flow: FlowId) {
        let epoch = self.tls.epoch;
        let Some(peer) = self.peer(flow) else { return };
        let deadline = match &peer.stage {
            Stage::Handshaking { deadline } => Some(*deadline),
            Stage::Established => None,
            Stage::Ending(event) | Stage::Ended(event) => {
                let event = event.clone();
                self.drop_flow(flow);
                self.outputs.push_back(Output::Close { flow, reset: false });
                return self.report(event);
            }
        };
        let quic = peer.connection.next_timeout(&epoch);
        let next = [deadline, quic].into_iter().flatten().min();
        let earlier = std::mem::replace(&mut peer.scheduled, next);
        if let Some(at) = earlier {
            self.timers.remove(&(at, flow));
        }
        if let Some(at) = next {
            self.timers.insert((at, flow));
        }
    }

    /// Forgets a flow's connection and its requests. Returns whether there was one.
    pub(super) fn drop_peer(&mut self, flow: FlowId) -> bool {
        let Some(known) = self.flows.get_mut(&flow) else {
            return false;
        };
        let Some(peer) = known.peer.take() else {
            return false;
        };
        known
            .endpoint
            .handle_event(peer.connection.handle, EndpointEvent::drained());
        for id in known.ids.drain(..) {
            self.by_id.remove(&id);
        }
        if let Some(at) = peer.scheduled {
            self.timers.remove(&(at, flow));
        }
        self.leave_paths(flow);
        self.resources.forget(flow);
        true
    }

    /// Forgets a flow and its connection. Returns whether there was a connection.
    pub(super) fn drop_flow(&mut self, flow: FlowId) -> bool {
        let had_peer = self.drop_peer(flow);
        self.flows.remove(&flow);
        had_peer
    }

    pub(super) fn reset(&mut self, flow: FlowId) {
        if self.drop_flow(flow) {
            self.report(layer::Event::Inner(Event::Closed { flow }));
        }
    }
}
