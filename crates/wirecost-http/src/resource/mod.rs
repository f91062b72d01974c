//! The resources of the built-in server, the same in either version.
//!
//! | resource | methods | what it does |
//! |---|---|---|
//! | `/test` | POST, PUT, GET, HEAD | POST and PUT store the content and return 204, or 201 if PUT created it; GET returns the last content |
//! | `/test?reading=R` | GET | stores R, percent-encoded, as POST stores content; 400 if the query is anything else |
//! | `/long-poll/NAME?timeout=30` | GET, POST, PUT | GET waits for the next posted value, or returns 204 after the time-out in seconds |
//! | `/messages?next_key=K&limit=N` | GET, HEAD, POST | GET returns pages of all posted messages, oldest first |
//!
//! A server asks twice: [`Resources::check`] when a request's head has arrived, so that a refused request need not be
//! received, and [`Resources::answer`] when its content has arrived.

mod log;
mod page;
mod polls;
mod target;
#[cfg(test)]
mod tests;

use std::time::Duration;

use wirecost_proto::{Content, FlowId, Instant};

use crate::message::{Method, Response, Status};
pub use crate::query::Unreadable;
use log::Log;
pub use page::Page;
use polls::Polls;
use target::Target;

/// Limits of the resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The maximum length of content in bytes. Longer content is refused with 413.
    pub max_body_bytes: u64,
    /// Whether unsafe methods are allowed in early data, which anyone may have replayed (RFC 8470 section 3).
    pub unsafe_early_data: bool,
    /// The most messages that `/messages` keeps. Beyond it, the oldest is dropped.
    pub kept_messages: usize,
    /// The most bytes of content that `/messages` keeps.
    pub kept_bytes: usize,
    /// The maximum and default time-out of a long poll.
    pub max_poll: Duration,
    /// Bytes of text in the answer to a POST or a PUT; without any, the answer has no content.
    pub answer_bytes: usize,
    /// The most long polls that wait at a time. Further ones return 204 at once.
    pub max_waiting: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 << 20,
            unsafe_early_data: false,
            kept_messages: 1_000,
            kept_bytes: 16 << 20,
            max_poll: Duration::from_secs(30),
            answer_bytes: 0,
            max_waiting: 100_000,
        }
    }
}

/// Identifies a request. Long polls are answered later and out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The flow of the request.
    pub flow: FlowId,
    /// The server's number for it within the flow.
    pub request: u64,
}

impl RequestId {
    /// The first in sort order.
    const FIRST: Self = Self {
        flow: FlowId(0),
        request: 0,
    };
}

/// The facts about a request that the resources use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Method.
    pub method: Method,
    /// Path and query.
    pub target: &'a str,
    /// Media type of the content.
    pub content_type: Option<&'a str>,
    /// Whether any part of it is early data.
    pub early: bool,
}

impl Request<'_> {
    /// The reading that a GET of `/test` has in its query, to be answered as the content of a POST.
    ///
    /// # Errors
    /// Such a GET has a query that is no reading.
    pub fn reading(&self) -> Result<Option<Vec<u8>>, Unreadable> {
        let is_test = matches!(Target::parse(self.target), Ok(Target::Test));
        match is_test && self.method == Method::Get {
            true => crate::query::reading_of(self.target),
            false => Ok(None),
        }
    }
}

/// The resources of one server, shared by all its flows.
#[derive(Debug)]
pub struct Resources {
    config: Config,
    stored: Option<Stored>,
    /// The content of the answer to a POST or a PUT.
    answer: Option<Content>,
    log: Log,
    polls: Polls,
}

#[derive(Debug, Default)]
struct Stored {
    content_type: Option<String>,
    bytes: Vec<u8>,
    /// A shared copy of the bytes, made on first use.
    shared: Option<Content>,
}

impl Resources {
    /// Empty resources.
    pub fn new(config: Config) -> Self {
        Self {
            stored: None,
            answer: (config.answer_bytes > 0).then(|| vec![b'x'; config.answer_bytes].into()),
            log: Log::new(config.kept_messages, config.kept_bytes),
            polls: Polls::new(config.max_waiting),
            config,
        }
    }

    /// The limits.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The bytes of content that are kept.
    pub fn stored_bytes(&self) -> usize {
        self.stored.as_ref().map_or(0, |stored| stored.bytes.len()) + self.log.bytes()
    }

    /// The number of messages posted so far.
    pub fn posted(&self) -> u64 {
        self.log.posted()
    }

    /// Checks the head of a request, with the length of its content if known.
    ///
    /// # Errors
    /// The response that refuses it: 400, 404, 405, 413 or 425.
    pub fn check(&self, request: &Request<'_>, content_length: Option<u64>) -> Result<(), Response> {
        self.admit(request)?;
        if content_length.is_some_and(|bytes| bytes > self.config.max_body_bytes) {
            return Err(Response::empty(Status::CONTENT_TOO_LARGE));
        }
        Ok(())
    }

