//! Which layer each run of a datagram's bytes belongs to.

use wirecost_proto::Layer;

use crate::message::Repr;

/// Bytes of the tag of a protected datagram (AES-CCM-16-64-128).
pub(crate) const TAG_BYTES: usize = 8;

/// The runs of a datagram, end to end, in bytes; many are remembered, so that the numbers are small. A message without OSCORE has a head and a payload only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Application: header, token, the options before the OSCORE option; where that is absent, all but the payload.
    pub(crate) head: u32,
    /// Security: the OSCORE option.
    pub(crate) option: u32,
    /// Application: later options and the payload marker, then the inner code, options and marker as ciphertext.
    pub(crate) inner: u32,
    /// Payload, as ciphertext where there is an OSCORE option.
    pub(crate) payload: u32,
    /// Security: the tag.
    pub(crate) tag: u32,
}

impl Layout {
    /// A datagram of `len` bytes that carries `payload` bytes and is not protected.
    pub(crate) fn plain(len: usize, payload: usize) -> Self {
        Self {
            head: bytes(len.saturating_sub(payload)),
            payload: bytes(payload),
            ..Self::default()
        }
    }

    /// The layout of `repr`, which has `len` bytes and is not protected.
    pub(crate) fn of(repr: &Repr<'_>, len: usize) -> Self {
        Self::plain(len, repr.payload.len())
    }

    /// Bytes of the whole datagram.
    pub(crate) fn len(&self) -> usize {
        self.runs().map(|(len, _)| len).sum()
    }

    /// The runs of at least a byte, in order, with their layers.
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

/// A length of a datagram's part; no datagram has more than 64 KiB.
pub(crate) fn bytes(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
