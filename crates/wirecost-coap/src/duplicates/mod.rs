//! Which messages came before, and what was answered (RFC 7252 section 4.5).

mod index;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{FlowId, Instant};

use self::index::Index;
use crate::message::Type;
use crate::parameters::TransmissionParameters;

/// Remembers the messages of all peers for as long as their ids stay taken.
#[derive(Debug)]
pub(crate) struct Duplicates {
    confirmable: Window,
    non_confirmable: Window,
}

impl Duplicates {
    pub(crate) fn new(parameters: &TransmissionParameters) -> Self {
        Self {
            // RFC 7252 section 4.5: within EXCHANGE_LIFETIME for CON, NON_LIFETIME for NON.
            confirmable: Window::new(parameters.exchange_lifetime()),
            non_confirmable: Window::new(parameters.non_lifetime()),
        }
    }

    /// Whether the message came before; remembers it otherwise. What was answered is written to `answer`.
    pub(crate) fn is_known(
        &mut self,
        (flow, message_id, kind): (FlowId, u16, Type),
        now: Instant,
        answer: &mut Vec<u8>,
    ) -> bool {
        answer.clear();
        let window = match kind {
            Type::Confirmable => &mut self.confirmable,
            _ => &mut self.non_confirmable,
        };
        window.is_known(u64::from(flow.0) << 16 | u64::from(message_id), now, answer)
    }

    /// Remembers the ACK or RST that answers the confirmable message remembered last.
    pub(crate) fn answered(&mut self, datagram: &[u8]) {
        self.confirmable.answered(datagram);
    }

    /// How many messages are remembered.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.confirmable.entries.len() + self.non_confirmable.entries.len()
    }
}

/// Entries in the order of their arrival, which is that of their expiry; answers end to end in the same order.
#[derive(Debug)]
struct Window {
    lifetime: Duration,
    entries: VecDeque<Entry>,
    answers: VecDeque<u8>,
    /// Entries and answer bytes that have left at the front.
    gone: u64,
    answers_gone: u64,
    index: Index,
}

#[derive(Debug)]
struct Entry {
    key: u64,
    expires: Instant,
    answer_start: u64,
    answer_len: usize,
}

impl Window {
    fn new(lifetime: Duration) -> Self {
        Self {
            lifetime,
            entries: VecDeque::new(),
            answers: VecDeque::new(),
            gone: 0,
            answers_gone: 0,
            index: Index::new(),
        }
    }

    fn is_known(&mut self, key: u64, now: Instant, answer: &mut Vec<u8>) -> bool {
        self.expire(now);
        if let Some(number) = self.index.find(key) {
            self.copy_answer(number, answer);
            return true;
        }
        self.index.insert(key, self.gone + self.entries.len() as u64);
        self.entries.push_back(Entry {
            key,
            expires: now + self.lifetime,
            answer_start: self.answers_gone + self.answers.len() as u64,
            answer_len: 0,
        });
        false
    }

    fn answered(&mut self, datagram: &[u8]) {
        if let Some(entry) = self.entries.back_mut() {
            entry.answer_len += datagram.len();
            self.answers.extend(datagram);
        }
    }

    fn copy_answer(&self, number: u64, answer: &mut Vec<u8>) {
        let Some(entry) = self.entries.get((number - self.gone) as usize) else {
            return;
        };
        let start = (entry.answer_start - self.answers_gone) as usize;
        answer.extend(self.answers.iter().skip(start).take(entry.answer_len));
    }

    fn expire(&mut self, now: Instant) {
        while self.entries.front().is_some_and(|entry| entry.expires <= now) {
            let Some(entry) = self.entries.pop_front() else {
                return;
            };
            self.index.remove(entry.key);
            self.answers.drain(..entry.answer_len.min(self.answers.len()));
            self.gone += 1;
            self.answers_gone += entry.answer_len as u64;
        }
    }
}
