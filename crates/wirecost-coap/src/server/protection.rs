//! The server's side of OSCORE: opens requests and protects their responses (RFC 8613 sections 8.2, 8.3).

use alloc::vec::Vec;
use core::ops::Range;

use wirecost_proto::{FlowId, Rng};

use super::Server;
use super::definition::Access;
use super::handshake::Agreed;
use super::resource::route;
use super::respond::Exchange;
use crate::describe::Kind;
use crate::edhoc::{self, ServerConfig};
use crate::layout::Layout;
use crate::message::Repr;
use crate::option::{OptionNumber, OptionsView};
use crate::oscore::option::OscoreOption;
use crate::oscore::{
    Binding, Context, ProtectError, R2_BYTES, Refusal, ResponseNonce, Session, Stage, byte_string,
    inner_message,
};

/// The sessions of all clients.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Those of given contexts, ordered by client id.
    list: Vec<Session>,
    /// Those of contexts that EDHOC has agreed on.
    agreed: Agreed,
    /// Makes rederived contexts unique (RFC 8613 appendix B.2).
    rng: Rng,
}

/// The session of a request, and the binding of its responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protected {
    pub(super) session: usize,
    binding: Binding,
    stage: Stage,
}

impl Protected {
    /// Whether the request may be a replay.
    pub(super) fn may_be_old(self) -> bool {
        self.stage == Stage::First
    }
}

/// A received request: unprotected, or the decrypted inner message.
#[derive(Debug)]
pub(super) struct Incoming<'a> {
    pub(super) repr: Repr<'a>,
    pub(super) layout: Layout,
    pub(super) protected: Option<Protected>,
}

impl Sessions {
    pub(super) fn new(contexts: &[Context], edhoc: Option<ServerConfig>, rng: Rng) -> Self {
        let mut list: Vec<_> = contexts.iter().cloned().map(Session::new).collect();
        list.sort_by(|one, other| one.peer().cmp(other.peer()));
        let agreed = Agreed::new(edhoc, list.len());
        Self { list, agreed, rng }
    }

    /// Whether there is or can be a context.
    fn can_open(&self) -> bool {
        !self.list.is_empty() || self.agreed.is_possible()
    }

    fn get_mut(&mut self, at: usize) -> Option<&mut Session> {
        match self.list.get_mut(at) {
            Some(session) => Some(session),
            None => self.agreed.get_mut(at),
        }
    }

    /// Takes message_1 of EDHOC: returns message_2.
    pub(super) fn take_message_1(&mut self, message_1: &[u8]) -> Result<Vec<u8>, edhoc::Failure> {
        self.agreed.take_message_1(message_1)
    }

    /// The session of a request with this option (RFC 8613 section 8.2, step 2).
    fn find(&self, option: &OscoreOption<'_>) -> Result<usize, Refusal> {
        let candidates = self.with_kid_of(option)?;
        let first = candidates.start;
        let candidates = self.list.get(candidates).unwrap_or_default();
        let named = candidates.iter().position(|session| session.is_named_by(option));
        let owner = || candidates.iter().position(|session| session.owns(option));
        let given = named.or_else(owner).map(|at| first + at);
        let found = given.or_else(|| self.agreed.find(option));
        found.ok_or(Refusal::ContextNotFound)
    }

    /// The sessions of the clients with the kid of the request.
    fn with_kid_of(&self, option: &OscoreOption<'_>) -> Result<Range<usize>, Refusal> {
        let kid = option.kid.ok_or(Refusal::Missing { part: "kid" })?;
        let first = self.list.partition_point(|session| session.peer() < kid);
        let behind = self.list.partition_point(|session| session.peer() <= kid);
        Ok(first..behind)
    }

    /// Decrypts a request that starts or completes a key rederivation.
    fn rederive(
        &mut self,
        (option, request): (&OscoreOption<'_>, &Repr<'_>),
        known: bool,
        plaintext: &mut Vec<u8>,
    ) -> Result<Protected, Refusal> {
        let wanted = option.kid_context.and_then(byte_string);
        let id_context = wanted.ok_or(Refusal::ContextNotFound)?;
        let mut refusal = Refusal::ContextNotFound;
        for at in self.with_kid_of(option)? {
            let mut r2 = [0; R2_BYTES];
            self.rng.fill(&mut r2);
            let r2 = Some(r2).filter(|_| !known);
            let Some(session) = self.list.get_mut(at) else {
                continue;
            };
            match session.rederive(id_context, (option, request), r2, plaintext) {
                Ok((binding, stage)) => {
                    return Ok(Protected {
                        session: at,
                        binding,
                        stage,
                    });
                }
                Err(refused) => refusal = refused,
            }
        }
        Err(refusal)
    }

