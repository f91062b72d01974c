//! Static context header compression (SCHC) of packets of IPv4 or IPv6, UDP and CoAP: RFC 8724 and RFC 8824.
//!
//! Both ends hold the same [`Context`]: rules that say of each header field what its value is, or how it is sent. A packet is
//! sent as the number of the first rule that describes all its fields, the bits that the rule does not know (the residue), and
//! the payload. It is then padded to whole bytes. Fragmentation is not here: RLC segments what crosses an NB-IoT cell.
//!
//! - [`rules`]: the rules of a report, and what the fields of a rule are
//! - `ends`: addresses and ports of device and server
//! - `fields`: a packet as a list of header fields, and back
//! - `bits`: strings of bits
//!
//! A packet that no rule restores exactly is sent whole behind the number of the rule without compression.
//!
//! ```
//! use wirecost_proto::Direction;
//! use wirecost_schc::{Context, Ends};
//! use wirecost_wire::{ip, udp};
//!
//! let (device, server) = ("10.0.0.2:40000".parse()?, "10.0.0.1:5683".parse()?);
//! let context = Context::of_report(Ends { device, server }, None);
//! let addresses = ip::Addresses::new("10.0.0.2".parse()?, "10.0.0.1".parse()?)?;
//! let ports = udp::Repr { source_port: 40_000, destination_port: 5683 };
//! let mut packet = Vec::new();
//! ip::Repr::new(addresses, ip::Protocol::Udp).emit_udp(&ports, &[7; 25], &mut packet)?;
//!
//! let compressed = context.compress(&packet, Direction::Up);
//! // 28 B of headers become the rule's number and the identification of the IPv4 header.
//! assert_eq!((packet.len(), compressed.len()), (53, 1 + 2 + 25));
//! assert_eq!(context.decompress(&compressed, Direction::Up), Some(packet));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bits;
mod ends;
mod fields;
pub mod rules;

use wirecost_proto::Direction;

use bits::{BitReader, BitWriter};
pub use ends::Ends;
use fields::{Field, FieldId, Parsed};
use rules::{Description, Kind, Rule, Treatment};

/// Bits of a rule's number. RFC 9391 leaves the size to the operator; a whole byte is assumed.
const RULE_BITS: u32 = 8;

/// The number of the rule without compression (RFC 8724 section 6).
pub const UNCOMPRESSED: u8 = 0xff;

/// The rules that both ends of a link hold for one device.
#[derive(Clone, Debug)]
pub struct Context {
    ends: Ends,
    rules: Vec<Rule>,
}

impl Context {
    /// The rules of a device that sends reports from one port to one server. `request` is a CoAP message that stands for all
    /// reports: rules know its code, the length of its token and its options.
    pub fn of_report(ends: Ends, request: Option<&[u8]>) -> Self {
        Self {
            ends,
            rules: rules::of_report(&ends, request),
        }
    }

    /// The number of the rule and the bits of the residue that a packet is sent with; `None` where no rule restores it.
    pub fn rule_of(&self, packet: &[u8], direction: Direction) -> Option<(u8, u32)> {
        let (rule, compressed, payload) = self.compressed(packet, direction)?;
        Some((rule.number, compressed.length() - RULE_BITS - 8 * payload))
    }

    /// The bytes that stand for an IP packet on the link.
    pub fn compress(&self, packet: &[u8], direction: Direction) -> Vec<u8> {
        let compressed = self.compressed(packet, direction);
        compressed.map_or_else(
            || [&[UNCOMPRESSED], packet].concat(),
            |(_, bits, _)| bits.into_bytes(),
        )
    }

    /// The first rule that restores the packet exactly, the bits that it sends, and the bytes of payload among them.
    fn compressed(&self, packet: &[u8], direction: Direction) -> Option<(&Rule, BitWriter, u32)> {
        [Kind::Coap, Kind::Udp].into_iter().find_map(|kind| {
            let parsed = fields::parse(packet, &self.ends, direction, kind == Kind::Coap)?;
            self.rules.iter().find_map(|rule| {
                let bits = send(rule, &parsed, direction).filter(|_| rule.kind == kind)?;
                let sent = bits.clone().into_bytes();
                let payload = u32::try_from(parsed.payload.len()).ok()?;
                let is_exact = self.decompress(&sent, direction).as_deref() == Some(packet);
                is_exact.then_some((rule, bits, payload))
            })
        })
    }

    /// The IP packet that `compressed` stands for; `None` where it stands for none.
    pub fn decompress(&self, compressed: &[u8], direction: Direction) -> Option<Vec<u8>> {
        let mut reader = BitReader::new(compressed);
        let number = reader.take(RULE_BITS)?;
        if number == u128::from(UNCOMPRESSED) {
            return Some(compressed[1..].to_vec());
        }
        let rule = self.rules.iter().find(|rule| u128::from(rule.number) == number)?;
        let mut restored: Vec<Field> = Vec::new();
        for description in rule.described(direction) {
            let field = receive(description, &restored, &mut reader)?;
            restored.push(field);
        }
        let payload = reader.rest_in_bytes();
        fields::restore(&restored, &payload, &self.ends, direction)
    }
}

/// The bits that a rule sends for a packet; `None` where it does not describe it.
fn send(rule: &Rule, parsed: &Parsed<'_>, direction: Direction) -> Option<BitWriter> {
    let mut bits = BitWriter::default();
    bits.push(rule.number.into(), RULE_BITS);
    let mut fields = parsed.fields.iter();
    for description in rule.described(direction) {
        let field = fields.next().filter(|field| field.id == description.field)?;
        send_field(&description.treatment, field, &mut bits)?;
    }
    if fields.next().is_some() {
        return None;
    }
    for byte in parsed.payload {
        bits.push(u128::from(*byte), 8);
    }
    Some(bits)
}

fn send_field(treatment: &Treatment, field: &Field, bits: &mut BitWriter) -> Option<()> {
    match treatment {
        Treatment::NotSent { value, length } => {
            return (field.value == *value && field.bits == *length).then_some(());
        }
        Treatment::Computed => {}
        Treatment::Sent => bits.push(field.value, field.bits),
        Treatment::Mapped { values } => {
            let index = values.iter().position(|value| *value == field.value)?;
            bits.push(index as u128, index_bits(values));
        }
    }
    Some(())
}

/// The field that a description and the residue give.
fn receive(description: &Description, restored: &[Field], reader: &mut BitReader<'_>) -> Option<Field> {
    let id = description.field;
    let fixed = || match id {
        FieldId::CoapToken => {
            let length = restored
                .iter()
                .find(|field| field.id == FieldId::CoapTokenLength)?;
            u32::try_from(length.value * 8).ok()
        }
        _ => id.fixed_bits(),
    };
    let (value, bits) = match &description.treatment {
        Treatment::NotSent { value, length } => (*value, *length),
        Treatment::Computed => (0, fixed()?),
        Treatment::Sent => (reader.take(fixed()?)?, fixed()?),
        Treatment::Mapped { values } => {
            let index = reader.take(index_bits(values))?;
            (*values.get(usize::try_from(index).ok()?)?, fixed()?)
        }
    };
    Some(Field { id, value, bits })
}

/// Bits of an index into a list of values.
const fn index_bits(values: &[u128]) -> u32 {
    usize::BITS - values.len().saturating_sub(1).leading_zeros()
}
