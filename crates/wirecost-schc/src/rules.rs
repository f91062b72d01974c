//! The rules of a report: what each header field of a packet is, or how it is sent.
//!
//! | rule | packets | residue |
//! |--:|---|---|
//! | 1 | the report as a CoAP request | type (1 bit), message id, token; IPv4: identification |
//! | 2 | a CoAP response without options | type (2 bits), code (2 bits), message id, token; IPv4: identification |
//! | 3 | an empty CoAP message: an acknowledgement or a reset | type (1 bit), message id; IPv4: identification |
//! | 4 | any UDP datagram between the two ports | IPv4: identification |
//! | 5 | any UDP datagram between the two hosts | both ports; IPv4: identification |
//! | 255 | any other packet | the whole packet |
//!
//! Hosts send the values that [`wirecost_wire`] gives to new headers: hop limit 64, traffic class 0, no flow label. A packet with
//! others is not compressed.

use wirecost_coap::code::Code;
use wirecost_coap::message::{self, Repr, Type};
use wirecost_proto::Direction;
use wirecost_wire::ip::{Protocol, Version};

use crate::ends::Ends;
pub use crate::fields::FieldId;
use crate::fields::{address, coap_fields};

/// Options that all requests to a resource have in common: Uri-Host, Uri-Port, Uri-Path, Content-Format, Uri-Query, Accept,
/// No-Response. A request with others, as those of blocks and of OSCORE, has no rule of its own.
const STATIC_OPTIONS: [u16; 7] = [3, 7, 11, 12, 15, 17, 258];

/// The hop limit that hosts send.
const HOP_LIMIT: u8 = 64;

/// How a field crosses the link: a matching operator and an action of RFC 8724 sections 7.3 and 7.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It has this value and is not sent (equal, not-sent).
    NotSent {
        /// The value.
        value: u128,
        /// Its length in bits.
        length: u32,
    },
    /// It is sent (ignore, value-sent).
    Sent,
    /// The other end computes it (ignore, compute).
    Computed,
    /// Its index in a list is sent (match-mapping, mapping-sent).
    Mapped {
        /// The list.
        values: Vec<u128>,
    },
}

/// What a rule says of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The field.
    pub field: FieldId,
    /// How it crosses the link.
    pub treatment: Treatment,
}

/// What a rule describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The headers of IP, UDP and CoAP.
    Coap,
    /// The headers of IP and UDP.
    Udp,
}

/// A rule: every field of a packet, in the packet's order.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) number: u8,
    pub(crate) kind: Kind,
    /// The only direction that it describes, where it is one.
    direction: Option<Direction>,
    descriptions: Vec<Description>,
}

impl Rule {
    /// What the rule says of packets in one direction; nothing where it does not describe them.
    pub(crate) fn described(&self, direction: Direction) -> &[Description] {
        match self.direction.is_none_or(|only| only == direction) {
            true => &self.descriptions,
            false => &[],
        }
    }
}

fn described(field: FieldId, treatment: Treatment) -> Description {
    Description { field, treatment }
}

fn not_sent(field: FieldId, value: impl Into<u128>) -> Description {
    let (value, length) = (value.into(), field.fixed_bits().unwrap_or_default());
    described(field, Treatment::NotSent { value, length })
}

fn mapped(field: FieldId, values: &[u8]) -> Description {
    let values = values.iter().map(|value| u128::from(*value)).collect();
    described(field, Treatment::Mapped { values })
}

fn sent(field: FieldId) -> Description {
    described(field, Treatment::Sent)
}

/// The rules of a device's reports.
pub(crate) fn of_report(ends: &Ends, request: Option<&[u8]>) -> Vec<Rule> {
    let known_ports = [
        not_sent(FieldId::DevicePort, ends.device.port()),
        not_sent(FieldId::ServerPort, ends.server.port()),
    ];
    let below = |ports: &[Description]| [internet(ends), ports.to_vec(), udp()].concat();
    let mut rules = Vec::new();
    if let Some(message) = request.and_then(|bytes| Repr::parse(bytes).ok()) {
        let coap = [
            (1, Some(Direction::Up), request_fields(&message)),
            (2, Some(Direction::Down), Some(response_fields(&message))),
            (3, None, Some(empty_fields())),
        ];
        rules.extend(coap.into_iter().filter_map(|(number, direction, fields)| {
            Some(Rule {
                number,
                kind: Kind::Coap,
                direction,
                descriptions: [below(&known_ports), fields?].concat(),
            })
        }));
    }
    let any_ports = [sent(FieldId::DevicePort), sent(FieldId::ServerPort)];
    rules.extend([(4, known_ports), (5, any_ports)].map(|(number, ports)| Rule {
        number,
        kind: Kind::Udp,
        direction: None,
        descriptions: below(&ports),
    }));
    rules
}

