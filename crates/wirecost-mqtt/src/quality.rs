//! Quality of service and packet identifiers (section 4.3).

use core::num::NonZeroU16;

/// A packet identifier. It must not be 0 [MQTT-2.2.1-3].
pub type PacketId = NonZeroU16;

/// The quality of service of a message (section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QoS {
    /// QoS 0: not acknowledged.
    #[default]
    AtMostOnce,
    /// QoS 1: acknowledged by PUBACK.
    AtLeastOnce,
    /// QoS 2: acknowledged by PUBREC, PUBREL, PUBCOMP.
    ExactlyOnce,
}

impl QoS {
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::AtMostOnce, Self::AtLeastOnce, Self::ExactlyOnce];

    /// The level with this number; `None` for 3, which is malformed [MQTT-3.3.1-4].
    pub fn from_bits(bits: u8) -> Option<Self> {
        Self::ALL.get(usize::from(bits)).copied()
    }

    /// The number on the wire: 0, 1 or 2.
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

/// The QoS of a PUBLISH, with the packet identifier of QoS 1 and 2 [MQTT-2.2.1-2].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// QoS 0.
    AtMostOnce,
    /// QoS 1.
    AtLeastOnce(PacketId),
    /// QoS 2.
    ExactlyOnce(PacketId),
}

impl Delivery {
    /// The delivery with `qos`. QoS 0 ignores `packet_id`.
    pub const fn new(qos: QoS, packet_id: PacketId) -> Self {
        match qos {
            QoS::AtMostOnce => Self::AtMostOnce,
            QoS::AtLeastOnce => Self::AtLeastOnce(packet_id),
            QoS::ExactlyOnce => Self::ExactlyOnce(packet_id),
        }
    }

    /// The QoS.
    pub const fn qos(self) -> QoS {
        match self {
            Self::AtMostOnce => QoS::AtMostOnce,
            Self::AtLeastOnce(_) => QoS::AtLeastOnce,
            Self::ExactlyOnce(_) => QoS::ExactlyOnce,
        }
    }

    /// The packet identifier of QoS 1 and 2.
    pub const fn packet_id(self) -> Option<PacketId> {
        match self {
            Self::AtMostOnce => None,
            Self::AtLeastOnce(id) | Self::ExactlyOnce(id) => Some(id),
        }
    }
}
