//! Why bytes are not AMQP.

/// An encoded value that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A value ends before its length.
    #[error("value must have {expected} B, got {got} B")]
    Truncated {
        /// Bytes that the encoding demands.
        expected: usize,
        /// Bytes that are there.
        got: usize,
    },
    /// A constructor that the standard does not define (section 1.2).
    #[error("constructor must be a defined format code, got {0:#04x}")]
    Constructor(u8),
    /// A descriptor that is neither a number nor a symbol.
    #[error("descriptor must be a ulong or a symbol, got constructor {0:#04x}")]
    Descriptor(u8),
    /// A value without the descriptor that it needs.
    #[error("value must be a described list, got constructor {0:#04x}")]
    NotDescribed(u8),
    /// A described type that has no place here.
    #[error("described type must be one that fits here, got {0:#x}")]
    DescribedType(u64),
    /// A field of another type than the standard's.
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
        /// What the size field says.
        size: u32,
        /// The largest frame that this side announced.
        limit: u32,
    },
    /// The data offset points outside the frame.
    #[error("data offset must be 2 to {limit} words of 4 B, got {got}")]
    DataOffset {
        /// What the field says.
        got: u8,
        /// Whole words in the frame.
        limit: u32,
    },
    /// A frame type that does not belong here.
    #[error("frame type must be 0 (AMQP) or 1 (SASL), got {0}")]
    FrameType(u8),
    /// The frame's body cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl DecodeError {
    /// The error condition that tells the peer (sections 2.8.15 and 2.8.16).
    pub const fn condition(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "amqp:decode-error",
            _ => "amqp:connection:framing-error",
        }
    }
}
