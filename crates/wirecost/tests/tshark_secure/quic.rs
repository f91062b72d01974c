//! A QUIC connection from tshark's decrypted frames: CRYPTO is security, what streams carry is HTTP/3's, the rest of
//! the datagram is transport.

use std::collections::BTreeMap;

use crate::books::{Books, Step, Sums};
use crate::common::frames::{Connection, Frame};

/// The fields that [`books`] reads.
pub(crate) const FIELDS: [&str; 10] = [
    "quic.long.packet_type",
    "quic.frame_type",
    "quic.crypto.offset",
    "quic.crypto.length",
    "quic.stream.stream_id",
    "quic.stream.off",
    "quic.stream.offset",
    "quic.stream.len",
    "quic.stream_data",
    "tls.handshake.type",
];

/// Frame types (RFC 9000, section 19).
const PADDING: u64 = 0x00;
const ACK: u64 = 0x02;
const CONNECTION_CLOSE: std::ops::RangeInclusive<u64> = 0x1c..=0x1d;
/// DATA (RFC 9114, section 7.2.1).
const DATA: u64 = 0x00;

/// A STREAM frame.
struct Stream {
    id: u64,
    header_bytes: u64,
    data: Vec<u8>,
}

impl Stream {
    /// Request streams are the client's bidirectional ones (RFC 9000, section 2.1): 0, 4, 8.
    const fn step(&self) -> Step {
        if self.id % 4 == 0 {
            Step::Message(1 + self.id / 4)
        } else {
            Step::Connect
        }
    }
}

/// The books of one connection.
pub(crate) fn books(connection: &Connection) -> Books {
    let mut books = Books::default();
    let mut last = [Step::Connect; 2];
    let mut contents: BTreeMap<(u64, usize), Vec<u8>> = BTreeMap::new();
    for frame in &connection.frames {
        let way = frame.packet.way;
        let (streams, security) = (streams(frame), crypto_bytes(frame));
        let step = step_of(frame, &streams, last[1 - way]);
        last[way] = step;
        let mut rest = frame.packet.wire_bytes - frame.packet.ip_bytes - security;
        for stream in streams {
            let data = stream.data.len() as u64;
            rest -= stream.header_bytes + data;
            let sums = Sums {
                transport: stream.header_bytes,
                application: data,
                ..Sums::default()
            };
            books.enter(stream.step(), way, &sums);
            contents.entry((stream.id, way)).or_default().extend(stream.data);
        }
        let sums = Sums {
            packets: 1,
            ip: frame.packet.ip_bytes,
            transport: rest,
            security,
            ..Sums::default()
        };
        books.enter(step, way, &sums);
    }
    let requests = contents.iter().filter(|((id, _), _)| id % 4 == 0);
    for ((id, way), content) in requests {
        books.is_payload(Step::Message(1 + id / 4), *way, data_bytes(content));
    }
    books
}

/// A datagram is for its message, for the close, or for the connect; one that only acknowledges is for what the peer
/// sent last.
fn step_of(frame: &Frame, streams: &[Stream], acknowledged: Step) -> Step {
    const INITIAL: u64 = 0;
    let types = frame.numbers("quic.frame_type");
    if frame.numbers("quic.long.packet_type").contains(&INITIAL) {
        return Step::Connect;
    }
    if let Some(stream) = streams.iter().find(|stream| stream.id % 4 == 0) {
        return stream.step();
    }
    if types.iter().any(|kind| CONNECTION_CLOSE.contains(kind)) {
        return Step::Close;
    }
    let only_acknowledges = types.iter().all(|kind| [ACK, PADDING].contains(kind));
    if only_acknowledges { acknowledged } else { Step::Connect }
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
        .fold(u64::from(bytes[0] & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    (value, &bytes[length..])
}

/// What the DATA frames of a request stream hold (RFC 9114, section 7.1).
fn data_bytes(stream: &[u8]) -> u64 {
    let (mut rest, mut bytes) = (stream, 0);
    while !rest.is_empty() {
        let (kind, behind) = integer(rest);
        let (length, behind) = integer(behind);
        if kind == DATA {
            bytes += length;
        }
        rest = &behind[length as usize..];
    }
    bytes
}
