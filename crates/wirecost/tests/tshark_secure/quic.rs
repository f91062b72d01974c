//! A QUIC connection from tshark's decrypted frames: CRYPTO is security, what streams carry is HTTP/3's, the rest of
//! the datagram is transport.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use crate::books::{Books, Step, Sums};
use crate::common::frames::{Connection, Frame};

/// The fields that [`books`] reads.
pub(crate) const FIELDS: [&str; 17] = [
    "quic.long.packet_type",
    "quic.frame_type",
    "quic.crypto.offset",
    "quic.crypto.length",
    "quic.stream.stream_id",
    "quic.stream.off",
    "quic.stream.offset",
    "quic.stream.len",
    "quic.stream_data",
    "quic.header_form",
    "quic.packet_number",
    "quic.ack.largest_acknowledged",
    "quic.ack.ack_delay",
    "quic.ack.ack_range_count",
    "quic.ack.first_ack_range",
    "quic.ack.gap",
    "quic.ack.ack_range",
];

/// Frame types (RFC 9000, section 19).
const PADDING: u64 = 0x00;
const PING: u64 = 0x01;
const ACK: u64 = 0x02;
const STREAM: RangeInclusive<u64> = 0x08..=0x0f;
const CONNECTION_CLOSE: RangeInclusive<u64> = 0x1c..=0x1d;
/// A long packet type (RFC 9000, section 17.2.3).
const ZERO_RTT: u64 = 1;
/// draft-ietf-quic-ack-frequency, section 5.
const IMMEDIATE_ACK: u64 = 0x1f;
/// DATA (RFC 9114, section 7.2.1).
const DATA: u64 = 0x00;

/// A STREAM frame.
struct Stream {
    id: u64,
    offset: u64,
    header_bytes: u64,
    data: Vec<u8>,
}

impl Stream {
    /// Request streams are the client's bidirectional ones (RFC 9000, section 2.1): 0, 4, 8.
    const fn step(&self) -> Step {
        if self.id.is_multiple_of(4) {
            Step::Message(1 + self.id / 4)
        } else {
            Step::Connect
        }
    }
}

/// The books of one connection.
pub(crate) fn books(connection: &Connection) -> Books {
    let mut reader = Reader {
        books: Books::default(),
        begun: Step::Message(1),
        steps: Default::default(),
        payloads: payloads(connection),
    };
    connection.frames.iter().for_each(|frame| reader.datagram(frame));
    reader.books
}

/// Where payload is in each request stream, by stream and direction: what its first transmissions say together.
fn payloads(connection: &Connection) -> BTreeMap<(u64, usize), Vec<Range<u64>>> {
    let mut contents: BTreeMap<(u64, usize), Vec<u8>> = BTreeMap::new();
    for frame in &connection.frames {
        for stream in streams(frame).iter().filter(|stream| stream.id.is_multiple_of(4)) {
            let content = contents.entry((stream.id, frame.packet.way)).or_default();
            let (start, end) = (stream.offset as usize, stream.offset as usize + stream.data.len());
            content.resize(content.len().max(end), 0);
            content[start..end].copy_from_slice(&stream.data);
        }
    }
    let payloads = contents
        .into_iter()
        .map(|(key, content)| (key, data_ranges(&content)));
    payloads.collect()
}

/// Takes the datagrams of a connection in their order.
struct Reader {
    books: Books,
    /// The message underway.
    begun: Step,
    /// What the packets of the application's number space were for, by direction and number.
    steps: [BTreeMap<u64, Step>; 2],
    payloads: BTreeMap<(u64, usize), Vec<Range<u64>>>,
}

impl Reader {
    fn datagram(&mut self, frame: &Frame) {
        let way = frame.packet.way;
        let (streams, security) = (streams(frame), crypto_bytes(frame));
        let acknowledged = self.acknowledged(frame);
        let step = step_of(frame, &streams, acknowledged, self.begun);
        if let Some(number) = application_number(frame) {
            self.steps[way].insert(number, step);
        }
        let mut rest = frame.packet.wire_bytes - frame.packet.ip_bytes - security;
        for stream in streams {
            rest -= stream.header_bytes + stream.data.len() as u64;
            self.stream(&stream, way);
        }
        if let Step::Message(_) = step {
            self.begun = self.begun.max(step);
        }
        // An ACK is for what it acknowledges, whatever travels with it; of messages it is the last one's.
        let own = match acknowledged {
            Some(Step::Message(_)) => self.begun,
            other => other.unwrap_or(step),
        };
        let bytes = acknowledgement_bytes(frame);
        let of_acknowledgement = Sums {
            transport: bytes,
            ..Sums::default()
        };
        self.books.enter(own, way, &of_acknowledgement);
        let sums = Sums {
            packets: 1,
            ip: frame.packet.ip_bytes,
            transport: rest - bytes,
            security,
            ..Sums::default()
        };
        self.books.enter(step, way, &sums);
    }

    fn stream(&mut self, stream: &Stream, way: usize) {
        let end = stream.offset + stream.data.len() as u64;
        let ranges = self.payloads.get(&(stream.id, way)).into_iter().flatten();
        let overlap = |range: &Range<u64>| range.end.min(end).saturating_sub(range.start.max(stream.offset));
        let payload: u64 = ranges.map(overlap).sum();
        let sums = Sums {
            transport: stream.header_bytes,
            application: stream.data.len() as u64 - payload,
            payload,
            ..Sums::default()
        };
        self.books.enter(stream.step(), way, &sums);
    }

