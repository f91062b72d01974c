//! A request that is encoded once and can be sent many times.

use alloc::string::String;
use alloc::vec::Vec;

use wirecost_proto::Content;

use crate::code::Method;
use crate::option::{OptionError, OptionNumber, Options, content_format};

/// A request to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, such as `/test`. Slashes separate its segments.
    pub path: String,
    /// The arguments of the query. Each becomes a Uri-Query option.
    pub query: Vec<String>,
    /// CON or NON.
    pub confirmable: bool,
    /// The format of the payload.
    pub content_format: Option<u16>,
    /// The content format that the client accepts.
    pub accept: Option<u16>,
    /// The classes of responses to suppress (RFC 7967): 2 for 2.xx, 8 for 4.xx, 16 for 5.xx.
    pub no_response: Option<u8>,
    /// Any other options.
    pub options: Vec<(OptionNumber, Vec<u8>)>,
    /// The content: the payload, or an object that protects it.
    pub payload: Content,
}

/// The value of No-Response that suppresses every class (RFC 7967 section 2.1).
pub const NO_RESPONSE_AT_ALL: u8 = 26;

impl Request {
    /// A confirmable request without content.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            confirmable: true,
            content_format: None,
            accept: None,
            no_response: None,
            options: Vec::new(),
            payload: Content::from(Vec::new()),
        }
    }

    /// A confirmable PUT of `payload` as application/octet-stream: one `coap-con` message.
    pub fn put(path: impl Into<String>, payload: impl Into<Content>) -> Self {
        Self {
            content_format: Some(content_format::OCTET_STREAM),
            payload: payload.into(),
            ..Self::new(Method::Put, path)
        }
    }

    /// A non-confirmable PUT that suppresses every response: one `coap-non` message.
    pub fn put_without_response(path: impl Into<String>, payload: impl Into<Content>) -> Self {
        Self {
            confirmable: false,
            no_response: Some(NO_RESPONSE_AT_ALL),
            ..Self::put(path, payload)
        }
    }

    /// A confirmable GET.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::Get, path)
    }
}

/// A request with encoded options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTemplate {
    pub(super) method: Method,
    pub(super) confirmable: bool,
    pub(super) no_response: u8,
    pub(super) options: Options,
    pub(super) content: Content,
}

impl RequestTemplate {
    /// Encodes the options of `request`.
    ///
    /// # Errors
    /// A value is longer than its option allows, such as a path segment above 255 bytes.
    pub fn new(request: Request) -> Result<Self, OptionError> {
        let mut options = Options::new();
        let segments = request.path.trim_start_matches('/').split('/');
        // RFC 7252 section 6.4: an empty path and a single slash have no Uri-Path.
        for segment in segments.filter(|_| !matches!(request.path.as_str(), "" | "/")) {
            options.insert(OptionNumber::URI_PATH, segment.as_bytes())?;
        }
        let numeric = [
            (OptionNumber::CONTENT_FORMAT, request.content_format),
            (OptionNumber::ACCEPT, request.accept),
            (OptionNumber::NO_RESPONSE, request.no_response.map(u16::from)),
        ];
        for argument in &request.query {
            options.insert(OptionNumber::URI_QUERY, argument.as_bytes())?;
        }
        for (number, value) in numeric {
            if let Some(value) = value {
                options.insert_uint(number, u64::from(value))?;
            }
        }
        for (number, value) in &request.options {
            options.insert(*number, value)?;
        }
        Ok(Self {
            method: request.method,
            confirmable: request.confirmable,
            no_response: options.view().no_response().unwrap_or(0),
            options,
            content: request.payload,
        })
    }

    /// Like `content`, for changes in place between two uses.
    pub const fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }

    /// The length of the encoded options of the template in bytes.
    pub(super) fn options_bytes(&self) -> usize {
        self.options.view().bytes().len()
    }

    /// Whether the request suppresses responses of every class.
    pub(super) fn suppresses_all(&self) -> bool {
        self.no_response & NO_RESPONSE_AT_ALL == NO_RESPONSE_AT_ALL
    }
}
