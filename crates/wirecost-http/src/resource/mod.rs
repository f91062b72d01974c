//! The reference server's resources, the same in either version.
//!
//! | resource | methods | what it does |
//! |---|---|---|
//! | `/test` | POST, PUT, GET, HEAD | stores and answers 204 (201 where PUT makes it); gives back the last content |
//! | `/long-poll/NAME?timeout=30` | GET, POST, PUT | GET waits for the next value that is posted there, or answers 204 at its time-out, in seconds |
//! | `/messages?next_key=K&limit=N` | GET, HEAD, POST | pages through everything that was posted anywhere, oldest first |
//!
//! A resource is asked twice: [`Resources::check`] when the head of a request is there, so that what is refused need
//! not be received, and [`Resources::answer`] when its content is there.

mod log;
mod polls;
mod target;
#[cfg(test)]
mod tests;

use std::time::Duration;

use wirecost_proto::{Content, FlowId, Instant};

use crate::message::{Method, Response, Status};
use log::Log;
use polls::Polls;
use target::{Fault, Target};

/// What the resources allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of the longest content that is taken; 413 above it.
    pub max_body_bytes: u64,
    /// Whether methods that change something are allowed in early data, which anyone may have replayed (RFC 8470
    /// section 3).
    pub unsafe_early_data: bool,
    /// Messages that `/messages` keeps; the oldest one makes room for the next.
    pub kept_messages: usize,
    /// Bytes of content that `/messages` keeps at most.
    pub kept_bytes: usize,
    /// How long a long poll waits at most, and where it does not say.
    pub max_poll: Duration,
    /// Long polls that wait at the same time; one more is answered 204 at once.
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
            max_waiting: 100_000,
        }
    }
}

/// Whose request it is: answers of long polls come later, and not in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exchange {
    /// The flow it came on.
    pub flow: FlowId,
    /// Its number within the flow, as the server counts.
    pub request: u64,
}

impl Exchange {
    /// Before all others in their order.
    const FIRST: Self = Self {
        flow: FlowId(0),
        request: 0,
    };
}

/// What the resources need to know of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Method.
    pub method: Method,
    /// Path and query.
    pub target: &'a str,
    /// Media type of the content.
    pub content_type: Option<&'a str>,
    /// Whether any of it came as early data.
    pub early: bool,
}

/// The resources of one server, shared by all its flows.
#[derive(Debug)]
pub struct Resources {
    config: Config,
    stored: Option<Stored>,
    log: Log,
    polls: Polls,
}

#[derive(Debug, Default)]
struct Stored {
    content_type: Option<String>,
    bytes: Vec<u8>,
    /// The bytes again, once someone has asked for them: answers share one copy.
    shared: Option<Content>,
}

impl Resources {
    /// Resources in which nothing is stored.
    pub fn new(config: Config) -> Self {
        Self {
            stored: None,
            log: Log::new(config.kept_messages, config.kept_bytes),
            polls: Polls::new(config.max_waiting),
            config,
        }
    }

    /// What is allowed.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Messages posted so far.
    pub fn posted(&self) -> u64 {
        self.log.posted()
    }

    /// Looks at the head of a request, with the length of its content where that is known.
    ///
    /// # Errors
    /// The refusal that answers it: 400, 404, 405, 413 or 425.
    pub fn check(&self, request: &Request<'_>, content_length: Option<u64>) -> Result<(), Response> {
        self.admit(request).map_err(Fault::response)?;
        if content_length.is_some_and(|bytes| bytes > self.config.max_body_bytes) {
            return Err(Response::empty(Status::CONTENT_TOO_LARGE));
        }
        Ok(())
    }

    /// Answers a request whose content is complete; `None` where it waits, and is answered by
    /// `Resources::poll_answer`.
    pub fn answer(
        &mut self,
        exchange: Exchange,
        request: &Request<'_>,
        body: &[u8],
        now: Instant,
    ) -> Option<Response> {
        let target = match self.admit(request) {
            Ok(target) => target,
            Err(fault) => return Some(fault.response()),
        };
        if matches!(request.method, Method::Post | Method::Put) {
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
                // A HEAD asks what there is now.
                let waits = request.method == Method::Get && self.polls.wait(exchange, name, deadline);
                (!waits).then(|| Response::empty(Status::NO_CONTENT))
            }
        }
    }

    /// The next answer to a request that waited.
    pub(crate) fn poll_answer(&mut self) -> Option<(Exchange, Response)> {
        self.polls.next_answer()
    }

    /// Answers the long polls whose time is up.
    pub fn expire(&mut self, now: Instant) {
        self.polls.expire(now);
    }

    /// When the next long poll's time is up.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.polls.next_deadline()
    }

    /// Forgets the requests of a flow that wait.
    pub fn forget(&mut self, flow: FlowId) {
        let number = |request| Exchange { flow, request };
        self.polls.forget(number(0)..=number(u64::MAX));
    }

    /// Forgets one request that waits.
    pub(crate) fn forget_exchange(&mut self, exchange: Exchange) {
        self.polls.forget(exchange..=exchange);
    }

    /// What the request is about, if it may be.
    fn admit<'a>(&self, request: &Request<'a>) -> Result<Target<'a>, Fault> {
        let target = Target::parse(request.target)?;
        if !target.methods().contains(&request.method) {
            return Err(Fault::Method(target.allow()));
        }
        // RFC 8470 section 5.2: the client sends it again after the handshake.
        if request.early && !request.method.is_safe() && !self.config.unsafe_early_data {
            return Err(Fault::Early);
        }
        Ok(target)
    }

    fn store(&mut self, target: Target<'_>, request: &Request<'_>, body: &[u8]) -> Response {
        self.log.push(request.content_type, body);
        match target {
            Target::Test => {
                let is_new = self.stored.is_none();
                self.stored.get_or_insert_default().replace(request, body);
                // RFC 9110 section 9.3.4: a PUT that makes a representation must say so.
                if is_new && request.method == Method::Put {
                    return Response::empty(Status::CREATED);
                }
            }
            Target::LongPoll { name, .. } => self.polls.post(name, request.content_type, body),
            Target::Messages { .. } => {}
        }
        Response::empty(Status::NO_CONTENT)
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
    /// Takes the place of what was there, in the same memory.
    fn replace(&mut self, request: &Request<'_>, body: &[u8]) {
        copy_text(&mut self.content_type, request.content_type);
        self.bytes.clear();
        self.bytes.extend_from_slice(body);
        self.shared = None;
    }
}

/// Copies `text` into the memory that `kept` has.
fn copy_text(kept: &mut Option<String>, text: Option<&str>) {
    match (kept.as_mut(), text) {
        (Some(kept), Some(text)) => {
            kept.clear();
            kept.push_str(text);
        }
        (_, text) => *kept = text.map(String::from),
    }
}
