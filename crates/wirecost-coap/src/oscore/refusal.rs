//! Why a message is not taken or not sent.

use super::option::OscoreOptionError;
use crate::code::Code;
use crate::message::MessageError;
use crate::option::OptionNumber;

/// Why a received message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The option is not well-formed.
    #[error(transparent)]
    Option(#[from] OscoreOptionError),
    /// A request without a Partial IV or a kid, or a message whose payload is no ciphertext.
    #[error("message with an OSCORE option has no {part}")]
    Missing {
        /// What is missing.
        part: &'static str,
    },
    /// No context has the ids of the request.
    #[error("no security context has the kid of the request")]
    ContextNotFound,
    /// The sequence number was taken before, or is older than the window.
    #[error("sequence number {number} was seen before or is too old")]
    Replayed {
        /// The sequence number.
        number: u64,
    },
    /// The tag is not that of the message.
    #[error("message is not authentic")]
    DecryptionFailed,
    /// What was encrypted is no message.
    #[error("plaintext is no message: {0}")]
    Plaintext(#[from] MessageError),
    /// What was encrypted has no code that may be there.
    #[error("plaintext has the code {code}, expected one of its kind")]
    InnerCode {
        /// The code.
        code: Code,
    },
    /// A proxy cut the message into blocks of its own, which is not supported.
    #[error("option {} is not encrypted, expected inner blocks only", number.0)]
    OuterBlock {
        /// The option.
        number: OptionNumber,
    },
    /// The request is for a proxy.
    #[error("option {} asks for a proxy, expected a request for this server", number.0)]
    Proxied {
        /// The option.
        number: OptionNumber,
    },
    /// The message is not protected although it must be.
    #[error("message is not protected, expected an OSCORE option")]
    Unprotected,
}

impl Refusal {
    /// The code of the response, which is not protected (RFC 8613 section 8.2).
    pub fn code(&self) -> Code {
        match self {
            Self::Option(_) | Self::Missing { .. } | Self::OuterBlock { .. } => Code::BAD_OPTION,
            Self::ContextNotFound | Self::Replayed { .. } | Self::Unprotected => Code::UNAUTHORIZED,
            Self::Proxied { .. } => Code::PROXYING_NOT_SUPPORTED,
            Self::DecryptionFailed | Self::Plaintext(_) | Self::InnerCode { .. } => Code::BAD_REQUEST,
        }
    }

    /// The diagnostic payload of the response, in the words of RFC 8613 section 8.2 where it has some.
    pub fn diagnostic(&self) -> &'static str {
        match self {
            Self::Option(_) | Self::Missing { .. } => "Failed to decode COSE",
            Self::ContextNotFound => "Security context not found",
            Self::Replayed { .. } => "Replay detected",
            Self::DecryptionFailed => "Decryption failed",
            Self::Plaintext(_) | Self::InnerCode { .. } => "Plaintext is no message",
            Self::Proxied { .. } => "No proxy",
            Self::OuterBlock { .. } => "Outer block-wise transfer is not supported",
            Self::Unprotected => "OSCORE is required",
        }
    }
}

/// Why a message cannot be protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtectError {
    /// Every sequence number of the key was used (RFC 8613 section 7.2.1).
    #[error("every sequence number up to 2^40 - 1 was used, expected a new security context")]
    SequenceExhausted,
    /// More than the cipher takes at once.
    #[error("message has {len} B to encrypt, expected at most 65535 B")]
    TooLong {
        /// Bytes to encrypt.
        len: usize,
    },
    /// The response to a request whose context gave way to another one.
    #[error("the context of the request was derived again, expected the response before that")]
    Superseded,
    /// Proxy-Uri would tell the path (RFC 8613 section 4.1.3.3).
    #[error("Proxy-Uri cannot be protected, expected Proxy-Scheme, Uri-Host, Uri-Path and the like")]
    ProxyUri,
}
