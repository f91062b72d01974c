//! From an answer to the datagrams that carry it.

use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{FlowId, Instant};

use super::assembly::Key;
use super::outgoing::{Outgoing, Purpose, State};
use super::resource::{Answer, Content, Resource};
use super::{Config, Server};
use crate::block::{Block, BlockSize};
use crate::code::{Code, Method};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::{Repr, Type};
use crate::option::{OptionNumber, Options, OptionsView};
use crate::outbox::Datagram;
use crate::token::Token;

/// What a response needs of its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) flow: FlowId,
    pub(super) kind: Type,
    pub(super) message_id: u16,
    pub(super) token: Token,
    no_response: u8,
}

impl Exchange {
    pub(super) fn new(flow: FlowId, repr: &Repr<'_>) -> Self {
        Self {
            flow,
            kind: repr.kind,
            message_id: repr.message_id,
            token: repr.token,
            no_response: repr.options.no_response().unwrap_or(0),
        }
    }

    /// Whether the client does not want responses of the class of `code` (RFC 7967 section 2.1).
    fn suppresses(&self, code: Code) -> bool {
        let class = code.class_digit().saturating_sub(1);
        self.no_response & (1 << class) != 0
    }
}

/// What a request asks of the form of its response, and what its response has to repeat.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// The sequence number of a registration or notification.
    pub(super) observe: Option<u32>,
    pub(super) block1: Option<Block>,
    pub(super) block2: Option<Block>,
    pub(super) wants_size2: bool,
}

/// A body that a request made and that further requests fetch block by block (RFC 7959 section 3.3).
#[derive(Debug)]
pub(super) struct Continuation {
    pub(super) key: Key,
    code: Code,
    format: u16,
    body: Vec<u8>,
    expires: Instant,
}

/// The part of a body that goes into one message.
struct Part<'a> {
    bytes: &'a [u8],
    block: Option<Block>,
    format: Option<u16>,
    size2: Option<u32>,
}

impl Server {
    /// Answers without looking at a resource.
    pub(super) fn respond_bare(&mut self, exchange: &Exchange, answer: &Answer, asked: &Asked) {
        self.stats.refused += u64::from(!answer.code.is_success());
        if self.suppress(exchange, answer.code) {
            return;
        }
        let message_id = self.response_id(exchange);
        let layout = self.write(
            response_kind(exchange),
            (exchange.token, message_id),
            None,
            answer,
            asked,
        );
        self.send_response(exchange, layout);
    }

    /// Answers for the resource of `key`.
    pub(super) fn respond(
        &mut self,
        exchange: &Exchange,
        key: Key,
        answer: Answer,
        asked: Asked,
        now: Instant,
    ) {
        self.stats.refused += u64::from(!answer.code.is_success());
        if self.suppress(exchange, answer.code) {
            return;
        }
        let resource = Some(key.resource);
        if answer.separate {
            return self.respond_separately(exchange, resource, &answer, &asked, now);
        }
        let message_id = self.response_id(exchange);
        let envelope = (exchange.token, message_id);
        let layout = self.write(response_kind(exchange), envelope, resource, &answer, &asked);
        self.send_response(exchange, layout);
        self.keep_continuation(key, answer, layout.payload, now);
    }

