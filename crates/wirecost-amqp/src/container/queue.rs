//! Queues: a bounded list of messages per address, and the receivers of each.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::FlowId;

/// The most buffers that are kept for reuse.
const SPARE_BUFFERS: usize = 64;

/// The capacity of the largest buffer that is kept, in bytes.
const SPARE_BYTES: usize = 64 << 10;

/// The index of a queue in its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueId(usize);

/// Identifies a sending link of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LinkKey {
    pub(super) flow: FlowId,
    pub(super) channel: u16,
    pub(super) handle: u32,
}

impl LinkKey {
    pub(super) const fn new(flow: FlowId, channel: u16, handle: u32) -> Self {
        Self {
            flow,
            channel,
            handle,
        }
    }
}

/// The encoded sections of a message.
pub(super) type Stored = Vec<u8>;

#[derive(Debug)]
struct Queue {
    address: Arc<str>,
    messages: VecDeque<Stored>,
    receivers: Receivers,
}

/// The receivers of a queue. A receiver that cannot take a message has no turn, so that the container does not check it
/// for every message. Call [`Receivers::wake`] when such a receiver may be ready again.
#[derive(Debug, Default)]
struct Receivers {
    /// The receivers that have a turn, each with its ticket. An entry is void if the receiver's ticket differs.
    turns: VecDeque<(u64, LinkKey)>,
    /// The ticket of each receiver; `None` if it has no turn.
    tickets: BTreeMap<LinkKey, Option<u64>>,
    /// The number of tickets issued so far.
    given: u64,
}

impl Receivers {
    /// Gives a receiver a turn if it has none.
    fn wake(&mut self, key: LinkKey) {
        let ticket = self.given;
        if let Some(entry @ None) = self.tickets.get_mut(&key) {
            *entry = Some(ticket);
            self.given += 1;
            self.turns.push_back((ticket, key));
        }
    }

    fn insert(&mut self, key: LinkKey) {
        self.tickets.insert(key, None);
        self.wake(key);
    }

    fn remove(&mut self, key: LinkKey) {
        self.tickets.remove(&key);
        // Remove the void entries when they outnumber the others.
        if self.turns.len() > 2 * self.tickets.len() {
            let tickets = &self.tickets;
            self.turns
                .retain(|(ticket, key)| tickets.get(key) == Some(&Some(*ticket)));
        }
    }

    /// The next receiver that is ready. It moves to the end of the turns.
    fn next(&mut self, mut is_ready: impl FnMut(LinkKey) -> bool) -> Option<LinkKey> {
        for _ in 0..self.turns.len() {
            let (ticket, key) = self.turns.pop_front()?;
            let Some(entry) = self.tickets.get_mut(&key).filter(|entry| **entry == Some(ticket)) else {
                continue;
            };
            if is_ready(key) {
                self.turns.push_back((ticket, key));
                return Some(key);
            }
            *entry = None;
        }
        None
    }
}

/// Every queue of a container.
#[derive(Debug)]
pub(super) struct Queues {
    queues: Vec<Queue>,
    ids: BTreeMap<Arc<str>, QueueId>,
    spare: Vec<Stored>,
    /// Bytes of all unfinished messages: in queues, and in flight to receivers.
    bytes: usize,
    most_messages: usize,
    most_bytes: usize,
    most_queues: usize,
}

impl Queues {
    pub(super) const fn new(most_queues: usize, most_messages: usize, most_bytes: usize) -> Self {
        Self {
            queues: Vec::new(),
            ids: BTreeMap::new(),
            spare: Vec::new(),
            bytes: 0,
            most_messages,
            most_bytes,
            most_queues,
        }
    }

    /// Bytes of all unfinished messages.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The queue at `address`, which is created if necessary; `None` if there are too many queues.
    pub(super) fn at(&mut self, address: &str) -> Option<QueueId> {
        if let Some(id) = self.ids.get(address) {
            return Some(*id);
        }
        if self.queues.len() >= self.most_queues {
            return None;
        }
        let (address, id) = (Arc::<str>::from(address), QueueId(self.queues.len()));
        self.ids.insert(Arc::clone(&address), id);
        self.queues.push(Queue {
            address,
            messages: VecDeque::new(),
            receivers: Receivers::default(),
        });
        Some(id)
    }

    pub(super) fn address(&self, id: QueueId) -> Option<Arc<str>> {
        Some(Arc::clone(&self.queues.get(id.0)?.address))
    }

    /// Messages in the queue at `address`.
    pub(super) fn len(&self, address: &str) -> usize {
        let queue = self.ids.get(address).and_then(|id| self.queues.get(id.0));
        queue.map_or(0, |queue| queue.messages.len())
    }

