//! Protects and opens the messages of one context (RFC 8613 section 8).

use alloc::vec::Vec;

use ccm::Tag;
use ccm::aead::AeadInOut;
use ccm::consts::U8;

use super::class::{is_inner, is_outer};
use super::context::{Context, End, Id, NONCE_BYTES};
use super::nonce::{Aad, PartialIv};
use super::option::OscoreOption;
use super::rederivation::{Opening, R2_BYTES, Rederivation, joined};
use super::{ProtectError, Refusal, ReplayWindow};
use crate::code::Code;
use crate::edhoc;
use crate::layout::{Layout, TAG_BYTES, bytes};
use crate::message::{HEADER_BYTES, PAYLOAD_MARKER, Repr, split_options};
use crate::option::{OptionNumber, OptionValue, push_option, push_option_header};

/// A context with its mutable state.
#[derive(Debug)]
pub(crate) struct Session {
    context: Context,
    /// The number of the next message, or `None` after the last.
    next: Option<PartialIv>,
    window: ReplayWindow,
    rederivation: Rederivation,
}

/// The stage of a request in a key rederivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Request 1, which may be a replay. Its response offers an R2.
    First,
    /// Any other request.
    Settled,
}

/// Binds responses to their request: the request's kid and Partial IV are part of the authenticated data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) kid: Id,
    pub(crate) partial_iv: PartialIv,
}

/// The nonce of a response (RFC 8613 section 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseNonce {
    /// The nonce of the request, for one response only.
    OfRequest,
    /// A new nonce of the responder, which sends its Partial IV.
    Own,
}

/// The parts of a protected message except its content.
struct Seal<'a> {
    code: Code,
    option: OscoreOption<'a>,
    nonce: [u8; NONCE_BYTES],
    aad: Aad,
    is_response: bool,
    /// The message_3 of EDHOC that the request carries (RFC 9668).
    message_3: Option<&'a [u8]>,
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

    /// Whether the option names exactly this context.
    pub(crate) fn is_named_by(&self, option: &OscoreOption<'_>) -> bool {
        option.kid == Some(self.peer()) && option.kid_context == self.context.id_context()
    }

    /// Whether the option may be of this context.
    pub(crate) fn owns(&self, option: &OscoreOption<'_>) -> bool {
        // RFC 8613 section 5.1: without a kid context, the recipient must find the context.
        let context = option.kid_context;
        option.kid == Some(self.peer()) && (context.is_none() || context == self.context.id_context())
    }

    /// Appends `request` to `out`, protected (RFC 8613 section 8.1), behind a message_3 of EDHOC if there is one (RFC 9668 section 3.2).
    pub(crate) fn protect_request(
        &mut self,
        request: &Repr<'_>,
        message_3: Option<&[u8]>,
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
            message_3,
        };
        let layout = seal.write(self.context.sender(), request, out)?;
        Ok((Binding { kid, partial_iv }, layout))
    }

    /// Opens a request whose kid context matches no context, but may be the `id_context` of a key rederivation (RFC
    /// 8613 appendix B.2). `r2` is the offer to the client, or `None` if the request is a duplicate.
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
            // The R2 of an accepted request 2 cannot be used again.
            *self = derived;
            self.mark_used(binding.partial_iv);
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

    /// Appends the protected `response` to a request 1. The response offers an R2.
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
        let option = OscoreOption {
            kid_context: Some(&kid_context),
            ..OscoreOption::default()
        };
        let seal = Seal::response(Code::CHANGED, option, opening.nonce, binding);
        seal.write(opening.context.sender(), response, out)
    }

    /// Appends the protected `response` to the request of `binding` (RFC 8613 section 8.3).
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
                let nonce = self.context.nonce(&self.context.sender().id, number);
                (Some(number), nonce)
            }
        };
        // RFC 8613 section 4.2: 2.05 for a response with Observe, 2.04 for any other.
        let code = match response.options.observe() {
            Some(_) => Code::CONTENT,
            None => Code::CHANGED,
        };
        let option = OscoreOption {
            partial_iv,
            ..OscoreOption::default()
        };
        let seal = Seal::response(code, option, nonce, binding);
        seal.write(self.context.sender(), response, out)
    }

    /// Decrypts a request into `plaintext` (RFC 8613 section 8.2). It does not check for replays.
    pub(crate) fn open_request(
        &self,
        option: &OscoreOption<'_>,
        request: &Repr<'_>,
        plaintext: &mut Vec<u8>,
    ) -> Result<Binding, Refusal> {
        let partial_iv = partial_iv_of(option)?;
        let kid = self.context.recipient().id;
        let aad = Aad::new(&kid, partial_iv);
        let nonce = self.context.nonce(&kid, partial_iv);
        self.open(nonce, &aad, request.payload, plaintext)?;
        Ok(Binding { kid, partial_iv })
    }

    /// Decrypts the response to the request of `binding` into `plaintext` (RFC 8613 section 8.4). Returns the Partial
    /// IV of the response, if it has one.
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

    /// Refuses a request whose number was used before (RFC 8613 section 7.4).
    pub(crate) fn check_fresh(&self, option: &OscoreOption<'_>) -> Result<(), Refusal> {
        let partial_iv = partial_iv_of(option)?;
        let number = partial_iv.value();
        match self.window.is_fresh(partial_iv) {
            true => Ok(()),
            false => Err(Refusal::Replayed { number }),
        }
    }

    /// Records the number of an authentic request as used.
    pub(crate) fn mark_used(&mut self, partial_iv: PartialIv) {
        self.window.take(partial_iv);
    }

    /// The number of the next message. No number is used twice (RFC 8613 section 7.2.1).
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

