//! Builds captures byte by byte, as other programs write them.

use wirecost_wire::ip::{Addresses, Fragment, Protocol, Repr, ipv4};
use wirecost_wire::tcp::{self, Flags, Options, TcpOption};
use wirecost_wire::udp;

pub(crate) const DEVICE: [u8; 4] = [10, 0, 0, 2];
pub(crate) const SERVER: [u8; 4] = [10, 0, 0, 1];

/// The time between two packets.
const STEP_US: u64 = 10_000;
const FIRST_US: u64 = 1_700_000_000_000_000;

/// Link types of the registry "LINKTYPE values".
pub(crate) const ETHERNET: u16 = 1;
pub(crate) const RAW: u16 = 101;
pub(crate) const SLL2: u16 = 276;

fn addresses(up: bool) -> Addresses {
    let addresses = Addresses::V4 {
        source: DEVICE.into(),
        destination: SERVER.into(),
    };
    if up { addresses } else { addresses.swapped() }
}

/// A connection, packet by packet.
pub(crate) struct Talk {
    pub(crate) packets: Vec<Vec<u8>>,
    ports: [u16; 2],
    /// The next sequence number up and down.
    next: [u32; 2],
}

impl Talk {
    /// A connection that was open before the capture began.
    pub(crate) fn midway(client: u16, server: u16) -> Self {
        Self {
            packets: Vec::new(),
            ports: [client, server],
            next: [1_000, 5_000],
        }
    }

