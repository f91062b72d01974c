//! The server's side of OSCORE: opens requests, and protects the responses to them (RFC 8613 sections 8.2, 8.3).

use alloc::vec::Vec;
use core::ops::Range;

use wirecost_proto::{FlowId, Rng};

use super::Server;
use super::definition::Access;
use super::resource::route;
use super::respond::Exchange;
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::Repr;
use crate::option::{OptionNumber, OptionsView};
use crate::oscore::option::OscoreOption;
use crate::oscore::{
    Binding, Context, ProtectError, R2_BYTES, Refusal, ResponseNonce, Session, Stage, byte_string,
    inner_message,
};
use crate::outbox::Datagram;

/// The sessions of all clients, in the order of their ids.
#[derive(Debug)]
pub(super) struct Sessions {
    list: Vec<Session>,
    /// What makes contexts that are derived again (RFC 8613 appendix B.2) unlike all before.
    rng: Rng,
}

/// The session that a request came by, and what ties responses to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protected {
    pub(super) session: usize,
    binding: Binding,
    stage: Stage,
}

impl Protected {
    /// Whether the request may be an old one that somebody sends again.
    pub(super) fn may_be_old(self) -> bool {
        self.stage == Stage::First
    }
}

/// A request as the server takes it: whole, or what was inside.
#[derive(Debug)]
pub(super) struct Incoming<'a> {
    pub(super) repr: Repr<'a>,
    pub(super) layout: Layout,
    pub(super) protected: Option<Protected>,
}

impl Sessions {
    pub(super) fn new(contexts: &[Context], rng: Rng) -> Self {
        let mut list: Vec<_> = contexts.iter().cloned().map(Session::new).collect();
        list.sort_by(|one, other| one.peer().cmp(other.peer()));
        Self { list, rng }
    }

    /// The session that a request with this option came by (RFC 8613 section 8.2, step 2).
    fn find(&self, option: &OscoreOption<'_>) -> Result<usize, Refusal> {
        let candidates = self.with_kid_of(option)?;
        let first = candidates.start;
        let candidates = self.list.get(candidates).unwrap_or_default();
        let named = candidates.iter().position(|session| session.is_named_by(option));
        let owner = || candidates.iter().position(|session| session.owns(option));
        let at = named.or_else(owner).ok_or(Refusal::ContextNotFound)?;
        Ok(first + at)
    }

    /// The sessions of clients with the kid of a request.
    fn with_kid_of(&self, option: &OscoreOption<'_>) -> Result<Range<usize>, Refusal> {
        let part = "kid";
        let kid = option.kid.ok_or(Refusal::Missing { part })?;
        let first = self.list.partition_point(|session| session.peer() < kid);
        let behind = self.list.partition_point(|session| session.peer() <= kid);
        Ok(first..behind)
    }

    /// Decrypts a request for which a context is to be derived again.
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
                    let session = at;
                    return Ok(Protected {
                        session,
                        binding,
                        stage,
                    });
                }
                Err(refused) => refusal = refused,
            }
        }
        Err(refusal)
    }

    /// Decrypts a request into `plaintext`. One that is not `known` must be fresh, and is so no more.
    fn open(
        &mut self,
        request: &Repr<'_>,
        known: bool,
        plaintext: &mut Vec<u8>,
    ) -> Result<Protected, Refusal> {
        refuse_outer(request)?;
        let value = request.options.first(OptionNumber::OSCORE);
        let option = OscoreOption::parse(value.map_or(&[], |option| option.value))?;
        let at = match self.find(&option) {
            Err(Refusal::ContextNotFound) => return self.rederive((&option, request), known, plaintext),
            found => found?,
        };
        let session = self.list.get_mut(at).ok_or(Refusal::ContextNotFound)?;
        if !known {
            session.check_fresh(&option)?;
        }
        let binding = session.open_request(&option, request, plaintext)?;
        // RFC 8613 section 8.2, step 7: only what is authentic moves the window.
        session.take_fresh(binding.partial_iv);
        Ok(Protected {
            session: at,
            binding,
            stage: Stage::Settled,
        })
    }

    /// Appends a response to `out`, protected.
    pub(super) fn protect(
        &mut self,
        protected: Protected,
        nonce: ResponseNonce,
        response: &Repr<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Layout, ProtectError> {
        match self.list.get_mut(protected.session) {
            Some(session) if protected.may_be_old() => {
                session.protect_first_response(protected.binding, response, out)
            }
            Some(session) => session.protect_response(protected.binding, nonce, response, out),
            None => Err(ProtectError::SequenceExhausted),
        }
    }
}

/// Refuses what only a proxy would add, or would have to take away.
fn refuse_outer(request: &Repr<'_>) -> Result<(), Refusal> {
    let blocks = [
        OptionNumber::BLOCK1,
        OptionNumber::BLOCK2,
        OptionNumber::Q_BLOCK1,
        OptionNumber::Q_BLOCK2,
    ];
    let proxied = [OptionNumber::PROXY_URI, OptionNumber::PROXY_SCHEME];
    for option in request.options {
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
    /// What a request of `len` bytes says: what is inside where it is protected, decrypted into `plaintext`.
    /// `known`: whether it came before, so that its number was taken.
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
        // To a server without contexts it is a critical option that it does not know (RFC 7252 section 5.4.1).
        let Some(visible) = visible.filter(|_| !self.sessions.list.is_empty()) else {
            return Ok(Incoming {
                repr: outer,
                layout: visible.unwrap_or(Layout::of(&outer, len)),
                protected: None,
            });
        };
        let protected = self.sessions.open(&outer, known, plaintext)?;
        let repr = inner_message(plaintext, &outer)?;
        Ok(Incoming {
            repr,
            layout: visible.revealing(repr.payload.len()),
            protected: Some(protected),
        })
    }

    fn must_be_protected(&self, request: &Repr<'_>) -> bool {
        let resource = route(&self.tree, request.options).and_then(|at| self.tree.get(at));
        match resource.map(|resource| resource.definition.access) {
            Some(Access::Protected) => true,
            Some(Access::Open) => false,
            Some(Access::Either) | None => self.config.requires_oscore,
        }
    }

    /// Answers a request that was not taken, without protection. It is not remembered, so that a forgery cannot take
    /// the place of the message whose id it has.
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
        let layout = Layout::of(&response, self.datagram.len());
        let datagram = Datagram::new(layout, Kind::of(&response));
        self.outbox.send_encoded(flow, &self.datagram, datagram);
    }
}
