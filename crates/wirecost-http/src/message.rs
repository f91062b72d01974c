//! Requests and responses, whatever version carries them (RFC 9110).

use std::fmt;

use wirecost_proto::Content;

/// A method of RFC 9110 section 9.3 or RFC 5789.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Fetch.
    Get,
    /// Fetch without the content.
    Head,
    /// Hand over content.
    Post,
    /// Replace the resource.
    Put,
    /// Remove the resource.
    Delete,
    /// Open a tunnel.
    Connect,
    /// Ask what is possible.
    Options,
    /// Send the request back.
    Trace,
    /// Change the resource in part.
    Patch,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 9] = [
        Self::Get,
        Self::Head,
        Self::Post,
        Self::Put,
        Self::Delete,
        Self::Connect,
        Self::Options,
        Self::Trace,
        Self::Patch,
    ];

    /// The method's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
            Self::Options => "OPTIONS",
            Self::Trace => "TRACE",
            Self::Patch => "PATCH",
        }
    }

    /// The method of that name; names are case-sensitive (RFC 9110 section 9.1).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether it asks for no change (RFC 9110 section 9.2.1).
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace)
    }

    /// Whether a request without content still says so with `Content-Length: 0` (RFC 9110 section 8.6).
    pub const fn anticipates_content(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A status code (RFC 9110 section 15), from 100 to 599.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(u16);

impl Status {
    /// 100: send the content.
    pub const CONTINUE: Self = Self(100);
    /// 200: the content is what was asked for.
    pub const OK: Self = Self(200);
    /// 201: the resource was made.
    pub const CREATED: Self = Self(201);
    /// 204: done, nothing to say.
    pub const NO_CONTENT: Self = Self(204);
    /// 304: what the client has is still right.
    pub const NOT_MODIFIED: Self = Self(304);
    /// 400: not a request.
    pub const BAD_REQUEST: Self = Self(400);
    /// 404: there is no such thing.
    pub const NOT_FOUND: Self = Self(404);
    /// 405: not with this method.
    pub const METHOD_NOT_ALLOWED: Self = Self(405);
    /// 408: the request did not come in time.
    pub const REQUEST_TIMEOUT: Self = Self(408);
    /// 413: more content than the server takes.
    pub const CONTENT_TOO_LARGE: Self = Self(413);
    /// 417: an expectation that cannot be met.
    pub const EXPECTATION_FAILED: Self = Self(417);
    /// 425: not in early data (RFC 8470).
    pub const TOO_EARLY: Self = Self(425);
    /// 431: the head is too long (RFC 6585).
    pub const FIELDS_TOO_LARGE: Self = Self(431);
    /// 501: a method or transfer coding that the server does not know.
    pub const NOT_IMPLEMENTED: Self = Self(501);
    /// 505: another version of HTTP.
    pub const VERSION_NOT_SUPPORTED: Self = Self(505);

    /// The status with this code, or `None` outside 100 to 599.
    pub const fn new(code: u16) -> Option<Self> {
        if code >= 100 && code < 600 {
            Some(Self(code))
        } else {
            None
        }
    }

    /// The three digits.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Whether it is 1xx: another response follows (RFC 9110 section 15.2).
    pub const fn is_interim(self) -> bool {
        self.0 < 200
    }

    /// Whether it is 2xx.
    pub const fn is_success(self) -> bool {
        self.0 >= 200 && self.0 < 300
    }

    /// Whether a response with it never has content: 1xx, 204, 304 (RFC 9112 section 6.3, rule 1).
    pub const fn forbids_content(self) -> bool {
        self.is_interim() || self.0 == 204 || self.0 == 304
    }

    /// The reason phrase that RFC 9110 gives, or an empty one.
    pub const fn reason(self) -> &'static str {
        match self.0 {
            100 => "Continue",
            200 => "OK",
            201 => "Created",
            204 => "No Content",
            304 => "Not Modified",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Content Too Large",
            417 => "Expectation Failed",
            425 => "Too Early",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            505 => "HTTP Version Not Supported",
            _ => "",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.reason())
    }
}

