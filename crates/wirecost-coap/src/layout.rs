//! Which layer each run of a datagram's bytes belongs to.

use wirecost_proto::Layer;

use crate::message::Repr;

/// Bytes of the tag of a protected datagram (AES-CCM-16-64-128).
pub(crate) const TAG_BYTES: usize = 8;

/// The runs of a datagram, end to end, in bytes. A message without OSCORE has a head and a payload only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Application: header, token, the options before the OSCORE option; where that is absent, all but the payload.
    pub(crate) head: usize,
    /// Security: the OSCORE option.
    pub(crate) option: usize,
    /// Application: later options and the payload marker, then the inner code, options and marker as ciphertext.
    pub(crate) inner: usize,
    /// Payload, as ciphertext where there is an OSCORE option.
    pub(crate) payload: usize,
    /// Security: the tag.
    pub(crate) tag: usize,
}

impl Layout {
    /// A datagram of `len` bytes that carries `payload` bytes and is not protected.
    pub(crate) fn plain(len: usize, payload: usize) -> Self {
        Self {
            head: len.saturating_sub(payload),
            payload,
            ..Self::default()
        }
    }

    /// The layout of `repr`, which has `len` bytes and is not protected.
    pub(crate) fn of(repr: &Repr<'_>, len: usize) -> Self {
        Self::plain(len, repr.payload.len())
    }

    /// Bytes of the whole datagram.
    pub(crate) fn len(&self) -> usize {
        self.head + self.option + self.inner + self.payload + self.tag
    }

    /// The runs in order, with their layers.
    pub(crate) const fn runs(&self) -> [(usize, Layer); 5] {
        [
            (self.head, Layer::Application),
            (self.option, Layer::Security),
            (self.inner, Layer::Application),
            (self.payload, Layer::Payload),
            (self.tag, Layer::Security),
        ]
    }
}
