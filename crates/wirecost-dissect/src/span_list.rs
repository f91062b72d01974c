//! Descriptions of bytes, in order.

use wirecost_proto::{Cause, Layer, Phase, Span};

/// Phase and cause of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    pub(crate) phase: Phase,
    pub(crate) cause: Cause,
}

impl Purpose {
    /// Bytes that set up a connection.
    pub(crate) const CONNECT: Self = Self {
        phase: Phase::Connect,
        cause: Cause::Original,
    };
    /// A message that was not sent before.
    pub(crate) const MESSAGE: Self = Self {
        phase: Phase::Message,
        cause: Cause::Original,
    };
    /// Bytes that acknowledge a message.
    pub(crate) const ACKNOWLEDGEMENT: Self = Self {
        phase: Phase::Message,
        cause: Cause::Acknowledgement,
    };
    /// Bytes that keep a connection open.
    pub(crate) const KEEP_ALIVE: Self = Self {
        phase: Phase::KeepAlive,
        cause: Cause::Original,
    };
    /// Bytes that close a connection.
    pub(crate) const CLOSE: Self = Self {
        phase: Phase::Close,
        cause: Cause::Original,
    };
}

/// A run of bytes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Length, layer, phase and cause.
    pub(crate) span: Span,
    /// Whether the bytes are described. If not, they are unattributed.
    pub(crate) known: bool,
}

impl Piece {
    pub(crate) const fn purpose(&self) -> Purpose {
        Purpose {
            phase: self.span.phase,
            cause: self.span.cause,
        }
    }
}

/// Consecutive pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpanList {
    pieces: Vec<Piece>,
    bytes: u64,
}

impl SpanList {
    /// Appends `len` bytes of `layer`.
    pub(crate) fn push(&mut self, len: usize, layer: Layer, purpose: Purpose) {
        let Purpose { phase, cause } = purpose;
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let span = Span {
            len,
            layer,
            phase,
            cause,
        };
        self.push_piece(Piece { span, known: true });
    }

    /// Appends `len` bytes without a description.
    pub(crate) fn leave_out(&mut self, len: u64) {
        let mut rest = len;
        while rest > 0 {
            let len = u32::try_from(rest).unwrap_or(u32::MAX);
            rest -= u64::from(len);
            let span = Span {
                len,
                layer: Layer::Application,
                phase: Phase::Message,
                cause: Cause::Original,
            };
            self.push_piece(Piece { span, known: false });
        }
    }

    /// Appends a piece. Merges it with the last one if both are of the same kind.
    pub(crate) fn push_piece(&mut self, piece: Piece) {
        let len = piece.span.len;
        if len == 0 {
            return;
        }
        self.bytes += u64::from(len);
        match self.pieces.last_mut() {
            Some(last)
                if last.known == piece.known
                    && last.span.continues(&piece.span)
                    && last.span.len.checked_add(len).is_some() =>
            {
                last.span.len += len;
            }
            _ => self.pieces.push(piece),
        }
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The length of all pieces.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.bytes = 0;
    }
}

/// The remaining bytes of a message whose header has been read. They are described as they arrive, in any number of
/// parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    /// Bytes of the application layer, then of payload, then of the application layer again.
    pub(crate) parts: [u64; 3],
    pub(crate) purpose: Purpose,
}

impl Default for Rest {
    fn default() -> Self {
        Self::new([0; 3], Purpose::MESSAGE)
    }
}

impl Rest {
    const LAYERS: [Layer; 3] = [Layer::Application, Layer::Payload, Layer::Application];

    pub(crate) const fn new(parts: [u64; 3], purpose: Purpose) -> Self {
        Self { parts, purpose }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts == [0; 3]
    }

    /// The number of remaining bytes. A peer may announce any length.
    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(*part))
    }

    /// Describes at most `available` bytes. Returns how many.
    pub(crate) fn take(&mut self, available: usize, out: &mut SpanList) -> usize {
        let mut taken = 0;
        for (part, layer) in self.parts.iter_mut().zip(Self::LAYERS) {
            let room = available - taken;
            let len = usize::try_from(*part).unwrap_or(usize::MAX).min(room);
            out.push(len, layer, self.purpose);
            *part -= len as u64;
            taken += len;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_described_in_parts_of_any_size() {
        for step in 1..=12 {
            let mut rest = Rest::new([3, 5, 2], Purpose::MESSAGE);
            let mut out = SpanList::default();
            while !rest.is_empty() {
                assert!(rest.take(step, &mut out) > 0);
            }
            let lens: Vec<u32> = out.pieces().iter().map(|piece| piece.span.len).collect();
            assert_eq!((lens.as_slice(), out.bytes()), (&[3, 5, 2][..], 10), "{step}");
        }
    }
}