    /// Leaves out a response that the client does not want; true where it did.
    fn suppress(&mut self, exchange: &Exchange, code: Code) -> bool {
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

    fn response_id(&mut self, exchange: &Exchange) -> u16 {
        match exchange.kind {
            Type::Confirmable => exchange.message_id,
            _ => self.next_message_id(exchange.flow),
        }
    }

    /// Sends what was written: as the ACK of a confirmable request, which is remembered, or as a NON.
    fn send_response(&mut self, exchange: &Exchange, layout: Layout) {
        let kind = match exchange.kind {
            Type::Confirmable => Kind::ACKNOWLEDGEMENT,
            _ => Kind::ORIGINAL,
        };
        let datagram = Datagram::new(layout, kind);
        self.outbox.send_encoded(exchange.flow, &self.datagram, datagram);
        if exchange.kind == Type::Confirmable {
            self.duplicates.answered(&self.datagram, layout);
        }
    }

    /// Sends an empty ACK now and the response later (RFC 7252 section 5.2.2).
    fn respond_separately(
        &mut self,
        exchange: &Exchange,
        resource: Option<usize>,
        answer: &Answer,
        asked: &Asked,
        now: Instant,
    ) {
        self.acknowledge(exchange);
        let message_id = self.next_message_id(exchange.flow);
        // RFC 7252 section 5.2.3: a NON request is answered by a NON response, separate or not.
        let envelope = (exchange.token, message_id);
        let layout = self.write(exchange.kind, envelope, resource, answer, asked);
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

    /// Writes a response or notification to `self.datagram`; returns its layout.
    pub(super) fn write(
        &mut self,
        kind: Type,
        (token, message_id): (Token, u16),
        resource: Option<usize>,
        answer: &Answer,
        asked: &Asked,
    ) -> Layout {
        let resource = resource.and_then(|at| self.tree.get(at));
        let (code, part) = match part(
            answer,
            resource,
            asked,
            BlockSize::at_most(self.config.block_size),
        ) {
            Some(part) => (answer.code, part),
            None => (Code::BAD_REQUEST, Part::EMPTY),
        };
        write_options(&mut self.scratch, answer, resource, asked, &part, &self.config);
        let repr = Repr {
            kind,
            code,
            message_id,
            token,
            options: self.scratch.view(),
            payload: part.bytes,
        };
        self.datagram.clear();
        repr.emit(&mut self.datagram);
        Layout::of(&repr, self.datagram.len())
    }

    /// Keeps a body that a method other than GET made and that did not fit into its response.
    fn keep_continuation(&mut self, key: Key, answer: Answer, sent: usize, now: Instant) {
        let Content::Made(format, body) = answer.content else {
            return;
        };
        if key.method == Method::Get || body.len() <= sent {
            return;
        }
        self.continuations
            .retain(|kept| kept.key != key && kept.expires > now);
        let of_peer = |kept: &Continuation| kept.key.flow == key.flow;
        if self.continuations.iter().filter(|kept| of_peer(kept)).count()
            >= self.config.max_assemblies_per_peer
        {
            let oldest = self.continuations.iter().position(of_peer);
            oldest.map(|at| self.continuations.remove(at));
        }
        self.continuations.push(Continuation {
            key,
            code: answer.code,
            format,
            body,
            expires: now + self.config.parameters.exchange_lifetime(),
        });
    }

    /// Answers a request for a further block of a kept body; false where it is not such a request.
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
        let matches = |kept: &Continuation| kept.key == key && kept.expires > now;
        let Some(at) = self.continuations.iter().position(matches) else {
            // RFC 7959 section 2.9.2: what the block belongs to is not known any more.
            self.respond_bare(
                exchange,
                &Answer::code(Code::REQUEST_ENTITY_INCOMPLETE),
                &Asked::default(),
            );
            return true;
        };
        let kept = self.continuations.swap_remove(at);
        let mut answer = Answer::code(kept.code);
        answer.content = Content::Made(kept.format, kept.body);
        let asked = Asked {
            block2: Some(block),
            ..Asked::default()
        };
        self.respond_bare(exchange, &answer, &asked);
        if let Content::Made(format, body) = answer.content {
            self.continuations.push(Continuation { format, body, ..kept });
        }
        true
    }
}

impl Part<'_> {
    const EMPTY: Self = Self {
        bytes: &[],
        block: None,
        format: None,
        size2: None,
    };
}

/// What a response to a request is sent as: piggybacked or NON.
fn response_kind(exchange: &Exchange) -> Type {
    match exchange.kind {
        Type::Confirmable => Type::Acknowledgement,
        _ => Type::NonConfirmable,
    }
}

