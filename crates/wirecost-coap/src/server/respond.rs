//! Turns an answer into datagrams.

use alloc::vec::Vec;

use wirecost_proto::{FlowId, Instant};

use super::Server;
use super::assembly::Key;
use super::protection::Protected;
use super::queue::{Outgoing, Purpose, State};
use super::resource::{Answer, Content};
use super::write::{Envelope, Requested};
use crate::code::{Code, Method};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::{Repr, Type};
use crate::option::OptionsView;
use crate::oscore::ResponseNonce;
use crate::token::Token;

/// The limit of unfinished separate responses to one peer. Each may wait 93 s for its ACK, and for the earlier ones
/// (RFC 7252 sections 4.7 and 4.8.2).
const MAX_SEPARATE_PER_PEER: usize = 16;
/// The limit of unfinished separate responses to all peers.
const MAX_SEPARATE: usize = 4_096;

/// The parts of a request that its response needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) flow: FlowId,
    pub(super) kind: Type,
    pub(super) message_id: u16,
    pub(super) token: Token,
    pub(super) protected: Option<Protected>,
    no_response: u8,
}

impl Exchange {
    pub(super) fn new(flow: FlowId, repr: &Repr<'_>, protected: Option<Protected>) -> Self {
        Self {
            flow,
            kind: repr.kind,
            message_id: repr.message_id,
            token: repr.token,
            protected,
            no_response: repr.options.no_response().unwrap_or(0),
        }
    }

    /// The type of the immediate response: piggybacked in an ACK, or NON.
    pub(super) fn response_kind(&self) -> Type {
        match self.kind {
            Type::Confirmable => Type::Acknowledgement,
            _ => Type::NonConfirmable,
        }
    }

    /// The envelope of the only response of the exchange, which may use the request's nonce.
    fn envelope(&self, kind: Type, message_id: u16) -> Envelope {
        let with_nonce = |protected| (protected, ResponseNonce::OfRequest);
        Envelope {
            flow: self.flow,
            kind,
            token: self.token,
            message_id,
            protection: self.protected.map(with_nonce),
        }
    }

    /// Whether the client suppresses responses of the class of `code` (RFC 7967 section 2.1).
    fn suppresses(&self, code: Code) -> bool {
        let class = code.class_digit().saturating_sub(1);
        self.no_response & (1 << class) != 0
    }
}

/// A response body that the client fetches with further requests, block by block (RFC 7959 section 3.3).
#[derive(Debug)]
pub(super) struct Continuation {
    pub(super) key: Key,
    code: Code,
    format: u16,
    body: Vec<u8>,
}

impl Continuation {
    /// Bytes of its body.
    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }
}

impl Server {
    /// Sends an answer that does not depend on a resource.
    pub(super) fn respond_bare(&mut self, exchange: &Exchange, answer: &Answer, requested: &Requested) {
        self.stats.refused += u64::from(!answer.code.is_success());
        if self.suppress(exchange, answer.code) {
            return;
        }
        let message_id = self.response_id(exchange);
        let envelope = exchange.envelope(exchange.response_kind(), message_id);
        if let Some(layout) = self.write(&envelope, None, answer, requested) {
            self.send_response(exchange, layout);
        }
    }

    /// Sends the answer of the resource in `key`.
    pub(super) fn respond(
        &mut self,
        exchange: &Exchange,
        key: Key,
        answer: Answer,
        requested: Requested,
        now: Instant,
    ) {
        self.stats.refused += u64::from(!answer.code.is_success());
        if self.suppress(exchange, answer.code) {
            return;
        }
        let resource = Some(key.resource);
        if answer.separate && self.may_separate(exchange.flow) {
            return self.respond_separately(exchange, resource, &answer, &requested, now);
        }
        let message_id = self.response_id(exchange);
        let envelope = exchange.envelope(exchange.response_kind(), message_id);
        if let Some(layout) = self.write(&envelope, resource, &answer, &requested) {
            self.send_response(exchange, layout);
            self.keep_continuation(key, answer, layout.payload as usize, now);
        }
    }

    fn may_separate(&self, flow: FlowId) -> bool {
        let (of_peer, of_all) = self.outgoings.separate(flow);
        of_peer < MAX_SEPARATE_PER_PEER && of_all < MAX_SEPARATE
    }

    /// Leaves out a response that the client suppresses. Returns whether it did.
    pub(super) fn suppress(&mut self, exchange: &Exchange, code: Code) -> bool {
        let suppressed = exchange.suppresses(code);
        if suppressed {
            self.stats.suppressed += 1;
            self.acknowledge(exchange);
        }
        suppressed
    }

