//! How the server handles a received datagram.

use wirecost_proto::{FlowId, Front, Instant};

use super::assembly::{Key, Limits, Progress};
use super::protection::{Incoming, Protected};
use super::resource::{self, Answer, Body, Effect, Request};
use super::respond::Exchange;
use super::write::Requested;
use super::{Event, Server};
use crate::block::Block;
use crate::code::{Class, Code, Method};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::{Repr, Type, View};
use crate::option::{OptionNumber, OptionsView};

/// The critical options in a request that this server supports.
fn supports(number: OptionNumber) -> bool {
    matches!(
        number,
        OptionNumber::IF_MATCH
            | OptionNumber::URI_HOST
            | OptionNumber::IF_NONE_MATCH
            | OptionNumber::URI_PORT
            | OptionNumber::URI_PATH
            | OptionNumber::URI_QUERY
            | OptionNumber::ACCEPT
            | OptionNumber::BLOCK1
            | OptionNumber::BLOCK2
            | OptionNumber::PROXY_URI
            | OptionNumber::PROXY_SCHEME
    )
}

impl Server {
    pub(super) fn receive(&mut self, flow: FlowId, bytes: &[u8], now: Instant) {
        let Ok(repr) = Repr::parse(bytes) else {
            self.stats.malformed += 1;
            self.outbox
                .consumed(flow, Layout::plain(bytes.len(), 0), Kind::ORIGINAL);
            return match View::new(bytes).rejectable() {
                Some(id) => self.reject(flow, id, Kind::ACKNOWLEDGEMENT),
                None => self.stats.ignored += 1,
            };
        };
        let layout = Layout::visible(&repr, bytes.len());
        let mut consumed = |kind| self.outbox.consumed(flow, layout, kind);
        match (repr.kind, repr.code.class()) {
            (Type::Acknowledgement, _) => {
                consumed(Kind::ACKNOWLEDGEMENT);
                self.take_ack(flow, repr.message_id, now);
            }
            (Type::Reset, _) => {
                // The server sends no pings, so every RST rejects a response or a notification.
                consumed(Kind::ACKNOWLEDGEMENT);
                self.take_reset(flow, repr.message_id);
            }
            (_, Class::Empty) => {
                // RFC 7252 section 4.3: an RST answers a ping.
                consumed(Kind::from_repr(&repr));
                self.send_reset(flow, repr.message_id, Kind::PONG);
            }
            (_, Class::Request) => self.take_message(flow, bytes.len(), repr, now),
            (kind, _) => {
                consumed(Kind::ORIGINAL);
                match kind {
                    Type::Confirmable => self.reject(flow, repr.message_id, Kind::ACKNOWLEDGEMENT),
                    _ => self.stats.ignored += 1,
                }
            }
        }
    }

    fn reject(&mut self, flow: FlowId, message_id: u16, kind: Kind) {
        self.stats.rejected += 1;
        self.send_reset(flow, message_id, kind);
    }

    fn send_reset(&mut self, flow: FlowId, message_id: u16, kind: Kind) {
        let reset = Repr::empty(Type::Reset, message_id);
        self.outbox.send(flow, &reset, kind);
    }

    /// Handles a request of `len` bytes, unless it is a duplicate (RFC 7252 section 4.5).
    fn take_message(&mut self, flow: FlowId, len: usize, outer: Repr<'_>, now: Instant) {
        let message = (flow, outer.message_id, outer.kind);
        let answer = self.duplicates.find(message, now, &mut self.datagram);
        // The plaintext is borrowed while the server changes, so take its memory out and put it back.
        let mut plaintext = core::mem::take(&mut self.plaintext);
        match (self.open(outer, len, answer.is_some(), &mut plaintext), answer) {
            (opened, Some(answer)) => self.answer_duplicate(flow, (&outer, len), opened.ok(), answer),
            (Ok(incoming), None) => {
                self.duplicates.remember(message, now);
                self.outbox
                    .consumed(flow, incoming.layout, Kind::from_repr(&outer));
                self.take_request(flow, &incoming, now);
            }
            (Err(refusal), None) => {
                let layout = Layout::visible(&outer, len);
                self.outbox.consumed(flow, layout, Kind::from_repr(&outer));
                self.refuse(flow, &outer, &refusal);
            }
        }
        self.plaintext = plaintext;
    }

