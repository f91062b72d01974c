//! A packet as a list of header fields and a payload, and back. Addresses and ports are those of the device and of the server,
//! whatever the direction (RFC 8724 section 7.1).

use wirecost_coap::code::Code;
use wirecost_coap::message::{self, Repr, Type};
use wirecost_coap::option::{OptionNumber, Options};
use wirecost_coap::token::Token;
use wirecost_proto::Direction;
use wirecost_wire::{ip, ipv4, ipv6, udp};

use crate::ends::Ends;

/// A header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldId {
    /// The version of IP.
    Version,
    /// Type of service of IPv4, traffic class of IPv6.
    TrafficClass,
    /// The flow label of IPv6.
    FlowLabel,
    /// Total length of IPv4, payload length of IPv6.
    IpLength,
    /// The identification of IPv4.
    Identification,
    /// The flag "don't fragment" of IPv4. Fragments have no fields.
    DontFragment,
    /// Time to live of IPv4, hop limit of IPv6.
    HopLimit,
    /// Protocol of IPv4, next header of IPv6.
    Protocol,
    /// The header checksum of IPv4.
    HeaderChecksum,
    /// The device's address.
    DeviceAddress,
    /// The server's address.
    ServerAddress,
    /// The device's port.
    DevicePort,
    /// The server's port.
    ServerPort,
    /// The length of UDP.
    UdpLength,
    /// The checksum of UDP.
    UdpChecksum,
    /// The version of CoAP.
    CoapVersion,
    /// The type of a CoAP message.
    CoapType,
    /// The length of its token.
    CoapTokenLength,
    /// Its code.
    CoapCode,
    /// Its message id.
    CoapMessageId,
    /// Its token.
    CoapToken,
    /// An option, by its number; options come in the order of the message.
    CoapOption(u16),
}

impl FieldId {
    /// The bits of a field whose length the packet does not say; `None` of others.
    pub(crate) const fn fixed_bits(self) -> Option<u32> {
        Some(match self {
            Self::DontFragment => 1,
            Self::CoapVersion | Self::CoapType => 2,
            Self::Version | Self::CoapTokenLength => 4,
            Self::TrafficClass | Self::HopLimit | Self::Protocol | Self::CoapCode => 8,
            Self::FlowLabel => 20,
            Self::IpLength
            | Self::Identification
            | Self::HeaderChecksum
            | Self::DevicePort
            | Self::ServerPort
            | Self::UdpLength
            | Self::UdpChecksum
            | Self::CoapMessageId => 16,
            Self::DeviceAddress | Self::ServerAddress | Self::CoapToken | Self::CoapOption(_) => return None,
        })
    }
}

/// A field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) id: FieldId,
    pub(crate) value: u128,
    pub(crate) bits: u32,
}

/// The fields of a packet, in its order, and what follows them.
#[derive(Clone, Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) fields: Vec<Field>,
    pub(crate) payload: &'a [u8],
}

fn field(id: FieldId, value: impl Into<u128>) -> Field {
    Field {
        id,
        value: value.into(),
        bits: id.fixed_bits().unwrap_or_default(),
    }
}

fn of_bytes(id: FieldId, bytes: &[u8]) -> Field {
    Field {
        id,
        value: bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)),
        bits: 8 * bytes.len() as u32,
    }
}

/// The fields of a UDP packet, those of CoAP included with `is_coap`; `None` where it is no such packet.
pub(crate) fn parse<'a>(
    packet: &'a [u8],
    ends: &Ends,
    direction: Direction,
    is_coap: bool,
) -> Option<Parsed<'a>> {
    let whole = ip::Packet::new(packet).ok()?;
    if whole.is_truncated() || whole.fragment().is_some() || whole.protocol() != ip::Protocol::Udp {
        return None;
    }
    if whole.addresses().version() != ends.version() {
        return None;
    }
    let datagram = udp::Datagram::new(whole.payload()).ok()?;
    let mut fields = internet_fields(&whole, direction);
    let ports = (datagram.source_port(), datagram.destination_port());
    let (device, server) = by_end(ports, direction);
    fields.push(field(FieldId::DevicePort, device));
    fields.push(field(FieldId::ServerPort, server));
    fields.push(field(FieldId::UdpLength, 0_u8));
    fields.push(field(FieldId::UdpChecksum, 0_u8));
    if !is_coap {
        let payload = datagram.payload();
        return Some(Parsed { fields, payload });
    }
    let message = Repr::parse(datagram.payload()).ok()?;
    fields.extend(coap_fields(&message)?);
    Some(Parsed {
        fields,
        payload: message.payload,
    })
}

