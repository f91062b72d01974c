//! What a packet is, in the words of its protocols: for ladders.

use wirecost_coap::message::View;
use wirecost_mqtt::codec::PacketType;
use wirecost_mqtt::codec::framing::packet_len;
use wirecost_proto::{Layer, Span};
use wirecost_wire::ip::{self, Protocol};
use wirecost_wire::tcp::{Flags, Segment};
use wirecost_wire::udp;

use super::{Application, Stack};

/// What an IP packet of a stack is: its TCP flags and the messages that begin in it.
///
/// `spans` cover the packet, as the ledger found them: a segment whose content does not begin with application
/// bytes goes on with an earlier message.
pub fn label(stack: Stack, bytes: &[u8], spans: &[Span]) -> String {
    let Ok(packet) = ip::Packet::new(bytes) else {
        return "not IP".into();
    };
    if let Some(fragment) = packet.fragment() {
        return format!("fragment at {} B", fragment.offset_bytes);
    }
    match packet.protocol() {
        Protocol::Tcp => segment(stack, packet.payload(), spans).unwrap_or_else(|| "TCP".into()),
        Protocol::Udp => datagram(stack, packet.payload()).unwrap_or_else(|| "UDP".into()),
        Protocol::Icmp | Protocol::Icmpv6 => "ICMP".into(),
        Protocol::Other(number) => format!("protocol {number}"),
    }
}

fn segment(stack: Stack, bytes: &[u8], spans: &[Span]) -> Option<String> {
    let segment = Segment::new(bytes).ok()?;
    let content = spans
        .iter()
        .find(|span| !matches!(span.layer, Layer::Ip | Layer::Transport));
    let begins = content.is_some_and(|span| span.layer == Layer::Application);
    let mut words = flags(segment.flags(), segment.payload().is_empty());
    match stack.application {
        Application::Mqtt311(_) | Application::Mqtt5(_) if begins => {
            words.extend(mqtt_packets(segment.payload()))
        }
        Application::Tcp if begins => words.push("message"),
        _ if !segment.payload().is_empty() => words.push("more of it"),
        _ => {}
    }
    Some(words.join(" "))
}

/// The flags that tell segments apart: ACK only where it stands alone, PSH never.
fn flags(flags: Flags, is_empty: bool) -> Vec<&'static str> {
    let telling = [(Flags::SYN, "SYN"), (Flags::FIN, "FIN"), (Flags::RST, "RST")];
    let mut words: Vec<&str> = telling
        .into_iter()
        .filter(|(flag, _)| flags.contains(*flag))
        .map(|(_, name)| name)
        .collect();
    let alone = words.is_empty() && is_empty;
    if flags.contains(Flags::ACK) && (alone || flags.contains(Flags::SYN)) {
        words.push("ACK");
    }
    words
}

fn mqtt_packets(mut bytes: &[u8]) -> Vec<&'static str> {
    let mut names = Vec::new();
    while let Some(packet) = bytes.first().and_then(|first| PacketType::from_bits(first >> 4)) {
        names.push(packet.name());
        let Ok(Some(len)) = packet_len(bytes, u32::MAX) else {
            break;
        };
        bytes = bytes.get(len..).unwrap_or_default();
    }
    names
}

fn datagram(stack: Stack, bytes: &[u8]) -> Option<String> {
    let datagram = udp::Datagram::new(bytes).ok()?;
    match stack.application {
        Application::CoapNon | Application::CoapCon => {
            let view = View::new(datagram.payload());
            let (kind, code) = (view.kind()?, view.code()?);
            let name = code.name().filter(|_| code.is_request());
            Some(format!(
                "{} {}",
                kind.name(),
                name.map_or(code.to_string(), str::to_owned)
            ))
        }
        _ => Some("message".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_named_by_flags_and_by_the_packets_that_begin_in_them() {
        assert_eq!(flags(Flags::from_bits(0x12), true), ["SYN", "ACK"]);
        assert_eq!(flags(Flags::from_bits(0x10), true), ["ACK"]);
        assert_eq!(flags(Flags::from_bits(0x18), false), [""; 0]);
        assert_eq!(flags(Flags::from_bits(0x11), true), ["FIN"]);
        // PUBACK of packet 1, PINGRESP, and a PUBLISH that goes on in the next segment.
        let bytes = [0x40, 2, 0, 1, 0xd0, 0, 0x30, 200, 1, 0];
        assert_eq!(mqtt_packets(&bytes), ["PUBACK", "PINGRESP", "PUBLISH"]);
    }
}
