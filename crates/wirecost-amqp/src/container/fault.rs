//! What a client does wrong: the conditions that it is told (sections 2.8.15 to 2.8.18).

/// A fault that ends the connection; those of a session or a link end no more than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
}

pub(super) const NOT_ALLOWED: &str = "amqp:not-allowed";
pub(super) const NOT_IMPLEMENTED: &str = "amqp:not-implemented";
pub(super) const RESOURCE_LIMIT_EXCEEDED: &str = "amqp:resource-limit-exceeded";
pub(super) const CONNECTION_FORCED: &str = "amqp:connection:forced";
pub(super) const WINDOW_VIOLATION: &str = "amqp:session:window-violation";
pub(super) const HANDLE_IN_USE: &str = "amqp:session:handle-in-use";
pub(super) const UNATTACHED_HANDLE: &str = "amqp:session:unattached-handle";
pub(super) const MESSAGE_SIZE_EXCEEDED: &str = "amqp:link:message-size-exceeded";
pub(super) const TRANSFER_LIMIT_EXCEEDED: &str = "amqp:link:transfer-limit-exceeded";