/// Lengths and checksums have no value here: the other end computes them.
fn internet_fields(packet: &ip::Packet<'_>, direction: Direction) -> Vec<Field> {
    let mut fields = match packet.header() {
        ip::Header::V4(header) => {
            let repr = header.repr();
            vec![
                field(FieldId::Version, 4_u8),
                field(FieldId::TrafficClass, repr.traffic_class),
                field(FieldId::IpLength, 0_u8),
                field(FieldId::Identification, repr.identification),
                field(FieldId::DontFragment, u8::from(repr.dont_fragment)),
                field(FieldId::HopLimit, repr.time_to_live),
                field(FieldId::Protocol, repr.protocol.number()),
                field(FieldId::HeaderChecksum, 0_u8),
            ]
        }
        ip::Header::V6(header) => {
            let repr = header.repr();
            vec![
                field(FieldId::Version, 6_u8),
                field(FieldId::TrafficClass, repr.traffic_class),
                field(FieldId::FlowLabel, repr.flow_label),
                field(FieldId::IpLength, 0_u8),
                field(FieldId::Protocol, repr.protocol.number()),
                field(FieldId::HopLimit, repr.hop_limit),
            ]
        }
    };
    let (device, server) = by_end((packet.source(), packet.destination()), direction);
    fields.push(address(FieldId::DeviceAddress, device));
    fields.push(address(FieldId::ServerAddress, server));
    fields
}

pub(crate) fn address(id: FieldId, address: std::net::IpAddr) -> Field {
    match address {
        std::net::IpAddr::V4(address) => of_bytes(id, &address.octets()),
        std::net::IpAddr::V6(address) => of_bytes(id, &address.octets()),
    }
}

/// What belongs to the device and to the server, of source and destination; and the reverse.
fn by_end<T>((source, destination): (T, T), direction: Direction) -> (T, T) {
    match direction {
        Direction::Up => (source, destination),
        Direction::Down => (destination, source),
    }
}

/// The fields of a message; `None` where an option has more than 16 bytes, which no rule describes.
pub(crate) fn coap_fields(message: &Repr<'_>) -> Option<Vec<Field>> {
    let token = message.token.bytes();
    let mut fields = vec![
        field(FieldId::CoapVersion, message::VERSION),
        field(FieldId::CoapType, message.kind.bits()),
        field(FieldId::CoapTokenLength, token.len() as u8),
        field(FieldId::CoapCode, message.code.byte()),
        field(FieldId::CoapMessageId, message.message_id),
        of_bytes(FieldId::CoapToken, token),
    ];
    for option in message.options.iter() {
        if option.value.len() > 16 {
            return None;
        }
        fields.push(of_bytes(FieldId::CoapOption(option.number.0), option.value));
    }
    Some(fields)
}

/// The packet with these fields and this payload; `None` where they make none.
pub(crate) fn restore(
    fields: &[Field],
    payload: &[u8],
    ends: &Ends,
    direction: Direction,
) -> Option<Vec<u8>> {
    let value = |id| {
        fields
            .iter()
            .find(|field| field.id == id)
            .map(|field| field.value)
    };
    let number = |id| value(id).and_then(|value| u16::try_from(value).ok());
    let device = number(FieldId::DevicePort)?;
    let server = number(FieldId::ServerPort)?;
    let (source_port, destination_port) = by_end((device, server), direction);
    let ports = udp::Repr {
        source_port,
        destination_port,
    };
    let is_coap = value(FieldId::CoapVersion).is_some();
    let content = match is_coap {
        true => coap_message(fields, payload)?,
        false => payload.to_vec(),
    };
    let (source, destination) = by_end((ends.device.ip(), ends.server.ip()), direction);
    let addresses = ip::Addresses::new(source, destination).ok()?;
    let byte = |id| value(id).and_then(|value| u8::try_from(value).ok());
    let header = match ip::Repr::new(addresses, ip::Protocol::Udp) {
        ip::Repr::V4(header) => ip::Repr::V4(ipv4::Repr {
            time_to_live: byte(FieldId::HopLimit)?,
            traffic_class: byte(FieldId::TrafficClass)?,
            identification: number(FieldId::Identification)?,
            dont_fragment: value(FieldId::DontFragment)? == 1,
            ..header
        }),
        ip::Repr::V6(header) => ip::Repr::V6(ipv6::Repr {
            hop_limit: byte(FieldId::HopLimit)?,
            traffic_class: byte(FieldId::TrafficClass)?,
            flow_label: u32::try_from(value(FieldId::FlowLabel)?).ok()?,
            ..header
        }),
    };
    let mut packet = Vec::new();
    header.emit_udp(&ports, &content, &mut packet).ok()?;
    Some(packet)
}

/// The CoAP message with these fields. The payload marker is not sent: it stands before every payload (RFC 7252 section 3).
fn coap_message(fields: &[Field], payload: &[u8]) -> Option<Vec<u8>> {
    let find = |id| fields.iter().find(|field| field.id == id);
    let byte = |id| find(id).and_then(|field| u8::try_from(field.value).ok());
    let mut options = Options::new();
    for field in fields {
        if let FieldId::CoapOption(option) = field.id {
            options.insert(OptionNumber(option), &bytes_of(field)).ok()?;
        }
    }
    let message = Repr {
        kind: Type::from_bits(byte(FieldId::CoapType)?),
        code: Code::from_byte(byte(FieldId::CoapCode)?),
        message_id: u16::try_from(find(FieldId::CoapMessageId)?.value).ok()?,
        token: Token::new(&bytes_of(find(FieldId::CoapToken)?))?,
        options: options.view(),
        payload,
    };
    let mut out = Vec::new();
    message.emit(&mut out);
    Some(out)
}

fn bytes_of(field: &Field) -> Vec<u8> {
    let bytes = field.value.to_be_bytes();
    let count = (field.bits / 8).min(16) as usize;
    bytes[bytes.len() - count..].to_vec()
}
