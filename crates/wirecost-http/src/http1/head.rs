//! Heads: their boundaries and their content.
//!
//! A head is a request line or status line, fields, and an empty line (RFC 9112 section 2.1).

use httparse::{EMPTY_HEADER, Header, ParserConfig};

use super::body::Body;
use super::fields::{Expect, Fields, Transfer};
use crate::message::{Malformed, Method, Status, is_authority, is_in_token};

/// The default maximum length of a head in bytes.
pub(crate) const MAXIMUM_HEAD_BYTES: usize = 16 << 10;

/// The most fields of a head.
const MAXIMUM_FIELDS: usize = 64;

/// The side that reads the heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Reads requests.
    Server,
    /// Reads responses.
    Client,
}

impl Side {
    /// Whether a head can begin with `byte`: a method is a token (RFC 9110 section 5.6.2), a version begins with H.
    fn can_begin_with(self, byte: u8) -> bool {
        match self {
            Self::Server => is_in_token(byte),
            Self::Client => byte == b'H',
        }
    }
}

/// Extracts heads from a stream. A head that was received in one piece is not copied.
///
/// ```
/// use wirecost_http::http1::head::{Collector, Side};
///
/// let mut collector = Collector::new(Side::Server, 1_000);
/// let mut received: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n";
/// assert_eq!(collector.next(&mut received), Ok(None));
/// let mut received: &[u8] = b"\r\ncontent";
/// let head = collector.next(&mut received)?.unwrap();
/// assert_eq!(head.len(), 27);
/// assert_eq!(received, b"content");
/// # Ok::<(), wirecost_http::message::Malformed>(())
/// ```
#[derive(Clone, Debug)]
pub struct Collector {
    side: Side,
    limit: usize,
    held: Vec<u8>,
    given: bool,
    line: Line,
}

/// The state of the incomplete line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Only empty lines so far, which a receiver ignores (RFC 9112 section 2.2).
    Before,
    Empty,
    Text,
}

impl Collector {
    /// A collector for heads of at most `limit` bytes. It never holds more bytes.
    pub const fn new(side: Side, limit: usize) -> Self {
        Self {
            side,
            limit,
            held: Vec::new(),
            given: false,
            line: Line::Before,
        }
    }

    /// The next complete head, or `None` if all of `bytes` was read. Removes the bytes that it read from `bytes`.
    ///
    /// # Errors
    /// The bytes are not a head, or the head exceeds the limit. `bytes` is unchanged.
    pub fn next<'a, 'b: 'a>(&'a mut self, bytes: &mut &'b [u8]) -> Result<Option<&'a [u8]>, Malformed> {
        if core::mem::take(&mut self.given) {
            self.held.clear();
        }
        let end = self.find_end(bytes)?;
        let (head, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        if self.held.len() + head.len() > self.limit {
            return Err(Malformed::HeadTooLarge { limit: self.limit });
        }
        *bytes = rest;
        if end.is_some() && self.held.is_empty() && later_minor(head).is_none() {
            return Ok(Some(head));
        }
        self.held.extend_from_slice(head);
        self.given = end.is_some();
        if !self.given {
            return Ok(None);
        }
        // RFC 9110 section 2.5: a later minor version is read as the highest known one.
        if let Some(digit) = later_minor(&self.held).and_then(|place| self.held.get_mut(place)) {
            *digit = b'1';
        }
        Ok(Some(self.held.as_slice()))
    }

    /// Bytes of an incomplete head.
    pub fn held(&self) -> usize {
        if self.given { 0 } else { self.held.len() }
    }

    /// Gives back the memory of a head that is complete.
    pub fn rest(&mut self) {
        if self.held() == 0 {
            (self.held, self.given) = (Vec::new(), false);
        }
    }

    /// Drops an incomplete head. Returns its length.
    pub fn clear(&mut self) -> usize {
        let held = self.held();
        self.held.clear();
        self.line = Line::Before;
        held
    }

    /// How many of `bytes` belong to the head, if it ends among them. A line ends with LF, with or without a
    /// preceding CR (RFC 9112 section 2.2).
    fn find_end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        for (index, byte) in bytes.iter().enumerate() {
            self.line = match (self.line, byte) {
                (Line::Empty, b'\n') => {
                    self.line = Line::Before;
                    return Ok(Some(index + 1));
                }
                (Line::Text, b'\n') => Line::Empty,
                (line @ (Line::Before | Line::Empty), b'\r') | (line @ Line::Before, b'\n') => line,
                (Line::Before, byte) if !self.side.can_begin_with(*byte) => return Err(Malformed::Head),
                _ => Line::Text,
            };
        }
        Ok(None)
    }
}

