//! Encodes responses and notifications.

use core::time::Duration;

use wirecost_proto::FlowId;
use wirecost_proto::bare::Transport;

use super::protection::Protected;
use super::resource::{Answer, Content, Resource};
use super::{Config, Server};
use crate::block::{Block, Portion};
use crate::code::Code;
use crate::layout::Layout;
use crate::message::{Repr, Type};
use crate::option::{OptionNumber, Options};
use crate::oscore::ResponseNonce;
use crate::token::Token;

/// The header of a response or notification.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    pub(super) flow: FlowId,
    pub(super) kind: Type,
    pub(super) token: Token,
    pub(super) message_id: u16,
    pub(super) protection: Option<(Protected, ResponseNonce)>,
}

/// What a request determines in its response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requested {
    /// The sequence number of a registration or notification.
    pub(super) observe: Option<u32>,
    pub(super) block1: Option<Block>,
    pub(super) block2: Option<Block>,
    pub(super) wants_size2: bool,
}

/// The part of a body in one message.
struct Part<'a> {
    bytes: &'a [u8],
    block: Option<Block>,
    format: Option<u16>,
    size2: Option<u32>,
}

impl Server {
    /// Encodes a response or notification into `self.datagram`. Returns its layout, or `None` if it cannot be
    /// protected.
    pub(super) fn write(
        &mut self,
        envelope: &Envelope,
        resource: Option<usize>,
        answer: &Answer,
        requested: &Requested,
    ) -> Option<Layout> {
        let portion = self.portion(envelope.flow);
        let resource = resource.and_then(|at| self.tree.get(at));
        let (code, part) = match part(answer, resource, requested, portion) {
            Some(part) => (answer.code, part),
            None => (Code::BAD_REQUEST, Part::EMPTY),
        };
        write_options(
            &mut self.scratch,
            answer,
            resource,
            requested,
            &part,
            (&self.config, portion),
        );
        let repr = Repr {
            kind: envelope.kind,
            code,
            message_id: envelope.message_id,
            token: envelope.token,
            options: self.scratch.view(),
            payload: part.bytes,
        };
        self.datagram.clear();
        if let Some((protected, nonce)) = envelope.protection {
            let datagram = &mut self.datagram;
            let sealed = self.sessions.protect(protected, nonce, &repr, datagram);
            self.stats.unprotectable += u64::from(sealed.is_err());
            return sealed.ok();
        }
        match self.config.transport {
            Transport::Datagram => repr.emit(&mut self.datagram),
            Transport::Stream => repr.emit_stream(&mut self.datagram).ok()?,
        }
        Some(Layout::from_repr(&repr, self.datagram.len()))
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

/// The part of the body to send, or `None` if the requested block lies after its end.
fn part<'a>(
    answer: &'a Answer,
    resource: Option<&'a Resource>,
    requested: &Requested,
    own: Portion,
) -> Option<Part<'a>> {
    let Some((format, body)) = content(answer, resource) else {
        return Some(Part::EMPTY);
    };
    // RFC 7959 section 2.4: the server may use a smaller block than the client requested.
    let portion = requested.block2.map_or(own, |block| own.with(block.size));
    let offset = requested.block2.map_or(0, Block::offset);
    if offset > 0 && offset >= body.len() {
        return None;
    }
    let whole = requested.block2.is_none() && body.len() <= own.whole;
    let more = offset + portion.bytes() < body.len();
    // The blocks of this end may be too small to number the one that is asked for.
    let block = Block::at(offset, more, portion.size)?;
    let block = Some(block).filter(|_| !whole);
    let total = u32::try_from(body.len()).ok();
    Some(Part {
        bytes: block.map_or(body, |block| block.slice(body, portion.blocks)),
        block,
        format: Some(format),
        size2: total.filter(|_| requested.wants_size2 && offset == 0),
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

/// Adds the options of a response in ascending order.
fn write_options(
    options: &mut Options,
    answer: &Answer,
    resource: Option<&Resource>,
    requested: &Requested,
    part: &Part<'_>,
    (config, portion): (&Config, Portion),
) {
    options.clear();
    let uint = |options: &mut Options, number, value: Option<u32>| {
        if let Some(value) = value {
            options.push_uint(number, u64::from(value));
        }
    };
    let stored_in_blocks = part.block.is_some() && matches!(answer.content, Content::Stored);
    if let Some(resource) = resource.filter(|_| answer.shows_etag || stored_in_blocks) {
        options.push(OptionNumber::ETAG, resource.etag().bytes());
    }
    uint(options, OptionNumber::OBSERVE, requested.observe);
    let segments = answer
        .location_path
        .split('/')
        .filter(|segment| !segment.is_empty());
    segments.for_each(|segment| options.push(OptionNumber::LOCATION_PATH, segment.as_bytes()));
    uint(options, OptionNumber::CONTENT_FORMAT, part.format.map(u32::from));
    let stated = resource.filter(|_| answer.code == Code::CONTENT);
    let stated = stated.and_then(|resource| resource.definition.max_age);
    let max_age = requested
        .observe
        .map(|_| seconds(config.observe_interval))
        .or(stated);
    uint(options, OptionNumber::MAX_AGE, max_age);
    for argument in answer.location_query {
        options.push(OptionNumber::LOCATION_QUERY, argument.as_bytes());
    }
    uint(options, OptionNumber::BLOCK2, part.block.map(Block::value));
    let block1 = requested
        .block1
        .map(|block| block1_answer(block, answer.code, portion));
    uint(options, OptionNumber::BLOCK1, block1.map(Block::value));
    uint(options, OptionNumber::SIZE2, part.size2);
    let too_large = answer.code == Code::REQUEST_ENTITY_TOO_LARGE;
    let limit = u32::try_from(config.max_body_bytes).ok().filter(|_| too_large);
    uint(options, OptionNumber::SIZE1, limit);
}

/// The Block1 option of a response: the block's number, the preferred size, and whether the answer is not final yet
/// (RFC 7959 section 2.3).
fn block1_answer(block: Block, code: Code, portion: Portion) -> Block {
    Block {
        number: block.number,
        more: code == Code::CONTINUE,
        size: block.size.min(portion.size),
    }
}

fn seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}