    /// Answers a duplicate as the first time.
    fn answer_duplicate(
        &mut self,
        flow: FlowId,
        (outer, len): (&Repr<'_>, usize),
        incoming: Option<Incoming<'_>>,
        answer: Option<Layout>,
    ) {
        self.stats.duplicates += 1;
        let layout = incoming.as_ref().map(|incoming| incoming.layout);
        let layout = layout.unwrap_or_else(|| Layout::visible(outer, len));
        self.outbox.consumed(flow, layout, Kind::from_repr(outer).again());
        if let Some(incoming) = incoming {
            self.report_duplicate(flow, &incoming.repr);
        }
        if let Some(layout) = answer {
            self.outbox
                .send_encoded(flow, &self.datagram, layout, Kind::ACKNOWLEDGEMENT);
        }
    }

    fn report_duplicate(&mut self, flow: FlowId, repr: &Repr<'_>) {
        let resource = resource::route(&self.tree, repr.options);
        let (Some(method), Some(resource)) = (Method::from_code(repr.code), resource) else {
            return;
        };
        // A repeated block does not count as a repeated message.
        if repr.options.block1().is_none() {
            self.outbox.event(Event::MessageReceived {
                flow,
                method,
                path: self.path(resource),
                payload_bytes: repr.payload.len() as u64,
                front: Front::from_payload(repr.payload),
                duplicate: true,
            });
        }
    }

    pub(super) fn take_request(&mut self, flow: FlowId, incoming: &Incoming<'_>, now: Instant) {
        let (repr, protected) = (&incoming.repr, incoming.protected);
        let exchange = Exchange::new(flow, repr, protected);
        let is_ignorable = repr.kind == Type::NonConfirmable && !self.is_stream();
        if repr.options.unacceptable(supports).is_some() && is_ignorable {
            // RFC 7252 section 5.4.1: such a NON is rejected, for example by ignoring it.
            self.stats.ignored += 1;
            return;
        }
        if protected.is_none() && self.takes_edhoc(repr) {
            return self.take_edhoc(&exchange, repr);
        }
        let (resource, method) = match self.admit(repr) {
            Ok(admitted) => admitted,
            Err(code) => return self.respond_code(&exchange, code, None),
        };
        let may_be_old = protected.is_some_and(Protected::may_be_old);
        if may_be_old && method != Method::Get {
            return self.respond_code(&exchange, Code::UNAUTHORIZED, None);
        }
        let key = Key {
            flow,
            resource,
            method,
            session: protected.map(|protected| protected.session),
        };
        if self.respond_continued(&exchange, key, repr.options, now) {
            return;
        }
        let Some(block) = repr.options.block1() else {
            return self.carry_out(&exchange, key, repr.options, Body::Datagram(repr.payload), now);
        };
        let tag = repr.options.first(OptionNumber::REQUEST_TAG);
        let tag = tag.map(|option| option.value);
        let size1 = repr.options.uint(OptionNumber::SIZE1);
        let taken = self
            .assemblies
            .take((key, tag), (block, repr.payload), size1, self.limits(), now);
        match taken {
            Progress::Whole(body) => {
                self.carry_out(&exchange, key, repr.options, Body::Assembled(body), now);
            }
            Progress::Continue => self.respond_code(&exchange, Code::CONTINUE, Some(block)),
            Progress::Refused(code) => self.respond_code(&exchange, code, Some(block)),
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            max_body: self.config.max_body_bytes,
            max_per_peer: self.config.max_assemblies_per_peer,
            lifetime: self.config.parameters.exchange_lifetime(),
        }
    }

    /// The resource and the method of a request, or the code of the error response.
    fn admit(&self, repr: &Repr<'_>) -> Result<(usize, Method), Code> {
        let options = repr.options;
        if options.unacceptable(supports).is_some() {
            return Err(Code::BAD_OPTION);
        }
        let proxied = [OptionNumber::PROXY_URI, OptionNumber::PROXY_SCHEME];
        if proxied.into_iter().any(|number| options.first(number).is_some()) {
            return Err(Code::PROXYING_NOT_SUPPORTED);
        }
        if options.has_bert_block() && !self.is_stream() {
            // RFC 7959 section 2.2: the size exponent 7 is reserved in datagrams.
            return Err(Code::BAD_REQUEST);
        }
        // RFC 7252 section 5.8: 4.05 for an unknown or unsupported method.
        let method = Method::from_code(repr.code).ok_or(Code::METHOD_NOT_ALLOWED)?;
        let resource = resource::route(&self.tree, options).ok_or(Code::NOT_FOUND)?;
        match self.tree.get(resource) {
            Some(found) if found.definition.methods.contains(&method) => Ok((resource, method)),
            _ => Err(Code::METHOD_NOT_ALLOWED),
        }
    }

    /// Processes a whole request and answers it.
    fn carry_out(
        &mut self,
        exchange: &Exchange,
        key: Key,
        options: OptionsView<'_>,
        body: Body<'_>,
        now: Instant,
    ) {
        let (payload_bytes, front) = (body.bytes().len() as u64, Front::from_payload(body.bytes()));
        let method = key.method;
        self.begin_observation(key, options);
        let request = Request {
            method,
            options,
            body,
        };
        let answer = resource::answer(&mut self.tree, key.resource, request);
        if answer.code.is_success() {
            self.outbox.event(Event::MessageReceived {
                flow: exchange.flow,
                method,
                path: self.path(key.resource),
                payload_bytes,
                front,
                duplicate: false,
            });
        }
        let observe = self.observe(exchange, key, options, &answer, now);
        let requested = Requested {
            observe,
            block1: options.block1(),
            block2: options.block2(),
            wants_size2: options.uint(OptionNumber::SIZE2) == Some(0),
        };
        let effect = answer.effect;
        self.respond(exchange, key, answer, requested, now);
        self.apply(key.resource, effect, now);
    }

    /// Notifies observers of the effect of a request.
    fn apply(&mut self, resource: usize, effect: Effect, now: Instant) {
        match effect {
            Effect::Nothing => {}
            Effect::Changed => self.notify(resource, now),
            Effect::FormatChanged => self.end_observation(resource),
            Effect::Removed => self.dismiss(resource, Some(&Answer::code(Code::NOT_FOUND))),
            Effect::Forgets(path) => {
                let mut tree = self.tree.iter();
                if let Some(forgotten) = tree.position(|resource| resource.definition.path == path) {
                    self.dismiss(forgotten, None);
                }
            }
        }
    }

    pub(super) fn respond_code(&mut self, exchange: &Exchange, code: Code, block1: Option<Block>) {
        let requested = Requested {
            block1,
            ..Requested::default()
        };
        self.respond_bare(exchange, &Answer::code(code), &requested);
    }
}
