//! The handshake of EDHOC at the beginning of a flow (RFC 9528, RFC 9668).

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::exchange::{Exchange, Subject};
use super::protection::Protection;
use super::transfer::{Purpose, Transfer};
use super::{Client, Event, Request, RequestTemplate, Waiting};
use crate::code::Method;
use crate::edhoc::{AwaitMessage2, BEFORE_MESSAGE_1, FORMAT_WITH_ID, Failure, PATH};

/// The number of the request with message_1. No message of the caller has it.
const NUMBER: u64 = u64::MAX - 1;

/// The state of the handshakes of a client.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// How many have begun.
    begun: u64,
    /// Until message_2 has arrived.
    session: Option<AwaitMessage2>,
    /// Whether requests may be sent on the current flow.
    is_agreed: bool,
}

impl Client {
    /// Queues message_1 before all other requests.
    pub(super) fn begin_handshake(&mut self) {
        self.protection = None;
        let (Some(initiator), Some(handshake)) = (&self.config.edhoc, &mut self.handshake) else {
            return;
        };
        handshake.is_agreed = false;
        let begun = initiator.begin(handshake.begun);
        handshake.begun += 1;
        let made = begun.and_then(|(session, message_1)| {
            handshake.session = Some(session);
            request(&message_1)
        });
        match made {
            Ok(template) => self.waiting.push_front(Waiting {
                message: NUMBER,
                subject: Subject::Transfer(Transfer::new(template, Purpose::Handshake, &self.config)),
                token: None,
            }),
            Err(failure) => self.outbox.event(Event::NotAgreed(failure)),
        }
    }

    /// Whether the next waiting exchange must wait for the end of a handshake.
    pub(super) fn waits_for_handshake(&self) -> bool {
        let is_open = self
            .handshake
            .as_ref()
            .is_some_and(|handshake| !handshake.is_agreed);
        let next = self.waiting.front();
        is_open && !next.is_some_and(|waiting| waiting.subject.is_handshake())
    }

    /// Reports how an exchange ended. That of message_1 ends the handshake.
    pub(super) fn report(&mut self, exchange: &Exchange, event: Event) {
        if !exchange.subject.is_handshake() {
            return self.outbox.event(event);
        }
        let ended = match event {
            Event::Response(response) if response.code.is_success() => self.take_message_2(&response.payload),
            Event::TimedOut { .. } => Err(Failure::Unanswered),
            _ => Err(Failure::Refused),
        };
        self.outbox.event(match ended {
            Ok(()) => Event::Opened,
            Err(failure) => Event::NotAgreed(failure),
        });
    }

    fn take_message_2(&mut self, message_2: &[u8]) -> Result<(), Failure> {
        let (Some(initiator), Some(handshake)) = (&self.config.edhoc, &mut self.handshake) else {
            return Err(Failure::NoSession);
        };
        let session = handshake.session.take().ok_or(Failure::NoSession)?;
        let established = initiator.take_message_2(&session, message_2)?;
        handshake.is_agreed = true;
        let protection = Protection::agreed(established.context, established.message_3);
        self.protection = Some(Box::new(protection));
        Ok(())
    }
}

/// The request with message_1 (RFC 9528 appendix A.2.1).
fn request(message_1: &[u8]) -> Result<Arc<RequestTemplate>, Failure> {
    let request = Request {
        content_format: Some(FORMAT_WITH_ID),
        payload: [&[BEFORE_MESSAGE_1], message_1].concat().into(),
        ..Request::new(Method::Post, PATH)
    };
    let message = "message_1";
    let template = RequestTemplate::new(request).map_err(|_| Failure::Malformed { message })?;
    Ok(Arc::new(template))
}
