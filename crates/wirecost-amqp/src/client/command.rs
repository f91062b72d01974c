//! What a client can be asked, and what it reports.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use wirecost_proto::{Buffer, Cause, Content, Layer, Phase, ResetReason};

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
    /// The message that carries `content`.
    pub fn new(content: impl Into<Content>) -> Self {
        let content = content.into();
        Self {
            head: message_head(CONTENT_TYPE, content.len()),
            content,
        }
    }

    /// What the data section carries, with the layers of its bytes.
    pub const fn content(&self) -> &Content {
        &self.content
    }

    /// The same, to be changed in place between two uses; a content of another length is another template.
    pub const fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }

    /// Bytes of the encoded message, sections included.
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

/// What a client can be asked. What cannot be sent yet waits, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a message.
    Send {
        /// The number that events give back.
        message: u64,
        /// The message.
        template: Arc<MessageTemplate>,
    },
    /// Close the connection; messages that wait stay for the next one.
    Close,
}

/// What a client reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The link has credit: messages may go.
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
    /// The receiver did not accept a message, or it was too large to be sent.
    Refused {
        /// Its number.
        message: u64,
        /// Why.
        reason: Refusal,
    },
    /// The connection ended before a message had an outcome: it may have arrived or not.
    Discarded {
        /// Its number.
        message: u64,
    },
    /// The connection cannot go on; the client closes it.
    Failed(Failure),
    /// The peer closed the connection, first or in answer.
    Closed {
        /// Why, where it gave a reason.
        error: Option<OwnedCondition>,
    },
    /// The flow broke.
    Reset(ResetReason),
}

/// Why a message was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Outcome rejected: the message is invalid.
    #[error("message rejected{}", because(.0))]
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
    /// Above the receiver's max-message-size; it was not sent.
    #[error("message must have at most {limit} B, got {bytes} B")]
    TooLarge {
        /// Bytes of the encoded message.
        bytes: usize,
        /// The receiver's limit in bytes.
        limit: u64,
    },
}

/// Why a connection cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The peer speaks another protocol or version.
    #[error("peer must answer with protocol header {}, got {}", Hex(.expected), Hex(.got))]
    Protocol {
        /// What was sent.
        expected: ProtocolHeader,
        /// What came.
        got: ProtocolHeader,
    },
    /// What the peer sent first begins no protocol header: it speaks something else, such as HTTP or TLS.
    #[error("peer must answer with a protocol header of AMQP, got something else")]
    NotAmqp,
    /// The server does not offer the mechanism.
    #[error("server must offer SASL mechanism {0}")]
    Mechanism(&'static str),
    /// The server did not let the client in (section 5.3.3.6).
    #[error("server must let the client in (SASL code 0), got code {0}")]
    Authentication(u8),
    /// The peer sent what is not AMQP.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The peer sent a frame that has no place where the connection stands.
    #[error("frame must fit where the connection stands, got {0}")]
    Unexpected(&'static str),
    /// The peer ended the link.
    #[error("link detached by the peer{}", because(.0))]
    Detached(Option<OwnedCondition>),
    /// The peer ended the session.
    #[error("session ended by the peer{}", because(.0))]
    Ended(Option<OwnedCondition>),
    /// The peer was silent for too long.
    #[error("peer must send {0} in time")]
    TimedOut(Awaited),
}

/// What did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The peer's protocol header.
    Header,
    /// The server's SASL mechanisms or outcome.
    Sasl,
    /// Open, begin, attach or credit.
    Credit,
    /// Any frame, within the idle time-out.
    Frame,
    /// The answer to a close.
    Close,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "its protocol header",
            Self::Sasl => "its SASL frames",
            Self::Credit => "open, begin, attach and credit",
            Self::Frame => "a frame",
            Self::Close => "close",
        })
    }
}

fn because(condition: &Option<OwnedCondition>) -> impl fmt::Display {
    struct Because<'a>(&'a Option<OwnedCondition>);
    impl fmt::Display for Because<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.iter().try_for_each(|condition| write!(f, ": {condition}"))
        }
    }
    Because(condition)
}

struct Hex<'a>(&'a ProtocolHeader);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, _, _, _, id, major, minor, revision] = self.0.bytes();
        write!(f, "AMQP {id} {major}.{minor}.{revision}")
    }
}