/// A text that no request can carry in that place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Not `host` or `host:port`.
    #[error("authority must be host or host:port, got {0:?}")]
    Authority(String),
    /// Not an absolute path.
    #[error("path must start with / and hold visible ASCII without #, got {0:?}")]
    Path(String),
    /// Not a media type.
    #[error("content type must be visible ASCII and spaces, got {0:?}")]
    ContentType(String),
    /// TRACE and CONNECT are not requests about a resource's content.
    #[error("method must not be CONNECT or TRACE, got {0}")]
    Method(Method),
}

/// A request that can be sent any number of times without being copied or encoded again.
///
/// It carries only the fields that the standards need: the authority and, with content, its length and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTemplate {
    method: Method,
    authority: String,
    path: String,
    content_type: Option<String>,
    content: Content,
    http1_head: String,
}

impl RequestTemplate {
    /// A request to `path`, query included, at `authority`. `content_type` is left out where there is no content.
    ///
    /// # Errors
    /// One of the texts cannot stand in a request, or the method is CONNECT or TRACE.
    pub fn new(
        method: Method,
        authority: &str,
        path: &str,
        content_type: Option<&str>,
        content: impl Into<Content>,
    ) -> Result<Self, TemplateError> {
        if matches!(method, Method::Connect | Method::Trace) {
            return Err(TemplateError::Method(method));
        }
        if authority.is_empty() || !authority.bytes().all(is_in_authority) {
            return Err(TemplateError::Authority(authority.into()));
        }
        let in_path = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
        if !path.starts_with('/') || !path.bytes().all(in_path) {
            return Err(TemplateError::Path(path.into()));
        }
        let content: Content = content.into();
        let content_type = content_type.filter(|_| !content.is_empty());
        if let Some(text) = content_type
            && (text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '))
        {
            return Err(TemplateError::ContentType(text.into()));
        }
        let mut template = Self {
            method,
            authority: authority.into(),
            path: path.into(),
            content_type: content_type.map(String::from),
            content,
            http1_head: String::new(),
        };
        template.http1_head = template.encode_http1_head();
        Ok(template)
    }

    /// Method.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Host, with the port where it is not the scheme's.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Media type of the content, if there is content.
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// What the request carries.
    pub const fn content(&self) -> &Content {
        &self.content
    }

    /// Bytes of the content where the request says them: with content, and without it where the method
    /// anticipates some.
    pub fn content_length(&self) -> Option<usize> {
        let says = !self.content.is_empty() || self.method.anticipates_content();
        says.then_some(self.content.len())
    }

    /// The head in HTTP/1.1 without the empty line that ends it.
    pub fn http1_head(&self) -> &str {
        &self.http1_head
    }

    /// Request line and fields (RFC 9112 section 3); Host is first (RFC 9110 section 7.2).
    fn encode_http1_head(&self) -> String {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\n",
            self.method, self.path, self.authority
        );
        if let Some(text) = &self.content_type {
            head += &format!("Content-Type: {text}\r\n");
        }
        if let Some(bytes) = self.content_length() {
            head += &format!("Content-Length: {bytes}\r\n");
        }
        head
    }
}

/// uri-host and port (RFC 3986 section 3.2), user information excluded (RFC 9110 section 4.2.4).
const fn is_in_authority(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'@' | b'/' | b'?' | b'#' | b'\\' | b'"' | b'<' | b'>')
}

/// A response of the reference server: a status, the fields that it needs, and content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: Status,
    /// The methods of the resource, with 405 (RFC 9110 section 15.5.6).
    pub allow: Option<&'static str>,
    /// Media type of the content.
    pub content_type: Option<String>,
    /// What the response carries; of the response to a HEAD, what a GET would have carried.
    pub content: Option<Content>,
}

impl Response {
    /// A response without content.
    pub const fn empty(status: Status) -> Self {
        Self {
            status,
            allow: None,
            content_type: None,
            content: None,
        }
    }

    /// A 200 with content; `content_type` may be unknown.
    pub fn ok(content_type: Option<&str>, content: impl Into<Content>) -> Self {
        Self {
            content_type: content_type.map(String::from),
            content: Some(content.into()),
            ..Self::empty(Status::OK)
        }
    }

    /// Bytes of the content.
    pub fn content_length(&self) -> usize {
        self.content.as_ref().map_or(0, Content::len)
    }
}

