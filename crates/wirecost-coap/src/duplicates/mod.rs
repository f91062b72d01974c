//! Detects duplicate messages and keeps their answers (RFC 7252 section 4.5).

mod index;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{FlowId, Instant};

use self::index::Index;
use crate::layout::Layout;
use crate::message::Type;
use crate::parameters::TransmissionParameters;

/// The sender, the message id, and CON or NON.
pub(crate) type Message = (FlowId, u16, Type);

fn key((flow, message_id, _): Message) -> u64 {
    u64::from(flow.0) << 16 | u64::from(message_id)
}

/// The default limit of the memory for messages of either kind, in bytes. Above it the oldest ids are forgotten, so that a late
/// duplicate counts as new. 50,000 requests/s reach the limit in half a minute. The last retransmission of a CON
/// follows within 45 s (RFC 7252 section 4.8.2).
pub(crate) const MAXIMUM_HELD: usize = 256 << 20;
/// The memory for a message without its answer: its entry, and up to four slots of the index.
const ENTRY_BYTES: usize = size_of::<Entry>() + 4 * Index::SLOT_BYTES;

/// Records the messages of all peers until their ids are free again, within a limit.
#[derive(Debug)]
pub(crate) struct Duplicates {
    confirmable: Window,
    non_confirmable: Window,
}

impl Duplicates {
    /// `seed` must be secret from the peers.
    pub(crate) fn new(parameters: &TransmissionParameters, seed: u64) -> Self {
        Self {
            // RFC 7252 section 4.5: within EXCHANGE_LIFETIME for CON, NON_LIFETIME for NON.
            confirmable: Window::new(parameters.exchange_lifetime(), seed),
            non_confirmable: Window::new(parameters.non_lifetime(), seed),
        }
    }

    /// The same with this limit of the memory for messages of either kind.
    pub(crate) const fn within(mut self, maximum_held: usize) -> Self {
        self.confirmable.maximum_held = maximum_held;
        self.non_confirmable.maximum_held = maximum_held;
        self
    }

    /// Finds a duplicate. Writes its answer to `answer` and returns the layout of the answer, or `Some(None)` if it was
    /// not answered. Returns `None` if the message is new.
    pub(crate) fn find(
        &mut self,
        message: Message,
        now: Instant,
        answer: &mut Vec<u8>,
    ) -> Option<Option<Layout>> {
        answer.clear();
        self.window(message).find(key(message), now, answer)
    }

    /// Records a new message.
    pub(crate) fn remember(&mut self, message: Message, now: Instant) {
        self.window(message).remember(key(message), now);
    }

    /// Records the ACK or RST to the last recorded confirmable message.
    pub(crate) fn answered(&mut self, datagram: &[u8], layout: Layout) {
        self.confirmable.answered(datagram, layout);
    }

    fn window(&mut self, (_, _, kind): Message) -> &mut Window {
        match kind {
            Type::Confirmable => &mut self.confirmable,
            _ => &mut self.non_confirmable,
        }
    }

    /// The memory for all messages, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.confirmable.held() + self.non_confirmable.held()
    }

    /// The number of recorded messages.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.confirmable.entries.len() + self.non_confirmable.entries.len()
    }
}

/// Entries in the order of arrival, which is the order of expiry. The answers lie end to end in the same order.
#[derive(Debug)]
struct Window {
    lifetime: Duration,
    maximum_held: usize,
    entries: VecDeque<Entry>,
    answers: VecDeque<u8>,
    /// The number of entries, and of answer bytes, that were removed at the front.
    gone: u64,
    answers_gone: u64,
    index: Index,
}

#[derive(Debug)]
struct Entry {
    key: u64,
    expires: Instant,
    answer_start: u64,
    answer: Option<Layout>,
}

impl Entry {
    fn answer_len(&self) -> usize {
        self.answer.map_or(0, |layout| layout.len())
    }
}

impl Window {
    const fn new(lifetime: Duration, seed: u64) -> Self {
        Self {
            lifetime,
            maximum_held: MAXIMUM_HELD,
            entries: VecDeque::new(),
            answers: VecDeque::new(),
            gone: 0,
            answers_gone: 0,
            index: Index::new(seed),
        }
    }

    fn find(&mut self, key: u64, now: Instant, answer: &mut Vec<u8>) -> Option<Option<Layout>> {
        self.expire(now);
        let number = self.index.find(key)?;
        let entry = self.entries.get((number - self.gone) as usize)?;
        let start = (entry.answer_start - self.answers_gone) as usize;
        answer.extend(self.answers.iter().skip(start).take(entry.answer_len()));
        Some(entry.answer)
    }

    fn remember(&mut self, key: u64, now: Instant) {
        self.expire(now);
        while self.held() + ENTRY_BYTES > self.maximum_held && self.forget_oldest() {}
        self.index.insert(key, self.gone + self.entries.len() as u64);
        self.entries.push_back(Entry {
            key,
            expires: now + self.lifetime,
            answer_start: self.answers_gone + self.answers.len() as u64,
            answer: None,
        });
    }

    fn answered(&mut self, datagram: &[u8], layout: Layout) {
        if let Some(entry) = self.entries.back_mut().filter(|entry| entry.answer.is_none()) {
            entry.answer = Some(layout);
            self.answers.extend(datagram);
        }
    }

    fn expire(&mut self, now: Instant) {
        while self.entries.front().is_some_and(|entry| entry.expires <= now) && self.forget_oldest() {}
    }

    /// Forgets the oldest message. Returns whether there was one.
    fn forget_oldest(&mut self) -> bool {
        let Some(entry) = self.entries.pop_front() else {
            return false;
        };
        self.index.remove(entry.key);
        self.answers.drain(..entry.answer_len().min(self.answers.len()));
        self.gone += 1;
        self.answers_gone += entry.answer_len() as u64;
        true
    }

    fn held(&self) -> usize {
        self.entries.len() * ENTRY_BYTES + self.answers.len()
    }
}
