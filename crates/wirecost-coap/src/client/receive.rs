//! How a client handles a received datagram.

use alloc::boxed::Box;
use alloc::vec::Vec;

use wirecost_proto::{FlowId, Instant};

use super::exchange::{State, Subject};
use super::protection::Incoming;
use super::transfer::{Purpose, Step, Transfer};
use super::{Client, Config, Event, Ignored, Observation, Response, Waiting};
use crate::code::Code;
use crate::describe::Kind;
use crate::duplicates::Duplicates;
use crate::layout::Layout;
use crate::message::{Repr, Type, View};
use crate::option::{OptionNumber, Options};

/// The critical options in a response that this client supports.
fn supports(number: OptionNumber) -> bool {
    // RFC 7252 section 5.10, table 4 and RFC 7959: the other critical options belong in requests.
    matches!(number, OptionNumber::BLOCK1 | OptionNumber::BLOCK2)
}

/// Whether a message is a response without unsupported critical options.
pub(super) fn is_acceptable(repr: &Repr<'_>) -> bool {
    repr.code.is_response() && repr.options.unacceptable(supports).is_none()
}

impl Client {
    /// Handles a datagram that arrives after its flow was closed. It gets no answer, because the flow is closed.
    pub(super) fn receive_after_close(&mut self, flow: FlowId, bytes: &[u8]) {
        self.stats.made().unmatched += 1;
        self.outbox
            .consumed(flow, Layout::plain(bytes.len(), 0), Kind::ORIGINAL);
    }

    pub(super) fn receive(&mut self, flow: FlowId, bytes: &[u8], now: Instant) {
        let Ok(outer) = Repr::parse(bytes) else {
            self.stats.made().malformed += 1;
            self.stats.made().last_ignored = Some(Ignored::Malformed);
            self.outbox
                .consumed(flow, Layout::plain(bytes.len(), 0), Kind::ORIGINAL);
            if let Some(id) = View::new(bytes).rejectable() {
                self.reject(flow, id, Kind::ACKNOWLEDGEMENT);
            }
            return;
        };
        // The plaintext is borrowed while the client changes, so take its memory out and put it back.
        let mut plaintext = core::mem::take(&mut self.plaintext);
        let incoming = self.open(outer, bytes.len(), &mut plaintext);
        self.take(flow, &incoming, now);
        self.plaintext = plaintext;
    }

    fn take(&mut self, flow: FlowId, incoming: &Incoming<'_>, now: Instant) {
        let repr = &incoming.repr;
        let known = self.is_known(incoming, flow, now);
        let kind = match repr.kind {
            Type::Reset if self.last_ping != Some(repr.message_id) => Kind::ACKNOWLEDGEMENT,
            _ if known => Kind::from_repr(repr).again(),
            _ => Kind::from_repr(repr),
        };
        self.outbox.consumed(flow, incoming.layout, kind);
        match repr.kind {
            _ if known => self.answer_again(flow),
            _ if !incoming.is_verified => {
                self.stats.made().unverified += 1;
                self.stats.made().last_ignored = Some(Ignored::Unverified);
            }
            Type::Acknowledgement => self.take_ack(incoming, now),
            Type::Reset => self.take_reset(repr.message_id),
            // RFC 7252 section 4.3: an RST answers a ping.
            _ if repr.code == Code::EMPTY => self.reject(flow, repr.message_id, Kind::PONG),
            _ => self.take_separate(flow, incoming, now),
        }
    }

    /// Whether a response is a duplicate. A new one is recorded, unless it may be a forgery.
    fn is_known(&mut self, incoming: &Incoming<'_>, flow: FlowId, now: Instant) -> bool {
        let repr = &incoming.repr;
        let separate = matches!(repr.kind, Type::Confirmable | Type::NonConfirmable);
        let message = (flow, repr.message_id, repr.kind);
        if !separate || !repr.code.is_response() {
            return false;
        }
        let Config { parameters, rng, .. } = &self.config;
        let new = || Box::new(Duplicates::new(parameters, rng.purpose(3).at(0)));
        let duplicates = self.duplicates.get_or_insert_with(new);
        let known = duplicates.find(message, now, &mut self.answer).is_some();
        if !known && incoming.is_verified {
            duplicates.remember(message, now);
        }
        known
    }

    fn reject(&mut self, flow: FlowId, message_id: u16, kind: Kind) {
        self.stats.made().rejected += 1;
        let reset = Repr::empty(Type::Reset, message_id);
        self.outbox.send(flow, &reset, kind);
    }

    /// Answers a duplicate response as the first time (RFC 7252 section 4.5).
    fn answer_again(&mut self, flow: FlowId) {
        self.stats.made().duplicates += 1;
        if !self.answer.is_empty() {
            self.send_answer(flow);
        }
    }