    /// A connection that opens, with these options of the two SYNs.
    pub(crate) fn open(client: u16, server: u16, options: &[TcpOption<'_>]) -> Self {
        let mut talk = Self::midway(client, server);
        let options = Options::new(options).expect("options that fit");
        talk.segment(true, Flags::SYN, options, b"");
        talk.segment(false, Flags::SYN | Flags::ACK, options, b"");
        talk.acknowledge(true);
        talk
    }

    pub(crate) fn say(&mut self, up: bool, content: &[u8]) -> &mut Self {
        self.segment(up, Flags::PSH | Flags::ACK, Options::default(), content);
        self
    }

    pub(crate) fn acknowledge(&mut self, up: bool) -> &mut Self {
        self.segment(up, Flags::ACK, Options::default(), b"");
        self
    }

    pub(crate) fn close(&mut self) -> &mut Self {
        self.segment(true, Flags::FIN | Flags::ACK, Options::default(), b"");
        self.segment(false, Flags::FIN | Flags::ACK, Options::default(), b"");
        self.acknowledge(true)
    }

    fn segment(&mut self, up: bool, flags: Flags, options: Options, content: &[u8]) {
        let [from, to] = if up { [0, 1] } else { [1, 0] };
        let segment = tcp::Repr {
            source_port: self.ports[from],
            destination_port: self.ports[to],
            sequence_number: self.next[from],
            acknowledgment_number: if flags.contains(Flags::ACK) {
                self.next[to]
            } else {
                0
            },
            flags,
            window: 8_192,
            urgent_pointer: 0,
            options,
        };
        let mut repr = ipv4::Repr::new(
            match addresses(up).source() {
                std::net::IpAddr::V4(address) => address,
                std::net::IpAddr::V6(_) => unreachable!("all addresses are of version 4"),
            },
            match addresses(up).destination() {
                std::net::IpAddr::V4(address) => address,
                std::net::IpAddr::V6(_) => unreachable!("all addresses are of version 4"),
            },
            Protocol::Tcp,
        );
        repr.identification = self.packets.len() as u16 + 1;
        let mut packet = Vec::new();
        Repr::V4(repr)
            .emit_tcp(&segment, content, &mut packet)
            .expect("a packet");
        self.packets.push(packet);
        let takes_one = flags.contains(Flags::SYN) || flags.contains(Flags::FIN);
        self.next[from] += content.len() as u32 + u32::from(takes_one);
    }
}

pub(crate) const CONNECT: &[u8] = b"\x10\x14\x00\x04MQTT\x04\x02\x00\x3c\x00\x08device-1";
const MSS: TcpOption<'_> = TcpOption::MaximumSegmentSize(1_460);

/// Three readings of four bytes over MQTT: 19 packets, 850 B.
pub(crate) fn mqtt() -> Vec<Vec<u8>> {
    mqtt_with(&[MSS])
}

/// The same with other options of TCP.
pub(crate) fn mqtt_with(options: &[TcpOption<'_>]) -> Vec<Vec<u8>> {
    let mut talk = Talk::open(40_000, 1_883, options);
    talk.say(true, CONNECT)
        .say(false, b"\x20\x02\x00\x00")
        .acknowledge(true);
    for number in 1..=3 {
        let publish = [b"\x32\x0c\x00\x04test\x00", &[number][..], b"21.5"].concat();
        talk.say(true, &publish)
            .say(false, &[0x40, 2, 0, number])
            .acknowledge(true);
    }
    talk.say(true, b"\xe0\x00").close();
    talk.packets
}

/// A reading of 4,000 B over MQTT in one packet, as before segmentation offload: 11 packets, 4,489 B.
pub(crate) fn mqtt_large() -> Vec<Vec<u8>> {
    let mut talk = Talk::open(40_000, 1_883, &[MSS]);
    talk.say(true, CONNECT).say(false, b"\x20\x02\x00\x00");
    let publish = [b"\x32\xa8\x1f\x00\x04test\x00\x01", &[b'x'; 4_000][..]].concat();
    talk.say(true, &publish)
        .say(false, b"\x40\x02\x00\x01")
        .acknowledge(true)
        .close();
    talk.packets
}

/// A datagram up or down.
pub(crate) fn datagram(up: bool, [device, server]: [u16; 2], content: &[u8]) -> Vec<u8> {
    let ports = udp::Repr {
        source_port: if up { device } else { server },
        destination_port: if up { server } else { device },
    };
    let mut packet = Vec::new();
    Repr::new(addresses(up), Protocol::Udp)
        .emit_udp(&ports, content, &mut packet)
        .expect("a packet");
    packet
}

/// A PUT of CoAP with `payload` bytes, as a datagram without its IP header: 8 B, 12 B of CoAP, the payload.
pub(crate) fn put(payload: usize) -> Vec<u8> {
    let content = [b"\x42\x03\x00\x01ab\xb4temp\xff".as_slice(), &vec![b'p'; payload]].concat();
    datagram(true, [50_000, 5_683], &content).split_off(20)
}

/// A datagram without its IP header, in fragments of at most `most` bytes.
pub(crate) fn fragments(datagram: &[u8], most: usize, addresses: Addresses) -> Vec<Vec<u8>> {
    let pieces = datagram.chunks(most).enumerate();
    let each = pieces.map(|(index, piece)| {
        let fragment = Fragment {
            id: 55,
            offset_bytes: (index * most) as u32,
            more: (index + 1) * most < datagram.len(),
        };
        let mut packet = Vec::new();
        Repr::new(addresses, Protocol::Udp)
            .emit_fragment(fragment, piece, &mut packet)
            .expect("a packet");
        packet
    });
    each.collect()
}

/// The same from the device over IPv4.
pub(crate) fn fragments_v4(datagram: &[u8]) -> Vec<Vec<u8>> {
    fragments(datagram, 1_480, addresses(true))
}

/// The same over IPv6, each with a Hop-by-Hop Options header of 8 B before its Fragment header.
pub(crate) fn fragments_v6(datagram: &[u8]) -> Vec<Vec<u8>> {
    let address = |last: u16| std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let addresses = Addresses::V6 {
        source: address(2),
        destination: address(1),
    };
    let with_options = |mut packet: Vec<u8>| {
        // The header has six bytes of padding (RFC 8200 sections 4.2 and 4.3).
        packet.splice(40..40, [packet[6], 0, 1, 4, 0, 0, 0, 0]);
        packet[6] = 0;
        let length = u16::try_from(packet.len() - 40).expect("a short packet");
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        packet
    };
    fragments(datagram, 1_224, addresses)
        .into_iter()
        .map(with_options)
        .collect()
}

/// A packet whose length field is zero.
pub(crate) fn without_length(mut packet: Vec<u8>) -> Vec<u8> {
    packet[2..4].fill(0);
    packet
}

pub(crate) fn ethernet(packet: &[u8]) -> Vec<u8> {
    behind_addresses(b"\x08\x00", packet)
}

/// A frame of Ethernet with these bytes between its addresses and the packet.
pub(crate) fn behind_addresses(head: &[u8], packet: &[u8]) -> Vec<u8> {
    [b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01", head, packet].concat()
}

/// All packets in frames.
pub(crate) fn framed(packets: &[Vec<u8>], frame: impl Fn(&[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    packets.iter().map(|packet| frame(packet)).collect()
}

/// A pcap file, little-endian with microseconds.
pub(crate) fn pcap(link_type: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    cut_pcap(link_type, 65_535, frames)
}

/// The same with a snap length.
pub(crate) fn cut_pcap(link_type: u16, snap: usize, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, snap as u32, link_type.into()]);
    for (index, frame) in frames.iter().enumerate() {
        let at = at_us(index);
        let cut = frame.get(..snap).unwrap_or(frame);
        let (seconds, micros) = ((at / 1_000_000) as u32, (at % 1_000_000) as u32);
        file.extend(words(&[seconds, micros, cut.len() as u32, frame.len() as u32]));
        file.extend(cut);
    }
    file
}

/// The time of the packet with this index.
pub(crate) const fn at_us(index: usize) -> u64 {
    FIRST_US + index as u64 * STEP_US
}

/// A pcapng file: a section with these blocks.
pub(crate) fn pcapng(blocks: &[Vec<u8>]) -> Vec<u8> {
    let section = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    [section, blocks.concat()].concat()
}

/// An interface with a name.
pub(crate) fn interface(link_type: u16, name: &str) -> Vec<u8> {
    let options = [option(2, name.as_bytes()), option(0, b"")].concat();
    block(1, &[words(&[link_type.into(), 0]), options].concat())
}

/// An enhanced packet block with options.
pub(crate) fn packet(interface: u32, at_us: u64, frame: &[u8], options: &[u8]) -> Vec<u8> {
    block(
        6,
        &[words(&[interface]), timed(at_us, frame), options.to_vec()].concat(),
    )
}

/// An obsolete packet block, with the number of packets lost before it.
pub(crate) fn obsolete(at_us: u64, frame: &[u8], lost: u16) -> Vec<u8> {
    block(
        2,
        &[words(&[u32::from(lost) << 16]), timed(at_us, frame)].concat(),
    )
}

/// An interface statistics block: packets that the interface and the system dropped.
pub(crate) fn statistics(interface: u32, [by_interface, by_system]: [u64; 2]) -> Vec<u8> {
    let options = [
        option(5, &by_interface.to_le_bytes()),
        option(7, &by_system.to_le_bytes()),
        option(0, b""),
    ];
    block(5, &[words(&[interface, 0, 0]), options.concat()].concat())
}

pub(crate) fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let head = words(&[u32::from(code) | (value.len() as u32) << 16]);
    padded([head, value.to_vec()].concat())
}

pub(crate) fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let body = padded(body.to_vec());
    let length = body.len() as u32 + 12;
    [words(&[kind, length]), body, words(&[length])].concat()
}

fn timed(at_us: u64, frame: &[u8]) -> Vec<u8> {
    let length = frame.len() as u32;
    let head = words(&[(at_us >> 32) as u32, at_us as u32, length, length]);
    padded([head, frame.to_vec()].concat())
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
