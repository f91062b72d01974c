//! Long polls: requests that wait for a value.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use wirecost_proto::{Content, Instant};

use super::RequestId;
use crate::message::{Response, Status};

/// Waiting requests, by name and by deadline.
#[derive(Debug)]
pub(super) struct Polls {
    waiting: BTreeMap<RequestId, Poll>,
    /// The waiting requests by name.
    by_name: BTreeSet<(Arc<str>, RequestId)>,
    deadlines: BTreeSet<(Instant, RequestId)>,
    answers: VecDeque<(RequestId, Response)>,
    max_waiting: usize,
}

#[derive(Debug)]
struct Poll {
    name: Arc<str>,
    deadline: Instant,
}

impl Polls {
    pub(super) const fn new(max_waiting: usize) -> Self {
        Self {
            waiting: BTreeMap::new(),
            by_name: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            answers: VecDeque::new(),
            max_waiting,
        }
    }

    /// Lets a request wait. Returns false if too many wait.
    pub(super) fn wait(&mut self, exchange: RequestId, name: &str, deadline: Instant) -> bool {
        if self.waiting.len() >= self.max_waiting {
            return false;
        }
        let name: Arc<str> = name.into();
        self.by_name.insert((Arc::clone(&name), exchange));
        self.waiting.insert(exchange, Poll { name, deadline });
        self.deadlines.insert((deadline, exchange));
        true
    }

    /// Answers all requests that wait for `name`.
    pub(super) fn post(&mut self, name: &str, content_type: Option<&str>, bytes: &[u8]) {
        let first = (Arc::from(name), RequestId::FIRST);
        let waiting = self.by_name.range(first..).take_while(|(own, _)| **own == *name);
        let answered: Vec<RequestId> = waiting.map(|(_, exchange)| *exchange).collect();
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

    pub(super) fn next_answer(&mut self) -> Option<(RequestId, Response)> {
        self.answers.pop_front()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Forgets the requests of a range, including their queued responses.
    pub(super) fn forget(&mut self, range: RangeInclusive<RequestId>) {
        while let Some((&exchange, _)) = self.waiting.range(range.clone()).next() {
            self.remove(exchange);
        }
        self.answers.retain(|(exchange, _)| !range.contains(exchange));
    }

    fn remove(&mut self, exchange: RequestId) {
        if let Some(poll) = self.waiting.remove(&exchange) {
            self.deadlines.remove(&(poll.deadline, exchange));
            self.by_name.remove(&(poll.name, exchange));
        }
    }
}
