//! The properties of MQTT 5 (section 2.2.2): a checked view over their bytes, and a buffer that makes them.

use alloc::vec::Vec;

use crate::codec::reader::Reader;
use crate::codec::writer::{
    put_binary, put_text, put_two_byte_integer, put_variable_byte_integer, variable_byte_integer_len,
};
use crate::codec::{Binary, DecodeError, Malformed, PacketType, ProtocolError, Text, Version};
use crate::topic;

/// The set of places of a property that may be in a will: no packet type has the number 0.
pub(crate) const WILL: u16 = 1;

/// Every place: of user properties and reason strings.
const EVERYWHERE: u16 = !(PacketType::Pingreq.bit() | PacketType::Pingresp.bit());

// The identifiers of properties that are together.
const AUTHENTICATION_METHOD: u8 = 0x15;
const AUTHENTICATION_DATA: u8 = 0x16;

/// The value of a property as it is on the wire.
trait Value<'a>: Sized {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed>;
    fn put(&self, out: &mut Vec<u8>);
}

/// A number written as a variable byte integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable(pub u32);

macro_rules! properties {
    ($($(#[$doc:meta])* $variant:ident($($type:ty),+) = $id:literal, $places:expr;)*) => {
        /// One property of a packet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Property<'a> {
            $($(#[$doc])* $variant($($type),+),)*
        }

        impl<'a> Property<'a> {
            /// The identifier of section 2.2.2.2.
            pub const fn id(&self) -> u8 {
                match self {
                    $(Self::$variant(..) => $id,)*
                }
            }

            /// The packets that it may be in, one bit each.
            const fn places(&self) -> u16 {
                match self {
                    $(Self::$variant(..) => $places,)*
                }
            }

            fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
                match reader.variable_byte_integer()? {
                    $($id => Ok(Self::$variant($(<$type as Value>::read(reader)?),+)),)*
                    unknown => Err(Malformed::PropertyId(unknown)),
                }
            }
        }
    };
}

properties! {
    /// Whether the payload is UTF-8 text.
    PayloadFormatIndicator(u8) = 0x01, PacketType::Publish.bit() | WILL;
    /// Lifetime of the message in seconds.
    MessageExpiryInterval(u32) = 0x02, PacketType::Publish.bit() | WILL;
    /// Content type of the payload.
    ContentType(Text<'a>) = 0x03, PacketType::Publish.bit() | WILL;
    /// Topic for the response.
    ResponseTopic(Text<'a>) = 0x08, PacketType::Publish.bit() | WILL;
    /// What the requester recognises the response by.
    CorrelationData(Binary<'a>) = 0x09, PacketType::Publish.bit() | WILL;
    /// Identifier of the subscription.
    SubscriptionIdentifier(Variable) = 0x0b, PacketType::Publish.bit() | PacketType::Subscribe.bit();
    /// How long the session outlives the connection, in seconds; 0xffff_ffff is for ever.
    SessionExpiryInterval(u32) = 0x11,
        PacketType::Connect.bit() | PacketType::Connack.bit() | PacketType::Disconnect.bit();
    /// The client identifier that the server chose.
    AssignedClientIdentifier(Text<'a>) = 0x12, PacketType::Connack.bit();
    /// The keep-alive in seconds that the client must use instead of its own.
    ServerKeepAlive(u16) = 0x13, PacketType::Connack.bit();
    /// Name of the authentication method.
    AuthenticationMethod(Text<'a>) = 0x15,
        PacketType::Connect.bit() | PacketType::Connack.bit() | PacketType::Auth.bit();
    /// Data of the authentication method.
    AuthenticationData(Binary<'a>) = 0x16,
        PacketType::Connect.bit() | PacketType::Connack.bit() | PacketType::Auth.bit();
    /// Whether the server may send reason strings and user properties with failures.
    RequestProblemInformation(u8) = 0x17, PacketType::Connect.bit();
    /// Seconds between the end of the connection and the will.
    WillDelayInterval(u32) = 0x18, WILL;
    /// Whether the client asks for response information.
    RequestResponseInformation(u8) = 0x19, PacketType::Connect.bit();
    /// What to build response topics from.
    ResponseInformation(Text<'a>) = 0x1a, PacketType::Connack.bit();
    /// Another server to use.
    ServerReference(Text<'a>) = 0x1c, PacketType::Connack.bit() | PacketType::Disconnect.bit();
    /// A reason for humans.
    ReasonString(Text<'a>) = 0x1f,
        EVERYWHERE & !(PacketType::Connect.bit() | PacketType::Publish.bit() | PacketType::Subscribe.bit()
            | PacketType::Unsubscribe.bit() | WILL);
    /// How many messages of QoS 1 and 2 the sender takes at once.
    ReceiveMaximum(u16) = 0x21, PacketType::Connect.bit() | PacketType::Connack.bit();
    /// The highest topic alias that the sender takes.
    TopicAliasMaximum(u16) = 0x22, PacketType::Connect.bit() | PacketType::Connack.bit();
    /// A number that represents the topic.
    TopicAlias(u16) = 0x23, PacketType::Publish.bit();
    /// The highest QoS of messages that the server takes.
    MaximumQos(u8) = 0x24, PacketType::Connack.bit();
    /// Whether the server stores retained messages.
    RetainAvailable(u8) = 0x25, PacketType::Connack.bit();
    /// Name and value of the user's own.
    UserProperty(Text<'a>, Text<'a>) = 0x26, EVERYWHERE;
    /// The largest packet that the sender takes, in bytes.
    MaximumPacketSize(u32) = 0x27, PacketType::Connect.bit() | PacketType::Connack.bit();
    /// Whether the server takes filters with wildcards.
    WildcardSubscriptionAvailable(u8) = 0x28, PacketType::Connack.bit();
    /// Whether the server takes subscription identifiers.
    SubscriptionIdentifiersAvailable(u8) = 0x29, PacketType::Connack.bit();
    /// Whether the server takes shared subscriptions.
    SharedSubscriptionAvailable(u8) = 0x2a, PacketType::Connack.bit();
}

impl<'a> Property<'a> {
    /// Whether it may be in a packet more than once.
    const fn repeats(&self, place: u16) -> bool {
        match self {
            Self::UserProperty(..) => true,
            // Section 3.3.2.3.8: one for each overlapping subscription.
            Self::SubscriptionIdentifier(_) => place == PacketType::Publish.bit(),
            _ => false,
        }
    }

    fn check(&self) -> Result<(), ProtocolError> {
        let in_range = match *self {
            Self::PayloadFormatIndicator(flag)
            | Self::RequestProblemInformation(flag)
            | Self::RequestResponseInformation(flag)
            | Self::MaximumQos(flag)
            | Self::RetainAvailable(flag)
            | Self::WildcardSubscriptionAvailable(flag)
            | Self::SubscriptionIdentifiersAvailable(flag)
            | Self::SharedSubscriptionAvailable(flag) => flag <= 1,
            // [MQTT-3.3.2-8]
            Self::TopicAlias(0) => return Err(ProtocolError::TopicAlias),
            Self::ReceiveMaximum(value) => value != 0,
            Self::MaximumPacketSize(value) | Self::SubscriptionIdentifier(Variable(value)) => value != 0,
            // [MQTT-3.3.2-14], [MQTT-4.7.3-1]
            Self::ResponseTopic(name) => !name.is_empty() && !topic::has_wildcard(&name),
            _ => true,
        };
        if in_range {
            Ok(())
        } else {
            Err(ProtocolError::PropertyValue(self.id()))
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.id());
        match self {
            Self::PayloadFormatIndicator(value)
            | Self::RequestProblemInformation(value)
            | Self::RequestResponseInformation(value)
            | Self::MaximumQos(value)
            | Self::RetainAvailable(value)
            | Self::WildcardSubscriptionAvailable(value)
            | Self::SubscriptionIdentifiersAvailable(value)
            | Self::SharedSubscriptionAvailable(value) => value.put(out),
            Self::ServerKeepAlive(value)
            | Self::ReceiveMaximum(value)
            | Self::TopicAliasMaximum(value)
            | Self::TopicAlias(value) => value.put(out),
            Self::MessageExpiryInterval(value)
            | Self::SessionExpiryInterval(value)
            | Self::WillDelayInterval(value)
            | Self::MaximumPacketSize(value) => value.put(out),
            Self::SubscriptionIdentifier(value) => value.put(out),
            Self::ContentType(value)
            | Self::ResponseTopic(value)
            | Self::AssignedClientIdentifier(value)
            | Self::AuthenticationMethod(value)
            | Self::ResponseInformation(value)
            | Self::ServerReference(value)
            | Self::ReasonString(value) => value.put(out),
            Self::CorrelationData(value) | Self::AuthenticationData(value) => value.put(out),
            Self::UserProperty(name, value) => {
                name.put(out);
                value.put(out);
            }
        }
    }
}

/// The properties of one packet, in the bytes of the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    bytes: &'a [u8],
}

impl<'a> Properties<'a> {
    /// No properties.
    pub const EMPTY: Self = Self { bytes: &[] };

    /// Reads the property length and checks every property for `place`.
    pub(crate) fn decode(reader: &mut Reader<'a>, place: u16) -> Result<Self, DecodeError> {
        let len = reader.variable_byte_integer()?;
        let bytes = reader.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        let mut left = Reader::new(bytes);
        let mut seen = 0u64;
        while !left.is_empty() {
            let property = Property::read(&mut left)?;
            let id = property.id();
            if property.places() & place == 0 {
                return Err(ProtocolError::PropertyNotAllowed(id).into());
            }
            if seen & 1 << id != 0 && !property.repeats(place) {
                return Err(ProtocolError::PropertyRepeated(id).into());
            }
            property.check()?;
            seen |= 1 << id;
        }
        // Sections 3.1.2.11.10, 3.2.2.3.18 and 3.15.2.2.3: data of a method that is not named.
        if seen & 1 << AUTHENTICATION_DATA != 0 && seen & 1 << AUTHENTICATION_METHOD == 0 {
            return Err(ProtocolError::NoMethod.into());
        }
        Ok(Self { bytes })
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The properties, in the order of the packet.
    pub fn iter(&self) -> impl Iterator<Item = Property<'a>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        core::iter::from_fn(move || Property::read(&mut reader).ok())
    }

    /// Bytes of the property length and the properties.
    pub(crate) const fn written_bytes(&self) -> usize {
        variable_byte_integer_len(self.bytes.len()) + self.bytes.len()
    }

    /// Writes them with their length; nothing in MQTT 3.1.1.
    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        if version == Version::V5 {
            put_variable_byte_integer(out, u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
            out.extend_from_slice(self.bytes);
        }
    }
}

/// Properties ready to be sent.
///
/// ```
/// use wirecost_mqtt::codec::{PropertiesBuf, Property};
///
/// let mut properties = PropertiesBuf::new();
/// properties.push(Property::MessageExpiryInterval(60));
/// assert_eq!(properties.as_properties().iter().count(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertiesBuf {
    bytes: Vec<u8>,
}

impl PropertiesBuf {
    /// No properties yet.
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Appends a property.
    pub fn push(&mut self, property: Property<'_>) {
        property.put(&mut self.bytes);
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The properties as they are in a packet.
    pub fn as_properties(&self) -> Properties<'_> {
        Properties { bytes: &self.bytes }
    }
}

impl<'a> Extend<Property<'a>> for PropertiesBuf {
    fn extend<T: IntoIterator<Item = Property<'a>>>(&mut self, properties: T) {
        properties.into_iter().for_each(|property| self.push(property));
    }
}

impl Value<'_> for u8 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.byte()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl Value<'_> for u16 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.two_byte_integer()
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_two_byte_integer(out, *self);
    }
}

impl Value<'_> for u32 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.four_byte_integer()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

impl Value<'_> for Variable {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.variable_byte_integer().map(Self)
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_variable_byte_integer(out, self.0);
    }
}

impl<'a> Value<'a> for Text<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        reader.text()
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_text(out, *self);
    }
}

impl<'a> Value<'a> for Binary<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        reader.binary()
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_binary(out, *self);
    }
}
