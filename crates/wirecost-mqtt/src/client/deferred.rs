//! Deliveries whose acknowledgement waits for a command.
//!
//! A delivery keeps its number while its session lasts. On a later connection the server delivers it again under the same packet
//! identifier [MQTT-4.4.0-1], which stays in use until the client answers: so the client knows that message, and does not report it
//! twice.

use alloc::collections::{BTreeMap, VecDeque};

use crate::codec::{Publish, Text};
use crate::quality::{Delivery, PacketId};
use crate::session::Inbound;

/// The most deliveries without an answer: as many as there are packet identifiers.
pub(super) const MAXIMUM: u16 = u16::MAX;

/// What arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// A delivery with a new number.
    New {
        number: u64,
        /// Whether it is one that was declined.
        was_declined: bool,
    },
    /// One that has been reported.
    Again,
}

/// The deliveries without an answer.
#[derive(Debug, Default)]
pub(super) struct Unacknowledged {
    numbers: u64,
    /// Those of this connection in the order of arrival, which is that of the answers [MQTT-4.6.0-2], [MQTT-4.6.0-3].
    current: VecDeque<Entry>,
    /// Those of earlier connections of the session that have not arrived again.
    earlier: BTreeMap<PacketId, Entry>,
    /// The fingerprints of those that were declined.
    declined: BTreeMap<PacketId, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    delivery: Delivery,
    /// Of the topic and the payload: a server that has lost a part of its session uses an identifier for another message.
    fingerprint: u64,
    is_acknowledged: bool,
}

impl Unacknowledged {
    /// Begins a connection: what has no answer may be delivered again.
    pub(super) fn connect(&mut self) {
        for entry in self.current.drain(..) {
            if let Some(id) = entry.delivery.packet_id() {
                self.earlier.insert(id, entry);
            }
        }
    }

    /// Forgets the deliveries of earlier connections: the server has no session.
    pub(super) fn forget(&mut self) {
        self.earlier.clear();
        self.declined.clear();
    }

    /// The number of deliveries of this connection without an answer.
    pub(super) fn len(&self) -> usize {
        self.current.len()
    }

    /// Takes a PUBLISH; `None` if it needs no answer. `inbound` has the identifiers that PUBREC has answered.
    pub(super) fn arrive(
        &mut self,
        publish: &Publish<'_>,
        topic: Text<'_>,
        inbound: &mut Inbound,
    ) -> Option<Arrival> {
        match publish.delivery {
            Delivery::AtMostOnce => None,
            Delivery::ExactlyOnce(id) if inbound.release(id) => {
                // Its PUBREC was lost. The next one keeps its place.
                self.push(publish.delivery, 0, true);
                Some(Arrival::Again)
            }
            Delivery::AtLeastOnce(id) | Delivery::ExactlyOnce(id) => Some(self.arrive_as(id, publish, topic)),
        }
    }

    fn arrive_as(&mut self, id: PacketId, publish: &Publish<'_>, topic: Text<'_>) -> Arrival {
        let fingerprint = fingerprint(&topic, publish.payload);
        let is_it = |entry: &Entry| entry.delivery == publish.delivery && entry.fingerprint == fingerprint;
        if publish.dup && self.current.iter().any(is_it) {
            return Arrival::Again;
        }
        if let Some(entry) = self
            .earlier
            .remove(&id)
            .filter(|entry| publish.dup && is_it(entry))
        {
            self.current.push_back(entry);
            return Arrival::Again;
        }
        let declined = self.declined.remove(&id);
        Arrival::New {
            number: self.push(publish.delivery, fingerprint, false),
            was_declined: declined == Some(fingerprint),
        }
    }

    /// Appends a delivery, and returns its number.
    fn push(&mut self, delivery: Delivery, fingerprint: u64, is_acknowledged: bool) -> u64 {
        let number = self.numbers;
        self.numbers += 1;
        self.current.push_back(Entry {
            number,
            delivery,
            fingerprint,
            is_acknowledged,
        });
        number
    }

    /// Lets the answer to a delivery go, after those to earlier ones. Ignores a number of another session.
    pub(super) fn acknowledge(&mut self, number: u64) {
        let mut entries = self.current.iter_mut().chain(self.earlier.values_mut());
        if let Some(entry) = entries.find(|entry| entry.number == number) {
            entry.is_acknowledged = true;
        }
    }

    /// Forgets a delivery: it gets no answer on this connection, and is new when it arrives again.
    pub(super) fn decline(&mut self, number: u64) {
        let mut entries = self.current.iter().chain(self.earlier.values());
        let entry = entries.find(|entry| entry.number == number).copied();
        let Some((id, entry)) = entry.and_then(|entry| Some((entry.delivery.packet_id()?, entry))) else {
            return;
        };
        self.current.retain(|entry| entry.number != number);
        self.earlier.retain(|_, entry| entry.number != number);
        self.declined.insert(id, entry.fingerprint);
    }

    /// The next answer that may go.
    pub(super) fn next_answer(&mut self) -> Option<Delivery> {
        let is_next = self.current.front().is_some_and(|entry| entry.is_acknowledged);
        let entry = if is_next { self.current.pop_front() } else { None };
        entry.map(|entry| entry.delivery)
    }
}

/// FNV-1a of the topic's length, the topic and the payload.
fn fingerprint(topic: &str, payload: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let len = (topic.len() as u64).to_be_bytes();
    let bytes = len.iter().chain(topic.as_bytes()).chain(payload);
    bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}
