//! The server's state of one connection.

use wirecost_proto::{FlowId, Front, Held, Instant, kept};

use super::ServerConfig;
use crate::http1::body::Body;
use crate::http1::head::{Collector, RequestHead, Side};
use crate::message::Method;
use crate::resource::{Request, RequestId};

/// A connection, from its opening to its end.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) flow: FlowId,
    pub(super) collector: Collector,
    pub(super) stage: Stage,
    /// The request that is being received or answered. The next one reuses its memory.
    pub(super) current: CurrentRequest,
    /// The content received so far.
    pub(super) content: Vec<u8>,
    /// Bytes of early data that are still to come.
    pub(super) early_bytes: usize,
    /// The time-out of the connection.
    pub(super) deadline: Option<Instant>,
    /// When the connection is checked next, at the deadline or before.
    pub(super) scheduled: Option<Instant>,
    /// Bytes of content in the responses to the last input.
    pub(super) answered_bytes: usize,
    pub(super) requests: u64,
}

/// The state of a connection.
#[derive(Debug)]
pub(super) enum Stage {
    AwaitHead,
    /// If `refused`, the request is answered and its content is discarded.
    AwaitBody {
        body: Body,
        refused: bool,
    },
    /// The request waits for its response. Bytes after it are held.
    Waiting {
        held: Vec<u8>,
    },
    /// The server has closed. Content already on its way may still arrive.
    Lingering {
        body: Option<Body>,
    },
}

/// A request, from its head.
#[derive(Debug)]
pub(super) struct CurrentRequest {
    pub(super) method: Method,
    pub(super) keeps_alive: bool,
    pub(super) early: bool,
    /// Bytes of content so far.
    pub(super) content_bytes: u64,
    /// The start of the content.
    pub(super) front: Front,
    target: String,
    content_type: String,
}

impl CurrentRequest {
    /// The request in the form that the resources use.
    pub(super) fn request(&self) -> Request<'_> {
        Request {
            method: self.method,
            target: &self.target,
            content_type: Some(self.content_type.as_str()).filter(|text| !text.is_empty()),
            early: self.early,
        }
    }

    pub(super) fn replace(&mut self, head: &RequestHead<'_>, early: bool) {
        self.method = head.method;
        self.keeps_alive = head.keeps_alive;
        self.early = early;
        self.content_bytes = 0;
        self.front = Front::EMPTY;
        self.target.clear();
        self.target.push_str(head.target);
        self.content_type.clear();
        self.content_type.push_str(head.content_type.unwrap_or(""));
    }
}

impl Connection {
    pub(super) const fn new(flow: FlowId, max_head_bytes: usize) -> Self {
        Self {
            flow,
            collector: Collector::new(Side::Server, max_head_bytes),
            stage: Stage::AwaitHead,
            current: CurrentRequest {
                method: Method::Get,
                keeps_alive: true,
                early: false,
                content_bytes: 0,
                front: Front::EMPTY,
                target: String::new(),
                content_type: String::new(),
            },
            content: Vec::new(),
            early_bytes: 0,
            deadline: None,
            scheduled: None,
            answered_bytes: 0,
            requests: 0,
        }
    }

    /// Drops the content of an answered request.
    pub(super) fn drop_content(&mut self) {
        kept::empty(&mut self.content);
    }

    /// Identifies the current request.
    pub(super) const fn request_id(&self) -> RequestId {
        RequestId {
            flow: self.flow,
            request: self.requests,
        }
    }

    /// Whether a request has begun and is incomplete.
    pub(super) fn is_within_request(&self) -> bool {
        match &self.stage {
            Stage::AwaitHead => self.collector.held() > 0,
            Stage::AwaitBody { .. } => true,
            Stage::Waiting { .. } | Stage::Lingering { .. } => false,
        }
    }

    /// What is held of requests that are incomplete, or wait behind another one. Time-outs end these.
    pub(super) fn held(&self) -> Held {
        let behind = match &self.stage {
            Stage::Waiting { held } => kept::memory(held),
            Stage::AwaitHead | Stage::AwaitBody { .. } | Stage::Lingering { .. } => 0,
        };
        Held {
            bytes: self.collector.held() + kept::memory(&self.content) + behind,
            is_unfinished: self.is_within_request(),
        }
    }

    /// Drops the bytes that were held. Returns their number.
    pub(super) fn drop_held(&mut self) -> usize {
        let behind = match &mut self.stage {
            Stage::Waiting { held } => std::mem::take(held).len(),
            _ => 0,
        };
        self.collector.clear() + behind
    }

    /// The time-out after an input at `now`. `is_same_head` says whether the input only continued a head.
    pub(super) fn next_deadline(
        &self,
        is_same_head: bool,
        config: &ServerConfig,
        now: Instant,
    ) -> Option<Instant> {
        match &self.stage {
            Stage::AwaitHead if self.collector.held() == 0 => Some(now + config.idle_timeout),
            // The time-out runs from the first byte. Further bytes do not extend it.
            Stage::AwaitHead if is_same_head => self.deadline,
            Stage::AwaitHead => Some(now + config.header_timeout),
            Stage::AwaitBody { .. } => Some(now + config.body_timeout),
            Stage::Waiting { .. } => None,
            Stage::Lingering { .. } => Some(now + config.linger),
        }
    }
}
