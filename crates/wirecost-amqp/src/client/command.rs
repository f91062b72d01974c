//! Commands to the client, and the events that it reports.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use wirecost_proto::{Buffer, Cause, Content, Layer, Phase, ResetReason};

use crate::codec::frame::FrameTooLarge;
use crate::codec::section::message_head;
use crate::codec::{DecodeError, OwnedCondition, ProtocolHeader};

/// The content type of every message.
const CONTENT_TYPE: &str = "application/octet-stream";

/// A message that can be sent any number of times without being copied: properties with the content type
/// `application/octet-stream`, and one data section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageTemplate {
    head: Vec<u8>,
    content: Content,
}

impl MessageTemplate {
    /// The message that carries `content`, as bytes of no known type.
    pub fn new(content: impl Into<Content>) -> Self {
        Self::described(CONTENT_TYPE, None, content)
    }

    /// The message that carries `content` with the properties content-type and content-encoding (OASIS AMQP 1.0, part 3, section
    /// 3.2.4).
    pub fn described(
        content_type: &str,
        content_encoding: Option<&str>,
        content: impl Into<Content>,
    ) -> Self {
        let content = content.into();
        Self {
            head: message_head(content_type, content_encoding, content.len()),
            content,
        }
    }

    /// Like `content`, for changes in place between two uses. Keep the length: the head contains it.
    pub const fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }

    /// The length of the encoded message in bytes, sections included.
    pub fn message_bytes(&self) -> usize {
        self.head.len() + self.content.len()
    }

    /// Appends the bytes in `range` of the encoded message to `out`.
    pub(super) fn push(&self, range: Range<usize>, out: &mut Buffer) {
        let head = self.head.len();
        if let Some(bytes) = self.head.get(range.start.min(head)..range.end.min(head)) {
            out.push(bytes, Layer::Application, Phase::Message, Cause::Original);
        }
        let body = range.start.saturating_sub(head)..range.end.saturating_sub(head);
        self.content.push(body, Phase::Message, Cause::Original, out);
    }
}

/// A command to the client. A message that cannot be sent yet waits in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a message.
    Send {
        /// The number that events give back.
        message: u64,
        /// The message.
        template: Arc<MessageTemplate>,
    },
    /// Close the connection. Messages in the queue stay for the next connection.
    Close,
}

/// An event of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The link has credit for the first time: the client can send messages.
    Opened,
    /// The last byte of a message has been handed out. Nothing else follows where the sender settles.
    Sent {
        /// Its number.
        message: u64,
    },
    /// The receiver accepted a message.
    Acknowledged {
        /// Its number.
        message: u64,
    },
    /// The receiver did not accept a message, or the message is larger than the link allows.
    Refused {
        /// Its number.
        message: u64,
        /// Why.
        reason: Refusal,
    },
    /// The connection ended before a message had an outcome. The message may have arrived.
    Discarded {
        /// Its number.
        message: u64,
    },
    /// The connection failed. The client closes it.
    Failed(Failure),
    /// The peer closed the connection, on its own or in answer to our close.
    Closed {
        /// The peer's reason, if it gave one.
        error: Option<OwnedCondition>,
    },
    /// The flow broke.
    Reset(ResetReason),
}

/// Why a message was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Outcome rejected: the message is invalid.
    #[error("message rejected{}", error_suffix(.0))]
    Rejected(Option<OwnedCondition>),
    /// Outcome released: the receiver will not act on it.
    #[error("message released")]
    Released,
    /// Outcome modified.
    #[error("message to be modified before it is sent again")]
    Modified,
    /// The receiver settled it without an outcome.
    #[error("message settled without an outcome")]
    NoOutcome,
    /// The message is larger than the receiver's max-message-size. It was not sent.
    #[error("message must have at most {limit} B, got {bytes} B")]
    TooLarge {
        /// Bytes of the encoded message.
        bytes: usize,
        /// The receiver's limit in bytes.
        limit: u64,
    },
}

/// Why a connection failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The peer answered with the header of another protocol or version.
    #[error("peer must answer with protocol header {expected}, got {got}")]
    Protocol {
        /// What was sent.
        expected: ProtocolHeader,
        /// What came.
        got: ProtocolHeader,
    },
    /// The peer's first bytes are not a protocol header: it speaks another protocol, such as HTTP or TLS.
    #[error("peer must answer with an AMQP protocol header, got other bytes")]
    NotAmqp,
    /// The server does not offer the mechanism.
    #[error("server must offer SASL mechanism {0}")]
    Mechanism(&'static str),
    /// The server rejected the client's credentials (section 5.3.3.6).
    #[error("server must accept the login (SASL code 0), got code {0}")]
    Authentication(u8),
    /// The peer sent bytes that are not valid AMQP.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The peer sent a frame that is not allowed in this state of the connection.
    #[error("peer must send a frame that is allowed in this state, got {0}")]
    Unexpected(&'static str),
    /// The peer ended the link.
    #[error("link detached by the peer{}", error_suffix(.0))]
    Detached(Option<OwnedCondition>),
    /// The peer ended the session.
    #[error("session ended by the peer{}", error_suffix(.0))]
    Ended(Option<OwnedCondition>),
    /// A frame of the client is larger than the peer accepts. It was not sent.
    #[error(transparent)]
    FrameTooLarge(#[from] FrameTooLarge),
    /// The peer did not send in time.
    #[error("peer must send {0} in time")]
    TimedOut(Awaited),
}

/// A frame that the client waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Awaited {
    /// The peer's protocol header.
    #[error("its protocol header")]
    Header,
    /// The server's SASL mechanisms or outcome.
    #[error("its SASL frames")]
    Sasl,
    /// Open, begin, attach or credit.
    #[error("open, begin, attach and credit")]
    Credit,
    /// Any frame, within the idle time-out.
    #[error("a frame")]
    Frame,
    /// The answer to a close.
    #[error("close")]
    Close,
}

fn error_suffix(condition: &Option<OwnedCondition>) -> String {
    condition
        .as_ref()
        .map(|condition| format!(": {condition}"))
        .unwrap_or_default()
}
