//! The phase and the cause of a frame. Sender and receiver call the same functions, so that they agree.

use wirecost_proto::{Buffer, Cause, Layer, Phase};

use crate::codec::Performative;

/// Phase and cause of bytes that are not payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// The phase.
    pub phase: Phase,
    /// The cause.
    pub cause: Cause,
}

impl Attribution {
    /// Headers, SASL, open, begin, attach, and the flow with a link's first credit.
    pub const CONNECT: Self = Self::original(Phase::Connect);
    /// The head of a transfer.
    pub const MESSAGE: Self = Self::original(Phase::Message);
    /// A disposition, and a flow that renews credit or window.
    pub(crate) const ACKNOWLEDGEMENT: Self = Self {
        phase: Phase::Message,
        cause: Cause::Acknowledgement,
    };
    /// An empty frame.
    pub const KEEP_ALIVE: Self = Self::original(Phase::KeepAlive);
    /// Detach, end, close, and frames that cannot be decoded.
    pub(crate) const CLOSE: Self = Self::original(Phase::Close);

    const fn original(phase: Phase) -> Self {
        Self {
            phase,
            cause: Cause::Original,
        }
    }

    /// The attribution of `performative`. `has_credit`: whether the link of a flow already had credit.
    pub const fn from_performative(performative: &Performative<'_>, has_credit: bool) -> Self {
        match performative {
            Performative::Open(_) | Performative::Begin(_) | Performative::Attach(_) => Self::CONNECT,
            Performative::Flow(flow) if flow.handle.is_some() && !has_credit => Self::CONNECT,
            Performative::Flow(_) | Performative::Disposition(_) => Self::ACKNOWLEDGEMENT,
            Performative::Transfer(_) => Self::MESSAGE,
            Performative::Detach(_) | Performative::End(_) | Performative::Close(_) => Self::CLOSE,
        }
    }

    /// Appends `bytes` to `out` as application bytes.
    pub fn push(self, bytes: &[u8], out: &mut Buffer) {
        out.push(bytes, Layer::Application, self.phase, self.cause);
    }

    /// Appends a span of `len` received application bytes to `out`.
    pub fn cover(self, len: usize, out: &mut Buffer) {
        out.cover(len, Layer::Application, self.phase, self.cause);
    }
}
