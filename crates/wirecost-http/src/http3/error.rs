//! Error codes of HTTP/3 (RFC 9114 section 8.1) and QPACK (RFC 9204 section 6), and what they are given for.

use std::fmt;

/// Why a connection or a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u64)]
pub enum Code {
    /// H3_NO_ERROR: nothing is wrong.
    NoError = 0x0100,
    /// H3_GENERAL_PROTOCOL_ERROR: a rule was broken for which there is no code of its own.
    GeneralProtocolError = 0x0101,
    /// H3_INTERNAL_ERROR: this side failed.
    InternalError = 0x0102,
    /// H3_STREAM_CREATION_ERROR: a stream that must not be.
    StreamCreationError = 0x0103,
    /// H3_CLOSED_CRITICAL_STREAM: a control or QPACK stream ended.
    ClosedCriticalStream = 0x0104,
    /// H3_FRAME_UNEXPECTED: a frame where it must not be.
    FrameUnexpected = 0x0105,
    /// H3_FRAME_ERROR: a frame that is too long or too short for its content.
    FrameError = 0x0106,
    /// H3_EXCESSIVE_LOAD: the peer asks for too much.
    ExcessiveLoad = 0x0107,
    /// H3_ID_ERROR: a stream or push id out of its bounds.
    IdError = 0x0108,
    /// H3_SETTINGS_ERROR: settings that must not be.
    SettingsError = 0x0109,
    /// H3_MISSING_SETTINGS: the control stream does not begin with SETTINGS.
    MissingSettings = 0x010a,
    /// H3_REQUEST_REJECTED: the server did nothing about the request.
    RequestRejected = 0x010b,
    /// H3_REQUEST_CANCELLED: the answer is no longer wanted.
    RequestCancelled = 0x010c,
    /// H3_REQUEST_INCOMPLETE: the stream ended within the request.
    RequestIncomplete = 0x010d,
    /// H3_MESSAGE_ERROR: a message that is malformed.
    MessageError = 0x010e,
    /// QPACK_DECOMPRESSION_FAILED: a field section that cannot be read.
    QpackDecompressionFailed = 0x0200,
    /// QPACK_ENCODER_STREAM_ERROR: an instruction of the peer's encoder that it must not give.
    QpackEncoderStreamError = 0x0201,
}

impl Code {
    /// The number on the wire.
    pub const fn value(self) -> u64 {
        self as u64
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?} ({:#06x})", self.value())
    }
}

/// A broken rule of HTTP/3: the code that the connection or the stream ends with, and what was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {code}")]
pub struct Fault {
    /// The code that the peer is given.
    pub code: Code,
    /// What was wrong.
    pub reason: &'static str,
}

impl Fault {
    /// A fault with its reason.
    pub const fn new(code: Code, reason: &'static str) -> Self {
        Self { code, reason }
    }
}
