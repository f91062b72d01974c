//! The layer, the phase and the cause of the bytes of a packet.

use wirecost_proto::{Buffer, Cause, Layer, Phase};

use crate::codec::{Frame, Packet, PacketType};

impl PacketType {
    /// The phase of packets of this type.
    pub const fn phase(self) -> Phase {
        match self {
            Self::Connect | Self::Connack | Self::Auth => Phase::Connect,
            // A subscription belongs to the connection phase, because it is not part of the cost of a message.
            Self::Subscribe | Self::Suback | Self::Unsubscribe | Self::Unsuback => Phase::Connect,
            Self::Publish | Self::Puback | Self::Pubrec | Self::Pubrel | Self::Pubcomp => Phase::Message,
            Self::Pingreq | Self::Pingresp => Phase::KeepAlive,
            Self::Disconnect => Phase::Close,
        }
    }

    /// The cause of packets of this type that are sent for the first time.
    pub const fn cause(self) -> Cause {
        match self {
            Self::Puback | Self::Pubrec | Self::Pubrel | Self::Pubcomp => Cause::Acknowledgement,
            Self::Suback | Self::Unsuback => Cause::Acknowledgement,
            _ => Cause::Original,
        }
    }
}

/// The spans of one received packet: application bytes, then payload bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    application: usize,
    payload: usize,
    phase: Phase,
    cause: Cause,
}

impl Footprint {
    /// The footprint of `frame` with the decoded `packet`. A frame that cannot be decoded has only application bytes.
    pub fn from_frame(frame: Frame<'_>, packet: Option<&Packet<'_>>) -> Self {
        let kind = frame.packet_type().unwrap_or(PacketType::Connect);
        let (payload, cause) = match packet {
            Some(Packet::Publish(publish)) if publish.dup => (publish.payload.len(), Cause::Retransmission),
            Some(Packet::Publish(publish)) => (publish.payload.len(), kind.cause()),
            _ => (0, kind.cause()),
        };
        Self {
            application: frame.bytes().len().saturating_sub(payload),
            payload,
            phase: kind.phase(),
            cause,
        }
    }

    /// Appends the spans to `out`.
    pub fn cover(&self, out: &mut Buffer) {
        out.cover(self.application, Layer::Application, self.phase, self.cause);
        out.cover(self.payload, Layer::Payload, self.phase, self.cause);
    }
}
