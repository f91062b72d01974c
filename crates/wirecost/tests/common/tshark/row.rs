//! A packet from one row of tshark's fields.

use super::{Body, Coap, Datagram, Mqtt, Packet, Segment, WAY};

pub(super) const FIELDS: [&str; 50] = [
    "frame.number",
    "frame.time_epoch",
    WAY,
    "frame.interface_name",
    "frame.comment",
    "frame.len",
    "ip.version",
    "ip.src",
    "ip.dst",
    "ip.hdr_len",
    "ip.len",
    "ip.id",
    "ip.flags.mf",
    "ip.frag_offset",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.plen",
    "ipv6.fraghdr.offset",
    "ipv6.fraghdr.more",
    "ipv6.fraghdr.ident",
    "icmp.type",
    "icmpv6.type",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.hdr_len",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.options.sack_re",
    "udp.srcport",
    "udp.dstport",
    "udp.length",
    "mqtt.msgtype",
    "mqtt.len",
    "mqtt.ver",
    "mqtt.qos",
    "mqtt.topic_len",
    "mqtt.msgid",
    "mqtt.property_len",
    "coap.type",
    "coap.code",
    "coap.mid",
    "coap.token",
    "coap.token_len",
    "coap.opt.delta",
    "coap.opt.length",
    "coap.opt.block_number",
    "coap.opt.end_marker",
];

/// One row of fields, read by their names.
pub(super) struct Row<'a>(pub(super) &'a [String]);

