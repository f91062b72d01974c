//! Messages: a type, a length that counts itself, and the content.

use crate::reader::Reader;
use crate::{Malformed, Parts, TooLong, int32};

/// The type of a message of the client.
pub mod frontend {
    /// Values for a prepared statement.
    pub const BIND: u8 = b'B';
    /// Runs a bound statement.
    pub const EXECUTE: u8 = b'E';
    /// Prepares a statement.
    pub const PARSE: u8 = b'P';
    /// A password, or a message of SASL.
    pub const PASSWORD: u8 = b'p';
    /// A statement without parameters.
    pub const QUERY: u8 = b'Q';
    /// Ends a flight, and commits.
    pub const SYNC: u8 = b'S';
    /// The last message.
    pub const TERMINATE: u8 = b'X';

    /// The name of a type.
    pub const fn name(kind: u8) -> Option<&'static str> {
        Some(match kind {
            BIND => "Bind",
            EXECUTE => "Execute",
            PARSE => "Parse",
            PASSWORD => "password message",
            QUERY => "Query",
            SYNC => "Sync",
            TERMINATE => "Terminate",
            b'C' => "Close",
            b'D' => "Describe",
            b'H' => "Flush",
            b'F' => "FunctionCall",
            b'c' => "CopyDone",
            b'd' => "CopyData",
            b'f' => "CopyFail",
            _ => return None,
        })
    }
}

/// The type of a message of the server.
pub mod backend {
    /// What the server wants for the login, or that it is complete.
    pub const AUTHENTICATION: u8 = b'R';
    /// A key for CancelRequest.
    pub const BACKEND_KEY_DATA: u8 = b'K';
    /// The answer to Bind.
    pub const BIND_COMPLETE: u8 = b'2';
    /// The answer to Execute.
    pub const COMMAND_COMPLETE: u8 = b'C';
    /// The server's words about a failure.
    pub const ERROR_RESPONSE: u8 = b'E';
    /// Protocol options that the server does not have.
    pub const NEGOTIATE_PROTOCOL_VERSION: u8 = b'v';
    /// The server's words about something that did not fail.
    pub const NOTICE_RESPONSE: u8 = b'N';
    /// What another client has told all.
    pub const NOTIFICATION_RESPONSE: u8 = b'A';
    /// A setting of the server.
    pub const PARAMETER_STATUS: u8 = b'S';
    /// The answer to Parse.
    pub const PARSE_COMPLETE: u8 = b'1';
    /// The answer to Sync and Query.
    pub const READY_FOR_QUERY: u8 = b'Z';

    /// The name of a type.
    pub const fn name(kind: u8) -> Option<&'static str> {
        Some(match kind {
            AUTHENTICATION => "Authentication",
            BACKEND_KEY_DATA => "BackendKeyData",
            BIND_COMPLETE => "BindComplete",
            COMMAND_COMPLETE => "CommandComplete",
            ERROR_RESPONSE => "ErrorResponse",
            NEGOTIATE_PROTOCOL_VERSION => "NegotiateProtocolVersion",
            NOTICE_RESPONSE => "NoticeResponse",
            NOTIFICATION_RESPONSE => "NotificationResponse",
            PARAMETER_STATUS => "ParameterStatus",
            PARSE_COMPLETE => "ParseComplete",
            READY_FOR_QUERY => "ReadyForQuery",
            b'3' => "CloseComplete",
            b'D' => "DataRow",
            b'G' => "CopyInResponse",
            b'H' => "CopyOutResponse",
            b'I' => "EmptyQueryResponse",
            b'T' => "RowDescription",
            b't' => "ParameterDescription",
            b'n' => "NoData",
            b's' => "PortalSuspended",
            b'c' => "CopyDone",
            b'd' => "CopyData",
            _ => return None,
        })
    }
}

/// Version 3.0, the first field of the start-up message after its length.
pub const VERSION: [u8; 4] = [0, 3, 0, 0];

/// Type and length.
pub const HEADER_BYTES: usize = 5;

/// The length of a message with a type, in bytes; `None` while its header is incomplete.
///
/// # Errors
/// The length is smaller than the length field.
pub fn message_len(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(after_type) = bytes.get(1..) else {
        return Ok(None);
    };
    Ok(startup_len(after_type)?.map(|len| len + 1))
}

