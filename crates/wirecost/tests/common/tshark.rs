//! Packets of a capture by tshark's fields, independent of wirecost's own reader.

mod row;

use std::path::Path;
use std::process::Command;

use super::need_program;

/// Wireshark knows MQTT-SN at port 1884 alone, registers no protocol at the port of bare stacks over TLS and DTLS, and finds QUIC by looking: without
/// this, a device's own port may belong to a protocol that tshark then sees in its packets, as PROFINET at 34962.
const DECODE_AS: [&str; 8] = [
    "-d",
    "udp.port==1883,mqttsn",
    "-d",
    "udp.port==443,quic",
    "-d",
    "udp.port==10009,dtls",
    "-d",
    "tcp.port==10009,tls",
];

/// Handles every packet separately, without reassembly: the tests ask for the content of each packet.
const SETTINGS: [&str; 6] = [
    "-o",
    "ip.defragment:FALSE",
    "-o",
    "ipv6.defragment:FALSE",
    "-o",
    "tcp.relative_sequence_numbers:FALSE",
];

/// The field with a packet's way, which [`fields`] gives as 0 for up (outbound) and 1 for down (inbound).
pub(crate) const WAY: &str = "frame.packet_flags_direction";

/// The values of `fields` for each packet that matches `filter`. Repeated fields are separated by commas.
pub(crate) fn fields(capture: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    fields_with(capture, filter, fields, &[])
}

/// The same with preferences of tshark, each as `-o` takes it.
pub(crate) fn fields_with(
    capture: &Path,
    filter: &str,
    fields: &[&str],
    preferences: &[String],
) -> Vec<Vec<String>> {
    need_program("tshark", "tshark");
    let mut command = Command::new("tshark");
    command
        .arg("-n")
        .arg("-r")
        .arg(capture)
        .args(SETTINGS)
        .args(DECODE_AS)
        .args(["-Y", filter, "-T", "fields"]);
    preferences.iter().for_each(|preference| {
        command.args(["-o", preference]);
    });
    command.args(["-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=,"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().expect("tshark starts");
    assert!(
        output.status.success(),
        "tshark: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("text");
    let value = |(field, value): (&&str, &str)| match (*field, value) {
        (WAY, "0x00000002") => "0".to_owned(),
        (WAY, "0x00000001") => "1".to_owned(),
        (_, value) => value.to_owned(),
    };
    let row = |line: &str| fields.iter().zip(line.split('\t')).map(value).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = text.lines().map(row).collect();
    assert!(
        text.lines().all(|line| line.split('\t').count() == fields.len()),
        "a field holds a tab"
    );
    rows
}

/// A captured packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) frame: u64,
    /// Nanoseconds since 1970.
    pub(crate) time: u128,
    /// 0 from device to server, 1 back.
    pub(crate) way: usize,
    pub(crate) interface: String,
    pub(crate) comment: String,
    /// The address of the device.
    pub(crate) device: String,
    pub(crate) wire_bytes: u64,
    /// IPv4 header with options; IPv6 header with its extension headers.
    pub(crate) ip_bytes: u64,
    /// The identification that the fragments of a datagram share.
    pub(crate) fragment_of: Option<String>,
    pub(crate) body: Body,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Tcp(Segment),
    Udp(Datagram),
    /// A fragment of a datagram other than its first.
    LaterFragment,
    /// An echo request or its reply.
    Icmp,
    /// An error, which quotes the packet that it is about.
    IcmpError,
}

impl Body {
    pub(crate) const fn is_icmp(&self) -> bool {
        matches!(self, Self::Icmp | Self::IcmpError)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) server_port: u16,
    pub(crate) header_bytes: u64,
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) content_bytes: u64,
    /// Not scaled.
    pub(crate) window: u64,
    /// The sequence number after the last one of the first SACK block.
    pub(crate) reported: Option<u32>,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) rst: bool,
    /// The MQTT packets that end in this segment.
    pub(crate) mqtt: Vec<Mqtt>,
}

/// The acknowledged bytes of one end, from the other end's segments. Positions count from the SYN, which has 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// The position after the last one acknowledged.
    acknowledged: u64,
    window: Option<u64>,
}

impl Told {
    /// Takes a segment by the other end, which acknowledges everything before `acknowledged` and whose first SACK block ends before
    /// `reported`. What it tells about where it has no content (docs/results-format.md, "What an ACK without content tells
    /// about"); `sent` is the position after the last one sent. `None` where it tells nothing.
    pub(crate) fn take(
        &mut self,
        acknowledged: u64,
        reported: Option<u64>,
        window: u64,
        sent: u64,
    ) -> Option<u64> {
        let (before, told) = (self.acknowledged, self.window.replace(window));
        self.acknowledged = before.max(acknowledged);
        let last = acknowledged.checked_sub(1);
        if acknowledged > before {
            return last;
        }
        if let Some(right) = reported.filter(|right| (1..=sent).contains(right)) {
            return Some(right - 1);
        }
        if acknowledged < before || told != Some(window) {
            return last;
        }
        (acknowledged < sent).then_some(acknowledged)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Mqtt {
    pub(crate) kind: u8,
    /// Fixed header and all.
    pub(crate) bytes: u64,
    /// Application message of a PUBLISH.
    pub(crate) payload_bytes: u64,
    /// 4 is 3.1.1; in a CONNECT.
    pub(crate) version: Option<u8>,
    /// In a PUBLISH.
    pub(crate) qos: Option<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) server_port: u16,
    /// As the UDP header says, header included.
    pub(crate) bytes: u64,
    pub(crate) coap: Option<Coap>,
}

#[derive(Clone, Debug)]
pub(crate) struct Coap {
    /// 0 CON, 1 NON, 2 ACK, 3 RST.
    pub(crate) kind: u8,
    /// Class and detail in one number.
    pub(crate) code: u8,
    pub(crate) message_id: u16,
    pub(crate) token: String,
    /// Number of the block, where there is one.
    pub(crate) block: Option<u32>,
    /// Header, token, options and payload marker.
    pub(crate) application_bytes: u64,
}

/// Every packet of a capture, in its order.
pub(crate) fn packets(capture: &Path) -> Vec<Packet> {
    let rows = fields(capture, "frame", &row::FIELDS);
    rows.iter().map(|row| row::Row(row).packet()).collect()
}
