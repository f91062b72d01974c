//! What the broker keeps of a client between and during its connections (section 4.1).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use core::time::Duration;

use wirecost_proto::FlowId;

use super::memory::{Memory, Share};
use super::message::Delivery;
use super::queue::Queue;
use crate::codec::properties::Property;
use crate::codec::text::{OwnedBinary, OwnedText};
use crate::codec::{PropertiesBuf, Will};
use crate::quality::QoS;
use crate::session::{Exchange, Inbound, Outbound};

/// The session expiry interval that never passes (section 3.1.2.11.2).
pub(super) const NEVER: u32 = u32::MAX;

/// The number of a session; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionId(u64);

/// A client's session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client_id: Arc<str>,
    /// The flow that the client is connected on.
    pub(super) flow: Option<FlowId>,
    /// Session expiry interval in seconds.
    pub(super) expiry: u32,
    will: Option<PendingWill>,
    pub(super) filters: BTreeSet<Arc<str>>,
    pub(super) outbound: Outbound<Delivery>,
    pub(super) inbound: Inbound,
    pub(super) queue: Queue,
    /// Whether the broker will look at the queue before it sleeps.
    pub(super) is_scheduled: bool,
    /// Whether a message was dropped since the queue was last empty.
    pub(super) is_dropping: bool,
    /// What its identifier, its filters and its will take of the broker's memory.
    state: Share,
    /// What the places of its messages take, waiting or in flight.
    places: Share,
}

/// Bytes that a session takes beside its identifier, its filters and its will.
const SESSION_BYTES: usize = size_of::<Session>() + size_of::<SessionId>();
/// Bytes that a filter takes beside its characters, which are in the session and in the tree of subscriptions.
const FILTER_BYTES: usize = 128;
/// Bytes that a message's place takes in a queue or in flight.
const PLACE_BYTES: usize = size_of::<Exchange<Delivery>>();

impl Session {
    fn new(client_id: Arc<str>, memory: &Memory) -> Self {
        Self {
            state: memory.share(SESSION_BYTES + client_id.len()),
            places: memory.share(0),
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
}

impl Session {
    /// Takes note of how many messages wait or are in flight.
    pub(super) fn note_places(&mut self) {
        self.places
            .set((self.queue.len() + self.outbound.len()) * PLACE_BYTES);
    }

    /// Replaces the will.
    pub(super) fn set_will(&mut self, will: Option<PendingWill>) {
        let bytes = |will: &Option<PendingWill>| will.as_ref().map_or(0, PendingWill::bytes);
        let others = self.state.bytes() - bytes(&self.will);
        self.state.set(others + bytes(&will));
        self.will = will;
    }

    /// How long the will waits once the connection has ended; `None` where there is none.
    pub(super) fn will_delay(&self) -> Option<Duration> {
        self.will.as_ref().map(|will| will.delay)
    }

    pub(super) fn take_will(&mut self) -> Option<PendingWill> {
        let will = self.will.take()?;
        self.state.set(self.state.bytes() - will.bytes());
        Some(will)
    }

    /// Takes note of a filter that the session subscribes to.
    pub(super) fn add_filter(&mut self, filter: &str) {
        if !self.filters.contains(filter) {
            self.filters.insert(filter.into());
            self.state.set(self.state.bytes() + filter_bytes(filter));
        }
    }

    /// Forgets a filter.
    pub(super) fn remove_filter(&mut self, filter: &str) {
        if self.filters.remove(filter) {
            self.state.set(self.state.bytes() - filter_bytes(filter));
        }
    }
}

/// Bytes that a subscription to `filter` takes: at most a node of the tree for each level.
pub(super) fn filter_bytes(filter: &str) -> usize {
    2 * filter.len() + FILTER_BYTES * filter.split('/').count()
}

/// A will that may still be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingWill {
    pub(super) topic: OwnedText,
    pub(super) payload: OwnedBinary,
    pub(super) qos: QoS,
    pub(super) retain: bool,
    pub(super) properties: PropertiesBuf,
    /// Between the end of the connection and the will (section 3.1.3.2.2).
    pub(super) delay: Duration,
}

impl PendingWill {
    fn bytes(&self) -> usize {
        let properties = self.properties.as_properties().written_bytes();
        self.topic.as_text().len() + self.payload.as_binary().as_bytes().len() + properties
    }
}

impl From<Will<'_>> for PendingWill {
    fn from(will: Will<'_>) -> Self {
        let delay = will.properties.iter().find_map(|property| match property {
            Property::WillDelayInterval(seconds) => Some(Duration::from_secs(seconds.into())),
            _ => None,
        });
        let mut properties = PropertiesBuf::new();
        properties.extend(will.properties.iter());
        Self {
            topic: will.topic.into(),
            payload: will.payload.into(),
            qos: will.qos,
            retain: will.retain,
            properties,
            delay: delay.unwrap_or_default(),
        }
    }
}

/// Every session, by number and by client identifier.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_id: BTreeMap<SessionId, Session>,
    by_name: BTreeMap<Arc<str>, SessionId>,
    created: u64,
}

impl Sessions {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: SessionId) -> Option<&Session> {
        self.by_id.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.by_id.get_mut(&id)
    }

    pub(super) fn find(&self, client_id: &str) -> Option<SessionId> {
        self.by_name.get(client_id).copied()
    }

    pub(super) fn create(&mut self, client_id: &str, memory: &Memory) -> SessionId {
        let name: Arc<str> = client_id.into();
        let id = SessionId(self.created);
        self.created += 1;
        self.by_name.insert(name.clone(), id);
        self.by_id.insert(id, Session::new(name, memory));
        id
    }

    pub(super) fn remove(&mut self, id: SessionId) -> Option<Session> {
        let session = self.by_id.remove(&id)?;
        self.by_name.remove(&session.client_id);
        Some(session)
    }
}
