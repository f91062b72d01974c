//! The addresses of a client: a connection is found by its ID, and follows its client to another address (RFC 9000 section 9).
//! QUIC itself validates the new path and the old one; here its addresses become flows.

use quinn_proto::ConnectionId;
use wirecost_proto::{FlowId, Output, Peer};

use super::Server;
use crate::http3::quic::packet::CONNECTION_ID_BYTES;

/// The most IDs of a connection that are known: more than it has at a time, because a client may retire any number.
const MOST_IDS: usize = 64;
/// The most addresses of a connection that it sends to beside its first: the newest, and the one that it validates.
const MOST_MOVES: usize = 2;

impl Server {
    /// Remembers the IDs that the endpoint of a flow has just generated.
    pub(super) fn note_ids(&mut self, flow: FlowId) {
        let issued = self.issued.take();
        let Some(known) = self.flows.get_mut(&flow) else {
            return;
        };
        for id in issued {
            self.by_id.insert(id, flow);
            known.ids.push_back(id);
        }
        while known.ids.len() > MOST_IDS {
            if let Some(oldest) = known.ids.pop_front() {
                self.by_id.remove(&oldest);
            }
        }
    }

    /// The first flow of the connection that a datagram belongs to: that of the ID in its short header, or the flow itself. A
    /// client may migrate after the handshake only, whose packets have long headers (RFC 9000 section 9).
    pub(super) fn owner(&self, arrived: FlowId, datagram: &[u8]) -> FlowId {
        let id = match datagram {
            [first, rest @ ..] if first & 0x80 == 0 => rest.get(..CONNECTION_ID_BYTES),
            _ => None,
        };
        let owner = id.and_then(|id| self.by_id.get(&ConnectionId::new(id)));
        owner.copied().unwrap_or(arrived)
    }

    /// Notes that a connection continues at the address of a datagram that it has just accepted. The flow of one that it has not
    /// accepted ends.
    pub(super) fn follow(&mut self, flow: FlowId, arrived: FlowId, address: Peer) {
        if flow == arrived {
            return;
        }
        let Some(known) = self.flows.get_mut(&flow) else {
            return;
        };
        let remote = known
            .peer
            .as_deref()
            .map(|peer| peer.connection.quic.remote_address());
        if remote != Some(address) {
            self.forget_unused(arrived);
            return;
        }
        known.moved.retain(|(_, other)| *other != arrived);
        known.moved.push_back((address, arrived));
        if known.moved.len() > MOST_MOVES
            && let Some((_, oldest)) = known.moved.pop_front()
        {
            self.forget_unused(oldest);
        }
    }

    /// The flow of a connection's address.
    pub(super) fn path_to(&self, flow: FlowId, address: Peer) -> FlowId {
        let moved = self.flows.get(&flow).into_iter().flat_map(|known| &known.moved);
        let path = moved.into_iter().find(|(other, _)| *other == address);
        path.map_or(flow, |(_, path)| *path)
    }

    /// Closes the flows to which a connection has moved, because it ends.
    pub(super) fn leave_paths(&mut self, flow: FlowId) {
        let Some(known) = self.flows.get_mut(&flow) else {
            return;
        };
        for (_, path) in std::mem::take(&mut known.moved) {
            self.flows.remove(&path);
            self.outputs.push_back(Output::Close {
                flow: path,
                reset: false,
            });
        }
    }
}