/// Decodes the inner message in the plaintext of `outer`.
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

fn partial_iv_of(option: &OscoreOption<'_>) -> Result<PartialIv, Refusal> {
    let part = "Partial IV";
    option.partial_iv.ok_or(Refusal::Missing { part })
}

fn check_protectable(message: &Repr<'_>) -> Result<(), ProtectError> {
    match message.options.range_of(OptionNumber::PROXY_URI) {
        Some(_) => Err(ProtectError::ProxyUri),
        None => Ok(()),
    }
}

impl<'a> Seal<'a> {
    /// The seal of a response to the request of `binding`.
    fn response(code: Code, option: OscoreOption<'a>, nonce: [u8; NONCE_BYTES], binding: Binding) -> Self {
        Self {
            code,
            option,
            nonce,
            aad: Aad::new(&binding.kid, binding.partial_iv),
            is_response: true,
            message_3: None,
        }
    }

    /// Appends the protected message. Its parts are in the order of [`Layout`].
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
        let mut later = 0;
        match self.message_3 {
            Some(message_3) => {
                let between = |number| number > OptionNumber::OSCORE && number < OptionNumber::EDHOC;
                self.write_outer(message, &mut last, between, out);
                push_option(out, &mut last, OptionNumber::EDHOC, &[]);
                self.write_outer(message, &mut last, |number| number > OptionNumber::EDHOC, out);
                out.push(PAYLOAD_MARKER);
                later = run(out);
                out.extend_from_slice(message_3);
            }
            None => {
                self.write_outer(message, &mut last, |number| number > OptionNumber::OSCORE, out);
                out.push(PAYLOAD_MARKER);
            }
        }
        let edhoc = self.message_3.map_or(0, |_| run(out));
        let plaintext = out.len();
        self.write_plaintext(message, out);
        let inner = run(out) - message.payload.len();
        self.encrypt(sender, plaintext, out)?;
        Ok(Layout {
            head: bytes(head),
            option: bytes(option),
            later: bytes(later),
            edhoc: bytes(edhoc),
            inner: bytes(inner),
            payload: bytes(message.payload.len()),
            tag: bytes(run(out)),
        })
    }

    /// Appends the visible options that `belongs` selects.
    fn write_outer(
        &self,
        message: &Repr<'_>,
        last: &mut u16,
        belongs: impl Fn(OptionNumber) -> bool,
        out: &mut Vec<u8>,
    ) {
        let outer = |o: &OptionValue<'_>| is_outer(o.number) && belongs(o.number);
        for option in message.options.iter().filter(outer) {
            push_option(out, last, option.number, option.value);
        }
    }

    /// Appends the plaintext (RFC 8613 section 5.3): code, options, marker and payload.
    fn write_plaintext(&self, message: &Repr<'_>, out: &mut Vec<u8>) {
        out.push(message.code.byte());
        let mut last = 0;
        for option in message.options.iter().filter(|option| is_inner(option.number)) {
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

    /// Encrypts the bytes of `out` from `start` on, and appends the tag.
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
    /// The layout of a received datagram of `len` bytes without keys: the ciphertext counts as application.
    pub(crate) fn visible(message: &Repr<'_>, len: usize) -> Self {
        Self::protected(message, len).unwrap_or(Self::from_repr(message, len))
    }

    /// The layout after decryption: the ciphertext ends with `payload` bytes of payload.
    pub(crate) fn decrypted(self, payload: usize) -> Self {
        let payload = bytes(payload);
        Self {
            inner: self.inner.saturating_sub(payload),
            payload,
            ..self
        }
    }

    /// The layout of a protected datagram of `len` bytes before decryption; `None` if there is no OSCORE option.
    pub(crate) fn protected(message: &Repr<'_>, len: usize) -> Option<Self> {
        let range = message.options.range_of(OptionNumber::OSCORE)?;
        let head = HEADER_BYTES + message.token.bytes().len() + range.start;
        let option = range.len();
        let message_3 = edhoc::message_3_of(message);
        let ciphertext = message_3.map_or(message.payload.len(), |(_, rest)| rest.len());
        let tag = ciphertext.min(TAG_BYTES);
        let edhoc = message_3.map_or(0, |(message_3, _)| message_3.len());
        let before = len.saturating_sub(message.payload.len());
        let later = if edhoc == 0 {
            0
        } else {
            before.saturating_sub(head + option)
        };
        Some(Self {
            head: bytes(head),
            option: bytes(option),
            later: bytes(later),
            edhoc: bytes(edhoc),
            inner: bytes(len.saturating_sub(head + option + later + edhoc + tag)),
            payload: 0,
            tag: bytes(tag),
        })
    }
}