/// The part of the body to send, or `None` where the block asked for lies behind its end.
fn part<'a>(
    answer: &'a Answer,
    resource: Option<&'a Resource>,
    asked: &Asked,
    own_size: BlockSize,
) -> Option<Part<'a>> {
    let Some((format, body)) = content(answer, resource) else {
        return Some(Part::EMPTY);
    };
    // RFC 7959 section 2.4: the server may answer with a smaller block than the client asked for.
    let size = asked.block2.map_or(own_size, |block| block.size.min(own_size));
    let offset = asked.block2.map_or(0, Block::offset);
    if offset > 0 && offset >= body.len() {
        return None;
    }
    let whole = asked.block2.is_none() && body.len() <= size.bytes();
    let more = offset + size.bytes() < body.len();
    let block = Block::at(offset, more, size).filter(|_| !whole);
    let total = u32::try_from(body.len()).ok();
    Some(Part {
        bytes: block.map_or(body, |block| block.slice(body)),
        block,
        format: Some(format),
        size2: total.filter(|_| asked.wants_size2 && offset == 0),
    })
}

fn content<'a>(answer: &'a Answer, resource: Option<&'a Resource>) -> Option<(u16, &'a [u8])> {
    match &answer.content {
        Content::Empty => None,
        Content::Text(format, text) => Some((*format, text.as_bytes())),
        Content::Made(format, bytes) => Some((*format, bytes)),
        Content::Stored => {
            let representation = resource?.representation.as_ref()?;
            Some((representation.format, &representation.bytes))
        }
    }
}

/// Writes the options of a response in ascending order of their numbers.
fn write_options(
    options: &mut Options,
    answer: &Answer,
    resource: Option<&Resource>,
    asked: &Asked,
    part: &Part<'_>,
    config: &Config,
) {
    options.clear();
    let uint = |options: &mut Options, number, value: Option<u32>| {
        if let Some(value) = value {
            options.push_uint(number, u64::from(value));
        }
    };
    let stored_in_blocks = part.block.is_some() && matches!(answer.content, Content::Stored);
    if let Some(resource) = resource.filter(|_| answer.shows_etag || stored_in_blocks) {
        options.push(OptionNumber::ETAG, &resource.etag());
    }
    uint(options, OptionNumber::OBSERVE, asked.observe);
    let segments = answer
        .location_path
        .split('/')
        .filter(|segment| !segment.is_empty());
    segments.for_each(|segment| options.push(OptionNumber::LOCATION_PATH, segment.as_bytes()));
    uint(options, OptionNumber::CONTENT_FORMAT, part.format.map(u32::from));
    let max_age = asked.observe.map(|_| seconds(config.observe_interval));
    uint(options, OptionNumber::MAX_AGE, max_age);
    for argument in answer.location_query {
        options.push(OptionNumber::LOCATION_QUERY, argument.as_bytes());
    }
    uint(options, OptionNumber::BLOCK2, part.block.map(Block::value));
    let block1 = asked.block1.map(|block| echoed(block, answer.code, config));
    uint(options, OptionNumber::BLOCK1, block1.map(Block::value));
    uint(options, OptionNumber::SIZE2, part.size2);
    let too_large = answer.code == Code::REQUEST_ENTITY_TOO_LARGE;
    let limit = u32::try_from(config.max_body_bytes).ok().filter(|_| too_large);
    uint(options, OptionNumber::SIZE1, limit);
}

/// The Block1 of a response: the block's number, the size wanted from now on, and whether the answer is not
/// final yet (RFC 7959 section 2.3).
fn echoed(block: Block, code: Code, config: &Config) -> Block {
    Block {
        number: block.number,
        more: code == Code::CONTINUE,
        size: block.size.min(BlockSize::at_most(config.block_size)),
    }
}

fn seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}
