//! Resources: their content and their answers.

use alloc::vec::Vec;

use super::definition::{Behaviour, Definition, Initial};
use super::links;
use super::plugtest::DEFINITIONS;
use crate::code::{Code, Method};
use crate::option::{OptionNumber, OptionsView, content_format};
use crate::short::ShortBytes;

/// The content of a resource.
#[derive(Debug)]
pub(super) struct Representation {
    pub(super) format: u16,
    pub(super) bytes: Vec<u8>,
}

/// A resource with its state.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) definition: &'static Definition,
    pub(super) representation: Option<Representation>,
    /// The number of changes of the representation: the entity-tag, and the sequence number of notifications.
    pub(super) changes: u32,
    /// Whether a client replaced the resource's own content.
    replaced: bool,
    /// The value of `changes` when the observation began.
    begun: u32,
    /// Whether a representation in another format ended the last observation.
    ended: bool,
}

/// A whole request.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: Method,
    pub(super) options: OptionsView<'a>,
    pub(super) body: Body<'a>,
}

/// The content of a request: from one datagram, or assembled from blocks.
#[derive(Debug)]
pub(super) enum Body<'a> {
    Datagram(&'a [u8]),
    Assembled(Vec<u8>),
}

impl Body<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Datagram(bytes) => bytes,
            Self::Assembled(bytes) => bytes,
        }
    }
}

/// The answer of a resource.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: Code,
    pub(super) content: Content,
    pub(super) shows_etag: bool,
    pub(super) location_path: &'static str,
    pub(super) location_query: &'static [&'static str],
    pub(super) separate: bool,
    pub(super) effect: Effect,
}

/// The content of an answer.
#[derive(Debug)]
pub(super) enum Content {
    Empty,
    /// The resource's representation.
    Stored,
    Text(u16, &'static str),
    Made(u16, Vec<u8>),
}

/// The effect of a request on observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Changed,
    /// The format changed: observers get 4.06 and are removed (RFC 7641 section 4.2).
    FormatChanged,
    /// The resource is gone: observers get 4.04 and are removed.
    Removed,
    /// The observers of another resource are removed.
    Forgets(&'static str),
}

impl Answer {
    pub(super) const fn code(code: Code) -> Self {
        Self::with(code, Content::Empty)
    }

    const fn with(code: Code, content: Content) -> Self {
        Self {
            code,
            content,
            shows_etag: false,
            location_path: "",
            location_query: &[],
            separate: false,
            effect: Effect::Nothing,
        }
    }
}

/// An entity-tag (RFC 7252 section 5.10.6).
type Etag = ShortBytes<8>;

impl Resource {
    fn new(definition: &'static Definition) -> Self {
        let mut resource = Self {
            definition,
            representation: None,
            changes: 0,
            replaced: false,
            begun: 0,
            ended: false,
        };
        resource.restore();
        resource
    }

    /// Restores the resource's own content: the initial one, or the one after this many changes.
    fn restore(&mut self) {
        let mut bytes = self.take_memory();
        match self.definition.initial {
            Initial::Absent => return,
            Initial::Text(text) => bytes.extend_from_slice(text.as_bytes()),
            Initial::Generated(len) => fill(0, len, &mut bytes),
            Initial::Ticks(len) => fill(self.changes, len, &mut bytes),
            Initial::Steps(steps) => bytes.extend_from_slice(self.step(steps).unwrap_or_default().as_bytes()),
        }
        let format = self.definition.format;
        self.representation = Some(Representation { format, bytes });
    }

    /// Removes the representation and returns its memory, empty.
    fn take_memory(&mut self) -> Vec<u8> {
        let old = self.representation.take();
        let mut bytes = old.map(|old| old.bytes).unwrap_or_default();
        bytes.clear();
        bytes
    }

