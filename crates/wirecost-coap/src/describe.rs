//! The layer, the phase and the cause of each byte of a datagram.
//!
//! | datagram | phase | cause |
//! |---|---|---|
//! | request, separate response, notification | message | original; retransmission if it was sent before |
//! | ACK, empty or with a response | message | acknowledgement |
//! | ping, and the RST that answers it | keep_alive | original, acknowledgement |
//! | any other RST | message | acknowledgement |
//! | not a message | message | original |
//! | message_1 and message_2 of EDHOC (RFC 9528) | connect | as its request or response |
//! | message_3 within a request (RFC 9668) | connect; the rest of the request: message | as its request |
//!
//! | message of a stream | phase | cause |
//! |---|---|---|
//! | CSM | connect | original |
//! | success without content | message | acknowledgement |
//! | request, any other response, notification | message | original |
//! | empty message, Ping, Pong | keep_alive | original, original, acknowledgement |
//! | Release, Abort | close | original |
//!
//! Header, token, options and payload marker belong to the application layer, the content to the payload layer. All
//! bytes of a datagram that is not a message belong to the application layer. In a message that OSCORE protects, the
//! option and the tag belong to the security layer. The rest of the ciphertext counts as application, because only the
//! two ends know where the payload begins ([`crate::oscore`] has the whole table). A message of EDHOC belongs to the security layer.

use wirecost_proto::{Buffer, Cause, Phase};

use crate::code::Code;
use crate::layout::{Layout, Run};
use crate::message::{Repr, Type};

/// The phase and cause of a whole datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) phase: Phase,
    pub(crate) cause: Cause,
}

impl Kind {
    /// A message sent for the first time.
    pub(crate) const ORIGINAL: Self = Self::new(Phase::Message, Cause::Original);
    /// A ping.
    pub(crate) const PING: Self = Self::new(Phase::KeepAlive, Cause::Original);
    /// An ACK, or an RST that does not answer a ping.
    pub(crate) const ACKNOWLEDGEMENT: Self = Self::new(Phase::Message, Cause::Acknowledgement);
    /// An RST that answers a ping.
    pub(crate) const PONG: Self = Self::new(Phase::KeepAlive, Cause::Acknowledgement);

    /// A CSM.
    pub(crate) const CONNECT: Self = Self::new(Phase::Connect, Cause::Original);
    /// A Release or an Abort.
    pub(crate) const CLOSE: Self = Self::new(Phase::Close, Cause::Original);

    const fn new(phase: Phase, cause: Cause) -> Self {
        Self { phase, cause }
    }

    /// The kind of `repr` without context; an RST counts as the answer to a ping.
    pub(crate) fn from_repr(repr: &Repr<'_>) -> Self {
        match repr.kind {
            Type::Confirmable if repr.code == Code::EMPTY => Self::PING,
            Type::Confirmable | Type::NonConfirmable => Self::ORIGINAL,
            Type::Acknowledgement => Self::ACKNOWLEDGEMENT,
            Type::Reset => Self::PONG,
        }
    }

    /// The kind of a message of a stream with `payload` bytes of payload. A success without content only acknowledges its request.
    pub(crate) fn of_code(code: Code, payload: u32) -> Self {
        match code {
            Code::CSM => Self::CONNECT,
            Code::EMPTY | Code::PING => Self::PING,
            Code::PONG => Self::PONG,
            Code::RELEASE | Code::ABORT => Self::CLOSE,
            _ if code.is_success() && payload == 0 => Self::ACKNOWLEDGEMENT,
            _ => Self::ORIGINAL,
        }
    }

    /// The kind of a retransmission.
    pub(crate) fn again(self) -> Self {
        match self.cause {
            Cause::Original => Self {
                cause: Cause::Retransmission,
                ..self
            },
            _ => self,
        }
    }

    /// Appends the spans of a datagram.
    pub(crate) fn cover(self, layout: &Layout, out: &mut Buffer) {
        for run in layout.runs() {
            out.cover(run.len, run.layer, self.phase_of(run), self.cause);
        }
    }

    /// The phase of a run of a datagram of this kind.
    pub(crate) fn phase_of(self, run: Run) -> Phase {
        match run.connects {
            true => Phase::Connect,
            false => self.phase,
        }
    }
}

/// Appends the spans of a datagram without context: one that the link lost before an endpoint consumed it. An RST
/// counts as the answer to a ping, and a retransmission as an original.
///
/// ```
/// use wirecost_proto::{Buffer, Layer};
///
/// let mut out = Buffer::new();
/// wirecost_coap::describe(&[0x50, 0x03, 0, 1, 0xb1, b't', 0xff, 1, 2, 3], &mut out);
/// let spans: Vec<_> = out.spans().iter().map(|span| (span.len, span.layer)).collect();
/// assert_eq!(spans, [(7, Layer::Application), (3, Layer::Payload)]);
/// ```
pub fn describe(datagram: &[u8], out: &mut Buffer) {
    let (kind, layout) = match Repr::parse(datagram) {
        Ok(repr) => (Kind::from_repr(&repr), Layout::visible(&repr, datagram.len())),
        Err(_) => (Kind::ORIGINAL, Layout::plain(datagram.len(), 0)),
    };
    kind.cover(&layout, out);
}

/// Appends the spans of a whole message of a stream (RFC 8323), without context.
pub fn describe_stream(message: &[u8], out: &mut Buffer) {
    let (kind, layout) = match Repr::parse_stream(message) {
        Ok(repr) => {
            let layout = Layout::from_repr(&repr, message.len());
            (Kind::of_code(repr.code, layout.payload), layout)
        }
        Err(_) => (Kind::ORIGINAL, Layout::plain(message.len(), 0)),
    };
    kind.cover(&layout, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;
    use alloc::vec::Vec;

    fn spans(text: &str) -> Vec<(u32, &'static str, &'static str, &'static str)> {
        let mut out = Buffer::new();
        describe(&hex(text), &mut out);
        let row = |s: &wirecost_proto::Span| (s.len, s.layer.name(), s.phase.name(), s.cause.name());
        out.spans().iter().map(row).collect()
    }

    #[test]
    fn every_datagram_has_its_layer_phase_and_cause() {
        let (app, msg) = ("application", "message");
        for (text, expected) in [
            (
                "41 03 00 01 aa ff 68 69",
                &[(6, app, msg, "original"), (2, "payload", msg, "original")][..],
            ),
            ("60 00 00 01", &[(4, app, msg, "acknowledgement")]),
            (
                "61 45 00 01 aa ff 68",
                &[
                    (6, app, msg, "acknowledgement"),
                    (1, "payload", msg, "acknowledgement"),
                ],
            ),
            ("40 00 00 01", &[(4, app, "keep_alive", "original")]),
            ("70 00 00 01", &[(4, app, "keep_alive", "acknowledgement")]),
            ("49 03 00 01 aa ff 68 69", &[(8, app, msg, "original")]),
            (
                // RFC 8613, appendix C.4: option 3 B, ciphertext 5 B and tag.
                "44 02 5d 1f 00 00 39 74 39 6c 6f 63 61 6c 68 6f 73 74 62 09 14 ff 61 2f 10 92 f1 77 6f 1c 16 68 \
                 b3 82 5e",
                &[
                    (18, app, msg, "original"),
                    (3, "security", msg, "original"),
                    (6, app, msg, "original"),
                    (8, "security", msg, "original"),
                ],
            ),
            ("40", &[(1, app, msg, "original")]),
            ("", &[]),
        ] {
            assert_eq!(spans(text), expected, "{text}");
        }
    }
}
