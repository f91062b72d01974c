//! MQTT 3.1.1 and 5 on borrowed bytes. A [`Frame`] is a view over any bytes. A [`Packet`] is a decoded packet, which
//! can always be emitted.
//!
//! - [`framing`]: packets in a stream; the fixed header
//! - [`packet`]: every packet type
//! - [`connect`], [`publish`], [`acknowledge`], [`subscribe`]: the bodies
//! - [`properties`], [`reason`]: the additions of MQTT 5
//! - [`v3_1_1`]: the return codes of MQTT 3.1.1
//! - [`text`], [`error`]: fields, and errors in packets
//! - [`footprint`]: layer, phase and cause of a packet's bytes

pub mod acknowledge;
pub mod code_points;
pub mod connect;
pub mod error;
pub mod footprint;
pub mod framing;
pub mod packet;
pub mod properties;
pub mod publish;
mod reader;
pub mod reason;
pub mod subscribe;
#[cfg(test)]
mod tests;
pub mod text;
pub mod v3_1_1;
mod writer;

pub use acknowledge::{Acknowledgement, Reason};
pub use connect::{Connack, Connect, OwnedWill, Will};
pub use error::{DecodeError, Malformed, ProtocolError, TooLong};
pub use footprint::Footprint;
pub use framing::{Frame, Framer};
pub use packet::{Packet, PacketType};
pub use properties::{Properties, PropertiesBuf, Property};
pub use publish::Publish;
pub use reason::ReasonCode;
pub use subscribe::{
    Filters, FiltersBuf, Outcomes, RetainHandling, Subscribe, SubscriptionOptions, Topics, TopicsBuf,
    Unsubscribe,
};
pub use text::{Binary, FieldError, OwnedBinary, OwnedText, Text};
pub use writer::MAXIMUM_VARIABLE_BYTE_INTEGER;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// MQTT 3.1.1, protocol level 4.
    #[default]
    V3_1_1,
    /// MQTT 5.0, protocol level 5.
    V5,
}

impl Version {
    /// Both versions.
    pub const ALL: [Self; 2] = [Self::V3_1_1, Self::V5];

    /// The protocol level in CONNECT.
    pub const fn level(self) -> u8 {
        match self {
            Self::V3_1_1 => 4,
            Self::V5 => 5,
        }
    }
}
