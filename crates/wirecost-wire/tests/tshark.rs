//! Lets Wireshark's dissectors judge what we write.

use std::fs::File;
use std::path::{Path, PathBuf};

use wirecost_wire::ip::{Addresses, Protocol};
use wirecost_wire::pcapng::{Block, Capture, Packet, Reader, Way, Writer};
use wirecost_wire::tcp::{Flags, Options, SackBlock, SackBlocks, TcpOption};
use wirecost_wire::{icmp, ip, tcp, udp};

use common::{fields, output_of};

mod common;

/// 14 November 2023, with a digit in every place of the nanoseconds.
const START_NS: u64 = 1_700_000_000_123_456_789;

const CAPTURE: Capture<'static> = Capture {
    hardware: Some("a board"),
    os: Some("an OS"),
    user_application: Some("wirecost"),
    comment: Some("what a message costs"),
    tls_key_log: Some(b"# key log\n"),
    interface: Some("link"),
};

#[test]
#[ignore = "needs tshark"]
fn tshark_reads_what_we_meant() {
    let file = write_capture("fields.pcapng");
    // One row per packet: what every packet has, then what only some have.
    let rows = fields(
        &file,
        &[
            "frame.interface_name",
            "frame.packet_flags_direction",
            "frame.time_epoch",
            "frame.len",
            "frame.comment",
            "_ws.col.Source",
            "_ws.col.Destination",
            "tcp.dstport",
            "tcp.len",
            "udp.dstport",
            "udp.length",
        ],
    );
    let expected = [
        "link|0x00000002|1700000000.123456789|72|SYN: lost|10.0.0.1|10.0.0.2|1883|0||",
        "link|0x00000002|1700000000.123456790|85||2001:db8::1|2001:db8::2|1883|5||",
        "link|0x00000001|1700000000.123456791|33|delivered at 5 ms|10.0.0.2|10.0.0.1|||49152|13",
        "link|0x00000001|1700000000.123456792|53||2001:db8::2|2001:db8::1|||49152|13",
        "link||1700000000.123456793|33||10.0.0.1|10.0.0.2||||",
        "link||1700000000.123456794|53||2001:db8::1|2001:db8::2||||",
    ];
    assert_eq!(rows, expected);
}

#[test]
#[ignore = "needs tshark"]
fn tshark_finds_every_checksum_good() {
    let file = write_capture("checksums.pcapng");
    let rows = fields(
        &file,
        &[
            "ip.checksum.status",
            "tcp.checksum.status",
            "udp.checksum.status",
            "icmp.checksum.status",
            "icmpv6.checksum.status",
        ],
    );
    assert_eq!(rows, ["1|1|||", "|1|||", "1||1||", "||1||", "1|||1|", "||||1"]);
}

#[test]
#[ignore = "needs tshark"]
fn tshark_reads_every_tcp_option() {
    let file = write_capture("options.pcapng");
    let rows = fields(
        &file,
        &[
            "tcp.flags.str",
            "tcp.option_kind",
            "tcp.options.mss_val",
            "tcp.options.wscale.shift",
            "tcp.options.timestamp.tsval",
            "tcp.options.timestamp.tsecr",
            "tcp.options.tfo.cookie",
            "tcp.options.sack_le",
            "tcp.options.sack_re",
        ],
    );
    assert_eq!(
        rows[0],
        "····CE····S·|2,4,8,1,3,34,0,0|1460|7|1000|0|cafebabecafebabe||"
    );
    assert_eq!(rows[1], "·······AP···|1,1,5||||||1000,3000|2000,4000");
}

#[test]
#[ignore = "needs tshark"]
fn capinfos_finds_the_interface_and_the_secrets() {
    let file = write_capture("capinfos.pcapng");
    let report = output_of("capinfos", &[file.as_os_str().to_str().unwrap()]);
    for line in [
        "File type:           Wireshark/... - pcapng",
        "File timestamp precision:  nanoseconds (9)",
        "Number of packets:   6",
        "Capture hardware:    a board",
        "Capture oper-sys:    an OS",
        "Capture application: wirecost",
        "Capture comment:     what a message costs",
        "Number of interfaces in file: 1",
        "Number of decryption secrets in file: 1",
        "Encapsulation = Raw IP",
    ] {
        assert!(report.contains(line), "{line:?} is missing in\n{report}");
    }
}

#[test]
#[ignore = "needs tshark"]
fn our_reader_agrees_with_the_file_that_tshark_writes_again() {
    let file = write_capture("rewritten-from.pcapng");
    let again = file.with_file_name("rewritten-to.pcapng");
    let paths = [&file, &again].map(|path| path.as_os_str().to_str().unwrap());
    output_of("tshark", &["-r", paths[0], "-w", paths[1]]);
    assert_eq!(packets(&again), packets(&file));
}

