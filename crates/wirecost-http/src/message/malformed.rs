//! What can be wrong with a message.

use super::Status;
use crate::fault::Fault;

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
    #[error("the version is not HTTP/1")]
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
    /// A transfer coding after chunked, none, or one of HTTP/1.0: the end of the content is not known.
    #[error("the last transfer coding is not chunked")]
    TransferOrder,
    /// A chunk size, extension or end that is none.
    #[error("a chunk is ill-formed")]
    Chunk,
    /// 101 in answer to a request that asked for no other protocol (RFC 9110 section 7.8); HTTP/3 has no such status (RFC 9114
    /// section 4.5).
    #[error("101 Switching Protocols, which nobody asked for")]
    Switching,
    /// A Host or `:authority` that names no host (RFC 9110 section 7.2).
    #[error("Host names no host")]
    Authority,
    /// A field that HTTP/3 does not allow (RFC 9114 sections 4.2 and 10.3).
    #[error("a field with upper case, of a connection, or with control characters")]
    Field,
    /// A rule of HTTP/3 was broken, for which the connection ends.
    #[error(transparent)]
    Http3(#[from] Fault),
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
