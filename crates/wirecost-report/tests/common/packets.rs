//! What each stack puts on the wire. Times count in one-way delays.

use wirecost_results::{Ladder, LadderPacket};

/// One packet of IPv4 without options.
#[derive(Clone)]
pub(crate) struct Packet {
    pub(crate) up: bool,
    pub(crate) phase: &'static str,
    pub(crate) cause: &'static str,
    pub(crate) at: u64,
    pub(crate) label: &'static str,
    pub(crate) transport: u64,
    pub(crate) application: u64,
    pub(crate) payload: u64,
}

impl Packet {
    pub(crate) fn wire(&self) -> u64 {
        20 + self.transport + self.application + self.payload
    }

    pub(crate) fn is(&self, phase: &str, up: bool) -> bool {
        self.phase == phase && self.up == up
    }
}

pub(crate) fn wire(packets: &[Packet], phase: &str, up: bool) -> u64 {
    packets.iter().filter(|p| p.is(phase, up)).map(Packet::wire).sum()
}

pub(crate) fn count(packets: &[Packet], phase: &str, up: bool) -> u64 {
    packets.iter().filter(|p| p.is(phase, up)).count() as u64
}

/// One-way delays until the message is answered, or has arrived where nothing answers.
pub(crate) fn message_halves(stack: &str) -> u64 {
    match stack {
        "mqtt-qos2" => 4,
        "mqtt-qos1" | "mqtt5-qos1" | "coap-con" => 2,
        _ => 1,
    }
}

pub(crate) fn connect_halves(stack: &str) -> Option<u64> {
    match stack {
        "tcp" => Some(2),
        _ if stack.starts_with("mqtt") => Some(4),
        _ => None,
    }
}

pub(crate) fn is_answered(stack: &str) -> bool {
    message_halves(stack) > 1
}

pub(crate) fn packets(stack: &str, payload: u64) -> Vec<Packet> {
    let v5 = u64::from(stack.starts_with("mqtt5"));
    // A remaining length above 127 takes two bytes (MQTT 3.1.1 section 2.2.3).
    let long = u64::from(payload > 112);
    match stack {
        "tcp" => [
            handshake(),
            vec![
                data("message", 2, true, "PSH ACK", 4, payload),
                ack("message", 3, false),
            ],
            close(3),
        ]
        .concat(),
        "udp" => vec![datagram(0, true, "UDP", 0, payload)],
        "coap-non" => vec![datagram(0, true, "NON PUT", 17, payload)],
        "coap-con" => vec![
            datagram(0, true, "CON PUT", 14, payload),
            datagram(1, false, "ACK 2.04", 6, 0),
        ],
        "mqtt-qos0" => mqtt(
            0,
            vec![
                data("message", 4, true, "PUBLISH", 8 + long, payload),
                ack("message", 5, false),
            ],
        ),
        "mqtt-qos2" => mqtt(
            0,
            vec![
                data("message", 4, true, "PUBLISH", 10 + long, payload),
                data("message", 5, false, "PUBREC", 4, 0),
                data("message", 6, true, "PUBREL", 4, 0),
                data("message", 7, false, "PUBCOMP", 4, 0),
                ack("message", 8, true),
            ],
        ),
        _ => mqtt(
            v5,
            vec![
                data("message", 4, true, "PUBLISH", 10 + long + v5, payload),
                data("message", 5, false, "PUBACK", 4, 0),
                ack("message", 6, true),
            ],
        ),
    }
}

fn mqtt(v5: u64, message: Vec<Packet>) -> Vec<Packet> {
    let end = message.last().map_or(4, |p| p.at);
    let connect = vec![
        data("connect", 2, true, "CONNECT", 22 + v5, 0),
        ack("connect", 3, false),
        data("connect", 3, false, "CONNACK", 4 + v5, 0),
        ack("connect", 4, true),
    ];
    [handshake(), connect, message, close(end)].concat()
}

fn handshake() -> Vec<Packet> {
    let syn = |at, up, label| Packet {
        transport: 40,
        label,
        ..ack("connect", at, up)
    };
    vec![
        syn(0, true, "SYN"),
        syn(1, false, "SYN ACK"),
        ack("connect", 2, true),
    ]
}

fn close(at: u64) -> Vec<Packet> {
    let fin = |at, up| Packet {
        label: "FIN ACK",
        ..ack("close", at, up)
    };
    vec![fin(at, true), fin(at + 1, false), ack("close", at + 2, true)]
}

fn ack(phase: &'static str, at: u64, up: bool) -> Packet {
    Packet {
        up,
        phase,
        cause: "acknowledgement",
        at,
        label: "ACK",
        transport: 32,
        application: 0,
        payload: 0,
    }
}

fn data(
    phase: &'static str,
    at: u64,
    up: bool,
    label: &'static str,
    application: u64,
    payload: u64,
) -> Packet {
    Packet {
        cause: "original",
        label,
        application,
        payload,
        ..ack(phase, at, up)
    }
}

fn datagram(at: u64, up: bool, label: &'static str, application: u64, payload: u64) -> Packet {
    Packet {
        transport: 8,
        ..data("message", at, up, label, application, payload)
    }
}

pub(crate) fn ladder(stack: &str, payload: u64, rtt_ms: u64, packets: &[Packet]) -> Ladder {
    let half = rtt_ms * 500_000;
    let packet = |p: &Packet| LadderPacket {
        direction: if p.up { "up" } else { "down" }.into(),
        sent_ns: p.at * (half + 150_000),
        delivered_ns: Some(p.at * (half + 150_000) + half + 40_000),
        phase: p.phase.into(),
        cause: p.cause.into(),
        fate: "delivered".into(),
        label: p.label.into(),
        flight: p.at as u32 + 1,
        ip: 20,
        transport: p.transport,
        security: 0,
        application: p.application,
        payload: p.payload,
    };
    Ladder {
        cell: None,
        stack: stack.into(),
        start: "cold".into(),
        payload_bytes: payload,
        link: format!("rtt {rtt_ms}ms"),
        packets: packets
            .iter()
            .filter(|p| p.phase != "close")
            .map(packet)
            .collect(),
        air: Vec::new(),
    }
}

/// The PUBLISH is lost and sent again when its time-out ends, 230 ms later.
pub(crate) fn lose_publish(ladder: &mut Ladder) {
    let index = ladder.packets.iter().position(|p| p.label == "PUBLISH").unwrap();
    let mut again = ladder.packets[index].clone();
    ladder.packets[index].delivered_ns = None;
    ladder.packets[index].fate = "lost".into();
    again.cause = "retransmission".into();
    ladder.packets.insert(index + 1, again);
    for packet in &mut ladder.packets[index + 1..] {
        packet.sent_ns += 230_000_000;
        packet.delivered_ns = packet.delivered_ns.map(|at| at + 230_000_000);
    }
}