    /// Answers a complete request. Returns `None` if it waits: `Resources::poll_answer` returns its response later.
    pub fn answer(
        &mut self,
        exchange: RequestId,
        request: &Request<'_>,
        body: &[u8],
        now: Instant,
    ) -> Option<Response> {
        let target = match self.admit(request) {
            Ok(target) => target,
            Err(refusal) => return Some(refusal),
        };
        // Of a GET with a reading in its query, the body is that reading.
        if matches!(request.method, Method::Post | Method::Put) || matches!(request.reading(), Ok(Some(_))) {
            return Some(self.store(target, request, body));
        }
        match target {
            Target::Test => Some(self.stored()),
            Target::Messages { next_key, limit } => {
                let page = self.log.page(next_key, limit);
                Some(Response::ok(Some("application/json"), page))
            }
            Target::LongPoll { name, timeout } => {
                let timeout = timeout.unwrap_or(self.config.max_poll);
                let deadline = now + timeout.min(self.config.max_poll);
                // A HEAD asks for the current value.
                let waits = request.method == Method::Get && self.polls.wait(exchange, name, deadline);
                (!waits).then(|| Response::empty(Status::NO_CONTENT))
            }
        }
    }

    /// The next response to a waiting request.
    pub(crate) fn poll_answer(&mut self) -> Option<(RequestId, Response)> {
        self.polls.next_answer()
    }

    /// Answers the long polls that have timed out.
    pub fn expire(&mut self, now: Instant) {
        self.polls.expire(now);
    }

    /// The time-out of the next long poll.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.polls.next_deadline()
    }

    /// Forgets the waiting requests of a flow.
    pub fn forget(&mut self, flow: FlowId) {
        let number = |request| RequestId { flow, request };
        self.polls.forget(number(0)..=number(u64::MAX));
    }

    /// Forgets one waiting request.
    pub(crate) fn forget_request(&mut self, exchange: RequestId) {
        self.polls.forget(exchange..=exchange);
    }

    /// The resource of a request, if the request is allowed.
    fn admit<'a>(&self, request: &Request<'a>) -> Result<Target<'a>, Response> {
        let target = Target::parse(request.target)?;
        if !target.methods().contains(&request.method) {
            return Err(Response {
                allow: Some(target.allow()),
                ..Response::empty(Status::METHOD_NOT_ALLOWED)
            });
        }
        // Without this, a reading that is encoded wrongly would be answered like one that is stored.
        if request.reading().is_err() {
            return Err(Response::empty(Status::BAD_REQUEST));
        }
        // RFC 8470 section 5.2: the client sends it again after the handshake.
        if request.early && !request.method.is_safe() && !self.config.unsafe_early_data {
            return Err(Response::empty(Status::TOO_EARLY));
        }
        Ok(target)
    }

    fn store(&mut self, target: Target<'_>, request: &Request<'_>, body: &[u8]) -> Response {
        self.log.push(request.content_type, body);
        match target {
            Target::Test => {
                let is_new = self.stored.is_none();
                self.stored.get_or_insert_default().replace(request, body);
                // RFC 9110 section 9.3.4: a PUT that creates a representation must return 201.
                if is_new && request.method == Method::Put {
                    return self.stored_answer(Status::CREATED);
                }
            }
            Target::LongPoll { name, .. } => self.polls.post(name, request.content_type, body),
            Target::Messages { .. } => {}
        }
        self.stored_answer(Status::NO_CONTENT)
    }

    /// The answer to a request whose content was stored: with the status `empty`, or 200 and 201 with content.
    fn stored_answer(&self, empty: Status) -> Response {
        let Some(content) = &self.answer else {
            return Response::empty(empty);
        };
        Response {
            status: if empty.forbids_content() {
                Status::OK
            } else {
                empty
            },
            ..Response::ok(Some("text/plain"), content.clone())
        }
    }

    fn stored(&mut self) -> Response {
        let Some(stored) = &mut self.stored else {
            return Response::empty(Status::NOT_FOUND);
        };
        let bytes = &stored.bytes;
        let content = stored
            .shared
            .get_or_insert_with(|| Content::from(bytes.as_slice()));
        Response::ok(stored.content_type.as_deref(), content.clone())
    }
}

impl Stored {
    /// Replaces the content in the same memory.
    fn replace(&mut self, request: &Request<'_>, body: &[u8]) {
        copy_text(&mut self.content_type, request.content_type);
        self.bytes.clear();
        self.bytes.extend_from_slice(body);
        self.shared = None;
    }
}

/// Copies `text` into `kept` and reuses its memory.
fn copy_text(kept: &mut Option<String>, text: Option<&str>) {
    match (kept.as_mut(), text) {
        (Some(kept), Some(text)) => {
            kept.clear();
            kept.push_str(text);
        }
        (_, text) => *kept = text.map(String::from),
    }
}
