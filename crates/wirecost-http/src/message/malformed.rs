//! Errors in messages.

use super::Status;
use crate::fault::Fault;

/// An error in a message, in either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// There is no valid start line, or a field is invalid.
    #[error("the head is not HTTP")]
    Head,
    /// The head exceeds the receiver's limit.
    #[error("the head is longer than {limit} B")]
    HeadTooLarge {
        /// The receiver's limit.
        limit: usize,
    },
    /// Another version of the protocol.
    #[error("the version is not HTTP/1")]
    Version,
    /// The server does not know the method.
    #[error("the method is unknown")]
    Method,
    /// A status outside 100 to 599.
    #[error("the status is {0}, expected 100 to 599")]
    Status(u16),
    /// There is no authority, or more than one.
    #[error("a request must have one Host field, got {0}")]
    Host(usize),
    /// The target is not a path.
    #[error("the request target is not an absolute path")]
    Target,
    /// Content-Length is not a number, or several differ.
    #[error("Content-Length is not one number of bytes")]
    ContentLength,
    /// Content-Length together with Transfer-Encoding: two readers could see different requests.
    #[error("Content-Length beside Transfer-Encoding")]
    Smuggling,
    /// There is a transfer coding other than chunked.
    #[error("the transfer coding is not chunked alone")]
    TransferCoding,
    /// chunked is not the last transfer coding, or a HTTP/1.0 message has one. The end of the content is unknown.
    #[error("the last transfer coding is not chunked")]
    TransferOrder,
    /// A chunk size, extension or end is invalid.
    #[error("a chunk is malformed")]
    Chunk,
    /// 101 although no request asked for another protocol (RFC 9110 section 7.8). HTTP/3 has no such status (RFC 9114
    /// section 4.5).
    #[error("101 Switching Protocols, which the request did not ask for")]
    Switching,
    /// Host or `:authority` is not a valid host (RFC 9110 section 7.2).
    #[error("Host is not a valid host")]
    Authority,
    /// A field is not allowed in HTTP/3 (RFC 9114 sections 4.2 and 10.3).
    #[error("a field with upper case, a connection-specific field, or control characters")]
    Field,
    /// A broken rule of HTTP/3 that ends the connection.
    #[error(transparent)]
    Http3(#[from] Fault),
    /// The content's length differs from the announced one.
    #[error("the content differs from its announced length")]
    Length,
    /// Frames are in the wrong order, or a pseudo-field is missing or repeated.
    #[error("the frames or pseudo-fields are out of order")]
    Frames,
}

impl Malformed {
    /// The status of a server's response to such a request.
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
