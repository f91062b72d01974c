//! EDHOC (RFC 9528): both ends agree on an OSCORE context by three messages, with keys that they own.
//!
//! The cryptography of the protocol is that of the crate `lakers`: method 3 (both ends authenticate with static Diffie-Hellman keys),
//! suite 2 (AES-CCM-16-64-128, SHA-256, P-256), credentials as CWT claims sets (CCS). There are no signatures (methods 0 to 2).
//!
//! ```text
//! client                                                               server
//!   POST /.well-known/edhoc, true and message_1            -->
//!                                                   <--  2.04, message_2
//!   first request, EDHOC and OSCORE option:
//!     message_3, then the ciphertext of OSCORE             -->           (RFC 9668)
//!                                                   <--  response, OSCORE
//! ```
//!
//! The first response proves that the server has the keys, so that there is no message_4. The ids of the context are the connection
//! identifiers: the client sends C_R as its `kid`.
//!
//! - [`Identity`]: a static key with its credential
//! - [`Initiator`]: the client's side of one session
//! - [`ServerConfig`]: the server's side of all sessions
//! - [`Lab`]: the keys of both sides of a measurement
//! - [`message_name`]: which message of EDHOC a message of CoAP carries
//! - `crypto`: what `lakers` needs of P-256, AES and SHA-256

mod credential;
mod crypto;
mod initiator;
mod lab;
mod recognised;
mod responder;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use lakers::{Completed, ConnId, EDHOCError, EdhocMessageBuffer};

use self::crypto::Primitives;
use crate::oscore::{Context, ContextError, Parameters};

pub use credential::{Identity, PublicCredential, Transfer};
pub(crate) use initiator::AwaitMessage2;
pub use initiator::Initiator;
pub use lab::Lab;
pub use recognised::message_name;
pub(crate) use recognised::{is_message, is_request, message_3_of};
pub(crate) use responder::Responder;
pub use responder::ServerConfig;

/// The resource that takes EDHOC messages (RFC 9528 appendix A.2.1).
pub(crate) const PATH: &str = "/.well-known/edhoc";
/// `application/edhoc+cbor-seq`.
pub(crate) const FORMAT: u16 = 64;
/// `application/cid-edhoc+cbor-seq`: a connection identifier, or `true`, before the message.
pub(crate) const FORMAT_WITH_ID: u16 = 65;
/// What stands before message_1: CBOR `true`.
pub(crate) const BEFORE_MESSAGE_1: u8 = 0xf5;
/// The only method: both ends have static Diffie-Hellman keys.
const METHOD: u8 = 3;
/// The only cipher suite.
const SUITE: u8 = 2;
/// The longest message in bytes that is given to `lakers`, whose buffers have 1,024 B: what it computes of a message stays within them.
const MAX_MESSAGE_BYTES: usize = 400;
/// The length of a private key in bytes.
pub const KEY_BYTES: usize = 32;

/// Why a session failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The message is not well-formed, or longer than this implementation takes.
    #[error("EDHOC {message} cannot be read")]
    Malformed {
        /// The message.
        message: &'static str,
    },
    /// A method other than 3.
    #[error("EDHOC method must be 3, static Diffie-Hellman on both sides")]
    Method,
    /// A suite other than 2.
    #[error("EDHOC cipher suite must be 2, AES-CCM-16-64-128 with P-256")]
    Suite,
    /// The credential of the peer is not the one that is trusted.
    #[error("EDHOC credential of the peer is not trusted")]
    Credential,
    /// The message is not authentic.
    #[error("EDHOC {message} is not authentic")]
    NotAuthentic {
        /// The message.
        message: &'static str,
    },
    /// A critical item of external authorization data that is not understood (RFC 9528 section 3.8).
    #[error("EDHOC {message} has a critical item of external authorization data, which is not supported")]
    CriticalItem {
        /// The message.
        message: &'static str,
    },
    /// The own private key or the peer's public key is no key of P-256.
    #[error("EDHOC key must be a key of P-256")]
    Key,
    /// The connection identifiers give no context of OSCORE.
    #[error("EDHOC connection identifiers must be usable as ids of OSCORE: {0}")]
    Context(#[from] ContextError),
    /// No session has the identifier in the request.
    #[error("EDHOC session is unknown")]
    NoSession,
    /// The server answered message_1 with an error.
    #[error("the server refused EDHOC message_1")]
    Refused,
    /// Nothing answered message_1.
    #[error("no answer to EDHOC message_1")]
    Unanswered,
}

impl Failure {
    /// The failure of `lakers` in a message.
    fn from_error(error: &EDHOCError, message: &'static str) -> Self {
        match error {
            EDHOCError::MacVerificationFailed => Self::NotAuthentic { message },
            EDHOCError::UnsupportedMethod => Self::Method,
            EDHOCError::UnsupportedCipherSuite => Self::Suite,
            EDHOCError::UnexpectedCredential | EDHOCError::MissingIdentity => Self::Credential,
            EDHOCError::EADUnprocessable => Self::CriticalItem { message },
            _ => Self::Malformed { message },
        }
    }

    /// The error message of EDHOC (RFC 9528 section 6): code and text, or code and the supported suite.
    pub(crate) fn message(&self) -> Vec<u8> {
        match self {
            Self::Suite => [2, SUITE].to_vec(),
            Self::Credential => [3, 0xf5].to_vec(),
            _ => {
                let text: &[u8] = match self {
                    Self::Method => b"method 3 only",
                    Self::NoSession => b"no such session",
                    _ => b"not accepted",
                };
                [&[1, 0x60 | text.len() as u8], text].concat()
            }
        }
    }
}

/// A message in the form that `lakers` takes.
fn buffer(bytes: &[u8], message: &'static str) -> Result<EdhocMessageBuffer, Failure> {
    if bytes.is_empty() || bytes.len() > MAX_MESSAGE_BYTES {
        return Err(Failure::Malformed { message });
    }
    EdhocMessageBuffer::new_from_slice(bytes).map_err(|_| Failure::Malformed { message })
}

/// message_2 or message_3 in the form that `lakers` takes: one CBOR byte string and nothing behind it (RFC 9528 sections 5.3 and 5.4).
/// `lakers` skips the head of a string and does not compare its length.
fn byte_string(bytes: &[u8], message: &'static str) -> Result<EdhocMessageBuffer, Failure> {
    match recognised::byte_string(bytes) {
        Some(length) if length == bytes.len() => buffer(bytes, message),
        Some(_) | None => Err(Failure::Malformed { message }),
    }
}

/// A connection identifier; `None` if it has more bytes than an id of OSCORE.
pub(crate) fn identifier(bytes: &[u8]) -> Option<ConnId> {
    ConnId::from_slice(bytes).filter(|id| id.as_slice().len() <= crate::oscore::MAX_ID_BYTES)
}

/// The context of OSCORE that a session gives (RFC 9528 appendix A.1).
fn context(
    completed: &Completed,
    crypto: &mut Primitives,
    sender: &ConnId,
    recipient: &ConnId,
) -> Result<Context, Failure> {
    let mut exported = |label, length| {
        let nothing = [0; lakers::MAX_KDF_CONTEXT_LEN];
        let bytes = lakers::edhoc_exporter(completed, crypto, label, &nothing, 0, length);
        bytes.get(..length).unwrap_or_default().to_vec()
    };
    Ok(Context::new(&Parameters {
        master_secret: exported(0, 16),
        master_salt: exported(1, 8),
        id_context: None,
        sender_id: sender.as_slice().to_vec(),
        recipient_id: recipient.as_slice().to_vec(),
    })?)
}
