//! Error conditions that the container sends (sections 2.8.15 to 2.8.18).

use crate::codec::DecodeError;
use crate::codec::frame::FrameTooLarge;

/// An error that ends the connection. An error of a session or link ends only that session or link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The bytes cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The client accepts no frame as large as an answer.
    #[error(transparent)]
    TooLarge(#[from] FrameTooLarge),
    /// The frame is not allowed in this state.
    #[error("{0}")]
    NotAllowed(&'static str),
}

impl Fault {
    /// The error condition that tells the client.
    pub(super) const fn condition(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.condition(),
            Self::TooLarge(_) => FRAME_SIZE_TOO_SMALL,
            Self::NotAllowed(_) => NOT_ALLOWED,
        }
    }
}

/// Section 2.8.15.
const FRAME_SIZE_TOO_SMALL: &str = "amqp:frame-size-too-small";
pub(super) const NOT_ALLOWED: &str = "amqp:not-allowed";
pub(super) const NOT_IMPLEMENTED: &str = "amqp:not-implemented";
pub(super) const RESOURCE_LIMIT_EXCEEDED: &str = "amqp:resource-limit-exceeded";
pub(super) const CONNECTION_FORCED: &str = "amqp:connection:forced";
pub(super) const WINDOW_VIOLATION: &str = "amqp:session:window-violation";
pub(super) const HANDLE_IN_USE: &str = "amqp:session:handle-in-use";
pub(super) const UNATTACHED_HANDLE: &str = "amqp:session:unattached-handle";
pub(super) const MESSAGE_SIZE_EXCEEDED: &str = "amqp:link:message-size-exceeded";
pub(super) const TRANSFER_LIMIT_EXCEEDED: &str = "amqp:link:transfer-limit-exceeded";
