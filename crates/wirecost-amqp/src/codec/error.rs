//! Errors of decoding.

/// An encoded value that is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A value that is shorter than its encoding says.
    #[error("value must have {expected} B, got {got} B")]
    Truncated {
        /// The length by the encoding, in bytes.
        expected: usize,
        /// The length of what is there, in bytes.
        got: usize,
    },
    /// A constructor that the standard does not define (section 1.2).
    #[error("constructor must be a defined format code, got {0:#04x}")]
    Constructor(u8),
    /// A descriptor that is neither a number nor a symbol.
    #[error("descriptor must be a ulong or a symbol, got constructor {0:#04x}")]
    Descriptor(u8),
    /// A value without a descriptor where one is required.
    #[error("value must be a described list, got constructor {0:#04x}")]
    NotDescribed(u8),
    /// A described type that is not allowed here.
    #[error("described type must be one that is allowed here, got {0:#x}")]
    DescribedType(u64),
    /// A field whose type is not the standard's.
    #[error("field {field} must be a {expected}")]
    FieldType {
        /// The field's name in the standard.
        field: &'static str,
        /// The type that it must have.
        expected: &'static str,
    },
    /// A mandatory field that is null.
    #[error("field {0} must not be null")]
    Missing(&'static str),
    /// Text that is not UTF-8.
    #[error("text must be UTF-8")]
    Text,
}

/// Bytes that are not a frame of AMQP 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The size field of a frame is out of bounds (section 2.3.1).
    #[error("frame must have 8 B to {limit} B, got {size} B")]
    FrameSize {
        /// The value of the size field.
        size: u32,
        /// The max-frame-size that this side announced.
        limit: u32,
    },
    /// The data offset is outside the frame.
    #[error("data offset must be 2 to {limit} words of 4 B, got {got}")]
    DataOffset {
        /// The value of the field.
        got: u8,
        /// The length of the frame in words of 4 B.
        limit: u32,
    },
    /// A frame type that is neither AMQP nor SASL.
    #[error("frame type must be 0 (AMQP) or 1 (SASL), got {0}")]
    FrameType(u8),
    /// The body of the frame is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl DecodeError {
    /// The error condition that tells the peer about the error (sections 2.8.15 and 2.8.16).
    pub const fn condition(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "amqp:decode-error",
            _ => "amqp:connection:framing-error",
        }
    }
}
