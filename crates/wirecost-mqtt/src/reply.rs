//! Packets that wait to be sent. They own their fields, and most have none, so that a queue of them is small.

use alloc::boxed::Box;

use crate::codec::{
    Acknowledgement, Connack, Outcomes, Packet, Properties, PropertiesBuf, Reason, ReasonCode,
};
use crate::quality::PacketId;

/// A packet that waits to be sent.
#[derive(Debug)]
pub(crate) enum Reply {
    Connack(Box<ConnackReply>),
    Puback(PacketId, ReasonCode),
    Pubrec(PacketId, ReasonCode),
    Pubrel(PacketId, ReasonCode),
    Pubcomp(PacketId, ReasonCode),
    Suback(PacketId, Box<[u8]>),
    Unsuback(PacketId, Box<[u8]>),
    Pingreq,
    Pingresp,
    Disconnect(ReasonCode),
}

/// A CONNACK that waits to be sent.
#[derive(Debug)]
pub(crate) struct ConnackReply {
    pub(crate) session_present: bool,
    pub(crate) reason: ReasonCode,
    pub(crate) properties: PropertiesBuf,
}

impl Reply {
    /// The packet.
    pub(crate) fn packet(&self) -> Packet<'_> {
        match self {
            Self::Connack(reply) => Packet::Connack(Connack {
                session_present: reply.session_present,
                reason: reply.reason,
                properties: reply.properties.as_properties(),
            }),
            Self::Puback(id, reason) => Packet::Puback(Acknowledgement::new(*id, *reason)),
            Self::Pubrec(id, reason) => Packet::Pubrec(Acknowledgement::new(*id, *reason)),
            Self::Pubrel(id, reason) => Packet::Pubrel(Acknowledgement::new(*id, *reason)),
            Self::Pubcomp(id, reason) => Packet::Pubcomp(Acknowledgement::new(*id, *reason)),
            Self::Suback(id, codes) => Packet::Suback(outcomes(*id, codes)),
            Self::Unsuback(id, codes) => Packet::Unsuback(outcomes(*id, codes)),
            Self::Pingreq => Packet::Pingreq,
            Self::Pingresp => Packet::Pingresp,
            Self::Disconnect(reason) => Packet::Disconnect(Reason::new(*reason)),
        }
    }
}

fn outcomes(packet_id: PacketId, codes: &[u8]) -> Outcomes<'_> {
    Outcomes {
        packet_id,
        properties: Properties::EMPTY,
        codes,
    }
}