fn internet(ends: &Ends) -> Vec<Description> {
    let computed = |field| described(field, Treatment::Computed);
    let protocol = not_sent(FieldId::Protocol, Protocol::Udp.number());
    let mut fields = match ends.version() {
        Version::V4 => vec![
            not_sent(FieldId::Version, 4_u8),
            not_sent(FieldId::TrafficClass, 0_u8),
            computed(FieldId::IpLength),
            sent(FieldId::Identification),
            not_sent(FieldId::DontFragment, 1_u8),
            not_sent(FieldId::HopLimit, HOP_LIMIT),
            protocol,
            computed(FieldId::HeaderChecksum),
        ],
        Version::V6 => vec![
            not_sent(FieldId::Version, 6_u8),
            not_sent(FieldId::TrafficClass, 0_u8),
            not_sent(FieldId::FlowLabel, 0_u8),
            computed(FieldId::IpLength),
            protocol,
            not_sent(FieldId::HopLimit, HOP_LIMIT),
        ],
    };
    let addresses = [
        (FieldId::DeviceAddress, ends.device.ip()),
        (FieldId::ServerAddress, ends.server.ip()),
    ];
    fields.extend(addresses.map(|(id, ip)| {
        let field = address(id, ip);
        let (value, length) = (field.value, field.bits);
        described(id, Treatment::NotSent { value, length })
    }));
    fields
}

fn udp() -> Vec<Description> {
    [FieldId::UdpLength, FieldId::UdpChecksum]
        .map(|field| described(field, Treatment::Computed))
        .to_vec()
}

/// A request like `message`: with its code, the length of its token and its options.
fn request_fields(message: &Repr<'_>) -> Option<Vec<Description>> {
    let types = [Type::Confirmable, Type::NonConfirmable].map(Type::bits);
    let mut fields = vec![
        not_sent(FieldId::CoapVersion, message::VERSION),
        mapped(FieldId::CoapType, &types),
        not_sent(FieldId::CoapTokenLength, message.token.bytes().len() as u8),
        not_sent(FieldId::CoapCode, message.code.byte()),
        sent(FieldId::CoapMessageId),
        sent(FieldId::CoapToken),
    ];
    let all = coap_fields(message)?;
    for field in all {
        let FieldId::CoapOption(number) = field.id else {
            continue;
        };
        if !STATIC_OPTIONS.contains(&number) {
            return None;
        }
        let (value, length) = (field.value, field.bits);
        fields.push(described(field.id, Treatment::NotSent { value, length }));
    }
    Some(fields)
}

/// A response to such a request, without options.
fn response_fields(request: &Repr<'_>) -> Vec<Description> {
    let types = [Type::Acknowledgement, Type::NonConfirmable, Type::Confirmable].map(Type::bits);
    let codes = [Code::CHANGED, Code::CREATED, Code::CONTENT, Code::NOT_FOUND].map(Code::byte);
    vec![
        not_sent(FieldId::CoapVersion, message::VERSION),
        mapped(FieldId::CoapType, &types),
        not_sent(FieldId::CoapTokenLength, request.token.bytes().len() as u8),
        mapped(FieldId::CoapCode, &codes),
        sent(FieldId::CoapMessageId),
        sent(FieldId::CoapToken),
    ]
}

/// An empty message that answers another one.
fn empty_fields() -> Vec<Description> {
    let types = [Type::Acknowledgement, Type::Reset].map(Type::bits);
    vec![
        not_sent(FieldId::CoapVersion, message::VERSION),
        mapped(FieldId::CoapType, &types),
        not_sent(FieldId::CoapTokenLength, 0_u8),
        not_sent(FieldId::CoapCode, Code::EMPTY.byte()),
        sent(FieldId::CoapMessageId),
        sent(FieldId::CoapToken),
    ]
}
