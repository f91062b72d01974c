//! Protects and opens the messages of one context (RFC 8613 section 8).

use alloc::vec::Vec;

use ccm::Tag;
use ccm::aead::AeadInOut;
use ccm::consts::U8;

use super::class::Class;
use super::context::{Context, End, Id, NONCE_BYTES};
use super::nonce::{Aad, PartialIv};
use super::option::OscoreOption;
use super::rederivation::{Opening, R2_BYTES, Rederivation, joined};
use super::{ProtectError, Refusal, ReplayWindow};
use crate::code::Code;
use crate::layout::{Layout, TAG_BYTES, bytes};
use crate::message::{HEADER_BYTES, PAYLOAD_MARKER, Repr, split_options};
use crate::option::{OptionNumber, OptionValue, push_option, push_option_header};

/// A context with what changes while it is used.
#[derive(Debug)]
pub(crate) struct Session {
    context: Context,
    /// The number of the next message, or `None` where the last was used.
    next: Option<PartialIv>,
    window: ReplayWindow,
    rederivation: Rederivation,
}

/// Which request of a context that is derived again a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The first one, which may have been sent before: its response offers an R2.
    First,
    /// Any other.
    Settled,
}

/// What ties responses to their request: both are authenticated with the request's kid and Partial IV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) kid: Id,
    pub(crate) partial_iv: PartialIv,
}

/// Whose nonce a response uses (RFC 8613 section 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseNonce {
    /// That of the request: for one response only.
    OfRequest,
    /// One of the responder's own, whose Partial IV it sends.
    Own,
}

/// The parts of a protected message other than what it says.
struct Seal<'a> {
    code: Code,
    option: OscoreOption<'a>,
    nonce: [u8; NONCE_BYTES],
    aad: Aad,
    is_response: bool,
}

impl Session {
    pub(crate) fn new(context: Context) -> Self {
        Self {
            next: Some(context.first()),
            context,
            window: ReplayWindow::default(),
            rederivation: Rederivation::default(),
        }
    }

    /// Whether a request with this option says that it is of this context.
    pub(crate) fn is_named_by(&self, option: &OscoreOption<'_>) -> bool {
        option.kid == Some(self.peer()) && option.kid_context == self.context.id_context()
    }

    /// Whether a request with this option may be of this context.
    pub(crate) fn owns(&self, option: &OscoreOption<'_>) -> bool {
        // RFC 8613 section 5.1: who leaves out the kid context leaves it to the recipient to find the context.
        let context = option.kid_context;
        option.kid == Some(self.peer()) && (context.is_none() || context == self.context.id_context())
    }

