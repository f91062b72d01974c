//! The server's side of EDHOC (RFC 9528), and of message_3 in the first protected request (RFC 9668).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Server;
use super::respond::Exchange;
use crate::code::Code;
use crate::describe::Kind;
use crate::edhoc::{self, Failure, Responder, ServerConfig};
use crate::layout::Layout;
use crate::message::{Repr, Type};
use crate::option::{OptionNumber, Options};
use crate::oscore::option::OscoreOption;
use crate::oscore::{Context, MAX_ID_BYTES, Refusal, Session};
use crate::short::ShortBytes;

/// The sessions of contexts that EDHOC has agreed on.
#[derive(Debug)]
pub(super) struct Agreed {
    responder: Option<Box<Responder>>,
    /// By number. No number is used twice, so that what is kept of an earlier session never meets a later one.
    sessions: BTreeMap<usize, Session>,
    /// The numbers by kid.
    numbers: BTreeMap<ShortBytes<MAX_ID_BYTES>, usize>,
    next: usize,
}

impl Agreed {
    /// No sessions. Their numbers begin with `first`.
    pub(super) fn new(config: Option<ServerConfig>, first: usize) -> Self {
        Self {
            responder: config.map(Responder::new).map(Box::new),
            sessions: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next: first,
        }
    }

    pub(super) fn is_possible(&self) -> bool {
        self.responder.is_some()
    }

    pub(super) fn take_message_1(&mut self, message_1: &[u8]) -> Result<Vec<u8>, Failure> {
        let responder = self.responder.as_mut().ok_or(Failure::NoSession)?;
        responder.take_message_1(message_1)
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Session> {
        self.sessions.get_mut(&number)
    }

    /// The number of the session that the option names.
    pub(super) fn find(&self, option: &OscoreOption<'_>) -> Option<usize> {
        let number = *self.numbers.get(&ShortBytes::new(option.kid?)?)?;
        let session = self.sessions.get(&number)?;
        session.owns(option).then_some(number)
    }

    /// The request without the message_3 in front of its ciphertext. One that is awaited begins its session. A request that repeats a
    /// message_3, because the response to an earlier one was lost, is authentic if OSCORE says so.
    pub(super) fn without_message_3<'a>(
        &mut self,
        option: &OscoreOption<'_>,
        request: &Repr<'a>,
        known: bool,
    ) -> Result<Repr<'a>, Refusal> {
        let Some(responder) = &mut self.responder else {
            return Ok(*request);
        };
        if request.options.first(OptionNumber::EDHOC).is_none() {
            return Ok(*request);
        }
        let message = "message_3";
        let (message_3, rest) = edhoc::message_3_of(request).ok_or(Failure::Malformed { message })?;
        let kid = option.kid.ok_or(Refusal::Missing { part: "kid" })?;
        if responder.awaits(kid) && !known {
            let context = responder.take_message_3(kid, message_3)?;
            self.keep(context);
        } else if self.find(option).is_none() {
            return Err(Failure::NoSession.into());
        }
        Ok(Repr {
            payload: rest,
            ..*request
        })
    }

    /// Begins the session of a context, in place of an earlier one with the same kid.
    fn keep(&mut self, context: Context) {
        let Some(kid) = ShortBytes::new(context.recipient_id()) else {
            return;
        };
        if let Some(earlier) = self.numbers.insert(kid, self.next) {
            self.sessions.remove(&earlier);
        }
        self.sessions.insert(self.next, Session::new(context));
        self.next += 1;
    }
}

impl Server {
    /// Whether a request is one for the resource of EDHOC, and there is one.
    pub(super) fn takes_edhoc(&self, request: &Repr<'_>) -> bool {
        self.config.edhoc.is_some() && edhoc::is_request(request)
    }

    /// Answers message_1. A message_3 by a request of its own is not supported: it comes with the first protected request.
    pub(super) fn take_edhoc(&mut self, exchange: &Exchange, request: &Repr<'_>) {
        let message = "message_1";
        let answered = match *request.payload {
            [edhoc::BEFORE_MESSAGE_1, ref message_1 @ ..] => self.sessions.take_message_1(message_1),
            _ => Err(Failure::Malformed { message }),
        };
        match answered {
            Ok(message_2) => self.send_edhoc(exchange, Code::CHANGED, &message_2),
            Err(failure) => {
                self.stats.refused += 1;
                self.send_edhoc(exchange, Code::BAD_REQUEST, &failure.message());
            }
        }
    }

    /// Sends a message of EDHOC as a response without protection.
    pub(super) fn send_edhoc(&mut self, exchange: &Exchange, code: Code, message: &[u8]) {
        let mut options = Options::new();
        let format = u64::from(edhoc::FORMAT);
        if options.insert_uint(OptionNumber::CONTENT_FORMAT, format).is_err() {
            return;
        }
        let response = Repr {
            kind: exchange.response_kind(),
            code,
            message_id: self.response_id(exchange),
            token: exchange.token,
            options: options.view(),
            payload: message,
        };
        self.datagram.clear();
        response.emit(&mut self.datagram);
        let layout = Layout::from_repr(&response, self.datagram.len());
        self.outbox
            .send_encoded(exchange.flow, &self.datagram, layout, Kind::from_repr(&response));
        if exchange.kind == Type::Confirmable && code.is_success() {
            self.duplicates.answered(&self.datagram, layout);
        }
    }
}
