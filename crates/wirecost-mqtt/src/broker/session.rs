//! The state of a client's session during and between its connections (section 4.1).

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use core::time::Duration;

use wirecost_proto::FlowId;

use super::memory::{Memory, Reservation};
use super::message::QueuedMessage;
use super::queue::Queue;
use crate::codec::OwnedWill;
use crate::codec::properties::Property;
use crate::session::{Exchange, Inbound, Outbound};

/// The session expiry interval that never ends (section 3.1.2.11.2).
pub(super) const NEVER: u32 = u32::MAX;

/// The number of a session. It is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionId(u64);

/// A client's session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client_id: Arc<str>,
    /// The flow of the connected client.
    pub(super) flow: Option<FlowId>,
    /// The session expiry interval in seconds.
    pub(super) expiry: u32,
    /// Most clients have none.
    will: Option<Box<OwnedWill>>,
    pub(super) filters: BTreeSet<Arc<str>>,
    pub(super) outbound: Outbound<QueuedMessage>,
    pub(super) inbound: Inbound,
    pub(super) queue: Queue,
    /// Whether the session has a delivery action in the broker's queue.
    pub(super) is_scheduled: bool,
    /// Whether a message was dropped since the queue was last empty.
    pub(super) is_dropping: bool,
    /// The memory of its identifier, its filters and its will.
    state: Reservation,
    /// The memory of its queue entries and exchanges.
    places: Reservation,
}

/// The memory of a session without its identifier, its filters and its will.
const SESSION_BYTES: usize = size_of::<Session>() + size_of::<SessionId>();
/// The memory of a filter without its characters, which are in the session and in the tree of subscriptions.
const FILTER_BYTES: usize = 128;
/// The memory of a queue entry or an exchange.
const PLACE_BYTES: usize = size_of::<Exchange<QueuedMessage>>();

impl Session {
    fn new(client_id: Arc<str>, memory: &Memory) -> Self {
        Self {
            state: memory.reserve(SESSION_BYTES + client_id.len()),
            places: memory.reserve(0),
            is_dropping: false,
            client_id,
            flow: None,
            expiry: 0,
            will: None,
            filters: BTreeSet::new(),
            outbound: Outbound::new(),
            inbound: Inbound::default(),
            queue: Queue::default(),
            is_scheduled: false,
        }
    }

    /// Updates the memory of queue entries and exchanges.
    pub(super) fn update_memory(&mut self) {
        self.places
            .set((self.queue.len() + self.outbound.len()) * PLACE_BYTES);
    }

    /// Replaces the will.
    pub(super) fn set_will(&mut self, will: Option<OwnedWill>) {
        let bytes = |will: Option<&OwnedWill>| will.map_or(0, will_bytes);
        let others = self.state.bytes() - bytes(self.will.as_deref());
        self.state.set(others + bytes(will.as_ref()));
        self.will = will.map(Box::new);
    }

    /// The delay of the will after the end of the connection; `None` if there is no will.
    pub(super) fn will_delay(&self) -> Option<Duration> {
        let will = self.will.as_ref()?.as_will();
        let delay = will.properties.iter().find_map(|property| match property {
            Property::WillDelayInterval(seconds) => Some(Duration::from_secs(seconds.into())),
            _ => None,
        });
        Some(delay.unwrap_or_default())
    }

    pub(super) fn take_will(&mut self) -> Option<OwnedWill> {
        let will = self.will.take()?;
        self.state.set(self.state.bytes() - will_bytes(&will));
        Some(*will)
    }

    /// Adds a filter of a subscription.
    pub(super) fn add_filter(&mut self, filter: &str) {
        if !self.filters.contains(filter) {
            self.filters.insert(filter.into());
            self.state.set(self.state.bytes() + filter_bytes(filter));
        }
    }

    /// Removes a filter.
    pub(super) fn remove_filter(&mut self, filter: &str) {
        if self.filters.remove(filter) {
            self.state.set(self.state.bytes() - filter_bytes(filter));
        }
    }
}

/// The memory of a subscription to `filter`: at most one tree node per level.
pub(super) fn filter_bytes(filter: &str) -> usize {
    2 * filter.len() + FILTER_BYTES * filter.split('/').count()
}

fn will_bytes(will: &OwnedWill) -> usize {
    let will = will.as_will();
    size_of::<OwnedWill>()
        + will.topic.len()
        + will.payload.as_bytes().len()
        + will.properties.written_bytes()
}

/// All sessions, by number and by client identifier.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// In memory of their own: in a tree that grows at its end, nearly half of the places are free.
    by_id: BTreeMap<SessionId, Box<Session>>,
    by_name: BTreeMap<Arc<str>, SessionId>,
    created: u64,
}

impl Sessions {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: SessionId) -> Option<&Session> {
        self.by_id.get(&id).map(|session| &**session)
    }

    pub(super) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.by_id.get_mut(&id).map(|session| &mut **session)
    }

    pub(super) fn find(&self, client_id: &str) -> Option<SessionId> {
        self.by_name.get(client_id).copied()
    }

    pub(super) fn create(&mut self, client_id: &str, memory: &Memory) -> SessionId {
        let name: Arc<str> = client_id.into();
        let id = SessionId(self.created);
        self.created += 1;
        self.by_name.insert(name.clone(), id);
        self.by_id.insert(id, Box::new(Session::new(name, memory)));
        id
    }

    pub(super) fn remove(&mut self, id: SessionId) -> Option<Box<Session>> {
        let session = self.by_id.remove(&id)?;
        self.by_name.remove(&session.client_id);
        Some(session)
    }
}
