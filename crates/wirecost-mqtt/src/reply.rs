//! Packets that answer another one or say a reason, and nothing else: small enough to wait in a queue.

use crate::codec::{Acknowledgement, Disconnect, Packet, ReasonCode};
use crate::quality::PacketId;

/// A packet without properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Puback(PacketId, ReasonCode),
    Pubrec(PacketId, ReasonCode),
    Pubrel(PacketId, ReasonCode),
    Pubcomp(PacketId, ReasonCode),
    Pingreq,
    Pingresp,
    Disconnect(ReasonCode),
}

impl Reply {
    /// The packet.
    pub(crate) const fn packet(self) -> Packet<'static> {
        match self {
            Self::Puback(id, reason) => Packet::Puback(Acknowledgement::new(id, reason)),
            Self::Pubrec(id, reason) => Packet::Pubrec(Acknowledgement::new(id, reason)),
            Self::Pubrel(id, reason) => Packet::Pubrel(Acknowledgement::new(id, reason)),
            Self::Pubcomp(id, reason) => Packet::Pubcomp(Acknowledgement::new(id, reason)),
            Self::Pingreq => Packet::Pingreq,
            Self::Pingresp => Packet::Pingresp,
            Self::Disconnect(reason) => Packet::Disconnect(Disconnect::new(reason)),
        }
    }
}
