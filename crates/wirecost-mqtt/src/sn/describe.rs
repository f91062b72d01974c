//! The layer, the phase and the cause of each byte of a datagram.
//!
//! | message | phase | cause |
//! |---|---|---|
//! | CONNECT, CONNACK, the will, REGISTER, REGACK, SUBSCRIBE, UNSUBSCRIBE, the search for a gateway | connect | original |
//! | SUBACK, UNSUBACK | connect | acknowledgement |
//! | PUBLISH | message | original; retransmission with DUP |
//! | PUBACK, PUBREC, PUBREL, PUBCOMP | message | acknowledgement |
//! | PINGREQ, PINGRESP | keep_alive | original |
//! | DISCONNECT | close | original |
//! | not a message | message | original |
//!
//! The payload of a PUBLISH belongs to the payload layer, all other bytes to the application layer. A sender counts what it
//! sends again as a retransmission; a receiver recognizes that by DUP alone.

use wirecost_proto::{Buffer, Cause, Layer, Phase};

use super::codec::{Message, MessageType};

impl MessageType {
    /// The phase of messages of this type.
    pub const fn phase(self) -> Phase {
        match self {
            Self::Publish | Self::Puback | Self::Pubcomp | Self::Pubrec | Self::Pubrel => Phase::Message,
            Self::Pingreq | Self::Pingresp => Phase::KeepAlive,
            Self::Disconnect => Phase::Close,
            // A registration belongs to the connection, because later messages to the topic need none.
            _ => Phase::Connect,
        }
    }

    /// The cause of messages of this type that are sent for the first time.
    pub const fn cause(self) -> Cause {
        match self {
            Self::Puback | Self::Pubrec | Self::Pubrel | Self::Pubcomp | Self::Suback | Self::Unsuback => {
                Cause::Acknowledgement
            }
            _ => Cause::Original,
        }
    }
}

/// The spans of one datagram: application bytes, then payload bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    application: usize,
    payload: usize,
    phase: Phase,
    cause: Cause,
}

impl Footprint {
    /// The footprint of a datagram.
    pub fn from_datagram(datagram: &[u8]) -> Self {
        let message = Message::parse(datagram).ok();
        let payload = message.map_or(0, |message| message.payload().len());
        let (phase, cause) = match message {
            Some(Message::Publish(publish)) if publish.dup => (Phase::Message, Cause::Retransmission),
            Some(message) => (message.kind().phase(), message.kind().cause()),
            None => (Phase::Message, Cause::Original),
        };
        Self {
            application: datagram.len() - payload,
            payload,
            phase,
            cause,
        }
    }

    /// Appends the spans to `out`.
    pub fn cover(&self, out: &mut Buffer) {
        out.cover(self.application, Layer::Application, self.phase, self.cause);
        out.cover(self.payload, Layer::Payload, self.phase, self.cause);
    }
}

/// Appends the spans of a datagram without context: one that the link lost before an endpoint consumed it.
pub fn describe(datagram: &[u8], out: &mut Buffer) {
    Footprint::from_datagram(datagram).cover(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_datagram_has_its_layer_phase_and_cause() {
        let (app, payload) = ("application", "payload");
        for (datagram, expected) in [
            (
                &b"\x09\x0c\x20\x00\x01\x00\x02hi"[..],
                &[
                    (7, app, "message", "original"),
                    (2, payload, "message", "original"),
                ][..],
            ),
            (
                b"\x08\x0c\xa0\x00\x01\x00\x02h",
                &[
                    (7, app, "message", "retransmission"),
                    (1, payload, "message", "retransmission"),
                ],
            ),
            (
                b"\x07\x0d\x00\x01\x00\x02\x00",
                &[(7, app, "message", "acknowledgement")],
            ),
            (b"\x07\x0a\x00\x00\x00\x01t", &[(7, app, "connect", "original")]),
            (b"\x02\x16", &[(2, app, "keep_alive", "original")]),
            (b"\x02\x18", &[(2, app, "close", "original")]),
            (b"\x09", &[(1, app, "message", "original")]),
            (b"", &[]),
        ] {
            let mut out = Buffer::new();
            describe(datagram, &mut out);
            let row = |s: &wirecost_proto::Span| (s.len, s.layer.name(), s.phase.name(), s.cause.name());
            let spans: Vec<_> = out.spans().iter().map(row).collect();
            assert_eq!(spans, expected, "{datagram:?}");
        }
    }
}
