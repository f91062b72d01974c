//! The client's side of OSCORE: protects requests and opens their responses (RFC 8613 sections 8.1, 8.4).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::Client;
use crate::layout::Layout;
use crate::message::Repr;
use crate::option::OptionNumber;
use crate::oscore::option::OscoreOption;
use crate::oscore::{Binding, Context, PartialIv, ProtectError, Refusal, Session, inner_message};
use crate::token::Token;

/// The number of answered requests that the client remembers, to tell late copies of their responses from forgeries.
const REMEMBERED: usize = 16;
/// Sequence numbers of observations have 24 bits (RFC 7641 section 4.4).
const SEQUENCE_MASK: u64 = 0xff_ffff;

/// A session, and its protected requests, oldest first.
#[derive(Debug)]
pub(super) struct Protection {
    session: Session,
    requests: VecDeque<Protected>,
    /// The message_3 of EDHOC, until an authentic response shows that the server has it (RFC 9668).
    message_3: Option<Vec<u8>>,
}

/// A request that was sent protected.
#[derive(Debug)]
struct Protected {
    token: Token,
    binding: Binding,
    /// Whether several responses may arrive.
    observes: bool,
    /// The Notification Number: the highest Partial IV of a notification.
    notification: Option<PartialIv>,
}

/// A received message: unprotected, or the decrypted inner message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a> {
    pub(super) repr: Repr<'a>,
    pub(super) layout: Layout,
    /// The sequence number of a notification.
    pub(super) observe: Option<u32>,
    /// Whether the message is authentic, or needs no protection. The client ignores a forgery, a replay and an unprotected
    /// success.
    pub(super) is_verified: bool,
}

impl Protection {
    pub(super) fn new(context: Context) -> Self {
        Self {
            session: Session::new(context),
            requests: VecDeque::new(),
            message_3: None,
        }
    }

    /// Protects by a context that EDHOC has agreed on: the first request carries `message_3`.
    pub(super) fn agreed(context: Context, message_3: Vec<u8>) -> Self {
        Self {
            message_3: Some(message_3),
            ..Self::new(context)
        }
    }

    /// Appends `request` to `out`, protected.
    pub(super) fn protect(&mut self, request: &Repr<'_>, out: &mut Vec<u8>) -> Result<Layout, ProtectError> {
        let (binding, layout) = self
            .session
            .protect_request(request, self.message_3.as_deref(), out)?;
        self.requests.push_back(Protected {
            token: request.token,
            binding,
            observes: request.options.observe() == Some(0),
            notification: None,
        });
        Ok(layout)
    }

    /// Forgets the oldest requests that `is_awaited` does not select, except for the last few.
    pub(super) fn forget(&mut self, is_awaited: impl Fn(Token) -> bool) {
        while self.requests.len() > REMEMBERED {
            let done = |request: &Protected| !is_awaited(request.token);
            let Some(at) = self.requests.iter().position(done) else {
                return;
            };
            self.requests.remove(at);
        }
    }

    fn has_request(&self, token: Token) -> bool {
        self.requests.iter().any(|request| request.token == token)
    }

    /// Decrypts a response into `plaintext`. Returns the sequence number of a notification, or `None` for a replay.
    fn open(&mut self, response: &Repr<'_>, plaintext: &mut Vec<u8>) -> Result<Option<u32>, Refusal> {
        let value = response.options.first(OptionNumber::OSCORE);
        let option = OscoreOption::parse(value.map_or(&[], |option| option.value))?;
        let mut refusal = Refusal::ContextNotFound;
        // A repeated block or a deregistration has the token of an earlier request. Try the latest request first.
        for request in self.requests.iter_mut().rev() {
            if request.token != response.token {
                continue;
            }
            match self
                .session
                .open_response(request.binding, &option, response, plaintext)
            {
                Ok(number) => {
                    self.message_3 = None;
                    return Ok(request.advance(number));
                }
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }
}

impl Protected {
    /// Records the Partial IV of an authentic response. Notifications are ordered by their Partial IVs (RFC 8613
    /// section 4.1.3.5.2). The first one may have none, and precedes all others.
    fn advance(&mut self, number: Option<PartialIv>) -> Option<u32> {
        let Some(number) = number else {
            return Some(0);
        };
        if self.observes {
            // RFC 8613 section 7.4.1: a notification whose number is not above the last one is a replay.
            if self.notification.is_some_and(|last| number <= last) {
                return None;
            }
            self.notification = Some(number);
        }
        Some(((number.value() + 1) & SEQUENCE_MASK) as u32)
    }
}

impl<'a> Incoming<'a> {
    /// A message that is used as it arrived.
    pub(super) fn plain(repr: Repr<'a>, len: usize) -> Self {
        Self {
            repr,
            layout: Layout::visible(&repr, len),
            observe: repr.options.observe(),
            is_verified: true,
        }
    }

    fn unverified(self) -> Self {
        Self {
            is_verified: false,
            ..self
        }
    }
}

impl Client {
    /// Opens a message of `len` bytes. If it is protected, decrypts the inner message into `plaintext`.
    pub(super) fn open<'a>(
        &mut self,
        outer: Repr<'a>,
        len: usize,
        plaintext: &'a mut Vec<u8>,
    ) -> Incoming<'a> {
        let plain = Incoming::plain(outer, len);
        let Some(protection) = &mut self.protection else {
            return plain;
        };
        if !outer.code.is_response() || !protection.has_request(outer.token) {
            return plain;
        }
        if outer.options.first(OptionNumber::OSCORE).is_none() {
            // A server that cannot open a request sends an unprotected error. A success must be protected.
            return match outer.code.is_success() {
                true => plain.unverified(),
                false => plain,
            };
        }
        let Ok(sequence) = protection.open(&outer, plaintext) else {
            return plain.unverified();
        };
        let Ok(repr) = inner_message(plaintext, &outer) else {
            return plain.unverified();
        };
        Incoming {
            repr,
            layout: plain.layout.decrypted(repr.payload.len()),
            observe: sequence.filter(|_| repr.options.observe().is_some()),
            is_verified: sequence.is_some(),
        }
    }

    /// Forgets protected requests that were answered long ago.
    pub(super) fn forget_protected(&mut self) {
        let Some(protection) = &mut self.protection else {
            return;
        };
        let (exchanges, observations) = (&self.exchanges, &self.observations);
        protection.forget(|token| {
            let exchanges = exchanges.iter().map(|exchange| exchange.token);
            let observations = observations.iter().map(|observation| observation.token);
            exchanges.chain(observations).any(|awaited| awaited == token)
        });
    }
}