impl Row<'_> {
    fn text(&self, field: &str) -> &str {
        let index = FIELDS
            .iter()
            .position(|name| *name == field)
            .expect("a field that was asked for");
        &self.0[index]
    }

    /// Every occurrence of a number, decimal or hexadecimal.
    fn numbers(&self, field: &str) -> Vec<u64> {
        let texts = self.text(field).split(',').filter(|text| !text.is_empty());
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        texts
            .map(|text| number(text).unwrap_or_else(|_| panic!("{field} is {text:?}")))
            .collect()
    }

    /// The only occurrence of a number; the first where an ICMP error quotes another packet.
    fn number(&self, field: &str) -> Option<u64> {
        let numbers = self.numbers(field);
        let place = self.text("frame.number");
        assert!(
            numbers.len() <= 1 || self.is_icmp(),
            "frame {place}: {field} occurs more than once"
        );
        numbers.first().copied()
    }

    fn is_icmp(&self) -> bool {
        !self.text("icmp.type").is_empty() || !self.text("icmpv6.type").is_empty()
    }

    fn first(&self, field: &str) -> String {
        self.text(field).split(',').next().unwrap_or_default().to_owned()
    }

    fn sure(&self, field: &str) -> u64 {
        let number = self.number(field);
        number.unwrap_or_else(|| panic!("frame {} has no {field}", self.text("frame.number")))
    }

    /// 0 for a packet on its way up, 1 for one on its way down.
    fn way(&self) -> usize {
        self.sure(WAY) as usize
    }

    pub(super) fn packet(&self) -> Packet {
        let way = self.way();
        let version = if self.text("ip.src").is_empty() {
            "ipv6"
        } else {
            "ip"
        };
        let end = ["src", "dst"][way];
        let (ip_bytes, total_bytes) = self.lengths(version);
        assert_eq!(
            self.sure("frame.len"),
            total_bytes,
            "frame.len and the IP header's length"
        );
        Packet {
            frame: self.sure("frame.number"),
            time: nanoseconds(self.text("frame.time_epoch")),
            way,
            interface: self.text("frame.interface_name").to_owned(),
            comment: self.text("frame.comment").to_owned(),
            device: self.first(&format!("{version}.{end}")),
            wire_bytes: total_bytes,
            ip_bytes,
            fragment_of: self.fragment_of(),
            body: self.body(),
        }
    }

    /// Bytes of the IP headers, and of the whole packet.
    fn lengths(&self, version: &str) -> (u64, u64) {
        if version == "ip" {
            return (self.sure("ip.hdr_len"), self.sure("ip.len"));
        }
        // RFC 8200 sections 3 and 4.5: 40 bytes, and 8 of a fragment header.
        let fragment_bytes = if self.fragment_of().is_some() { 8 } else { 0 };
        (40 + fragment_bytes, 40 + self.sure("ipv6.plen"))
    }

    fn fragment_of(&self) -> Option<String> {
        // An error quotes fragments and is none.
        if self.is_icmp() {
            return None;
        }
        let fragment_v4 = self.number("ip.flags.mf") == Some(1) || self.is_later_fragment();
        match self.text("ipv6.fraghdr.ident") {
            "" if fragment_v4 => Some(self.text("ip.id").to_owned()),
            "" => None,
            identification => Some(identification.to_owned()),
        }
    }

    fn is_later_fragment(&self) -> bool {
        ["ip.frag_offset", "ipv6.fraghdr.offset"]
            .iter()
            .any(|field| self.number(field).unwrap_or(0) > 0)
    }

    fn body(&self) -> Body {
        if self.is_icmp() {
            // RFC 792; RFC 4443 section 2.1: the errors are below 128.
            let is_echo = match self.number("icmpv6.type") {
                Some(kind) => kind >= 128,
                None => matches!(self.number("icmp.type"), Some(0 | 8)),
            };
            return if is_echo { Body::Icmp } else { Body::IcmpError };
        }
        if self.is_later_fragment() {
            return Body::LaterFragment;
        }
        match self.text("udp.length") {
            "" => Body::Tcp(self.segment()),
            _ => Body::Udp(self.datagram()),
        }
    }

    fn server_port(&self, transport: &str) -> u16 {
        let end = ["dstport", "srcport"][self.way()];
        self.sure(&format!("{transport}.{end}")) as u16
    }

    fn segment(&self) -> Segment {
        let flags = self.sure("tcp.flags");
        Segment {
            server_port: self.server_port("tcp"),
            header_bytes: self.sure("tcp.hdr_len"),
            sequence: self.sure("tcp.seq_raw") as u32,
            acknowledgement: self.sure("tcp.ack_raw") as u32,
            content_bytes: self.sure("tcp.len"),
            window: self.sure("tcp.window_size_value"),
            reported: self
                .numbers("tcp.options.sack_re")
                .first()
                .map(|right| *right as u32),
            fin: flags & 0x01 != 0,
            syn: flags & 0x02 != 0,
            rst: flags & 0x04 != 0,
            mqtt: self.mqtt(),
        }
    }

    /// A segment ends at most one packet that has fields of its own; more than one are told apart by their types.
    fn mqtt(&self) -> Vec<Mqtt> {
        const PUBLISH: u64 = 3;
        let kinds = self.numbers("mqtt.msgtype");
        let lengths = self.numbers("mqtt.len");
        let publishes = kinds.iter().filter(|kind| **kind == PUBLISH).count();
        assert!(
            publishes <= 1,
            "frame {}: two PUBLISH in one segment",
            self.text("frame.number")
        );
        let packet = |(kind, remaining): (u64, u64)| {
            let publish = kind == PUBLISH;
            Mqtt {
                kind: kind as u8,
                bytes: 1 + length_bytes(remaining) + remaining,
                payload_bytes: if publish {
                    self.publish_payload(remaining)
                } else {
                    0
                },
                version: self.numbers("mqtt.ver").first().map(|version| *version as u8),
                qos: self
                    .numbers("mqtt.qos")
                    .first()
                    .filter(|_| publish)
                    .map(|qos| *qos as u8),
            }
        };
        kinds.into_iter().zip(lengths).map(packet).collect()
    }

    /// What remains of a PUBLISH behind its variable header (MQTT 5 section 3.3.2).
    fn publish_payload(&self, remaining: u64) -> u64 {
        let topic = 2 + self.sure("mqtt.topic_len");
        let identifier = if self.sure("mqtt.qos") > 0 { 2 } else { 0 };
        // A CONNECT in the same packet comes first.
        let properties = self.numbers("mqtt.property_len");
        let properties = properties.last().map_or(0, |bytes| length_bytes(*bytes) + *bytes);
        remaining - topic - identifier - properties
    }

    fn datagram(&self) -> Datagram {
        let is_coap = !self.text("coap.type").is_empty();
        Datagram {
            server_port: self.server_port("udp"),
            bytes: self.sure("udp.length"),
            coap: is_coap.then(|| self.coap()),
        }
    }

    fn coap(&self) -> Coap {
        let marker = self.numbers("coap.opt.end_marker").len() as u64;
        let (deltas, lengths) = (self.numbers("coap.opt.delta"), self.numbers("coap.opt.length"));
        // RFC 7252 section 3.1: one byte, and one or two more where the nibble of delta or length says so.
        let extended = |nibble: &u64| match nibble {
            13 => 1,
            14 => 2,
            _ => 0,
        };
        let headers: u64 = deltas.iter().map(|delta| 1 + extended(delta)).sum();
        assert!(
            lengths.iter().all(|length| *length < 13),
            "an option this long has a longer header"
        );
        Coap {
            kind: self.sure("coap.type") as u8,
            code: self.sure("coap.code") as u8,
            message_id: self.sure("coap.mid") as u16,
            token: self.text("coap.token").to_owned(),
            block: self.number("coap.opt.block_number").map(|number| number as u32),
            application_bytes: 4
                + self.sure("coap.token_len")
                + headers
                + lengths.iter().sum::<u64>()
                + marker,
        }
    }
}

/// Bytes of a variable byte integer (MQTT 5 section 1.5.5).
fn length_bytes(value: u64) -> u64 {
    match value {
        0..=127 => 1,
        128..=16_383 => 2,
        16_384..=2_097_151 => 3,
        _ => 4,
    }
}

fn nanoseconds(epoch: &str) -> u128 {
    let (seconds, fraction) = epoch.split_once('.').expect("seconds with a fraction");
    let parsed = (seconds.parse::<u128>(), format!("{fraction:0<9}").parse::<u128>());
    match parsed {
        (Ok(seconds), Ok(nanos)) => seconds * 1_000_000_000 + nanos,
        _ => panic!("not a time: {epoch}"),
    }
}
