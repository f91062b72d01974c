//! Which layer, phase and cause the bytes of a packet belong to.

use wirecost_proto::{Buffer, Cause, Layer, Phase};

use crate::codec::{Frame, Packet, PacketType};

impl PacketType {
    /// The phase of a connection that packets of this type belong to.
    pub const fn phase(self) -> Phase {
        match self {
            Self::Connect | Self::Connack | Self::Auth => Phase::Connect,
            // A subscription is part of getting ready, not the cost of a message.
            Self::Subscribe | Self::Suback | Self::Unsubscribe | Self::Unsuback => Phase::Connect,
            Self::Publish | Self::Puback | Self::Pubrec | Self::Pubrel | Self::Pubcomp => Phase::Message,
            Self::Pingreq | Self::Pingresp => Phase::KeepAlive,
            Self::Disconnect => Phase::Close,
        }
    }

    /// The cause of a packet of this type that is sent for the first time.
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
    /// The footprint of `frame`, whose meaning is `packet`.
    pub fn of(frame: Frame<'_>, packet: &Packet<'_>) -> Self {
        let whole = Self::of_opaque(frame);
        let Packet::Publish(publish) = packet else {
            return whole;
        };
        let payload = publish.payload.len();
        Self {
            application: whole.application.saturating_sub(payload),
            payload,
            cause: if publish.dup {
                Cause::Retransmission
            } else {
                whole.cause
            },
            ..whole
        }
    }

    /// The footprint of `frame`, whose meaning is unknown: all application.
    pub fn of_opaque(frame: Frame<'_>) -> Self {
        let packet = frame.packet_type().unwrap_or(PacketType::Connect);
        Self {
            application: frame.bytes().len(),
            payload: 0,
            phase: packet.phase(),
            cause: packet.cause(),
        }
    }

    /// Appends the spans to `out`.
    pub fn cover(&self, out: &mut Buffer) {
        out.cover(self.application, Layer::Application, self.phase, self.cause);
        out.cover(self.payload, Layer::Payload, self.phase, self.cause);
    }
}