    /// Sends the ACK or RST in `self.answer`.
    fn send_answer(&mut self, flow: FlowId) {
        let layout = Layout::plain(self.answer.len(), 0);
        self.outbox
            .send_encoded(flow, &self.answer, layout, Kind::ACKNOWLEDGEMENT);
    }

    fn take_ack(&mut self, incoming: &Incoming<'_>, now: Instant) {
        let ack = &incoming.repr;
        let mut exchanges = self.exchanges.iter();
        let Some(at) = exchanges.position(|exchange| exchange.awaits_ack(ack.message_id)) else {
            return self.ignore_message_id(ack.message_id);
        };
        let Some(exchange) = self.exchanges.get_mut(at) else {
            return;
        };
        if matches!(exchange.subject, Subject::Ping) {
            return self.take_pong(at);
        }
        if ack.code == Code::EMPTY {
            return self.take_empty_ack(at, now);
        }
        // RFC 7252 section 5.3.2: both the message id and the token of a piggybacked response must match.
        if exchange.token != ack.token || ack.options.unacceptable(supports).is_some() {
            self.stats.made().unmatched += 1;
            return self.record_mismatch(ack);
        }
        self.take_response(at, incoming, now);
    }

    /// Counts an ACK or RST for a message that is not outstanding.
    fn ignore_message_id(&mut self, got: u16) {
        self.stats.made().unmatched += 1;
        if let Some(oldest) = self.exchanges.first() {
            let awaited = oldest.message_id;
            self.stats.made().last_ignored = Some(Ignored::MessageId { got, awaited });
        }
    }

    /// Records why a message with a token answers no request.
    pub(super) fn record_mismatch(&mut self, repr: &Repr<'_>) {
        let oldest = self.exchanges.first().map(|exchange| exchange.token);
        let acceptable = is_acceptable(repr);
        self.stats.made().last_ignored = match oldest {
            Some(awaited) if acceptable && awaited != repr.token => Some(Ignored::Token {
                got: repr.token,
                awaited,
            }),
            _ => Some(Ignored::NoResponse),
        };
    }

    fn take_empty_ack(&mut self, at: usize, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(at) else {
            return;
        };
        exchange.state = State::AwaitResponse {
            deadline: now + self.config.response_timeout,
            outstanding_until: now,
        };
        let (message, transmissions) = (exchange.message, exchange.transmissions);
        let is_handshake = exchange.subject.is_handshake();
        if exchange.suppresses_all() {
            self.end(at);
        }
        if !is_handshake {
            self.outbox.event(Event::Acknowledged {
                message,
                transmissions,
            });
        }
    }

    fn take_reset(&mut self, message_id: u16) {
        let mut exchanges = self.exchanges.iter();
        let Some(at) = exchanges.position(|exchange| exchange.may_be_reset(message_id)) else {
            return self.ignore_message_id(message_id);
        };
        if self.last_ping == Some(message_id) {
            return self.take_pong(at);
        }
        let exchange = self.end(at);
        let message = exchange.message;
        self.report(&exchange, Event::Reset { message });
    }

    pub(super) fn take_pong(&mut self, at: usize) {
        let exchange = self.end(at);
        self.outbox.event(Event::Pong {
            message: exchange.message,
            transmissions: exchange.transmissions,
        });
    }

    /// Handles a message that is neither an ACK nor an RST, and not a duplicate.
    fn take_separate(&mut self, flow: FlowId, incoming: &Incoming<'_>, now: Instant) {
        let repr = &incoming.repr;
        if !is_acceptable(repr) {
            return self.refuse(flow, repr);
        }
        let mut exchanges = self.exchanges.iter();
        let mut observations = self.observations.iter();
        if let Some(at) = exchanges.position(|exchange| exchange.awaits_response(repr.token)) {
            self.acknowledge(flow, repr);
            self.take_response(at, incoming, now);
        } else if let Some(at) = observations.position(|observation| observation.token == repr.token) {
            self.acknowledge(flow, repr);
            self.take_notification(at, incoming, now);
        } else {
            self.refuse(flow, repr);
        }
    }

    /// Acknowledges a confirmable message. A duplicate gets the same ACK.
    fn acknowledge(&mut self, flow: FlowId, repr: &Repr<'_>) {
        if repr.kind == Type::Confirmable {
            self.answer_with(flow, repr, Type::Acknowledgement);
        }
    }

    /// Rejects an unexpected message. A NON is rejected only if the RST ends an observation (RFC 7641 section 3.6), and
    /// ignored otherwise (RFC 7252 section 4.3).
    fn refuse(&mut self, flow: FlowId, repr: &Repr<'_>) {
        self.record_mismatch(repr);
        if repr.kind == Type::Confirmable || repr.options.observe().is_some() {
            self.stats.made().rejected += 1;
            self.answer_with(flow, repr, Type::Reset);
        } else {
            self.stats.made().unmatched += 1;
        }
    }

