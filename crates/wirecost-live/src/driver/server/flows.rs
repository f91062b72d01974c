//! The flows of a loop's services in a table indexed by their numbers.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::driver::FlowReport;
use wirecost_proto::log::FlowLog;
use wirecost_proto::{FlowId, Instant};

use super::super::stream::Stream;
use super::budget::Holding;

/// A connection of a service, or a peer that sends datagrams to it.
pub(super) struct Flow {
    pub(super) service: usize,
    pub(super) peer: SocketAddr,
    /// `None` if datagrams use the service's own socket.
    pub(super) connection: Option<Connection>,
    /// The log of the flow, if logs are enabled.
    pub(super) account: Option<Box<Account>>,
    pub(super) holding: Holding,
    /// Whether it has ended for want of room, and its endpoint does not know it yet.
    pub(super) is_doomed: bool,
}

pub(super) struct Connection {
    pub(super) stream: Stream,
    /// Whether nothing is read because too much is unsent.
    pub(super) congested: bool,
    /// Whether it is queued for reading.
    pub(super) is_unread: bool,
    /// Whether a short read may not be the last: the peer has closed the connection.
    pub(super) to_the_end: bool,
    /// Whether it is queued for flushing.
    pub(super) is_unflushed: bool,
    /// Bytes that were read and that the endpoint has not received, because too much is unsent or the turn was over.
    pub(super) rest: Rest,
}

/// The rest of a read.
#[derive(Default)]
pub(super) struct Rest {
    pub(super) bytes: Vec<u8>,
    /// Bytes at the front that the endpoint has received since.
    pub(super) taken: usize,
}

impl Rest {
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }
}

/// The bytes of a flow and their CPU time.
pub(super) struct Account {
    pub(super) log: FlowLog,
    pub(super) cpu: Duration,
}

impl Connection {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            congested: false,
            is_unread: false,
            to_the_end: false,
            is_unflushed: false,
            rest: Rest::default(),
        }
    }

    /// Bytes that the driver holds for the connection.
    pub(super) fn held(&self) -> usize {
        self.stream.unsent() + self.rest.len()
    }

    /// Drops what is held, and has the kernel reset the connection when it is closed.
    pub(super) fn give_up(&mut self) {
        self.rest = Rest::default();
        self.stream.give_up();
    }

    /// Updates the congestion state. Returns whether it became congested.
    pub(super) fn note_congestion(&mut self) -> bool {
        let is_new = !self.congested && self.stream.is_congested();
        self.congested |= is_new;
        is_new
    }
}

impl Flow {
    pub(super) fn new(
        service: usize,
        peer: SocketAddr,
        connection: Option<Connection>,
        has_account: bool,
        now: Instant,
    ) -> Self {
        let transport = match connection {
            Some(_) => Transport::Stream,
            None => Transport::Datagram,
        };
        let account = || {
            Box::new(Account {
                log: FlowLog::new(transport),
                cpu: Duration::ZERO,
            })
        };
        Self {
            service,
            peer,
            connection,
            account: has_account.then(account),
            holding: Holding::new(now),
            is_doomed: false,
        }
    }

    pub(super) fn into_report(self) -> Option<FlowReport> {
        let Account { log, cpu } = *self.account?;
        Some(FlowReport {
            service: self.service,
            peer: self.peer,
            log,
            cpu,
        })
    }
}

/// Bits of a flow's number that hold its index. The bits above count how often the index was used before, so that
/// numbers repeat late.
const PLACE_BITS: u32 = 20;
const PLACES: usize = 1 << PLACE_BITS;

/// Every flow of a loop.
#[derive(Default)]
pub(super) struct Flows {
    places: Vec<Place>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Place {
    /// The number of the flow here, or of the next one.
    id: u32,
    flow: Option<Flow>,
}

impl Flows {
    /// Adds a flow. Returns its number; `None` if none is left.
    pub(super) fn insert(&mut self, flow: Flow) -> Option<FlowId> {
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None if self.places.len() < PLACES => {
                self.places.push(Place {
                    id: self.places.len() as u32,
                    flow: None,
                });
                self.places.len() - 1
            }
            None => return None,
        };
        let place = &mut self.places[index];
        place.flow = Some(flow);
        Some(FlowId(place.id))
    }

    pub(super) fn get(&self, id: FlowId) -> Option<&Flow> {
        let place = self.places.get(place_of(id)).filter(|place| place.id == id.0)?;
        place.flow.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.place_mut(id)?.flow.as_mut()
    }

    fn place_mut(&mut self, id: FlowId) -> Option<&mut Place> {
        let place = self.places.get_mut(place_of(id))?;
        (place.id == id.0).then_some(place)
    }

    /// The connection of a flow, if it has one.
    pub(super) fn connection_mut(&mut self, id: FlowId) -> Option<&mut Connection> {
        self.get_mut(id)?.connection.as_mut()
    }

    pub(super) fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let place = self.place_mut(id)?;
        let flow = place.flow.take()?;
        place.id = place.id.wrapping_add(PLACES as u32);
        self.free.push(place_of(id) as u32);
        Some(flow)
    }

    /// Takes every flow, in index order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Flow> + '_ {
        self.free.clear();
        self.places.drain(..).filter_map(|place| place.flow)
    }

    /// The number of the first flow at or after an index that satisfies `holds`, and the next index. The search wraps
    /// around.
    pub(super) fn find_from(&self, start: usize, holds: impl Fn(&Flow) -> bool) -> Option<(FlowId, usize)> {
        let (before, behind) = self.places.split_at(start.min(self.places.len()));
        let place = behind
            .iter()
            .chain(before)
            .find(|place| place.flow.as_ref().is_some_and(&holds))?;
        let id = FlowId(place.id);
        Some((id, place_of(id) + 1))
    }
}

const fn place_of(id: FlowId) -> usize {
    id.0 as usize & (PLACES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn flow(port: u16) -> Flow {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Flow::new(0, peer, None, false, Instant::START)
    }

    #[test]
    fn a_closed_flow_is_not_mistaken_for_its_successor() {
        let mut flows = Flows::default();
        let first = flows.insert(flow(1)).expect("room");
        let second = flows.insert(flow(2)).expect("room");
        assert_eq!((first, second), (FlowId(0), FlowId(1)));
        assert!(flows.remove(first).is_some_and(|flow| flow.peer.port() == 1));
        let third = flows.insert(flow(3)).expect("room");
        assert!(flows.get(first).is_none() && flows.remove(first).is_none());
        assert!(flows.get(third).is_some_and(|flow| flow.peer.port() == 3));
        assert_eq!(flows.drain().count(), 2);
    }

    #[test]
    fn the_next_flow_is_found_across_the_end() {
        let mut flows = Flows::default();
        let ids: Vec<FlowId> = (0..3)
            .map(|port| flows.insert(flow(port)).expect("room"))
            .collect();
        let odd = |flow: &Flow| flow.peer.port() == 1;
        assert_eq!(flows.find_from(0, odd), Some((ids[1], 2)));
        assert_eq!(flows.find_from(2, odd), Some((ids[1], 2)));
        assert_eq!(flows.find_from(7, |_| false), None);
    }
}
