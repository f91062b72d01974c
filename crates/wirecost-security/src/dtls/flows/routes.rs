//! Where connections with a connection ID are reached: their peers may change their addresses (RFC 9146 section 6).

use std::collections::BTreeMap;

use wirecost_proto::{Endpoint, FlowId};

use super::Flows;
use crate::dtls::connection::Connection;
use crate::dtls::record::records;

/// The connections by ID, and the flows on which they continue. A connection keeps the flow on which it began as its name.
#[derive(Default)]
pub(super) struct Routes {
    by_id: BTreeMap<Vec<u8>, FlowId>,
    ids: BTreeMap<FlowId, Vec<u8>>,
    /// The flow on which a connection continues, if it is not its own.
    current: BTreeMap<FlowId, FlowId>,
    /// The connection of each flow on which one has continued.
    owners: BTreeMap<FlowId, FlowId>,
}

impl Routes {
    /// Remembers the ID in the records of a connection's peer.
    fn keep(&mut self, id: &[u8], flow: FlowId) {
        self.by_id.insert(id.to_vec(), flow);
        if let Some(earlier) = self.ids.insert(flow, id.to_vec())
            && earlier != id
        {
            self.by_id.remove(&earlier);
        }
    }

    /// The connection of a flow, by the name of its first flow.
    pub(super) fn owner(&self, arrived: FlowId) -> FlowId {
        self.owners.get(&arrived).copied().unwrap_or(arrived)
    }

    /// The connection whose ID is in the first record of a datagram.
    pub(super) fn owner_by_id(&self, datagram: &[u8]) -> Option<FlowId> {
        let record = records(datagram).next()?;
        self.by_id.get(record.connection_id()).copied()
    }

    /// The flow on which a connection continues.
    pub(super) fn current(&self, flow: FlowId) -> FlowId {
        self.current.get(&flow).copied().unwrap_or(flow)
    }

    /// A flow begins anew.
    pub(super) fn release(&mut self, arrived: FlowId) {
        self.owners.remove(&arrived);
    }

    /// Forgets a connection. Returns the other flows on which it has continued.
    pub(super) fn forget(&mut self, flow: FlowId) -> Vec<FlowId> {
        if let Some(id) = self.ids.remove(&flow) {
            self.by_id.remove(&id);
        }
        if self.current.remove(&flow).is_none() && self.owners.is_empty() {
            return Vec::new();
        }
        let others = self.owners.iter().filter(|(_, owner)| **owner == flow);
        let others: Vec<FlowId> = others.map(|(other, _)| *other).collect();
        others.iter().for_each(|other| self.release(*other));
        others
    }
}

impl<E: Endpoint> Flows<E> {
    /// Continues a connection on the flow of the datagram that it has just received. RFC 9146 section 6: if the record is
    /// authentic and newer than all before. Whether the peer is reachable there is left to the inner protocol.
    pub(super) fn follow(&mut self, flow: FlowId, connection: &Connection) {
        if connection.own_id().is_empty() || !connection.is_newest() {
            return;
        }
        self.routes.keep(connection.own_id(), flow);
        if self.routes.current(flow) == self.arrived {
            return;
        }
        self.stats.moves += 1;
        if self.arrived == flow {
            self.routes.current.remove(&flow);
        } else {
            self.routes.current.insert(flow, self.arrived);
            self.routes.owners.insert(self.arrived, flow);
        }
    }
}