    /// Decrypts a request into `plaintext`. A request that is not `known` must be fresh.
    fn open(
        &mut self,
        request: &Repr<'_>,
        known: bool,
        plaintext: &mut Vec<u8>,
    ) -> Result<Protected, Refusal> {
        refuse_outer(request)?;
        let value = request.options.first(OptionNumber::OSCORE);
        let option = OscoreOption::parse(value.map_or(&[], |option| option.value))?;
        let request = &self.agreed.without_message_3(&option, request, known)?;
        let at = match self.find(&option) {
            Err(Refusal::ContextNotFound) => return self.rederive((&option, request), known, plaintext),
            found => found?,
        };
        let session = self.get_mut(at).ok_or(Refusal::ContextNotFound)?;
        if !known {
            session.check_fresh(&option)?;
        }
        let binding = session.open_request(&option, request, plaintext)?;
        // RFC 8613 section 8.2, step 7: only an authentic request moves the window.
        session.mark_used(binding.partial_iv);
        Ok(Protected {
            session: at,
            binding,
            stage: Stage::Settled,
        })
    }

    /// Appends a protected response to `out`.
    pub(super) fn protect(
        &mut self,
        protected: Protected,
        nonce: ResponseNonce,
        response: &Repr<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Layout, ProtectError> {
        match self.get_mut(protected.session) {
            Some(session) if protected.may_be_old() => {
                session.protect_first_response(protected.binding, response, out)
            }
            Some(session) => session.protect_response(protected.binding, nonce, response, out),
            None => Err(ProtectError::SequenceExhausted),
        }
    }
}

/// Refuses the outer options that only a proxy adds or removes.
fn refuse_outer(request: &Repr<'_>) -> Result<(), Refusal> {
    let blocks = [
        OptionNumber::BLOCK1,
        OptionNumber::BLOCK2,
        OptionNumber::Q_BLOCK1,
        OptionNumber::Q_BLOCK2,
    ];
    let proxied = [OptionNumber::PROXY_URI, OptionNumber::PROXY_SCHEME];
    for option in request.options.iter() {
        let number = option.number;
        if blocks.contains(&number) {
            return Err(Refusal::OuterBlock { number });
        }
        if proxied.contains(&number) {
            return Err(Refusal::Proxied { number });
        }
    }
    Ok(())
}

impl Server {
    /// Opens a request of `len` bytes. If it is protected, decrypts the inner message into `plaintext`. `known`:
    /// whether the request is a duplicate, so that its number is used already.
    pub(super) fn open<'a>(
        &mut self,
        outer: Repr<'a>,
        len: usize,
        known: bool,
        plaintext: &'a mut Vec<u8>,
    ) -> Result<Incoming<'a>, Refusal> {
        let visible = Layout::protected(&outer, len);
        if visible.is_none() && self.must_be_protected(&outer) {
            return Err(Refusal::Unprotected);
        }
        // Without contexts, the OSCORE option is an unsupported critical option (RFC 7252 section 5.4.1).
        let Some(visible) = visible.filter(|_| self.sessions.can_open()) else {
            return Ok(Incoming {
                repr: outer,
                layout: visible.unwrap_or(Layout::from_repr(&outer, len)),
                protected: None,
            });
        };
        let protected = self.sessions.open(&outer, known, plaintext)?;
        let repr = inner_message(plaintext, &outer)?;
        Ok(Incoming {
            repr,
            layout: visible.decrypted(repr.payload.len()),
            protected: Some(protected),
        })
    }

    pub(super) fn must_be_protected(&self, request: &Repr<'_>) -> bool {
        if self.takes_edhoc(request) {
            return false;
        }
        let resource = route(&self.tree, request.options).and_then(|at| self.tree.get(at));
        match resource.map(|resource| resource.definition.access) {
            Some(Access::Protected) => true,
            Some(Access::Open) => false,
            Some(Access::Either) | None => self.config.requires_oscore,
        }
    }

    /// Answers a refused request without protection. The request is not recorded, so that a forgery cannot replace the
    /// message with the same id.
    pub(super) fn refuse(&mut self, flow: FlowId, outer: &Repr<'_>, refusal: &Refusal) {
        self.stats.refused += 1;
        match refusal {
            Refusal::Replayed { .. } => self.stats.replayed += 1,
            _ => self.stats.unverified += 1,
        }
        let exchange = Exchange::new(flow, outer, None);
        if self.suppress(&exchange, refusal.code()) {
            return;
        }
        if let Refusal::Edhoc(failure) = refusal {
            return self.send_edhoc(&exchange, refusal.code(), &failure.message());
        }
        let response = Repr {
            kind: exchange.response_kind(),
            code: refusal.code(),
            message_id: self.response_id(&exchange),
            token: outer.token,
            options: OptionsView::default(),
            payload: refusal.diagnostic().as_bytes(),
        };
        self.datagram.clear();
        response.emit(&mut self.datagram);
        let layout = Layout::from_repr(&response, self.datagram.len());
        self.outbox
            .send_encoded(flow, &self.datagram, layout, Kind::from_repr(&response));
    }
}