impl Malformed {
    /// The status by which a server answers such a request.
    pub const fn status(self) -> Status {
        match self {
            Self::HeadTooLarge { .. } => Status::FIELDS_TOO_LARGE,
            // RFC 9110 section 9.1, RFC 9112 section 6.1.
            Self::Method | Self::TransferCoding => Status::NOT_IMPLEMENTED,
            Self::Version => Status::VERSION_NOT_SUPPORTED,
            _ => Status::BAD_REQUEST,
        }
    }
}

/// What is wrong with a message, in either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// No request line or status line, or a field that is none.
    #[error("the head is not HTTP")]
    Head,
    /// The head is longer than the receiver takes.
    #[error("the head is longer than {limit} B")]
    HeadTooLarge {
        /// The receiver's limit.
        limit: usize,
    },
    /// Another version of the protocol.
    #[error("the version is not HTTP/1.0 or HTTP/1.1")]
    Version,
    /// A method that the server does not know.
    #[error("the method is unknown")]
    Method,
    /// A status outside 100 to 599.
    #[error("the status is {0}, expected 100 to 599")]
    Status(u16),
    /// No authority, or more than one.
    #[error("a request must have one Host field, got {0}")]
    Host(usize),
    /// A target that is not a path.
    #[error("the request target is not an absolute path")]
    Target,
    /// A Content-Length that is no number, or several that differ.
    #[error("Content-Length is not one number of bytes")]
    ContentLength,
    /// Content-Length beside Transfer-Encoding, which hides a second request from one of two readers.
    #[error("Content-Length beside Transfer-Encoding")]
    Smuggling,
    /// A transfer coding other than chunked.
    #[error("the transfer coding is not chunked alone")]
    TransferCoding,
    /// A transfer coding after chunked, none, or one of HTTP/1.0: nobody can tell where the content ends.
    #[error("the last transfer coding is not chunked")]
    TransferOrder,
    /// A chunk size, extension or end that is none.
    #[error("a chunk is ill-formed")]
    Chunk,
    /// More or less content than was announced.
    #[error("the content is not as long as was said")]
    Length,
    /// A response to no request.
    #[error("a response without a request")]
    Unasked,
    /// Frames in an order that HTTP/3 does not allow, or a pseudo-field that is missing or twice.
    #[error("the frames or pseudo-fields are out of order")]
    Frames,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_only_the_fields_that_the_standards_need() {
        let table: [(Method, &[u8], &str); 4] = [
            (Method::Get, b"", "GET /test HTTP/1.1\r\nHost: wirecost\r\n"),
            (
                Method::Post,
                b"",
                "POST /test HTTP/1.1\r\nHost: wirecost\r\nContent-Length: 0\r\n",
            ),
            (Method::Delete, b"", "DELETE /test HTTP/1.1\r\nHost: wirecost\r\n"),
            (
                Method::Put,
                b"abc",
                "PUT /test HTTP/1.1\r\nHost: wirecost\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n",
            ),
        ];
        for (method, content, head) in table {
            let template = RequestTemplate::new(method, "wirecost", "/test", Some("text/plain"), content);
            assert_eq!(template.unwrap().http1_head(), head);
        }
    }

    #[test]
    fn a_template_cannot_carry_a_second_field() {
        let new = |authority, path, kind| RequestTemplate::new(Method::Post, authority, path, kind, [7]);
        assert!(matches!(
            new("a\r\nX: y", "/", None),
            Err(TemplateError::Authority(_))
        ));
        assert!(matches!(new("u@a", "/", None), Err(TemplateError::Authority(_))));
        assert!(matches!(new("a", "/ b", None), Err(TemplateError::Path(_))));
        assert!(matches!(new("a", "b", None), Err(TemplateError::Path(_))));
        assert!(matches!(
            new("a", "/", Some("a\r\nb")),
            Err(TemplateError::ContentType(_))
        ));
        assert!(new("[::1]:8080", "/a?b=c", Some("a/b; c=d")).is_ok());
    }

    #[test]
    fn every_method_is_known_by_its_name_only() {
        for method in Method::ALL {
            assert_eq!(Method::from_name(method.name()), Some(method));
        }
        assert_eq!(Method::from_name("get"), None);
    }
}
