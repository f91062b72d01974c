//! The properties of MQTT 5 (section 2.2.2): a checked view over their bytes, and a buffer to build them.

use alloc::vec::Vec;

use crate::codec::reader::Reader;
use crate::codec::writer::{
    put_binary, put_text, put_two_byte_integer, put_variable_byte_integer, variable_byte_integer_len,
};
use crate::codec::{Binary, DecodeError, Malformed, PacketType, ProtocolError, Text, Version};
use crate::topic;

/// The bit for properties of a will. No packet type has the number 0.
pub(crate) const WILL: u16 = 1;

/// The packets that allow user properties. Reason strings are allowed in some of them.
const EVERYWHERE: u16 = !(PacketType::Pingreq.bit() | PacketType::Pingresp.bit());

// The identifiers of properties that depend on each other.
const AUTHENTICATION_METHOD: u8 = 0x15;
const AUTHENTICATION_DATA: u8 = 0x16;

/// The encoded value of a property.
trait Value<'a>: Sized {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed>;
    fn put(&self, out: &mut Vec<u8>);
}

/// A number in the encoding of a variable byte integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable(pub u32);

macro_rules! properties {
    ($($(#[$doc:meta])* $variant:ident($($field:ident: $type:ty),+) = $id:literal, $packets:expr;)*) => {
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

            /// The packets that may have the property, one bit each.
            const fn packets(&self) -> u16 {
                match self {
                    $(Self::$variant(..) => $packets,)*
                }
            }

            fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
                match reader.variable_byte_integer()? {
                    $($id => Ok(Self::$variant($(<$type as Value>::read(reader)?),+)),)*
                    unknown => Err(Malformed::PropertyId(unknown)),
                }
            }

            fn put(&self, out: &mut Vec<u8>) {
                out.push(self.id());
                match self {
                    $(Self::$variant($($field),+) => {
                        $($field.put(out);)+
                    })*
                }
            }
        }
    };
}

