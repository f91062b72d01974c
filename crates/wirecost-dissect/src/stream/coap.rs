//! CoAP over TCP (RFC 8323): describes messages by their code. All options and the payload marker are application.

use wirecost_coap::stream::{Outline, code};

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

/// Describes the message at the start of `bytes`, or returns `None` if too little of it has arrived.
pub(super) fn message(bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
    let outline = Outline::from_bytes(bytes).map_err(|_| Unreadable("not a CoAP message"))?;
    Ok(outline.map(|outline| {
        let Outline { phase, cause, .. } = outline;
        let parts = [outline.head_bytes as u64, outline.payload_bytes, 0];
        Rest::new(parts, Purpose { phase, cause })
    }))
}

/// Whether `bytes` begin with a CSM, the first message of a connection; `None` if they are too short to tell.
pub(super) fn is_csm(bytes: &[u8]) -> Option<bool> {
    match (Outline::from_bytes(bytes), code(bytes)) {
        (Err(_), _) => Some(false),
        // Lengths, extension and code have at most 6 B (section 3.2).
        (Ok(None), None) if bytes.len() < 6 => None,
        (Ok(_), code) => Some(code == Some(wirecost_coap::code::Code::CSM)),
    }
}