    fn answer_with(&mut self, flow: FlowId, repr: &Repr<'_>, kind: Type) {
        self.answer.clear();
        Repr::empty(kind, repr.message_id).emit(&mut self.answer);
        self.send_answer(flow);
        // Only responses of a server are recorded. A request is rejected each time.
        if repr.kind == Type::Confirmable && repr.code.is_response() {
            let layout = Layout::plain(self.answer.len(), 0);
            if let Some(duplicates) = &mut self.duplicates {
                duplicates.answered(&self.answer, layout);
            }
        }
    }

    /// Handles the response to the current request of an exchange.
    pub(super) fn take_response(&mut self, at: usize, incoming: &Incoming<'_>, now: Instant) {
        let response = &incoming.repr;
        let max_body = self.config.max_body_bytes;
        let expires = self.renewal(response.options.max_age(), now);
        let Some(exchange) = self.exchanges.get_mut(at) else {
            return;
        };
        let Subject::Transfer(transfer) = &mut exchange.subject else {
            return;
        };
        if let Some(sequence) = registered(transfer, incoming) {
            self.observations.push(Observation {
                message: exchange.message,
                token: exchange.token,
                template: transfer.template.clone(),
                sequence,
                at: now,
                expires,
            });
        }
        match transfer.take_response(response, max_body) {
            Step::Continue => self.send_request(at, true, now),
            Step::Done(payload) => self.finish(at, response, payload),
            Step::Failed(failure) => self.fail(at, failure),
        }
    }

    fn finish(&mut self, at: usize, response: &Repr<'_>, payload: Vec<u8>) {
        let exchange = self.end(at);
        let whole = whole(exchange.message, response, payload, exchange.transmissions);
        let event = match exchange.subject.is_notification() {
            true => Event::Notification(whole),
            false => Event::Response(whole),
        };
        self.report(&exchange, event);
    }

    pub(super) fn take_notification(&mut self, at: usize, incoming: &Incoming<'_>, now: Instant) {
        let repr = &incoming.repr;
        let expires = self.renewal(repr.options.max_age(), now);
        let Some(observation) = self.observations.get_mut(at) else {
            return;
        };
        let (message, template) = (observation.message, observation.template.clone());
        match incoming.observe {
            Some(sequence) if repr.code.is_success() => {
                if !observation.advance(sequence, now) {
                    self.stats.made().stale += 1;
                    return;
                }
                observation.expires = expires;
            }
            // RFC 7641 section 3.2: a notification without Observe or with an error ends the observation.
            _ => {
                self.observations.swap_remove(at);
            }
        }
        let mut transfer = Transfer::new(template, Purpose::Notification, &self.config);
        match transfer.begin_download(repr, self.config.max_body_bytes) {
            Step::Done(payload) => {
                let notification = whole(message, repr, payload, 0);
                self.outbox.event(Event::Notification(notification));
            }
            // RFC 7959 section 3.4: a separate GET fetches the rest of a large notification.
            Step::Continue => self.complete_notification(message, transfer),
            Step::Failed(failure) => self.outbox.event(Event::Failed { message, failure }),
        }
    }

    /// Queues the request for the rest of a large notification, in place of the request for an earlier one. A server
    /// may send notifications faster than NSTART allows, and only the last one has the current state (RFC 7641 section
    /// 1.3).
    fn complete_notification(&mut self, message: u64, transfer: Transfer) {
        let is_earlier = |waiting: &Waiting| waiting.message == message && waiting.subject.is_notification();
        if let Some(at) = self.waiting.iter().position(is_earlier) {
            self.waiting.remove(at);
            self.stats.made().stale += 1;
        }
        self.waiting.push_front(Waiting {
            message,
            subject: Subject::Transfer(transfer),
            token: None,
        });
    }
}

/// The sequence number of the observation that begins with the response to a registration (RFC 7641 section 3.1).
fn registered(transfer: &Transfer, incoming: &Incoming<'_>) -> Option<u32> {
    let registers = transfer.purpose == Purpose::Register && transfer.is_first();
    let succeeded = incoming.repr.code.is_success();
    incoming.observe.filter(|_| registers && succeeded)
}

/// The event's part of a response or notification whose body is complete.
fn whole(message: u64, last: &Repr<'_>, payload: Vec<u8>, transmissions: u32) -> Response {
    Response {
        message,
        code: last.code,
        token: last.token,
        options: Options::copied(last.options),
        payload,
        transmissions,
    }
}