    fn step(&self, steps: &[&'static str]) -> Option<&'static str> {
        let step = self.changes.wrapping_sub(self.begun);
        steps.get(step as usize).copied()
    }

    /// Changes the resource on its own. Content that a client stored stays. Returns the last answer to observers if the
    /// observation ends with this change.
    pub(super) fn tick(&mut self) -> Option<Answer> {
        self.changes = self.changes.wrapping_add(1);
        match self.definition.initial {
            Initial::Steps(steps) if self.step(steps).is_none() => {
                let text = Content::Text(content_format::TEXT_PLAIN, "Terminate Observe");
                return Some(Answer::with(Code::INTERNAL_SERVER_ERROR, text));
            }
            _ if !self.replaced => self.restore(),
            _ => {}
        }
        None
    }

    /// Ends the observation because the format changed (RFC 7641 section 4.2).
    pub(super) fn end_observation(&mut self) {
        self.ended = true;
    }

    /// Begins an observation. If a representation in another format ended the last one, the resource's own content
    /// returns. Other content of clients stays.
    pub(super) fn begin_observation(&mut self) {
        let own = self.definition.format;
        let is_foreign = || self.representation.as_ref().is_none_or(|now| now.format != own);
        let foreign = core::mem::take(&mut self.ended) && is_foreign();
        if foreign || matches!(self.definition.initial, Initial::Steps(_)) {
            self.changes = self.changes.wrapping_add(u32::from(foreign));
            (self.begun, self.replaced) = (self.changes, false);
            self.restore();
        }
    }

    pub(super) fn etag(&self) -> Etag {
        let fixed = Some(self.definition.etag).filter(|etag| !etag.is_empty());
        let counted = self.changes.to_be_bytes();
        Etag::new(fixed.unwrap_or(&counted)).unwrap_or_default()
    }

    /// Answers a request. The resource allows its method.
    fn answer(&mut self, request: Request<'_>) -> Answer {
        if !self.meets_preconditions(request.options) {
            return Answer::code(Code::PRECONDITION_FAILED);
        }
        match request.method {
            Method::Get => self.get(request.options),
            Method::Put => self.put(request),
            Method::Delete => self.delete(),
            _ => self.post(request),
        }
    }

    /// If-Match and If-None-Match (RFC 7252 section 5.10.8).
    fn meets_preconditions(&self, options: OptionsView<'_>) -> bool {
        let exists = self.representation.is_some();
        if exists && options.first(OptionNumber::IF_NONE_MATCH).is_some() {
            return false;
        }
        let etag = self.etag();
        let matches = |value: &[u8]| exists && (value.is_empty() || value == etag.bytes());
        let mut conditions = options.all(OptionNumber::IF_MATCH).peekable();
        conditions.peek().is_none() || conditions.any(|condition| matches(condition.value))
    }

    fn get(&self, options: OptionsView<'_>) -> Answer {
        match self.definition.behaviour {
            Behaviour::Query => {
                let mut text = Vec::new();
                for argument in options.uri_query() {
                    text.extend_from_slice(argument.as_bytes());
                    text.push(b'\n');
                }
                acceptable(options, content_format::TEXT_PLAIN, |format| {
                    Content::Made(format, text)
                })
            }
            Behaviour::Core => acceptable(options, self.definition.format, |format| {
                Content::Made(format, links::write(DEFINITIONS, options.uri_query().next()))
            }),
            Behaviour::MultiFormat(formats) => {
                let wanted = options.accept().unwrap_or(content_format::TEXT_PLAIN);
                let text = formats.iter().find(|(format, _)| *format == wanted);
                text.map_or(Answer::code(Code::NOT_ACCEPTABLE), |(format, text)| {
                    Answer::with(Code::CONTENT, Content::Text(*format, text))
                })
            }
            _ => self.get_stored(options),
        }
    }

    fn get_stored(&self, options: OptionsView<'_>) -> Answer {
        let Some(representation) = &self.representation else {
            return Answer::code(Code::NOT_FOUND);
        };
        let etag = self.etag();
        let is_fresh = options
            .all(OptionNumber::ETAG)
            .any(|option| option.value == etag.bytes());
        let validates = self.definition.behaviour == Behaviour::Validate;
        let shows_etag = validates || is_fresh || !self.definition.etag.is_empty();
        // RFC 7252 section 5.10.6.2: 2.03 means that one of the entity-tags is current.
        let mut answer = match is_fresh {
            true => Answer::code(Code::VALID),
            false => acceptable(options, representation.format, |_| Content::Stored),
        };
        answer.shows_etag = shows_etag;
        answer.separate = self.definition.behaviour == Behaviour::Separate;
        answer
    }

    fn put(&mut self, request: Request<'_>) -> Answer {
        let format = request.options.content_format();
        let text_only = self.definition.behaviour == Behaviour::Validate;
        if text_only && format.is_some_and(|format| format != content_format::TEXT_PLAIN) {
            return Answer::code(Code::UNSUPPORTED_CONTENT_FORMAT);
        }
        let format = format.unwrap_or(self.definition.format);
        let before = self.representation.as_ref().map(|old| old.format);
        self.store(request.body, format);
        let mut answer = Answer::code(match before {
            Some(_) => Code::CHANGED,
            None => Code::CREATED,
        });
        answer.shows_etag = text_only;
        answer.effect = match before.is_some_and(|before| before != format) {
            true => Effect::FormatChanged,
            false => Effect::Changed,
        };
        answer
    }

    fn store(&mut self, body: Body<'_>, format: u16) {
        let mut bytes = self.take_memory();
        match body {
            Body::Datagram(new) => bytes.extend_from_slice(new),
            Body::Assembled(new) => bytes = new,
        }
        self.representation = Some(Representation { format, bytes });
        self.changes = self.changes.wrapping_add(1);
        self.replaced = true;
    }

    fn delete(&mut self) -> Answer {
        self.changes = self.changes.wrapping_add(1);
        self.replaced = false;
        self.restore();
        let mut answer = Answer::code(Code::DELETED);
        answer.effect = Effect::Removed;
        answer
    }

    fn post(&mut self, request: Request<'_>) -> Answer {
        let bytes = request.body.bytes();
        match self.definition.behaviour {
            Behaviour::LocationQuery => Answer {
                location_query: &["first=1", "second=2"],
                ..Answer::code(Code::CREATED)
            },
            Behaviour::Uppercase => {
                let upper = Content::Made(content_format::TEXT_PLAIN, bytes.to_ascii_uppercase());
                Answer::with(Code::CHANGED, upper)
            }
            Behaviour::ForgetObservers(path) => Answer {
                effect: Effect::Forgets(path),
                ..Answer::code(Code::CHANGED)
            },
            _ => self.put(request),
        }
    }
}

/// An answer in `format`, or 4.06 if the client accepts only another format (RFC 7252 section 5.10.4).
fn acceptable(options: OptionsView<'_>, format: u16, content: impl FnOnce(u16) -> Content) -> Answer {
    match options.accept() {
        Some(accept) if accept != format => Answer::code(Code::NOT_ACCEPTABLE),
        _ => Answer::with(Code::CONTENT, content(format)),
    }
}

/// Fills `bytes` with `len` bytes: lines with a ten-digit number.
fn fill(number: u32, len: usize, bytes: &mut Vec<u8>) {
    let mut digits = [b'0'; 11];
    let mut rest = number;
    for digit in digits.iter_mut().take(10).rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits[10] = b'\n';
    // Line by line: every server fills its resources when it is made.
    bytes.reserve(len);
    for _ in 0..len / digits.len() {
        bytes.extend_from_slice(&digits);
    }
    bytes.extend_from_slice(&digits[..len % digits.len()]);
}

/// Answers a request to the resource at index `at`. The resource allows its method.
pub(super) fn answer(tree: &mut [Resource], at: usize, request: Request<'_>) -> Answer {
    let Some(resource) = tree.get_mut(at) else {
        return Answer::code(Code::NOT_FOUND);
    };
    let path = match resource.definition.behaviour {
        Behaviour::Create(path) if request.method == Method::Post => path,
        _ => return resource.answer(request),
    };
    if let Some(created) = tree.iter_mut().find(|resource| resource.definition.path == path) {
        let format = request.options.content_format();
        created.store(request.body, format.unwrap_or(created.definition.format));
    }
    Answer {
        location_path: path,
        ..Answer::code(Code::CREATED)
    }
}

/// Every resource of a server.
pub(super) fn tree() -> Vec<Resource> {
    DEFINITIONS.iter().map(Resource::new).collect()
}

/// The index of the resource with the path in the options.
pub(super) fn route(tree: &[Resource], options: OptionsView<'_>) -> Option<usize> {
    tree.iter().position(|resource| {
        let segments = resource.definition.path.trim_start_matches('/').split('/');
        segments.eq(options.uri_path())
    })
}
