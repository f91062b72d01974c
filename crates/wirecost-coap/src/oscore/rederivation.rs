//! The server's side of key rederivation (RFC 8613 appendix B.2), for clients that lost the mutable part of their
//! context.
//!
//! ```text
//! client                                                       server
//!   request 1, kid context bstr(ID1)          -->                derives a context from the ID context ID1
//!                       <--  response 1, kid context bstr(R2)    derives a context from R2 | ID1
//!   request 2, kid context bstr(R2 | R3)      -->                derives the new context from R2 | R3
//!                       <--  response 2
//! ```
//!
//! Request 1 may be a replay. Request 2 is fresh, because it contains the R2 that the server chose for it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::context::{Context, NONCE_BYTES};
use super::session::Binding;

/// The length of R2 in bytes.
pub(crate) const R2_BYTES: usize = 8;
/// The number of offered R2s that the server remembers. The oldest is dropped.
const MOST_OFFERED: usize = 4;

/// The protection of the response to a request 1.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) binding: Binding,
    pub(super) context: Context,
    /// The request's nonce, from the context that protects the request.
    pub(super) nonce: [u8; NONCE_BYTES],
    pub(super) r2: [u8; R2_BYTES],
}

/// The offered R2s, and the last request 1 without a response.
#[derive(Debug, Default)]
pub(super) struct Rederivation {
    offered: VecDeque<[u8; R2_BYTES]>,
    opening: Option<Opening>,
}

impl Rederivation {
    /// Whether this is the ID context of a request 2: an offered R2, followed by an R3.
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

    /// Takes the protection of the only response to the request 1 with this `binding`.
    pub(super) fn take(&mut self, binding: Binding) -> Option<Opening> {
        self.opening.take_if(|opening| opening.binding == binding)
    }
}

/// The content of a CBOR byte string of at most 255 B, if `bytes` is nothing else.
pub(crate) fn byte_string(bytes: &[u8]) -> Option<&[u8]> {
    let (&head, rest) = bytes.split_first()?;
    let (len, content) = match head {
        0x40..=0x57 => (head & 0x1f, rest),
        0x58 => rest.split_first().map(|(len, rest)| (*len, rest))?,
        _ => return None,
    };
    (content.len() == usize::from(len)).then_some(content)
}

/// Concatenates R2 and ID1.
pub(super) fn joined(r2: &[u8], id1: &[u8]) -> Vec<u8> {
    [r2, id1].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_string_must_fill_the_input() {
        assert_eq!(byte_string(&[0x42, 1, 2]), Some(&[1, 2][..]));
        assert_eq!(byte_string(&[0x40]), Some(&[][..]));
        assert_eq!(byte_string(&[0x58, 2, 1, 2]), Some(&[1, 2][..]));
        for not in [&[][..], &[0x42, 1], &[0x42, 1, 2, 3], &[0x62, 1, 2], &[0x58]] {
            assert_eq!(byte_string(not), None, "{not:?}");
        }
    }
}
