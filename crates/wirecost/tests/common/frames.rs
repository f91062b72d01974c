//! Captured packets with the tshark fields that a test requests, sorted by connection.

use std::collections::BTreeMap;
use std::path::Path;

use super::tshark::{Body, Packet, fields_with, packets};

/// A packet and its requested fields.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) packet: Packet,
    fields: BTreeMap<&'static str, String>,
}

impl Frame {
    /// Every occurrence of a field, as tshark writes it.
    pub(crate) fn texts(&self, field: &str) -> Vec<&str> {
        let text = &self.fields[field];
        text.split(',').filter(|text| !text.is_empty()).collect()
    }

    /// Every occurrence of a number, decimal or hexadecimal.
    pub(crate) fn numbers(&self, field: &str) -> Vec<u64> {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        let texts = self.texts(field).into_iter();
        texts
            .map(|text| number(text).unwrap_or_else(|_| panic!("{field} is {text:?}")))
            .collect()
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        !self.fields[field].is_empty()
    }

    /// Bytes of the transport's header.
    pub(crate) const fn transport_bytes(&self) -> u64 {
        match &self.packet.body {
            Body::Tcp(segment) => segment.header_bytes,
            _ => 8,
        }
    }

    /// The client's port identifies a connection of a device.
    fn client_port(&self) -> u64 {
        let end = ["src", "dst"][self.packet.way];
        let ports = ["tcp", "udp"].map(|transport| self.numbers(&format!("{transport}.{end}port")));
        *ports.iter().flatten().next().expect("a port")
    }
}

/// The packets of one connection of a device, in the order of entry into the link.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// The cell as the capture's comments name it: stack, start unless cold, size.
    pub(crate) cell: String,
    pub(crate) frames: Vec<Frame>,
}

/// Every packet of a capture except those of the link checks, with `names` from a second pass.
pub(crate) fn frames(capture: &Path, names: &[&'static str]) -> Vec<Frame> {
    frames_with(capture, names, &[])
}

/// The same with preferences of tshark for the second pass.
pub(crate) fn frames_with(capture: &Path, names: &[&'static str], preferences: &[String]) -> Vec<Frame> {
    const ALWAYS: [&str; 5] = [
        "frame.number",
        "tcp.srcport",
        "tcp.dstport",
        "udp.srcport",
        "udp.dstport",
    ];
    let names: Vec<&'static str> = ALWAYS.iter().chain(names).copied().collect();
    let rows = fields_with(capture, "frame", &names, preferences);
    let packets = packets(capture);
    assert_eq!(rows.len(), packets.len());
    let frame = |(row, packet): (Vec<String>, Packet)| {
        assert_eq!(row[0], packet.frame.to_string());
        let fields = names.iter().copied().zip(row).collect();
        Frame { packet, fields }
    };
    let frames = rows.into_iter().zip(packets).map(frame);
    frames.filter(|frame| !frame.packet.body.is_icmp()).collect()
}

/// The measured connection of each device: its last one, which follows the connection for the ticket of a resumed
/// start.
pub(crate) fn measured(frames: Vec<Frame>) -> Vec<Connection> {
    let mut devices: BTreeMap<String, Vec<(u64, Connection)>> = BTreeMap::new();
    for frame in frames {
        let (port, cell) = (frame.client_port(), cell_of(&frame.packet));
        let connections = devices.entry(frame.packet.device.clone()).or_default();
        match connections.iter_mut().find(|(of, _)| *of == port) {
            Some((_, connection)) => connection.frames.push(frame),
            None => connections.push((
                port,
                Connection {
                    cell,
                    frames: vec![frame],
                },
            )),
        }
    }
    let last = |mut connections: Vec<(u64, Connection)>| connections.pop().map(|(_, connection)| connection);
    devices.into_values().filter_map(last).collect()
}

/// The cell that a comment names.
fn cell_of(packet: &Packet) -> String {
    let cell = packet.comment.split(" | ").next();
    cell.unwrap_or_default().to_owned()
}
