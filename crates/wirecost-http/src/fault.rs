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
    /// QPACK_DECODER_STREAM_ERROR: an instruction of the peer's decoder that it must not give.
    QpackDecoderStreamError = 0x0202,
}

/// Every code, with the name that the standards give it.
const NAMES: [(Code, &str); 18] = [
    (Code::NoError, "H3_NO_ERROR"),
    (Code::GeneralProtocolError, "H3_GENERAL_PROTOCOL_ERROR"),
    (Code::InternalError, "H3_INTERNAL_ERROR"),
    (Code::StreamCreationError, "H3_STREAM_CREATION_ERROR"),
    (Code::ClosedCriticalStream, "H3_CLOSED_CRITICAL_STREAM"),
    (Code::FrameUnexpected, "H3_FRAME_UNEXPECTED"),
    (Code::FrameError, "H3_FRAME_ERROR"),
    (Code::ExcessiveLoad, "H3_EXCESSIVE_LOAD"),
    (Code::IdError, "H3_ID_ERROR"),
    (Code::SettingsError, "H3_SETTINGS_ERROR"),
    (Code::MissingSettings, "H3_MISSING_SETTINGS"),
    (Code::RequestRejected, "H3_REQUEST_REJECTED"),
    (Code::RequestCancelled, "H3_REQUEST_CANCELLED"),
    (Code::RequestIncomplete, "H3_REQUEST_INCOMPLETE"),
    (Code::MessageError, "H3_MESSAGE_ERROR"),
    (Code::QpackDecompressionFailed, "QPACK_DECOMPRESSION_FAILED"),
    (Code::QpackEncoderStreamError, "QPACK_ENCODER_STREAM_ERROR"),
    (Code::QpackDecoderStreamError, "QPACK_DECODER_STREAM_ERROR"),
];

impl Code {
    /// The number on the wire.
    pub const fn value(self) -> u64 {
        self as u64
    }
}

/// A code of HTTP/3 or QPACK as it came, which may be none that is known: the standard's name where there is one, and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Received(pub u64);

/// A code of QUIC itself as it came (RFC 9000 section 20.1): the standard's name where there is one, and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transport(pub u64);

/// Names of the codes from 0 on.
const TRANSPORT_NAMES: [&str; 17] = [
    "NO_ERROR",
    "INTERNAL_ERROR",
    "CONNECTION_REFUSED",
    "FLOW_CONTROL_ERROR",
    "STREAM_LIMIT_ERROR",
    "STREAM_STATE_ERROR",
    "FINAL_SIZE_ERROR",
    "FRAME_ENCODING_ERROR",
    "TRANSPORT_PARAMETER_ERROR",
    "CONNECTION_ID_LIMIT_ERROR",
    "PROTOCOL_VIOLATION",
    "INVALID_TOKEN",
    "APPLICATION_ERROR",
    "CRYPTO_BUFFER_EXCEEDED",
    "KEY_UPDATE_ERROR",
    "AEAD_LIMIT_REACHED",
    "NO_VIABLE_PATH",
];

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = usize::try_from(self.0).ok();
        match place.and_then(|place| TRANSPORT_NAMES.get(place)) {
            Some(name) => write!(f, "{name} ({:#x})", self.0),
            None => write!(f, "the error code {:#x}", self.0),
        }
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.iter().find(|(code, _)| code.value() == self.0);
        match known {
            Some((_, name)) => write!(f, "{name} ({:#x})", self.0),
            None => write!(f, "the error code {:#x}", self.0),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Received(self.value()).fmt(f)
    }
}

/// A broken rule of HTTP/3: the code that the connection or the stream ends with, and what was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_the_name_of_its_standard_and_its_number() {
        assert_eq!(Code::FrameUnexpected.to_string(), "H3_FRAME_UNEXPECTED (0x105)");
        assert_eq!(
            Code::QpackDecompressionFailed.to_string(),
            "QPACK_DECOMPRESSION_FAILED (0x200)"
        );
        assert_eq!(Transport(0xa).to_string(), "PROTOCOL_VIOLATION (0xa)");
        assert_eq!(Transport(0x11).to_string(), "the error code 0x11");
        assert_eq!(Received(0x21).to_string(), "the error code 0x21");
    }
}