/// The parsed head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// Method.
    pub method: Method,
    /// Path and query, or `*` if OPTIONS is about the whole server.
    pub target: &'a str,
    /// The content, or `None` if there is none.
    pub body: Option<Body>,
    /// Media type of the content.
    pub content_type: Option<&'a str>,
    /// Whether the connection stays open after the response.
    pub keeps_alive: bool,
    /// What the client expects before it sends its content.
    pub expect: Expect,
}

impl<'a> RequestHead<'a> {
    /// Parses a complete head.
    ///
    /// # Errors
    /// It is not a request, or its end is ambiguous.
    pub fn parse(head: &'a [u8]) -> Result<Self, Malformed> {
        let mut headers = [EMPTY_HEADER; MAXIMUM_FIELDS];
        let mut request = httparse::Request::new(&mut headers);
        expect_whole(request.parse(head), head)?;
        let minor = request.version.unwrap_or(1);
        let fields = Fields::parse(request.headers)?;
        let method = request.method.and_then(Method::by_name);
        // This server is not a tunnel (RFC 9110 section 9.3.6).
        let method = method.filter(|method| *method != Method::Connect);
        // RFC 9112 section 3.2: an HTTP/1.1 request has exactly one Host, an HTTP/1.0 request at most one.
        if fields.hosts > 1 || (fields.hosts == 0 && minor == 1) {
            return Err(Malformed::Host(fields.hosts));
        }
        if fields.has_bad_host {
            return Err(Malformed::Authority);
        }
        let body = request_body(&fields, minor)?;
        let method = method.ok_or(Malformed::Method)?;
        Ok(Self {
            method,
            target: origin_form(request.path.unwrap_or(""), method).ok_or(Malformed::Target)?,
            body,
            content_type: fields.content_type,
            keeps_alive: minor == 1 && !fields.close,
            // RFC 9110 section 10.1.1: an expectation of HTTP/1.0 is ignored.
            expect: if minor == 1 {
                fields.expect
            } else {
                Expect::Nothing
            },
        })
    }
}

/// RFC 9112 section 6.3, rules 3 to 7.
fn request_body(fields: &Fields<'_>, minor: u8) -> Result<Option<Body>, Malformed> {
    match (fields.transfer, fields.content_length) {
        (Transfer::None, None) => Ok(None),
        (Transfer::None, Some(bytes)) => Ok(Body::of_length(bytes)),
        // RFC 9112 section 6.1: treat it as an error, because it may be request smuggling.
        (_, Some(_)) => Err(Malformed::Smuggling),
        // RFC 9112 section 6.1: HTTP/1.0 has no transfer codings, so the framing is faulty.
        (Transfer::Chunked, None) if minor == 1 => Ok(Some(Body::CHUNKED)),
        (Transfer::CodedChunked, None) => Err(Malformed::TransferCoding),
        (Transfer::Chunked | Transfer::Other, None) => Err(Malformed::TransferOrder),
    }
}

/// The path and query of an origin-form, absolute-form or asterisk-form (RFC 9112 section 3.2).
fn origin_form(target: &str, method: Method) -> Option<&str> {
    let is_of_server = target == "*" && method == Method::Options;
    if target.starts_with('/') || is_of_server {
        return Some(target);
    }
    let scheme_end = target.find("://")?;
    let scheme = target.get(..scheme_end)?;
    if !["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return None;
    }
    let after = target.get(scheme_end + 3..)?;
    let (host, path) = after.split_at(after.find(['/', '?']).unwrap_or(after.len()));
    // RFC 9110 section 4.2.1: an empty host is invalid.
    if host.is_empty() || !is_authority(host.as_bytes()) {
        return None;
    }
    match path {
        "" => Some("/"),
        path => Some(path).filter(|path| path.starts_with('/')),
    }
}

