//! Queues: a bounded store of messages per address, and who wants them.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::FlowId;

/// Buffers that are kept for later messages, at most.
const SPARE_BUFFERS: usize = 64;

/// Bytes of the largest buffer that is kept.
const SPARE_BYTES: usize = 64 << 10;

/// Where a queue stands in its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueId(usize);

/// A link on which a container sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkKey {
    pub(super) flow: FlowId,
    pub(super) channel: u16,
    pub(super) handle: u32,
}

/// The encoded sections of a message.
pub(super) type Stored = Vec<u8>;

#[derive(Debug)]
struct Queue {
    address: Arc<str>,
    messages: VecDeque<Stored>,
    receivers: VecDeque<LinkKey>,
}

/// Every queue of a container.
#[derive(Debug)]
pub(super) struct Queues {
    queues: Vec<Queue>,
    ids: BTreeMap<Arc<str>, QueueId>,
    spare: Vec<Stored>,
    /// Bytes of all messages that are not done: in queues, and on their way out of them.
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

    /// The queue at `address`, made where there is none; `None` where there is no room for it.
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
            receivers: VecDeque::new(),
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

    /// Puts a message at the end; returns how many of the oldest had to make room.
    pub(super) fn push(&mut self, id: QueueId, message: Stored) -> u64 {
        let Some(queue) = self.queues.get_mut(id.0) else {
            return 0;
        };
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

    /// Puts a message back to the front.
    pub(super) fn put_back(&mut self, id: QueueId, message: Stored) {
        if let Some(queue) = self.queues.get_mut(id.0) {
            queue.messages.push_front(message);
        }
    }

    /// The first message and the next receiver in turn that `is_ready` for it, if there are both.
    pub(super) fn next(
        &mut self,
        id: QueueId,
        mut is_ready: impl FnMut(LinkKey) -> bool,
    ) -> Option<(LinkKey, Stored)> {
        let queue = self.queues.get_mut(id.0)?;
        if queue.messages.is_empty() {
            return None;
        }
        let at = queue.receivers.iter().position(|key| is_ready(*key))?;
        queue.receivers.rotate_left(at);
        let receiver = queue.receivers.pop_front()?;
        queue.receivers.push_back(receiver);
        Some((receiver, queue.messages.pop_front()?))
    }

    pub(super) fn subscribe(&mut self, id: QueueId, key: LinkKey) {
        if let Some(queue) = self.queues.get_mut(id.0) {
            queue.receivers.push_back(key);
        }
    }

    pub(super) fn unsubscribe(&mut self, id: QueueId, key: LinkKey) {
        if let Some(queue) = self.queues.get_mut(id.0) {
            queue.receivers.retain(|receiver| *receiver != key);
        }
    }

    /// An empty buffer for a message.
    pub(super) fn buffer(&mut self) -> Stored {
        self.spare.pop().unwrap_or_default()
    }

    /// Keeps the memory of a message that was in a queue and is done.
    pub(super) fn recycle(&mut self, message: Stored) {
        self.bytes = self.bytes.saturating_sub(message.len());
        self.discard(message);
    }

    /// Keeps the memory of a message that never was in a queue.
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
