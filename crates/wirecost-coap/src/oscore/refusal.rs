//! Why a message is refused or cannot be protected.

use super::option::OscoreOptionError;
use crate::code::Code;
use crate::edhoc;
use crate::message::MessageError;
use crate::option::OptionNumber;

/// Why a received message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The option is not well-formed.
    #[error(transparent)]
    Option(#[from] OscoreOptionError),
    /// A request without a Partial IV or a kid, or a message whose payload is not a ciphertext.
    #[error("message with an OSCORE option must have a {part}, got none")]
    Missing {
        /// The missing part.
        part: &'static str,
    },
    /// No context matches the ids in the request.
    #[error("request must have the kid of a security context, got another one")]
    ContextNotFound,
    /// The sequence number was used before, or is below the window.
    #[error("sequence number must be new, got {number}, which was used before or is too old")]
    Replayed {
        /// The sequence number.
        number: u64,
    },
    /// The tag does not match the message.
    #[error("message is not authentic")]
    DecryptionFailed,
    /// The plaintext is not a message.
    #[error("plaintext must be a message: {0}")]
    Plaintext(#[from] MessageError),
    /// The plaintext has a code that is not allowed there.
    #[error("plaintext must have a code of the same kind as the outer code, got {code}")]
    InnerCode {
        /// The code.
        code: Code,
    },
    /// The message has an outer block option of a proxy, which is not supported.
    #[error("option {} must be encrypted, got it as an outer option", number.0)]
    OuterBlock {
        /// The option.
        number: OptionNumber,
    },
    /// The request is addressed to a proxy.
    #[error("request must be for this server, got proxy option {}", number.0)]
    Proxied {
        /// The option.
        number: OptionNumber,
    },
    /// The message_3 of EDHOC in front of the ciphertext is missing or not accepted (RFC 9668 section 3.3.1).
    #[error(transparent)]
    Edhoc(#[from] edhoc::Failure),
    /// The message is not protected, but must be.
    #[error("message must have an OSCORE option, got none")]
    Unprotected,
}

impl Refusal {
    /// The code of the unprotected response (RFC 8613 section 8.2).
    pub fn code(&self) -> Code {
        match self {
            Self::Option(_) | Self::Missing { .. } | Self::OuterBlock { .. } => Code::BAD_OPTION,
            Self::ContextNotFound | Self::Replayed { .. } | Self::Unprotected => Code::UNAUTHORIZED,
            Self::Proxied { .. } => Code::PROXYING_NOT_SUPPORTED,
            Self::DecryptionFailed | Self::Plaintext(_) | Self::InnerCode { .. } | Self::Edhoc(_) => {
                Code::BAD_REQUEST
            }
        }
    }

    /// The diagnostic payload of the response, with the words of RFC 8613 section 8.2 if it defines some.
    pub fn diagnostic(&self) -> &'static str {
        match self {
            Self::Option(_) | Self::Missing { .. } => "Failed to decode COSE",
            Self::ContextNotFound => "Security context not found",
            Self::Replayed { .. } => "Replay detected",
            Self::DecryptionFailed => "Decryption failed",
            Self::Plaintext(_) | Self::InnerCode { .. } => "Plaintext is no message",
            Self::Proxied { .. } => "No proxy",
            Self::OuterBlock { .. } => "Outer block-wise transfer is not supported",
            Self::Edhoc(_) => "EDHOC failed",
            Self::Unprotected => "OSCORE is required",
        }
    }
}

/// Why a message cannot be protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtectError {
    /// Every sequence number of the key was used (RFC 8613 section 7.2.1).
    #[error("sequence numbers up to 2^40 - 1 are used up: derive a new security context")]
    SequenceExhausted,
    /// The message is longer than the cipher supports.
    #[error("message must have at most 65535 B to encrypt, got {len} B")]
    TooLong {
        /// The number of bytes to encrypt.
        len: usize,
    },
    /// The body has more blocks than the options can number (RFC 7959 section 2.2).
    #[error("a body of {len} B has more blocks than CoAP can number, 1048576: use larger blocks")]
    Blocks {
        /// The body's length in bytes.
        len: usize,
    },
    /// The message is longer than a stream can frame (RFC 8323 section 3.2).
    #[error("message must have at most 4295033100 B of options and payload on a stream, got {len} B")]
    Frame {
        /// Bytes of options and payload.
        len: usize,
    },
    /// The response to a request whose context was replaced by another one.
    #[error("response must precede the rederivation of its context, got it after that")]
    Superseded,
    /// Proxy-Uri would reveal the path (RFC 8613 section 4.1.3.3).
    #[error("Proxy-Uri cannot be protected: use Proxy-Scheme, Uri-Host, Uri-Path and so on")]
    ProxyUri,
}