/// The length of a start-up message, which has no type, in bytes; `None` while its length field is incomplete.
///
/// # Errors
/// The length is smaller than the length field.
pub fn startup_len(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(len) = bytes.first_chunk() else {
        return Ok(None);
    };
    match u32::from_be_bytes(*len) {
        len @ 4..=0x7fff_ffff => Ok(Some(len as usize)),
        _ => Err(Malformed {
            expected: "a length that counts its own four bytes",
        }),
    }
}

/// What [`length`] refuses.
const MESSAGE: &str = "a message of PostgreSQL";

/// A length as the protocol has it, Int32.
pub(crate) fn length(len: usize) -> Result<[u8; 4], TooLong> {
    Ok(int32(MESSAGE, len)?.to_be_bytes())
}

/// Appends a message with the content that `write` appends; nothing if it is too long.
pub(crate) fn message(kind: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), TooLong> {
    let at = out.len();
    out.push(kind);
    with_length(out, write).inspect_err(|_| out.truncate(at))
}

/// Appends a length that counts itself, and the content that `write` appends; nothing if it is too long.
pub(crate) fn with_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), TooLong> {
    let at = out.len();
    out.extend([0; 4]);
    write(out);
    match length(out.len() - at) {
        Ok(len) => out[at..at + 4].copy_from_slice(&len),
        Err(too_long) => {
            out.truncate(at);
            return Err(too_long);
        }
    }
    Ok(())
}

/// The parts of a Bind whose last parameter is the payload, from the bytes before the payload; `None` while they are
/// incomplete.
///
/// # Errors
/// The message is not a Bind with parameters.
pub fn bind_parts(bytes: &[u8]) -> Result<Option<Parts>, Malformed> {
    let Some(len) = message_len(bytes)? else {
        return Ok(None);
    };
    let available = bytes.get(..len).unwrap_or(bytes);
    match payload_of_bind(available) {
        Some((before, payload)) => {
            let after = len.checked_sub(before + payload).ok_or(SHORT_BIND)?;
            Ok(Some(Parts {
                before,
                payload,
                after,
            }))
        }
        None if available.len() < len => Ok(None),
        None => Err(SHORT_BIND),
    }
}

const SHORT_BIND: Malformed = Malformed {
    expected: "a Bind with a portal, a statement, formats and parameters",
};

/// The place and the length of a Bind's last parameter; `None` if there is none in `bytes`.
fn payload_of_bind(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut reader = Reader::new(bytes.get(HEADER_BYTES..)?);
    reader.until_zero("").ok()?;
    reader.until_zero("").ok()?;
    let formats = reader.array("").map(u16::from_be_bytes).ok()?;
    reader.try_take(usize::from(formats) * 2)?;
    let parameters = reader.array("").map(u16::from_be_bytes).ok()?;
    for left in (0..parameters).rev() {
        // NULL has the length -1.
        let len = reader.array("").map(i32::from_be_bytes).ok()?;
        let len = usize::try_from(len).unwrap_or(0);
        if left == 0 {
            return Some((bytes.len() - reader.rest().len(), len));
        }
        reader.try_take(len)?;
    }
    None
}

/// The words of an ErrorResponse or a NoticeResponse: severity, SQLSTATE code and message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report<'a> {
    /// `ERROR`, `FATAL` or `PANIC`.
    pub severity: &'a [u8],
    /// The code, such as `42P01`.
    pub code: &'a [u8],
    /// The message.
    pub message: &'a [u8],
}

impl<'a> Report<'a> {
    /// The report in the content of a message.
    pub fn read(content: &'a [u8]) -> Self {
        let mut report = Self::default();
        let mut reader = Reader::new(content);
        while let Some(&[field]) = reader.try_take(1) {
            let Ok(text) = reader.until_zero("a text") else {
                break;
            };
            match field {
                // The severity that is not translated.
                b'V' => report.severity = text,
                b'C' => report.code = text,
                b'M' => report.message = text,
                _ => {}
            }
        }
        report
    }

    /// Whether the server ends the connection.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity, b"FATAL" | b"PANIC")
    }
}
