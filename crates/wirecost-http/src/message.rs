//! Requests and responses, independent of the version (RFC 9110).

mod malformed;
mod template;

use std::fmt;

use wirecost_proto::Content;

pub use malformed::Malformed;
pub use template::{RequestTemplate, TemplateError};

wirecost_proto::named! {
    /// A method of RFC 9110 section 9.3 or RFC 5789.
    ///
    /// Named as on the wire, where case matters (RFC 9110 section 9.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Method {
        /// Fetches a resource.
        Get => "GET",
        /// Fetches the head only.
        Head => "HEAD",
        /// Sends content.
        Post => "POST",
        /// Replaces the resource.
        Put => "PUT",
        /// Removes the resource.
        Delete => "DELETE",
        /// Opens a tunnel.
        Connect => "CONNECT",
        /// Asks for the supported methods.
        Options => "OPTIONS",
        /// Returns the request.
        Trace => "TRACE",
        /// Changes a part of the resource.
        Patch => "PATCH",
    }
}

impl Method {
    /// Whether the method is safe (RFC 9110 section 9.2.1).
    pub(crate) const fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace)
    }

    /// Whether a request without content still has `Content-Length: 0` (RFC 9110 section 8.6).
    pub(crate) const fn anticipates_content(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// A status code (RFC 9110 section 15), from 100 to 599.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(u16);

impl Status {
    /// 200: the response has the requested content.
    pub const OK: Self = Self(200);
    /// 201: the resource was created.
    pub const CREATED: Self = Self(201);
    /// 204: done, without content.
    pub const NO_CONTENT: Self = Self(204);
    /// 400: not a valid request.
    pub const BAD_REQUEST: Self = Self(400);
    /// 404: no such resource.
    pub const NOT_FOUND: Self = Self(404);
    /// 405: the resource does not support the method.
    pub const METHOD_NOT_ALLOWED: Self = Self(405);
    /// 408: the request timed out.
    pub const REQUEST_TIMEOUT: Self = Self(408);
    /// 413: the content exceeds the server's limit.
    pub const CONTENT_TOO_LARGE: Self = Self(413);
    /// 417: the server does not know the expectation.
    pub const EXPECTATION_FAILED: Self = Self(417);
    /// 425: not allowed in early data (RFC 8470).
    pub const TOO_EARLY: Self = Self(425);
    /// 431: the head is too long (RFC 6585).
    pub const FIELDS_TOO_LARGE: Self = Self(431);
    /// 501: an unknown method or transfer coding.
    pub const NOT_IMPLEMENTED: Self = Self(501);
    /// 505: an unsupported version of HTTP.
    pub const VERSION_NOT_SUPPORTED: Self = Self(505);

    /// The status with this code, or `None` outside 100 to 599.
    pub const fn new(code: u16) -> Option<Self> {
        if code >= 100 && code < 600 {
            Some(Self(code))
        } else {
            None
        }
    }

    /// The code.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Whether it is 1xx: another response follows (RFC 9110 section 15.2).
    pub(crate) const fn is_interim(self) -> bool {
        self.0 < 200
    }

    /// Whether it is 2xx.
    pub const fn is_success(self) -> bool {
        self.0 >= 200 && self.0 < 300
    }

    /// Whether a response with it never has content: 1xx, 204, 304 (RFC 9112 section 6.3, rule 1).
    pub(crate) const fn forbids_content(self) -> bool {
        self.is_interim() || self.0 == 204 || self.0 == 304
    }

    /// The reason phrase in RFC 9110, or an empty text.
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

/// Whether bytes are a host with an optional port, or empty (RFC 3986 section 3.2; RFC 9110 section 4.2.4 forbids
/// user information).
pub(crate) fn is_authority(bytes: &[u8]) -> bool {
    let can_stand = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+;=:[]%".contains(byte);
    bytes.iter().all(can_stand)
}

/// Whether a token may contain the byte (RFC 9110 section 5.6.2).
pub(crate) fn is_in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A response of the built-in server: status, required fields and content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: Status,
    /// The resource's methods, with 405 (RFC 9110 section 15.5.6).
    pub allow: Option<&'static str>,
    /// Media type of the content.
    pub content_type: Option<String>,
    /// The content. In the response to a HEAD, the content that a GET would return.
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

    /// A 200 with content. `content_type` may be unknown.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_known_by_its_name_only() {
        for method in Method::ALL {
            assert_eq!(Method::by_name(method.name()), Some(method));
        }
        assert_eq!(Method::by_name("get"), None);
    }
}