/// tcpdump is on libpcap, as Zeek is; editcap and mergecap write the file again, and nothing is lost.
#[test]
#[ignore = "needs tcpdump, tshark and wireshark-common"]
fn other_programs_read_what_we_write() {
    let file = write_capture("others-from.pcapng");
    let again = file.with_file_name("others-to.pcapng");
    let paths = [&file, &again].map(|path| path.as_os_str().to_str().unwrap());
    let lines = output_of("tcpdump", &["-n", "-r", paths[0]]);
    assert_eq!(lines.lines().count(), 6, "{lines}");
    let rewritten: [(&str, &[&str]); 2] = [
        ("editcap", &[paths[0], paths[1]]),
        ("mergecap", &["-w", paths[1], paths[0], paths[0]]),
    ];
    for (copies, (program, arguments)) in (1..).zip(rewritten) {
        output_of(program, arguments);
        let report = output_of("capinfos", &[paths[1]]);
        let secrets = format!("Number of decryption secrets in file: {copies}");
        assert!(report.contains(&secrets), "{program}: {report}");
        assert_eq!(packets(&again).len(), 6 * copies, "{program}");
    }
}

fn packets(file: &Path) -> Vec<Packet> {
    let packet = |block| match block {
        Ok(Block::Packet(packet)) => Some(packet),
        Ok(_) => None,
        Err(error) => panic!("{error}"),
    };
    Reader::new(File::open(file).unwrap())
        .filter_map(packet)
        .collect()
}

/// Writes two packets of each protocol, one of each version, a nanosecond apart.
fn write_capture(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut writer = Writer::new(File::create(&file).unwrap(), &CAPTURE).unwrap();
    let packets = [
        (Way::Outbound, syn(), Some("SYN: lost")),
        (Way::Outbound, data(), None),
        (Way::Inbound, datagram(v4()), Some("delivered at 5 ms")),
        (Way::Inbound, datagram(v6()), None),
        (Way::Unknown, echo(v4()), None),
        (Way::Unknown, echo(v6()), None),
    ];
    for (timestamp_ns, (way, bytes, comment)) in (START_NS..).zip(packets) {
        writer.packet(way, timestamp_ns, &bytes, comment).unwrap();
    }
    writer.finish().unwrap();
    file
}

fn v4() -> Addresses {
    Addresses::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()).unwrap()
}

fn v6() -> Addresses {
    Addresses::new("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap()).unwrap()
}

fn syn() -> Vec<u8> {
    let options = [
        TcpOption::MaximumSegmentSize(1460),
        TcpOption::SackPermitted,
        TcpOption::Timestamps { value: 1000, echo: 0 },
        TcpOption::NoOperation,
        TcpOption::WindowScale(7),
        TcpOption::FastOpenCookie(&[0xca, 0xfe, 0xba, 0xbe, 0xca, 0xfe, 0xba, 0xbe]),
        TcpOption::EndOfList,
    ];
    segment(v4(), Flags::SYN | Flags::ECE | Flags::CWR, &options, b"")
}

fn data() -> Vec<u8> {
    let block = |left| SackBlock {
        left,
        right: left + 1000,
    };
    let blocks = SackBlocks::new(&[block(1000), block(3000)]);
    let options = [
        TcpOption::NoOperation,
        TcpOption::NoOperation,
        TcpOption::Sack(blocks),
    ];
    segment(v6(), Flags::PSH | Flags::ACK, &options, b"hello")
}

fn segment(addresses: Addresses, flags: Flags, options: &[TcpOption<'_>], payload: &[u8]) -> Vec<u8> {
    let segment = tcp::Repr {
        source_port: 49_152,
        destination_port: 1883,
        sequence_number: 1,
        acknowledgment_number: u32::from(flags.contains(Flags::ACK)),
        flags,
        window: 64_240,
        urgent_pointer: 0,
        options: Options::new(options).unwrap(),
    };
    let mut bytes = Vec::new();
    let ip = ip::Repr::new(addresses, Protocol::Tcp);
    ip.emit_tcp(&segment, payload, &mut bytes).unwrap();
    bytes
}

fn datagram(addresses: Addresses) -> Vec<u8> {
    let ports = udp::Repr {
        source_port: 9999,
        destination_port: 49_152,
    };
    let mut bytes = Vec::new();
    let ip = ip::Repr::new(addresses.swapped(), Protocol::Udp);
    ip.emit_udp(&ports, b"hello", &mut bytes).unwrap();
    bytes
}

fn echo(addresses: Addresses) -> Vec<u8> {
    let echo = icmp::Echo {
        id: 1,
        sequence_number: 2,
        payload: b"hello",
    };
    let mut bytes = Vec::new();
    let ip = ip::Repr::new(addresses, Protocol::Icmp);
    ip.emit_icmp(&icmp::Repr::EchoRequest(echo), &mut bytes).unwrap();
    bytes
}