    /// Sends the empty ACK of a confirmable request (RFC 7967 section 2: the ACK is not suppressed).
    fn acknowledge(&mut self, exchange: &Exchange) {
        if exchange.kind != Type::Confirmable {
            return;
        }
        self.datagram.clear();
        Repr::empty(Type::Acknowledgement, exchange.message_id).emit(&mut self.datagram);
        self.send_response(exchange, Layout::plain(self.datagram.len(), 0));
    }

    pub(super) fn response_id(&mut self, exchange: &Exchange) -> u16 {
        match exchange.kind {
            Type::Confirmable => exchange.message_id,
            _ => self.next_message_id(exchange.flow),
        }
    }

    /// Sends the encoded response: as the recorded ACK of a confirmable request, or as a NON.
    fn send_response(&mut self, exchange: &Exchange, layout: Layout) {
        let kind = match exchange.kind {
            Type::Confirmable => Kind::ACKNOWLEDGEMENT,
            _ => self.sent_kind(&self.datagram, layout),
        };
        self.outbox
            .send_encoded(exchange.flow, &self.datagram, layout, kind);
        if exchange.kind == Type::Confirmable {
            self.duplicates.answered(&self.datagram, layout);
        }
    }

    /// Sends an empty ACK now, and the response later (RFC 7252 section 5.2.2).
    fn respond_separately(
        &mut self,
        exchange: &Exchange,
        resource: Option<usize>,
        answer: &Answer,
        requested: &Requested,
        now: Instant,
    ) {
        self.acknowledge(exchange);
        let message_id = self.next_message_id(exchange.flow);
        // RFC 7252 section 5.2.3: a NON request gets a NON response.
        let envelope = exchange.envelope(exchange.kind, message_id);
        let Some(layout) = self.write(&envelope, resource, answer, requested) else {
            return;
        };
        self.outgoings.push(Outgoing {
            flow: exchange.flow,
            message_id,
            confirmable: exchange.kind == Type::Confirmable,
            datagram: self.datagram.clone(),
            layout,
            purpose: Purpose::Separate,
            state: State::Delayed {
                due: now + self.config.separate_delay,
            },
        });
    }

    /// Keeps the body of a response to a method other than GET, if it exceeds one block.
    fn keep_continuation(&mut self, key: Key, answer: Answer, sent: usize, now: Instant) {
        let Content::Made(format, body) = answer.content else {
            return;
        };
        if key.method == Method::Get || body.len() <= sent {
            return;
        }
        self.continuations.expire(now);
        let earlier = self.continuations.find(key.flow, |kept| kept.key == key);
        earlier.and_then(|entry| self.continuations.remove(entry));
        let expires = now + self.config.parameters.exchange_lifetime();
        let made = Continuation {
            key,
            code: answer.code,
            format,
            body,
        };
        let most = self.config.max_assemblies_per_peer;
        self.continuations.push(key.flow, made, expires, most);
    }

    /// Answers a request for a further block of a kept body. Returns false if it is another request.
    pub(super) fn respond_continued(
        &mut self,
        exchange: &Exchange,
        key: Key,
        options: OptionsView<'_>,
        now: Instant,
    ) -> bool {
        let further = options
            .block2()
            .filter(|block| block.number > 0 && key.method != Method::Get);
        let Some(block) = further else {
            return false;
        };
        self.continuations.expire(now);
        let entry = self.continuations.find(key.flow, |kept| kept.key == key);
        let Some(kept) = entry.and_then(|entry| self.continuations.get_mut(entry)) else {
            // RFC 7959 section 2.9.2: the body of this block is not known any more.
            let incomplete = Answer::code(Code::REQUEST_ENTITY_INCOMPLETE);
            self.respond_bare(exchange, &incomplete, &Requested::default());
            return true;
        };
        let mut answer = Answer::code(kept.code);
        // The answer borrows the body while it is encoded.
        answer.content = Content::Made(kept.format, core::mem::take(&mut kept.body));
        let requested = Requested {
            block2: Some(block),
            ..Requested::default()
        };
        self.respond_bare(exchange, &answer, &requested);
        let kept = entry.and_then(|entry| self.continuations.get_mut(entry));
        if let (Content::Made(_, body), Some(kept)) = (answer.content, kept) {
            kept.body = body;
        }
        true
    }
}
