//! One outstanding interaction: a ping, or the current request of a transfer.

use alloc::vec::Vec;

use wirecost_proto::{FlowId, Instant};

use super::Event;
use super::protection::Protection;
use super::transfer::{Purpose, Transfer};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::{Repr, Type};
use crate::option::Options;
use crate::oscore::ProtectError;
use crate::outbox::{Datagram, Outbox};
use crate::parameters::Backoff;
use crate::token::Token;

/// What an exchange is about.
#[derive(Debug)]
pub(super) enum Subject {
    Ping,
    Transfer(Transfer),
}

impl Subject {
    /// Whether it is the rest of a large notification.
    pub(super) const fn is_notification(&self) -> bool {
        match self {
            Self::Ping => false,
            Self::Transfer(transfer) => matches!(transfer.purpose, Purpose::Notification),
        }
    }
}

/// What an exchange waits for.
#[derive(Debug)]
pub(super) enum State {
    /// All message ids are taken until then.
    Blocked { until: Instant },
    /// A confirmable message was sent.
    AwaitAck(Backoff),
    /// A non-confirmable block was sent, without whose 2.31 the transfer cannot go on.
    AwaitContinue(Backoff),
    /// The request was acknowledged or is non-confirmable; it counts for NSTART before `outstanding_until`.
    AwaitResponse {
        deadline: Instant,
        outstanding_until: Instant,
    },
}

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) message: u64,
    pub(super) subject: Subject,
    pub(super) message_id: u16,
    pub(super) token: Token,
    pub(super) transmissions: u32,
    pub(super) state: State,
    /// What was sent last.
    pub(super) datagram: Vec<u8>,
    pub(super) layout: Layout,
}

impl Exchange {
    /// When the exchange wants to be woken.
    pub(super) fn deadline(&self) -> Instant {
        match &self.state {
            State::Blocked { until } => *until,
            State::AwaitAck(backoff) | State::AwaitContinue(backoff) => backoff.deadline(),
            State::AwaitResponse { deadline, .. } => *deadline,
        }
    }

    /// When the exchange ceases to count for NSTART (RFC 7252 section 4.7), or `None` where an event tells.
    pub(super) fn outstanding_until(&self) -> Option<Instant> {
        match &self.state {
            State::AwaitResponse {
                outstanding_until, ..
            } => Some(*outstanding_until),
            _ => None,
        }
    }

    /// Whether an ACK or RST with `message_id` is for this exchange.
    pub(super) fn awaits_ack(&self, message_id: u16) -> bool {
        self.message_id == message_id && matches!(self.state, State::AwaitAck(_))
    }

    /// Whether an RST with `message_id` is for this exchange; NON may be rejected too (RFC 7252 section 4.3).
    pub(super) fn may_be_reset(&self, message_id: u16) -> bool {
        self.message_id == message_id && !matches!(self.state, State::Blocked { .. })
    }

    /// Whether a response with `token` is for this exchange.
    pub(super) fn awaits_response(&self, token: Token) -> bool {
        let waits = !matches!(self.state, State::Blocked { .. });
        self.token == token && waits && matches!(self.subject, Subject::Transfer(_))
    }

    /// The number of the message whose last byte the current request carries, once.
    fn take_sent(&mut self) -> Option<u64> {
        match &mut self.subject {
            Subject::Ping => None,
            Subject::Transfer(transfer) => transfer.take_sent().then_some(self.message),
        }
    }

    pub(super) fn is_confirmable(&self) -> bool {
        match &self.subject {
            Subject::Ping => true,
            Subject::Transfer(transfer) => transfer.template.confirmable,
        }
    }

    /// Whether no response of any class will come.
    pub(super) fn expects_nothing(&self) -> bool {
        match &self.subject {
            Subject::Ping => false,
            Subject::Transfer(transfer) => transfer.template.wants_nothing() && transfer.is_first(),
        }
    }

    /// Whether silence is what the request asked for, so that it is no failure.
    pub(super) fn tolerates_silence(&self) -> bool {
        match &self.subject {
            Subject::Ping => false,
            Subject::Transfer(transfer) => transfer.template.no_response != 0 && !transfer.is_intermediate(),
        }
    }

    /// Encodes the current request, protected where there is something that does it.
    pub(super) fn encode(
        &mut self,
        scratch: &mut Options,
        protection: Option<&mut Protection>,
    ) -> Result<(), ProtectError> {
        self.datagram.clear();
        let Subject::Transfer(transfer) = &self.subject else {
            Repr::empty(Type::Confirmable, self.message_id).emit(&mut self.datagram);
            self.layout = Layout::plain(self.datagram.len(), 0);
            return Ok(());
        };
        let (options, payload) = transfer.next_request();
        let template = &transfer.template;
        scratch.merge(template.options.view(), options.iter(), |number| {
            options.keeps(number)
        });
        let request = Repr {
            kind: match template.confirmable {
                true => Type::Confirmable,
                false => Type::NonConfirmable,
            },
            code: template.method.code(),
            message_id: self.message_id,
            token: self.token,
            options: scratch.view(),
            payload,
        };
        self.layout = match protection {
            Some(protection) => protection.protect(&request, &mut self.datagram)?,
            None => {
                request.emit(&mut self.datagram);
                Layout::visible(&request, self.datagram.len())
            }
        };
        Ok(())
    }

    /// Queues what was encoded: the same bytes each time (RFC 7252 section 4.2).
    pub(super) fn transmit(&mut self, flow: FlowId, again: bool, outbox: &mut Outbox<Event>) {
        self.transmissions += 1;
        let (kind, content) = match &self.subject {
            Subject::Ping => (Kind::PING, None),
            Subject::Transfer(transfer) => (Kind::ORIGINAL, Some(transfer.content())),
        };
        let kind = if again { kind.again() } else { kind };
        let datagram = Datagram::new(self.layout, kind).carrying(content);
        let datagram = datagram.ending(self.take_sent());
        outbox.send_encoded(flow, &self.datagram, datagram);
    }
}