/// The parsed head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Status.
    pub status: Status,
    /// The content, or `None` if there is none.
    pub body: Option<Body>,
    /// Whether the connection stays open after the response.
    pub keeps_alive: bool,
}

impl ResponseHead {
    /// Parses a complete head that answers a request by `method`.
    ///
    /// # Errors
    /// It is not a response, or its end is ambiguous.
    pub fn parse(head: &[u8], method: Method) -> Result<Self, Malformed> {
        let mut headers = [EMPTY_HEADER; MAXIMUM_FIELDS];
        let mut response = httparse::Response::new(&mut headers);
        // RFC 9112 section 5.2: a folded line of a response is read as one line.
        let mut parser = ParserConfig::default();
        parser.allow_obsolete_multiline_headers_in_responses(true);
        expect_whole(parser.parse_response(&mut response, head), head)?;
        let code = response.code.unwrap_or(0);
        let status = Status::new(code).ok_or(Malformed::Status(code))?;
        // RFC 9110 section 7.8: no request asked for another protocol.
        if code == 101 {
            return Err(Malformed::Switching);
        }
        let minor = response.version.unwrap_or(1);
        let fields = Fields::parse(response.headers)?;
        let body = response_body(&fields, method, status, minor)?;
        Ok(Self {
            status,
            body,
            keeps_alive: (minor == 1 || fields.keep_alive) && !fields.close && body != Some(Body::UntilClose),
        })
    }
}

/// RFC 9112 section 6.3, rules 1, 3 to 5 and 8.
fn response_body(
    fields: &Fields<'_>,
    method: Method,
    status: Status,
    minor: u8,
) -> Result<Option<Body>, Malformed> {
    if method == Method::Head || status.forbids_content() {
        return Ok(None);
    }
    match (fields.transfer, fields.content_length) {
        (Transfer::None, Some(bytes)) => Ok(Body::of_length(bytes)),
        (Transfer::None, None) => Ok(Some(Body::UntilClose)),
        (_, Some(_)) => Err(Malformed::Smuggling),
        // RFC 9112 section 6.1: as in a request.
        (Transfer::Chunked, None) if minor == 0 => Err(Malformed::TransferOrder),
        (Transfer::Chunked, None) => Ok(Some(Body::CHUNKED)),
        (Transfer::CodedChunked | Transfer::Other, None) => Err(Malformed::TransferCoding),
    }
}

/// Checks that the parser read all of `head`.
fn expect_whole(parsed: httparse::Result<usize>, head: &[u8]) -> Result<(), Malformed> {
    match parsed {
        Ok(httparse::Status::Complete(taken)) if taken == head.len() => Ok(()),
        Err(httparse::Error::Version) if names_other_version(head) => Err(Malformed::Version),
        Err(httparse::Error::TooManyHeaders) => Err(Malformed::HeadTooLarge {
            limit: MAXIMUM_FIELDS,
        }),
        _ => Err(Malformed::Head),
    }
}

/// Whether the start line has a valid version (RFC 9112 section 2.3) with another major number, in the position of a
/// response's or a request's version.
fn names_other_version(head: &[u8]) -> bool {
    let mut words = head.trim_ascii_start().split(|byte| byte.is_ascii_whitespace());
    let place = words.next().filter(|word| word.starts_with(b"HTTP/"));
    match place.or_else(|| words.nth(1)).unwrap_or_default() {
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] => {
            major.is_ascii_digit() && minor.is_ascii_digit() && *major != b'1'
        }
        _ => false,
    }
}

/// The index of the minor digit of HTTP/1.2 to HTTP/1.9: at the start of a status line, or at the end of a request
/// line.
fn later_minor(head: &[u8]) -> Option<usize> {
    let begin = head.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
    let is_later =
        |version: &[u8]| matches!(version, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9']);
    let line = head.get(begin..)?.split(|byte| *byte == b'\n').next()?;
    if line.starts_with(b"HTTP/") {
        return line
            .get(..8)
            .filter(|version| is_later(version))
            .map(|_| begin + 7);
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let version = line.get(line.len().checked_sub(8)?..)?;
    is_later(version).then(|| begin + line.len() - 1)
}

/// The library's list of fields.
pub(super) type RawFields<'a> = [Header<'a>];