    /// Appends a message. Returns how many of the oldest messages were dropped.
    pub(super) fn push(&mut self, id: QueueId, mut message: Stored) -> u64 {
        let Some(queue) = self.queues.get_mut(id.0) else {
            return 0;
        };
        // The buffer of a message that came in many frames has grown ahead of it, by up to as much again.
        if message.capacity() > SPARE_BYTES {
            message.shrink_to_fit();
        }
        self.bytes += message.len();
        queue.messages.push_back(message);
        let mut surplus = 0;
        while queue.messages.len() > self.most_messages || self.bytes > self.most_bytes {
            let Some(oldest) = queue.messages.pop_front() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(oldest.len());
            discard(&mut self.spare, oldest);
            surplus += 1;
        }
        surplus
    }

    /// Puts a message back to the front of its queue.
    pub(super) fn put_back(&mut self, id: QueueId, message: Stored) {
        if let Some(queue) = self.queues.get_mut(id.0) {
            queue.messages.push_front(message);
        }
    }

    /// The first message and the next receiver that is ready for it, if there are both.
    pub(super) fn next(
        &mut self,
        id: QueueId,
        is_ready: impl FnMut(LinkKey) -> bool,
    ) -> Option<(LinkKey, Stored)> {
        let queue = self.queues.get_mut(id.0)?;
        if queue.messages.is_empty() {
            return None;
        }
        let receiver = queue.receivers.next(is_ready)?;
        Some((receiver, queue.messages.pop_front()?))
    }

    pub(super) fn subscribe(&mut self, id: QueueId, key: LinkKey) {
        if let Some(queue) = self.queues.get_mut(id.0) {
            queue.receivers.insert(key);
        }
    }

    pub(super) fn unsubscribe(&mut self, id: QueueId, key: LinkKey) {
        if let Some(queue) = self.queues.get_mut(id.0) {
            queue.receivers.remove(key);
        }
    }

    /// Gives a receiver that may be ready a turn.
    pub(super) fn wake(&mut self, id: QueueId, key: LinkKey) {
        if let Some(queue) = self.queues.get_mut(id.0) {
            queue.receivers.wake(key);
        }
    }

    /// An empty buffer for a message.
    pub(super) fn buffer(&mut self) -> Stored {
        self.spare.pop().unwrap_or_default()
    }

    /// Reuses the memory of a finished message that was in a queue.
    pub(super) fn recycle(&mut self, message: Stored) {
        self.bytes = self.bytes.saturating_sub(message.len());
        self.discard(message);
    }

    /// Reuses the memory of a message that never was in a queue.
    pub(super) fn discard(&mut self, message: Stored) {
        discard(&mut self.spare, message);
    }
}

fn discard(spare: &mut Vec<Stored>, mut message: Stored) {
    if spare.len() < SPARE_BUFFERS && message.capacity() <= SPARE_BYTES {
        message.clear();
        spare.push(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(number: u32) -> LinkKey {
        LinkKey::new(FlowId(number), 0, 0)
    }

    /// A queue with this many receivers, and its id.
    fn queue(receivers: u32) -> (Queues, QueueId) {
        let mut queues = Queues::new(1, 1_000, 1 << 20);
        let id = queues.at("q").expect("there is room");
        (0..receivers).for_each(|number| queues.subscribe(id, key(number)));
        (queues, id)
    }

    #[test]
    fn receivers_that_are_not_ready_are_checked_once() {
        let (mut queues, id) = queue(1_000);
        let mut looks = 0;
        for _ in 0..100 {
            queues.push(id, Vec::new());
            let given = queues.next(id, |_| {
                looks += 1;
                false
            });
            assert_eq!(given, None);
        }
        assert_eq!(looks, 1_000);
        queues.wake(id, key(7));
        queues.wake(id, key(7));
        let given = queues.next(id, |_| true);
        assert_eq!(given.map(|(key, _)| key), Some(key(7)));
    }

    #[test]
    fn receivers_take_turns_and_those_that_left_get_no_turn() {
        let (mut queues, id) = queue(4);
        queues.unsubscribe(id, key(1));
        let turns = (0..6).map(|_| {
            queues.push(id, Vec::new());
            let given = queues.next(id, |key| key.flow != FlowId(2));
            given.map(|(key, _)| key.flow.0)
        });
        let turns: Vec<_> = turns.collect();
        assert_eq!(turns, [0, 3, 0, 3, 0, 3].map(Some));
    }

    #[test]
    fn receivers_that_come_and_go_leave_no_entries() {
        let (mut queues, id) = queue(1);
        for _ in 0..1_000 {
            queues.subscribe(id, key(9));
            queues.unsubscribe(id, key(9));
        }
        assert!(queues.queues[id.0].receivers.turns.len() <= 4);
    }
}