properties! {
    /// Whether the payload is UTF-8 text.
    PayloadFormatIndicator(value: u8) = 0x01, PacketType::Publish.bit() | WILL;
    /// The lifetime of the message in seconds.
    MessageExpiryInterval(value: u32) = 0x02, PacketType::Publish.bit() | WILL;
    /// The content type of the payload.
    ContentType(value: Text<'a>) = 0x03, PacketType::Publish.bit() | WILL;
    /// The topic for the response.
    ResponseTopic(value: Text<'a>) = 0x08, PacketType::Publish.bit() | WILL;
    /// Identifies the response for the requester.
    CorrelationData(value: Binary<'a>) = 0x09, PacketType::Publish.bit() | WILL;
    /// The identifier of the subscription.
    SubscriptionIdentifier(value: Variable) = 0x0b, PacketType::Publish.bit() | PacketType::Subscribe.bit();
    /// How long the session outlives the connection, in seconds; 0xffff_ffff means forever.
    SessionExpiryInterval(value: u32) = 0x11,
        PacketType::Connect.bit() | PacketType::Connack.bit() | PacketType::Disconnect.bit();
    /// The client identifier that the server assigned.
    AssignedClientIdentifier(value: Text<'a>) = 0x12, PacketType::Connack.bit();
    /// The keep-alive in seconds that the client must use instead of its own.
    ServerKeepAlive(value: u16) = 0x13, PacketType::Connack.bit();
    /// Name of the authentication method.
    AuthenticationMethod(value: Text<'a>) = 0x15,
        PacketType::Connect.bit() | PacketType::Connack.bit() | PacketType::Auth.bit();
    /// Data of the authentication method.
    AuthenticationData(value: Binary<'a>) = 0x16,
        PacketType::Connect.bit() | PacketType::Connack.bit() | PacketType::Auth.bit();
    /// Whether the server may send reason strings and user properties with failures.
    RequestProblemInformation(value: u8) = 0x17, PacketType::Connect.bit();
    /// Seconds between the end of the connection and the will.
    WillDelayInterval(value: u32) = 0x18, WILL;
    /// Whether the client asks for response information.
    RequestResponseInformation(value: u8) = 0x19, PacketType::Connect.bit();
    /// The base of response topics.
    ResponseInformation(value: Text<'a>) = 0x1a, PacketType::Connack.bit();
    /// Another server to use.
    ServerReference(value: Text<'a>) = 0x1c, PacketType::Connack.bit() | PacketType::Disconnect.bit();
    /// A reason for people.
    ReasonString(value: Text<'a>) = 0x1f,
        EVERYWHERE & !(PacketType::Connect.bit() | PacketType::Publish.bit() | PacketType::Subscribe.bit()
            | PacketType::Unsubscribe.bit() | WILL);
    /// The number of QoS 1 and 2 messages in flight that the sender accepts.
    ReceiveMaximum(value: u16) = 0x21, PacketType::Connect.bit() | PacketType::Connack.bit();
    /// The highest topic alias that the sender accepts.
    TopicAliasMaximum(value: u16) = 0x22, PacketType::Connect.bit() | PacketType::Connack.bit();
    /// The number that replaces the topic.
    TopicAlias(value: u16) = 0x23, PacketType::Publish.bit();
    /// The highest QoS that the server accepts.
    MaximumQos(value: u8) = 0x24, PacketType::Connack.bit();
    /// Whether the server stores retained messages.
    RetainAvailable(value: u8) = 0x25, PacketType::Connack.bit();
    /// A name and a value of the user.
    UserProperty(name: Text<'a>, value: Text<'a>) = 0x26, EVERYWHERE;
    /// The largest packet that the sender accepts, in bytes.
    MaximumPacketSize(value: u32) = 0x27, PacketType::Connect.bit() | PacketType::Connack.bit();
    /// Whether the server accepts filters with wildcards.
    WildcardSubscriptionAvailable(value: u8) = 0x28, PacketType::Connack.bit();
    /// Whether the server accepts subscription identifiers.
    SubscriptionIdentifiersAvailable(value: u8) = 0x29, PacketType::Connack.bit();
    /// Whether the server accepts shared subscriptions.
    SharedSubscriptionAvailable(value: u8) = 0x2a, PacketType::Connack.bit();
}

impl<'a> Property<'a> {
    /// Whether a packet may have the property more than once.
    const fn repeats(&self, packet: u16) -> bool {
        match self {
            Self::UserProperty(..) => true,
            // Section 3.3.2.3.8: one for each overlapping subscription.
            Self::SubscriptionIdentifier(_) => packet == PacketType::Publish.bit(),
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
}

/// The properties of one packet, in the packet's encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    bytes: &'a [u8],
}

impl<'a> Properties<'a> {
    /// No properties.
    pub const EMPTY: Self = Self { bytes: &[] };

    /// Reads the property length and checks that every property is allowed in `packet`. MQTT 3.1.1 has no properties.
    pub(crate) fn decode(
        reader: &mut Reader<'a>,
        version: Version,
        packet: u16,
    ) -> Result<Self, DecodeError> {
        if version == Version::V3_1_1 {
            return Ok(Self::EMPTY);
        }
        let len = reader.variable_byte_integer()?;
        let bytes = reader.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        let mut left = Reader::new(bytes);
        let mut seen = 0u64;
        while !left.is_empty() {
            let property = Property::read(&mut left)?;
            let id = property.id();
            if property.packets() & packet == 0 {
                return Err(ProtocolError::PropertyNotAllowed(id).into());
            }
            if seen & 1 << id != 0 && !property.repeats(packet) {
                return Err(ProtocolError::PropertyRepeated(id).into());
            }
            property.check()?;
            seen |= 1 << id;
        }
        // Sections 3.1.2.11.10, 3.2.2.3.18 and 3.15.2.2.3: authentication data without a method.
        if seen & 1 << AUTHENTICATION_DATA != 0 && seen & 1 << AUTHENTICATION_METHOD == 0 {
            return Err(ProtocolError::NoMethod.into());
        }
        Ok(Self { bytes })
    }

    /// Whether there are no properties.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The properties, in the order of the packet.
    pub fn iter(&self) -> impl Iterator<Item = Property<'a>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        core::iter::from_fn(move || Property::read(&mut reader).ok())
    }

    /// The length of the property length and the properties in bytes.
    pub(crate) const fn written_bytes(&self) -> usize {
        variable_byte_integer_len(self.bytes.len()) + self.bytes.len()
    }

    /// The bytes that [`put`](Self::put) writes.
    pub(crate) const fn written_bytes_in(&self, version: Version) -> usize {
        match version {
            Version::V3_1_1 => 0,
            Version::V5 => self.written_bytes(),
        }
    }

    /// Writes the properties with their length. MQTT 3.1.1 has no properties.
    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        if version == Version::V5 {
            // A packet whose properties are longer than this is too long itself, and is refused as a whole.
            put_variable_byte_integer(out, u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
            out.extend_from_slice(self.bytes);
        }
    }
}

/// Properties to be sent.
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

    /// Appends a property if its value `differs` from the standard's default.
    pub(crate) fn push_if(&mut self, differs: bool, property: Property<'_>) {
        if differs {
            self.push(property);
        }
    }

    /// Removes all properties and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The properties in the encoding of a packet.
    pub fn as_properties(&self) -> Properties<'_> {
        Properties { bytes: &self.bytes }
    }
}

impl From<Properties<'_>> for PropertiesBuf {
    fn from(properties: Properties<'_>) -> Self {
        Self {
            bytes: properties.bytes.into(),
        }
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
