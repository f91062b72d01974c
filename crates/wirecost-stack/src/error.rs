//! Why a client cannot be made.

use crate::kind::Stack;

/// Why a message cannot be sent by a stack, or a client cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{stack} cannot do this: {reason}")]
pub struct ClientError {
    /// Name of the stack.
    pub stack: String,
    /// What its protocol objects to.
    pub reason: String,
}

impl ClientError {
    /// The objection of a stack.
    pub(crate) fn new(stack: Stack, reason: impl std::fmt::Display) -> Self {
        Self {
            stack: stack.to_string(),
            reason: reason.to_string(),
        }
    }
}
