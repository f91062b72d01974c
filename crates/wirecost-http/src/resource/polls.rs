//! Long polls: requests that wait for a value.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wirecost_proto::{Content, Instant};

use super::Exchange;
use crate::message::{Response, Status};

/// Requests that wait, by what they wait for and until when.
#[derive(Debug)]
pub(super) struct Polls {
    waiting: BTreeMap<Exchange, Poll>,
    deadlines: BTreeSet<(Instant, Exchange)>,
    answers: VecDeque<(Exchange, Response)>,
    max_waiting: usize,
}

#[derive(Debug)]
struct Poll {
    name: String,
    deadline: Instant,
}

impl Polls {
    pub(super) const fn new(max_waiting: usize) -> Self {
        Self {
            waiting: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            answers: VecDeque::new(),
            max_waiting,
        }
    }

    /// Lets a request wait; false where too many do.
    pub(super) fn wait(&mut self, exchange: Exchange, name: &str, deadline: Instant) -> bool {
        if self.waiting.len() >= self.max_waiting {
            return false;
        }
        let name = name.into();
        self.waiting.insert(exchange, Poll { name, deadline });
        self.deadlines.insert((deadline, exchange));
        true
    }

    /// Answers everyone who waits for `name`.
    pub(super) fn post(&mut self, name: &str, content_type: Option<&str>, bytes: &[u8]) {
        let waits = |(exchange, poll): (&Exchange, &Poll)| (poll.name == name).then_some(*exchange);
        let answered: Vec<Exchange> = self.waiting.iter().filter_map(waits).collect();
        if answered.is_empty() {
            return;
        }
        let content = Content::from(bytes);
        for exchange in answered {
            self.remove(exchange);
            let response = Response::ok(content_type, content.clone());
            self.answers.push_back((exchange, response));
        }
    }

    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((deadline, exchange)) = self.deadlines.first().copied()
            && deadline <= now
        {
            self.remove(exchange);
            let response = Response::empty(Status::NO_CONTENT);
            self.answers.push_back((exchange, response));
        }
    }

    pub(super) fn next_answer(&mut self) -> Option<(Exchange, Response)> {
        self.answers.pop_front()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub(super) fn forget(&mut self, is_forgotten: impl Fn(Exchange) -> bool) {
        let keys = self.waiting.keys().copied();
        let forgotten: Vec<Exchange> = keys.filter(|exchange| is_forgotten(*exchange)).collect();
        for exchange in forgotten {
            self.remove(exchange);
        }
        self.answers.retain(|(exchange, _)| !is_forgotten(*exchange));
    }

    fn remove(&mut self, exchange: Exchange) {
        if let Some(poll) = self.waiting.remove(&exchange) {
            self.deadlines.remove(&(poll.deadline, exchange));
        }
    }
}