    /// What the packet was for that a datagram of the application's number space alone acknowledges.
    fn acknowledged(&self, frame: &Frame) -> Option<Step> {
        if is_handshake(frame) {
            return None;
        }
        let largest = frame.numbers("quic.ack.largest_acknowledged");
        let peer = &self.steps[1 - frame.packet.way];
        largest.first().map(|number| peer[number])
    }
}

/// Whether a datagram holds an Initial or a Handshake packet (RFC 9000, section 17.2).
fn is_handshake(frame: &Frame) -> bool {
    let types = frame.numbers("quic.long.packet_type");
    types.iter().any(|kind| *kind != ZERO_RTT)
}

/// The number of the datagram's 0-RTT or 1-RTT packet, which comes last (RFC 9000, section 12.2).
fn application_number(frame: &Frame) -> Option<u64> {
    let is_short = frame.numbers("quic.header_form").last() == Some(&0);
    let is_early = frame.numbers("quic.long.packet_type").last() == Some(&ZERO_RTT);
    let numbers = frame.numbers("quic.packet_number");
    numbers.last().copied().filter(|_| is_short || is_early)
}

/// A datagram is for what its first frame is for that is not about losses; one that only acknowledges is for what it
/// acknowledges, and a mere probe for the message underway.
fn step_of(frame: &Frame, streams: &[Stream], acknowledged: Option<Step>, underway: Step) -> Step {
    if is_handshake(frame) {
        return Step::Connect;
    }
    let types = frame.numbers("quic.frame_type");
    let mut others = types.iter().copied();
    match others.find(|kind| ![ACK, PADDING, IMMEDIATE_ACK].contains(kind)) {
        None if types.contains(&IMMEDIATE_ACK) => underway,
        None => acknowledged.expect("an acknowledgement"),
        Some(PING) => Step::KeepAlive,
        Some(kind) if STREAM.contains(&kind) => streams[0].step(),
        Some(kind) if CONNECTION_CLOSE.contains(&kind) => Step::Close,
        // CRYPTO, NEW_TOKEN, connection ids, paths and HANDSHAKE_DONE; what is left governs the flow.
        Some(0x06 | 0x07 | 0x18..=0x1b | 0x1e) => Step::Connect,
        Some(_) => underway,
    }
}

/// ACK frames whole (RFC 9000, section 19.3).
fn acknowledgement_bytes(frame: &Frame) -> u64 {
    let count = frame.numbers("quic.ack.largest_acknowledged").len() as u64;
    let integers = [
        "quic.ack.largest_acknowledged",
        "quic.ack.ack_delay",
        "quic.ack.ack_range_count",
        "quic.ack.first_ack_range",
        "quic.ack.gap",
        "quic.ack.ack_range",
    ];
    let integers = integers.iter().flat_map(|name| frame.numbers(name));
    count + integers.map(integer_bytes).sum::<u64>()
}

/// CRYPTO frames whole: type, offset, length and data (RFC 9000, section 19.6).
fn crypto_bytes(frame: &Frame) -> u64 {
    let lengths = frame.numbers("quic.crypto.length");
    let offsets = frame.numbers("quic.crypto.offset");
    assert_eq!(offsets.len(), lengths.len(), "frame {}", frame.packet.frame);
    let frames = offsets.into_iter().zip(lengths);
    frames
        .map(|(offset, length)| 1 + integer_bytes(offset) + integer_bytes(length) + length)
        .sum()
}

/// The STREAM frames of a datagram (RFC 9000, section 19.8).
fn streams(frame: &Frame) -> Vec<Stream> {
    let ids = frame.numbers("quic.stream.stream_id");
    let mut offsets = frame.numbers("quic.stream.offset").into_iter();
    let flags = |name| frame.numbers(name).into_iter().map(|flag| flag == 1);
    let flags = flags("quic.stream.off").zip(flags("quic.stream.len"));
    let contents = frame.texts("quic.stream_data").into_iter().map(bytes_of);
    let streams = ids.iter().zip(flags).zip(contents);
    let streams = streams.map(|((id, (has_offset, has_length)), data)| {
        let offset = if has_offset { offsets.next() } else { None };
        let length = has_length.then_some(data.len() as u64);
        let fields = [Some(*id), offset, length].into_iter().flatten();
        Stream {
            id: *id,
            offset: offset.unwrap_or(0),
            header_bytes: 1 + fields.map(integer_bytes).sum::<u64>(),
            data,
        }
    });
    let streams: Vec<Stream> = streams.collect();
    assert_eq!(streams.len(), ids.len(), "frame {}", frame.packet.frame);
    streams
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Bytes of a variable-length integer (RFC 9000, section 16).
const fn integer_bytes(value: u64) -> u64 {
    match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    }
}

/// The variable-length integer at the beginning of `bytes`, and what is behind it.
fn integer(bytes: &[u8]) -> (u64, &[u8]) {
    let length = 1 << (bytes[0] >> 6);
    let value = bytes[1..length]
        .iter()
        .fold(u64::from(bytes[0] & 0x3f), |value, byte| {
            value << 8 | u64::from(*byte)
        });
    (value, &bytes[length..])
}

/// Where the DATA frames of a request stream have their content (RFC 9114, section 7.1).
fn data_ranges(stream: &[u8]) -> Vec<Range<u64>> {
    let (mut rest, mut ranges) = (stream, Vec::new());
    while !rest.is_empty() {
        let (kind, behind) = integer(rest);
        let (length, behind) = integer(behind);
        let start = (stream.len() - behind.len()) as u64;
        if kind == DATA {
            ranges.push(start..start + length);
        }
        rest = &behind[length as usize..];
    }
    ranges
}
