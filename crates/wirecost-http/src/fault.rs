//! Error codes of HTTP/3 (RFC 9114 section 8.1) and QPACK (RFC 9204 section 6), and the faults that use them.

use std::fmt;

/// The error code that ends a connection or a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u64)]
pub enum Code {
    /// H3_NO_ERROR: no error.
    NoError = 0x0100,
    /// H3_GENERAL_PROTOCOL_ERROR: a broken rule without a code of its own.
    GeneralProtocolError = 0x0101,
    /// H3_INTERNAL_ERROR: this side failed.
    InternalError = 0x0102,
    /// H3_STREAM_CREATION_ERROR: a stream that is not allowed.
    StreamCreationError = 0x0103,
    /// H3_CLOSED_CRITICAL_STREAM: a control or QPACK stream ended.
    ClosedCriticalStream = 0x0104,
    /// H3_FRAME_UNEXPECTED: a frame that is not allowed here.
    FrameUnexpected = 0x0105,
    /// H3_FRAME_ERROR: a frame whose length does not match its content.
    FrameError = 0x0106,
    /// H3_EXCESSIVE_LOAD: the peer demands too much.
    ExcessiveLoad = 0x0107,
    /// H3_ID_ERROR: a stream or push ID out of bounds.
    IdError = 0x0108,
    /// H3_SETTINGS_ERROR: settings that are not allowed.
    SettingsError = 0x0109,
    /// H3_MISSING_SETTINGS: the control stream does not begin with SETTINGS.
    MissingSettings = 0x010a,
    /// H3_REQUEST_REJECTED: the server did not process the request.
    RequestRejected = 0x010b,
    /// H3_REQUEST_CANCELLED: the response is no longer needed.
    RequestCancelled = 0x010c,
    /// H3_REQUEST_INCOMPLETE: the stream ended inside the request.
    RequestIncomplete = 0x010d,
    /// H3_MESSAGE_ERROR: a malformed message.
    MessageError = 0x010e,
    /// QPACK_DECOMPRESSION_FAILED: a field section that cannot be read.
    QpackDecompressionFailed = 0x0200,
    /// QPACK_ENCODER_STREAM_ERROR: an encoder instruction that is not allowed.
    QpackEncoderStreamError = 0x0201,
    /// QPACK_DECODER_STREAM_ERROR: a decoder instruction that is not allowed.
    QpackDecoderStreamError = 0x0202,
}

/// Every code with its name in the standards.
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

    /// A fault with this code.
    pub const fn fault(self, reason: &'static str) -> Fault {
        Fault { code: self, reason }
    }
}

/// A received HTTP/3 or QPACK code, which may be unknown. It prints as the standard's name, if there is one, and the
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApplicationCode(pub u64);

/// A received QUIC code (RFC 9000 section 20.1). It prints as the standard's name, if there is one, and the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransportCode(pub u64);

/// Names of the codes from 0.
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

impl fmt::Display for TransportCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = usize::try_from(self.0).ok();
        let name = index.and_then(|index| TRANSPORT_NAMES.get(index));
        write_code(f, name.copied(), self.0)
    }
}

impl fmt::Display for ApplicationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.iter().find(|(code, _)| code.value() == self.0);
        write_code(f, known.map(|(_, name)| *name), self.0)
    }
}

fn write_code(f: &mut fmt::Formatter<'_>, name: Option<&str>, code: u64) -> fmt::Result {
    match name {
        Some(name) => write!(f, "{name} ({code:#x})"),
        None => write!(f, "the error code {code:#x}"),
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ApplicationCode(self.value()).fmt(f)
    }
}

/// A broken rule of HTTP/3: the code that ends the connection or the stream, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{reason}: {code}")]
pub struct Fault {
    /// The code for the peer.
    pub code: Code,
    /// What was wrong.
    pub reason: &'static str,
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
        assert_eq!(TransportCode(0xa).to_string(), "PROTOCOL_VIOLATION (0xa)");
        assert_eq!(TransportCode(0x11).to_string(), "the error code 0x11");
        assert_eq!(ApplicationCode(0x21).to_string(), "the error code 0x21");
    }
}
