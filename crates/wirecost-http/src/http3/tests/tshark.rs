//! Wireshark reads the same bytes in the decrypted packets.

use std::process::Command as Process;
use std::time::Duration;

use wirecost_proto::pair::Sent;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Cause, Direction, Layer, Span};
use wirecost_security::Start;
use wirecost_wire::pcapng::{Capture, Way, Writer};

use super::rig::{DELAY, Parts, get, post, reconnected};
use crate::client::Command;
use crate::http3::varint;

const FIELDS: [&str; 5] = [
    "udp.length",
    "quic.crypto.offset",
    "quic.crypto.length",
    "quic.stream_data",
    "quic.padding_length",
];

/// The content of a datagram, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    datagram: u64,
    crypto: u64,
    stream: u64,
    padding: u64,
}

#[test]
#[ignore = "needs tshark"]
fn tshark_agrees_on_the_bytes_of_every_kind() {
    for start in [Start::Cold, Start::Resumed, Start::ZeroRtt] {
        let parts = Parts::new(start);
        let mut rig = reconnected(parts.pair(1, FixedDelay(DELAY)));
        rig.command(post(1, 5_000));
        rig.drive_for(Duration::from_secs(1));
        rig.command(get(2, "/test"));
        rig.drive_for(Duration::from_secs(1));
        rig.command(Command::Close);
        rig.drive_for(Duration::from_secs(1));
        let theirs = read_by_tshark(&rig.sent, &parts.client.key_log.text());
        let ours: Vec<Account> = rig.sent.iter().map(|sent| account(&sent.spans)).collect();
        assert_eq!(ours, theirs, "{start}");
    }
}

fn account(spans: &[Span]) -> Account {
    let mut account = Account::default();
    for span in spans {
        let len = u64::from(span.len);
        account.datagram += len;
        match span.layer {
            Layer::Security => account.crypto += len,
            Layer::Application | Layer::Payload => account.stream += len,
            Layer::Transport if span.cause == Cause::Probe => account.padding += len,
            _ => {}
        }
    }
    account
}

fn read_by_tshark(sent: &[Sent], key_log: &str) -> Vec<Account> {
    let file = tempfile::NamedTempFile::with_suffix(".pcapng").expect("a file");
    let capture = Capture {
        tls_key_log: Some(key_log.as_bytes()),
        interface: Some("link"),
        ..Capture::default()
    };
    let mut writer = Writer::new(file.reopen().expect("a file"), &capture).expect("a capture");
    for sent in sent {
        let packet = packet(sent);
        writer
            .packet(Way::Unknown, sent.at.as_nanos(), &packet, None)
            .expect("a packet");
    }
    writer.finish().expect("a capture");
    let mut tshark = Process::new("tshark");
    tshark.arg("-r").arg(file.path()).args(["-T", "fields"]);
    tshark.args(["-E", "separator=|", "-E", "aggregator=,"]);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.output().expect("tshark is installed");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(read_line).collect()
}

fn read_line(line: &str) -> Account {
    let columns: Vec<&str> = line.split('|').collect();
    let values = |column: usize| columns[column].split(',').filter(|value| !value.is_empty());
    let numbers = |column| values(column).map(|value| value.parse::<u64>().expect("a number"));
    // Type, offset and length precede the data (RFC 9000 section 19.6).
    let crypto = numbers(1).zip(numbers(2)).map(|(offset, len)| {
        let header = 1 + varint::len(offset) + varint::len(len);
        header as u64 + len
    });
    let hex = values(3).map(|data| data.replace(':', "").len() as u64 / 2);
    Account {
        datagram: numbers(0).sum::<u64>() - 8,
        crypto: crypto.sum(),
        stream: hex.sum(),
        padding: numbers(4).sum(),
    }
}

/// An IPv4 packet with the datagram, without checksums.
fn packet(sent: &Sent) -> Vec<u8> {
    let client = ([10, 77, 0, 2], 40_000 + sent.flow.0 as u16);
    let server = ([10, 77, 0, 1], 443);
    let (from, to) = match sent.direction {
        Direction::Up => (client, server),
        Direction::Down => (server, client),
    };
    let udp = (8 + sent.bytes.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&(20 + udp).to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend_from_slice(&from.0);
    packet.extend_from_slice(&to.0);
    for field in [from.1, to.1, udp, 0] {
        packet.extend_from_slice(&field.to_be_bytes());
    }
    packet.extend_from_slice(&sent.bytes);
    packet
}
