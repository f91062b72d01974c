//! One outstanding interaction: a ping, or the current request of a transfer.

use wirecost_proto::{FlowId, Instant};

use super::Event;
use super::transfer::Transfer;
use crate::describe::Kind;
use crate::message::{Repr, Type};
use crate::option::Options;
use crate::outbox::Outbox;
use crate::parameters::Backoff;
use crate::token::Token;

/// What an exchange is about.
#[derive(Debug)]
pub(super) enum Subject {
    Ping,
    Transfer(Transfer),
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

    /// Queues the current datagram; returns its length in bytes.
    pub(super) fn transmit(
        &mut self,
        flow: FlowId,
        again: bool,
        scratch: &mut Options,
        outbox: &mut Outbox<Event>,
    ) -> usize {
        self.transmissions += 1;
        let kind = |repr: &Repr<'_>| match again {
            true => Kind::of(repr).again(),
            false => Kind::of(repr),
        };
        let Subject::Transfer(transfer) = &self.subject else {
            let ping = Repr::empty(Type::Confirmable, self.message_id);
            return outbox.send(flow, &ping, kind(&ping), None);
        };
        let (options, payload, offset) = transfer.next_request();
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
        let content = Some((&template.content, offset));
        outbox.send(flow, &request, kind(&request), content)
    }
}