    /// Appends `request` to `out`, protected (RFC 8613 section 8.1).
    pub(crate) fn protect_request(
        &mut self,
        request: &Repr<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(Binding, Layout), ProtectError> {
        check_protectable(request)?;
        let partial_iv = self.take_number()?;
        let kid = self.context.sender().id;
        // RFC 8613 section 4.2: FETCH lets proxies know that several responses may come.
        let code = match request.options.observe() {
            Some(_) => Code::FETCH,
            None => Code::POST,
        };
        let seal = Seal {
            code,
            option: OscoreOption {
                partial_iv: Some(partial_iv),
                kid_context: self.context.id_context(),
                kid: Some(kid.bytes()),
            },
            nonce: self.context.nonce(&kid, partial_iv),
            aad: Aad::new(&kid, partial_iv),
            is_response: false,
        };
        let layout = seal.write(self.context.sender(), request, out)?;
        Ok((Binding { kid, partial_iv }, layout))
    }

    /// Opens a request whose kid context is that of no context, but may be the `id_context` of one that the client wants
    /// derived (RFC 8613 appendix B.2). `r2`: what is offered to the client; `None` where the request was answered
    /// before.
    pub(crate) fn rederive(
        &mut self,
        id_context: &[u8],
        (option, request): (&OscoreOption<'_>, &Repr<'_>),
        r2: Option<[u8; R2_BYTES]>,
        plaintext: &mut Vec<u8>,
    ) -> Result<(Binding, Stage), Refusal> {
        let derive = |id_context: &[u8]| {
            let context = self.context.with_id_context(id_context);
            context.map_err(|_| Refusal::ContextNotFound)
        };
        let derived = Self::new(derive(id_context)?);
        let binding = derived.open_request(option, request, plaintext)?;
        if self.rederivation.is_answered_by(id_context) {
            // Its R2 is good for no further request 2.
            *self = derived;
            self.take_fresh(binding.partial_iv);
            return Ok((binding, Stage::Settled));
        }
        if let Some(r2) = r2 {
            let context = derive(&joined(&r2, id_context))?;
            self.rederivation.open(Opening {
                binding,
                context,
                nonce: derived.context.nonce(&binding.kid, binding.partial_iv),
                r2,
            });
        }
        Ok((binding, Stage::First))
    }

    /// Appends the `response` to the first request of a context that is derived again, which offers R2.
    pub(crate) fn protect_first_response(
        &mut self,
        binding: Binding,
        response: &Repr<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Layout, ProtectError> {
        check_protectable(response)?;
        let opening = self.rederivation.take(binding).ok_or(ProtectError::Superseded)?;
        let mut kid_context = [0x40 | R2_BYTES as u8; 1 + R2_BYTES];
        kid_context[1..].copy_from_slice(&opening.r2);
        let seal = Seal {
            code: Code::CHANGED,
            option: OscoreOption {
                kid_context: Some(&kid_context),
                ..OscoreOption::default()
            },
            nonce: opening.nonce,
            aad: Aad::new(&binding.kid, binding.partial_iv),
            is_response: true,
        };
        seal.write(opening.context.sender(), response, out)
    }

    /// Appends the `response` to the request of `binding` to `out`, protected (RFC 8613 section 8.3).
    pub(crate) fn protect_response(
        &mut self,
        binding: Binding,
        nonce: ResponseNonce,
        response: &Repr<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Layout, ProtectError> {
        check_protectable(response)?;
        let (partial_iv, nonce) = match nonce {
            ResponseNonce::OfRequest => (None, self.context.nonce(&binding.kid, binding.partial_iv)),
            ResponseNonce::Own => {
                let number = self.take_number()?;
                (
                    Some(number),
                    self.context.nonce(&self.context.sender().id, number),
                )
            }
        };
        // RFC 8613 section 4.2: 2.05 for a response with Observe, 2.04 for any other.
        let code = match response.options.observe() {
            Some(_) => Code::CONTENT,
            None => Code::CHANGED,
        };
        let seal = Seal {
            code,
            option: OscoreOption {
                partial_iv,
                ..OscoreOption::default()
            },
            nonce,
            aad: Aad::new(&binding.kid, binding.partial_iv),
            is_response: true,
        };
        seal.write(self.context.sender(), response, out)
    }

    /// Decrypts a request into `plaintext` (RFC 8613 section 8.2), whether or not it came before.
    pub(crate) fn open_request(
        &self,
        option: &OscoreOption<'_>,
        request: &Repr<'_>,
        plaintext: &mut Vec<u8>,
    ) -> Result<Binding, Refusal> {
        let part = "Partial IV";
        let partial_iv = option.partial_iv.ok_or(Refusal::Missing { part })?;
        let kid = self.context.recipient().id;
        let aad = Aad::new(&kid, partial_iv);
        let nonce = self.context.nonce(&kid, partial_iv);
        self.open(nonce, &aad, request.payload, plaintext)?;
        Ok(Binding { kid, partial_iv })
    }

    /// Decrypts the response to the request of `binding` into `plaintext` (RFC 8613 section 8.4); returns its own
    /// Partial IV, if it has one.
    pub(crate) fn open_response(
        &self,
        binding: Binding,
        option: &OscoreOption<'_>,
        response: &Repr<'_>,
        plaintext: &mut Vec<u8>,
    ) -> Result<Option<PartialIv>, Refusal> {
        let nonce = match option.partial_iv {
            Some(number) => self.context.nonce(&self.context.recipient().id, number),
            None => self.context.nonce(&binding.kid, binding.partial_iv),
        };
        let aad = Aad::new(&binding.kid, binding.partial_iv);
        self.open(nonce, &aad, response.payload, plaintext)?;
        Ok(option.partial_iv)
    }

    /// The id of the peer.
    pub(crate) fn peer(&self) -> &[u8] {
        self.context.recipient_id()
    }

    /// Refuses a request whose number came before (RFC 8613 section 7.4).
    pub(crate) fn check_fresh(&self, option: &OscoreOption<'_>) -> Result<(), Refusal> {
        let part = "Partial IV";
        let partial_iv = option.partial_iv.ok_or(Refusal::Missing { part })?;
        let number = partial_iv.value();
        match self.window.is_fresh(partial_iv) {
            true => Ok(()),
            false => Err(Refusal::Replayed { number }),
        }
    }

    /// Takes the number of a request that proved to be authentic.
    pub(crate) fn take_fresh(&mut self, partial_iv: PartialIv) {
        self.window.take(partial_iv);
    }

    /// The number of the next message; none is used twice (RFC 8613 section 7.2.1).
    fn take_number(&mut self) -> Result<PartialIv, ProtectError> {
        let number = self.next.ok_or(ProtectError::SequenceExhausted)?;
        self.next = number.next();
        Ok(number)
    }

    /// Decrypts `ciphertext` with its tag into `plaintext`.
    fn open(
        &self,
        nonce: [u8; NONCE_BYTES],
        aad: &Aad,
        ciphertext: &[u8],
        plaintext: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let part = "ciphertext";
        let (ciphertext, tag) = ciphertext
            .split_last_chunk::<TAG_BYTES>()
            .ok_or(Refusal::Missing { part })?;
        plaintext.clear();
        plaintext.extend_from_slice(ciphertext);
        let cipher = &self.context.recipient().cipher;
        let (nonce, tag) = (nonce.into(), Tag::<U8>::from(*tag));
        cipher
            .decrypt_inout_detached(&nonce, aad.bytes(), plaintext.as_mut_slice().into(), &tag)
            .map_err(|_| Refusal::DecryptionFailed)
    }
}

/// The message whose code, options and payload were encrypted in `outer`.
pub(crate) fn inner_message<'a>(plaintext: &'a [u8], outer: &Repr<'_>) -> Result<Repr<'a>, Refusal> {
    let part = "inner code";
    let (code, rest) = plaintext.split_first().ok_or(Refusal::Missing { part })?;
    let code = Code::from_byte(*code);
    let fits = match outer.code.is_request() {
        true => code.is_request(),
        false => code.is_response(),
    };
    if !fits {
        return Err(Refusal::InnerCode { code });
    }
    let (options, payload) = split_options(rest)?;
    Ok(Repr {
        kind: outer.kind,
        code,
        message_id: outer.message_id,
        token: outer.token,
        options,
        payload,
    })
}

fn check_protectable(message: &Repr<'_>) -> Result<(), ProtectError> {
    let mut options = message.options.iter();
    match options.any(|option| Class::of(option.number) == Class::Composed) {
        true => Err(ProtectError::ProxyUri),
        false => Ok(()),
    }
}

impl Seal<'_> {
    /// Appends the protected message; its parts follow one another as [`Layout`] has them.
    fn write(&self, sender: &End, message: &Repr<'_>, out: &mut Vec<u8>) -> Result<Layout, ProtectError> {
        let outer = Repr {
            code: self.code,
            ..*message
        };
        let mut last = 0;
        let mut mark = out.len();
        let mut run = |out: &Vec<u8>| out.len() - core::mem::replace(&mut mark, out.len());
        outer.emit_head(out);
        self.write_outer(message, &mut last, |number| number < OptionNumber::OSCORE, out);
        let head = run(out);
        push_option_header(out, &mut last, OptionNumber::OSCORE, self.option.emitted_len());
        self.option.emit(out);
        let option = run(out);
        self.write_outer(message, &mut last, |number| number > OptionNumber::OSCORE, out);
        out.push(PAYLOAD_MARKER);
        let plaintext = out.len();
        self.write_plaintext(message, out);
        let inner = run(out) - message.payload.len();
        self.encrypt(sender, plaintext, out)?;
        Ok(Layout {
            head: bytes(head),
            option: bytes(option),
            inner: bytes(inner),
            payload: bytes(message.payload.len()),
            tag: bytes(run(out)),
        })
    }

    /// Appends the visible options that `belongs` chooses.
    fn write_outer(
        &self,
        message: &Repr<'_>,
        last: &mut u16,
        belongs: impl Fn(OptionNumber) -> bool,
        out: &mut Vec<u8>,
    ) {
        let outer = |o: &OptionValue<'_>| Class::of(o.number).is_outer() && belongs(o.number);
        for option in message.options.iter().filter(outer) {
            push_option(out, last, option.number, option.value);
        }
    }

    /// Appends what is encrypted (RFC 8613 section 5.3): code, options, and the payload behind its marker.
    fn write_plaintext(&self, message: &Repr<'_>, out: &mut Vec<u8>) {
        out.push(message.code.byte());
        let mut last = 0;
        let inner = |o: &OptionValue<'_>| Class::of(o.number).is_inner();
        for option in message.options.iter().filter(inner) {
            let value = match option.number {
                // RFC 8613 section 4.1.3.5.2: the inner Observe of a notification is empty.
                OptionNumber::OBSERVE if self.is_response => &[],
                _ => option.value,
            };
            push_option(out, &mut last, option.number, value);
        }
        if !message.payload.is_empty() {
            out.push(PAYLOAD_MARKER);
            out.extend_from_slice(message.payload);
        }
    }

    /// Encrypts what `out` holds from `start` on, and appends the tag.
    fn encrypt(&self, sender: &End, start: usize, out: &mut Vec<u8>) -> Result<(), ProtectError> {
        let plaintext = out.get_mut(start..).unwrap_or_default();
        let len = plaintext.len();
        let tag = sender
            .cipher
            .encrypt_inout_detached(&self.nonce.into(), self.aad.bytes(), plaintext.into())
            .map_err(|_| ProtectError::TooLong { len })?;
        out.extend_from_slice(&tag);
        Ok(())
    }
}

impl Layout {
    /// The layout of a received datagram of `len` bytes, as far as one can see without keys: what is encrypted counts
    /// as application.
    pub(crate) fn visible(message: &Repr<'_>, len: usize) -> Self {
        Self::protected(message, len).unwrap_or(Self::of(message, len))
    }

    /// The same once the ciphertext is opened: it ends in `payload` bytes of payload.
    pub(crate) fn revealing(self, payload: usize) -> Self {
        let payload = bytes(payload);
        Self {
            inner: self.inner.saturating_sub(payload),
            payload,
            ..self
        }
    }

    /// The layout of a protected datagram of `len` bytes before it is opened; `None` where there is no OSCORE option.
    pub(crate) fn protected(message: &Repr<'_>, len: usize) -> Option<Self> {
        let place = message.options.place(OptionNumber::OSCORE)?;
        let head = HEADER_BYTES + message.token.bytes().len() + place.start;
        let option = place.len();
        let tag = message.payload.len().min(TAG_BYTES);
        Some(Self {
            head: bytes(head),
            option: bytes(option),
            inner: bytes(len.saturating_sub(head + option + tag)),
            payload: 0,
            tag: bytes(tag),
        })
    }
}
