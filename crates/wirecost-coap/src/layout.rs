//! The layer of each run of bytes in a datagram.

use wirecost_proto::Layer;

use crate::edhoc;
use crate::message::Repr;

/// The length of the tag of a protected datagram (AES-CCM-16-64-128) in bytes.
pub(crate) const TAG_BYTES: usize = 8;

/// Bytes of one layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) len: usize,
    pub(crate) layer: Layer,
    /// Whether they belong to a handshake of EDHOC, whatever the datagram belongs to.
    pub(crate) connects: bool,
}

/// The lengths of the runs of a datagram in bytes, end to end. Many layouts are kept, so the fields are small. Without
/// OSCORE and EDHOC there are only a head and a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Application: header, token, the options before the OSCORE option. Without OSCORE, all but the payload.
    pub(crate) head: u32,
    /// Security: the OSCORE option.
    pub(crate) option: u32,
    /// Application: later options and the payload marker, where a message of EDHOC follows them.
    pub(crate) later: u32,
    /// Security: a message of EDHOC. Without a tag it is the whole payload, and the datagram is a part of the handshake.
    pub(crate) edhoc: u32,
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
        let plain = Self::plain(len, repr.payload.len());
        match edhoc::is_message(repr) {
            true => Self {
                payload: 0,
                edhoc: plain.payload,
                ..plain
            },
            false => plain,
        }
    }

    /// Whether the whole datagram is a part of a handshake of EDHOC.
    pub(crate) fn is_handshake(&self) -> bool {
        self.edhoc > 0 && self.tag == 0
    }

    /// The length of the datagram in bytes.
    pub(crate) fn len(&self) -> usize {
        self.runs().map(|run| run.len).sum()
    }

    /// The runs that are not empty, in order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> {
        let is_handshake = self.is_handshake();
        [
            (self.head, Layer::Application, is_handshake),
            (self.option, Layer::Security, false),
            (self.later, Layer::Application, false),
            (self.edhoc, Layer::Security, true),
            (self.inner, Layer::Application, false),
            (self.payload, Layer::Payload, false),
            (self.tag, Layer::Security, false),
        ]
        .into_iter()
        .filter(|(len, ..)| *len > 0)
        .map(|(len, layer, connects)| Run {
            len: len as usize,
            layer,
            connects,
        })
    }
}

/// The length of a part of a datagram; a datagram has at most 64 KiB.
pub(crate) fn bytes(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
