//! Contexts that are derived again, because the client lost what changes in them (RFC 8613 appendix B.2), as the server
//! sees it.
//!
//! ```text
//! client                                                       server
//!   request 1, kid context bstr(ID1)          -->                derives from the ID context ID1
//!                       <--  response 1, kid context bstr(R2)    derives from R2 | ID1
//!   request 2, kid context bstr(R2 | R3)      -->                derives from R2 | R3, which is the context from then on
//!                       <--  response 2
//! ```
//!
//! Request 1 may be an old one that somebody sends again; request 2 is fresh, because it has the R2 that was made for it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::context::{Context, NONCE_BYTES};
use super::session::Binding;

/// Bytes of R2.
pub(crate) const R2_BYTES: usize = 8;
/// R2s that are waited for at a time; the oldest gives way.
const MOST_OFFERED: usize = 4;

/// What a response to a request 1 is protected with.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) binding: Binding,
    pub(super) context: Context,
    /// The request's nonce: of the context that the request was protected with.
    pub(super) nonce: [u8; NONCE_BYTES],
    pub(super) r2: [u8; R2_BYTES],
}

/// The R2s that a request 2 may have, and the last request 1 that has no response yet.
#[derive(Debug, Default)]
pub(super) struct Rederivation {
    offered: VecDeque<[u8; R2_BYTES]>,
    opening: Option<Opening>,
}

impl Rederivation {
    /// Whether the ID context of a request is that of a request 2: one of the R2s, and something behind it.
    pub(super) fn is_answered_by(&self, id_context: &[u8]) -> bool {
        let offered = |r2: &[u8; R2_BYTES]| id_context.len() > R2_BYTES && id_context.starts_with(r2);
        self.offered.iter().any(offered)
    }

    pub(super) fn open(&mut self, opening: Opening) {
        if self.offered.len() >= MOST_OFFERED {
            self.offered.pop_front();
        }
        self.offered.push_back(opening.r2);
        self.opening = Some(opening);
    }

    /// What protects the one response to the request 1 of `binding`.
    pub(super) fn take(&mut self, binding: Binding) -> Option<Opening> {
        self.opening.take_if(|opening| opening.binding == binding)
    }
}

/// What is in a CBOR byte string of at most 255 B that is all there is.
pub(crate) fn byte_string(bytes: &[u8]) -> Option<&[u8]> {
    let (&head, rest) = bytes.split_first()?;
    let (len, content) = match head {
        0x40..=0x57 => (head & 0x1f, rest),
        0x58 => rest.split_first().map(|(len, rest)| (*len, rest))?,
        _ => return None,
    };
    (content.len() == usize::from(len)).then_some(content)
}

/// R2 and an ID1 behind it.
pub(super) fn joined(r2: &[u8], id1: &[u8]) -> Vec<u8> {
    [r2, id1].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_string_is_all_there_is() {
        assert_eq!(byte_string(&[0x42, 1, 2]), Some(&[1, 2][..]));
        assert_eq!(byte_string(&[0x40]), Some(&[][..]));
        assert_eq!(byte_string(&[0x58, 2, 1, 2]), Some(&[1, 2][..]));
        for not in [&[][..], &[0x42, 1], &[0x42, 1, 2, 3], &[0x62, 1, 2], &[0x58]] {
            assert_eq!(byte_string(not), None, "{not:?}");
        }
    }
}
