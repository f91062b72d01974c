//! Messages of EDHOC in messages of CoAP, by what can be seen without keys.

use super::{BEFORE_MESSAGE_1, FORMAT};
use crate::code::Code;
use crate::message::Repr;
use crate::option::OptionNumber;

/// The least bytes of message_2: the header of a byte string, the public key, identifier, credential and tag.
const LEAST_MESSAGE_2: usize = 40;

/// Whether a request without protection is for the resource of EDHOC.
pub(crate) fn is_request(repr: &Repr<'_>) -> bool {
    let path = repr
        .options
        .iter()
        .filter(|option| option.number == OptionNumber::URI_PATH);
    repr.code == Code::POST
        && path
            .map(|option| option.value)
            .eq([&b".well-known"[..], b"edhoc"])
}

/// Whether the whole payload is a message of EDHOC.
pub(crate) fn is_message(repr: &Repr<'_>) -> bool {
    if repr.payload.is_empty() {
        return false;
    }
    match repr.code.is_request() {
        true => is_request(repr),
        false => repr.options.uint(OptionNumber::CONTENT_FORMAT) == Some(u32::from(FORMAT)),
    }
}

/// The message_3 in front of the ciphertext of a request with the EDHOC option (RFC 9668 section 3.2), and the rest.
pub(crate) fn message_3_of<'a>(repr: &Repr<'a>) -> Option<(&'a [u8], &'a [u8])> {
    repr.options.first(OptionNumber::EDHOC)?;
    repr.payload.split_at_checked(byte_string(repr.payload)?)
}

/// How many bytes the CBOR byte string takes with which these begin (RFC 8949 section 3.1); `None` if they begin with none, or with one above
/// 255 B, which no message of EDHOC here has.
pub(super) const fn byte_string(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [head @ 0x40..=0x57, ..] => Some(1 + (head & 0x1f) as usize),
        [0x58, length @ 24..=255, ..] => Some(2 + length as usize),
        _ => None,
    }
}

/// The name of the message of EDHOC that a message of CoAP carries, with its length; `None` if it carries none.
pub fn message_name(repr: &Repr<'_>) -> Option<(&'static str, usize)> {
    if let Some((message_3, _)) = message_3_of(repr) {
        return Some(("EDHOC message_3", message_3.len()));
    }
    if !is_message(repr) {
        return None;
    }
    let length = repr.payload.len();
    Some(match *repr.payload {
        [BEFORE_MESSAGE_1, ..] if repr.code.is_request() => ("EDHOC message_1", length - 1),
        _ if repr.code.is_request() => ("EDHOC message_3", length),
        _ if !repr.code.is_success() => ("EDHOC error", length),
        _ if length >= LEAST_MESSAGE_2 => ("EDHOC message_2", length),
        _ => ("EDHOC message_4", length),
    })
}
