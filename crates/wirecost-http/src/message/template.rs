//! Requests that are encoded once.

use std::sync::OnceLock;

use bytes::Bytes;
use wirecost_proto::Content;

use super::Method;

/// A value that a request cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The authority is not `host` or `host:port`.
    #[error("authority must be host or host:port, got {0:?}")]
    Authority(String),
    /// The path is not absolute.
    #[error("path must start with / and hold visible ASCII without #, got {0:?}")]
    Path(String),
    /// The text is not a media type.
    #[error("content type must be visible ASCII and spaces, got {0:?}")]
    ContentType(String),
    /// TRACE and CONNECT have no resource content.
    #[error("method must not be CONNECT or TRACE, got {0}")]
    Method(Method),
}

/// A request that can be sent any number of times without copying or encoding it again.
///
/// It has only the required fields: the authority and, with content, length and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTemplate {
    method: Method,
    authority: String,
    path: String,
    content_type: Option<String>,
    content_coding: Option<&'static str>,
    user_agent: Option<String>,
    content: Content,
    http1_head: String,
    http3_head: Http3Head,
}

/// The HTTP/3 head, encoded on first use. It derives from the rest of the template, so all values are equal.
#[derive(Clone, Debug, Default)]
struct Http3Head(OnceLock<Bytes>);

impl PartialEq for Http3Head {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Http3Head {}

impl RequestTemplate {
    /// A request to `path`, including the query, at `authority`. `content_type` is ignored if there is no content.
    ///
    /// # Errors
    /// A text is invalid, or the method is CONNECT or TRACE.
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
            content_coding: None,
            user_agent: None,
            content,
            http1_head: String::new(),
            http3_head: Http3Head::default(),
        };
        template.http1_head = template.encode_http1_head();
        Ok(template)
    }

    /// The same request whose content has a content coding (RFC 9110, section 8.4), such as `gzip`. It is ignored if there is no
    /// content.
    #[must_use]
    pub fn with_content_coding(self, coding: &'static str) -> Self {
        let mut template = Self {
            content_coding: (!self.content.is_empty()).then_some(coding),
            http3_head: Http3Head::default(),
            ..self
        };
        template.http1_head = template.encode_http1_head();
        template
    }

    /// The same request with `bytes` more bytes of header fields, in the form of HTTP/1.1: a `User-Agent` (RFC 9110, section
    /// 10.1.5). Fewer bytes than [`RequestTemplate::LEAST_FIELD_BYTES`] give no field.
    #[must_use]
    pub fn with_field_bytes(self, bytes: usize) -> Self {
        let value = bytes
            .checked_sub(Self::LEAST_FIELD_BYTES)
            .map(|more| "x".repeat(1 + more));
        let mut template = Self {
            user_agent: value,
            http3_head: Http3Head::default(),
            ..self
        };
        template.http1_head = template.encode_http1_head();
        template
    }

    /// The same request as a GET whose query has the content as `reading`, percent-encoded (RFC 3986, section 2.1). A request without
    /// content stays as it is.
    #[must_use]
    pub fn with_content_in_query(self) -> Self {
        let bytes = self.content.bytes().to_vec();
        if bytes.is_empty() {
            return self;
        }
        let mut template = Self {
            method: Method::Get,
            path: crate::query::with_reading(&self.path, &bytes),
            content_type: None,
            content_coding: None,
            content: Content::from([]),
            http3_head: Http3Head::default(),
            ..self
        };
        template.http1_head = template.encode_http1_head();
        template
    }

    /// The fewest bytes of a field that [`RequestTemplate::with_field_bytes`] adds: `User-Agent: x` and its line end.
    pub const LEAST_FIELD_BYTES: usize = "User-Agent: x\r\n".len();

    /// Method.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The host, with the port unless it is the scheme's default.
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

    /// Content coding of the content, if it has one.
    pub const fn content_coding(&self) -> Option<&'static str> {
        self.content_coding
    }

    /// The client's name for itself, if the request has one.
    pub fn user_agent(&self) -> Option<&str> {
        self.user_agent.as_deref()
    }

    /// What the request carries.
    pub const fn content(&self) -> &Content {
        &self.content
    }

    /// The content, to be changed in place between two uses. Its length must not change.
    pub const fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }

    /// The Content-Length of the request: always with content, and without it if the method anticipates content.
    pub fn content_length(&self) -> Option<usize> {
        let says = !self.content.is_empty() || self.method.anticipates_content();
        says.then_some(self.content.len())
    }

    /// The HTTP/1.1 head without the final empty line.
    pub fn http1_head(&self) -> &str {
        &self.http1_head
    }

    /// The HTTP/3 head: HEADERS and the header of DATA. Calls `encode` on first use only.
    pub(crate) fn http3_head(&self, encode: fn(&Self) -> Vec<u8>) -> Bytes {
        let head = self.http3_head.0.get_or_init(|| encode(self).into());
        head.clone()
    }

    /// Request line and fields (RFC 9112 section 3). Host is first (RFC 9110 section 7.2).
    fn encode_http1_head(&self) -> String {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\n",
            self.method, self.path, self.authority
        );
        if let Some(text) = &self.user_agent {
            head += &format!("User-Agent: {text}\r\n");
        }
        if let Some(text) = &self.content_type {
            head += &format!("Content-Type: {text}\r\n");
        }
        if let Some(coding) = self.content_coding {
            head += &format!("Content-Encoding: {coding}\r\n");
        }
        if let Some(bytes) = self.content_length() {
            head += &format!("Content-Length: {bytes}\r\n");
        }
        head
    }
}

/// uri-host and port (RFC 3986 section 3.2) without user information (RFC 9110 section 4.2.4).
const fn is_in_authority(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'@' | b'/' | b'?' | b'#' | b'\\' | b'"' | b'<' | b'>')
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
    fn a_coded_content_says_its_coding() {
        let of = |content: &[u8]| {
            let template = RequestTemplate::new(Method::Post, "a", "/", Some("application/json"), content);
            template.expect("a request").with_content_coding("gzip")
        };
        let fields = "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n";
        assert!(of(b"abc").http1_head().ends_with(fields));
        assert_eq!(of(b"").content_coding(), None);
    }

    #[test]
    fn more_header_fields_have_the_length_that_is_asked_for() {
        let of = |bytes| {
            let template = RequestTemplate::new(Method::Post, "a", "/", None, [7]).expect("a request");
            template.with_field_bytes(bytes).http1_head().len()
        };
        let least = RequestTemplate::LEAST_FIELD_BYTES;
        for (bytes, added) in [(0, 0), (least - 1, 0), (least, least), (1_000, 1_000)] {
            assert_eq!(of(bytes) - of(0), added, "{bytes}");
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
}
