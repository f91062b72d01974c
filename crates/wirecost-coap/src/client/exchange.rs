//! One outstanding interaction: a ping, or the current request of a transfer.

use alloc::vec::Vec;

use wirecost_proto::bare::Transport;
use wirecost_proto::{FlowId, Instant};

use super::Event;
use super::protection::Protection;
use super::transfer::{Purpose, Transfer};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::{Repr, Type};
use crate::option::Options;
use crate::oscore::ProtectError;
use crate::outbox::Outbox;
use crate::parameters::Backoff;
use crate::stream::emit_ping;
use crate::token::Token;

/// A ping or a transfer.
#[derive(Debug)]
pub(super) enum Subject {
    Ping,
    Transfer(Transfer),
}

impl Subject {
    /// The transfer, unless this is a ping.
    pub(super) const fn transfer(&self) -> Option<&Transfer> {
        match self {
            Self::Ping => None,
            Self::Transfer(transfer) => Some(transfer),
        }
    }

    /// Whether it carries message_1 of EDHOC.
    pub(super) fn is_handshake(&self) -> bool {
        let transfer = self.transfer();
        transfer.is_some_and(|transfer| transfer.purpose == Purpose::Handshake)
    }

    /// Whether it fetches the rest of a large notification.
    pub(super) fn is_notification(&self) -> bool {
        let transfer = self.transfer();
        transfer.is_some_and(|transfer| transfer.purpose == Purpose::Notification)
    }
}

/// The state of an exchange.
#[derive(Debug)]
pub(super) enum State {
    /// All message ids are in use until then.
    Blocked { until: Instant },
    /// A confirmable message was sent.
    AwaitAck(Backoff),
    /// A non-confirmable block was sent, and its 2.31 has not arrived.
    AwaitContinue(Backoff),
    /// The request was acknowledged or is non-confirmable. It counts for NSTART before `outstanding_until`.
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
    /// The last sent datagram.
    pub(super) datagram: Vec<u8>,
    pub(super) layout: Layout,
}

impl Exchange {
    /// When the exchange needs to act next.
    pub(super) fn deadline(&self) -> Instant {
        match &self.state {
            State::Blocked { until } => *until,
            State::AwaitAck(backoff) | State::AwaitContinue(backoff) => backoff.deadline(),
            State::AwaitResponse { deadline, .. } => *deadline,
        }
    }

    /// When the exchange stops counting for NSTART (RFC 7252 section 4.7); `None` if an event decides.
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

    /// Whether an RST with `message_id` is for this exchange. A NON may be rejected, too (RFC 7252 section 4.3).
    pub(super) fn may_be_reset(&self, message_id: u16) -> bool {
        self.message_id == message_id && !matches!(self.state, State::Blocked { .. })
    }

    /// Whether a response with `token` is for this exchange.
    pub(super) fn awaits_response(&self, token: Token) -> bool {
        let waits = !matches!(self.state, State::Blocked { .. });
        self.token == token && waits && matches!(self.subject, Subject::Transfer(_))
    }

    /// Whether a Pong with `token` is for this exchange.
    pub(super) fn awaits_pong(&self, token: Token) -> bool {
        self.token == token && matches!(self.subject, Subject::Ping)
    }

    /// The number of the message whose last byte the current request carries, once.
    fn take_sent(&mut self) -> Option<u64> {
        match &mut self.subject {
            Subject::Ping => None,
            Subject::Transfer(transfer) if transfer.purpose == Purpose::Handshake => None,
            Subject::Transfer(transfer) => transfer.take_sent().then_some(self.message),
        }
    }

    pub(super) fn is_confirmable(&self) -> bool {
        let transfer = self.subject.transfer();
        transfer.is_none_or(|transfer| transfer.template.confirmable)
    }

    /// Whether no response of any class will come.
    pub(super) fn suppresses_all(&self) -> bool {
        let transfer = self.subject.transfer();
        transfer.is_some_and(|transfer| transfer.template.suppresses_all() && transfer.is_first())
    }

    /// Whether the request asked for no response, so that a missing response is not a failure.
    pub(super) fn tolerates_silence(&self) -> bool {
        let transfer = self.subject.transfer();
        transfer.is_some_and(|transfer| transfer.template.no_response != 0 && !transfer.is_intermediate())
    }

    /// Encodes the current request, protected if there is a security context.
    pub(super) fn encode(
        &mut self,
        scratch: &mut Options,
        protection: Option<&mut Protection>,
        transport: Transport,
    ) -> Result<(), ProtectError> {
        self.datagram.clear();
        let Subject::Transfer(transfer) = &self.subject else {
            match transport {
                Transport::Datagram => {
                    Repr::empty(Type::Confirmable, self.message_id).emit(&mut self.datagram);
                }
                Transport::Stream => emit_ping(self.token, &mut self.datagram),
            }
            self.layout = Layout::plain(self.datagram.len(), 0);
            return Ok(());
        };
        transfer.check_blocks()?;
        let (options, payload) = transfer.next_request();
        let template = &transfer.template;
        scratch.merge(template.options.view(), options.iter(), |number| {
            options.keeps(number)
        });
        let request = Repr {
            kind: Type::unsolicited(template.confirmable),
            code: template.method.code(),
            message_id: self.message_id,
            token: self.token,
            options: scratch.view(),
            payload,
        };
        self.layout = match (transport, protection) {
            (Transport::Stream, _) => {
                request.emit_stream(&mut self.datagram)?;
                Layout::from_repr(&request, self.datagram.len())
            }
            (Transport::Datagram, Some(protection)) => protection.protect(&request, &mut self.datagram)?,
            (Transport::Datagram, None) => {
                request.emit(&mut self.datagram);
                Layout::visible(&request, self.datagram.len())
            }
        };
        Ok(())
    }

    /// Queues the encoded datagram: a retransmission has the same bytes (RFC 7252 section 4.2).
    pub(super) fn transmit(&mut self, flow: FlowId, again: bool, outbox: &mut Outbox<Event>) {
        self.transmissions += 1;
        let (first, content) = match self.subject.transfer() {
            None => (Kind::PING, None),
            Some(transfer) => (Kind::ORIGINAL, Some(transfer.content())),
        };
        let kind = if again { first.again() } else { first };
        let content = content.map(|(content, offset)| (content.clone(), offset));
        let sent = self.take_sent();
        outbox.send_content(flow, &self.datagram, (self.layout, kind), content, sent);
    }
}
