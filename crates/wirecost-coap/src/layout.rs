//! The layer of each run of bytes in a datagram.

use wirecost_proto::Layer;

use crate::message::Repr;

/// The length of the tag of a protected datagram (AES-CCM-16-64-128) in bytes.
pub(crate) const TAG_BYTES: usize = 8;

/// The lengths of the runs of a datagram in bytes, end to end. Many layouts are kept, so the fields are small. Without
/// OSCORE there are only a head and a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Application: header, token, the options before the OSCORE option. Without OSCORE, all but the payload.
    pub(crate) head: u32,
    /// Security: the OSCORE option.
    pub(crate) option: u32,
    /// Application: later options and the payload marker, then the inner code, options and marker as ciphertext.
    pub(crate) inner: u32,
    /// Payload; ciphertext if there is an OSCORE option.
    pub(crate) payload: u32,
    /// Security: the tag.
    pub(crate) tag: u32,
}

impl Layout {
    /// The layout of an unprotected datagram of `len` bytes with `payload` bytes of payload.
    pub(crate) fn plain(len: usize, payload: usize) -> Self {
        Self {
            head: bytes(len.saturating_sub(payload)),
            payload: bytes(payload),
            ..Self::default()
        }
    }

    /// The layout of `repr`, an unprotected message of `len` bytes.
    pub(crate) fn from_repr(repr: &Repr<'_>, len: usize) -> Self {
        Self::plain(len, repr.payload.len())
    }

    /// The length of the datagram in bytes.
    pub(crate) fn len(&self) -> usize {
        self.runs().map(|(len, _)| len).sum()
    }

    /// The runs that are not empty, in order, with their layers.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (usize, Layer)> {
        [
            (self.head, Layer::Application),
            (self.option, Layer::Security),
            (self.inner, Layer::Application),
            (self.payload, Layer::Payload),
            (self.tag, Layer::Security),
        ]
        .into_iter()
        .filter(|(len, _)| *len > 0)
        .map(|(len, layer)| (len as usize, layer))
    }
}

/// The length of a part of a datagram; a datagram has at most 64 KiB.
pub(crate) fn bytes(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
