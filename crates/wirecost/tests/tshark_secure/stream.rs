//! A TLS connection from tshark's decrypted fields: the records of each direction, what they are for, and the packets
//! that carry them.

use crate::books::{Books, Step, Sums};
use crate::common::frames::{Connection, Frame};
use crate::common::tshark::{Body, Segment};

/// The fields that [`books`] reads.
pub(crate) const FIELDS: [&str; 11] = [
    "tls.record.content_type",
    "tls.record.length",
    "tls.handshake.type",
    "tls.handshake.ciphersuite",
    "mqtt.msgtype",
    "mqtt.len",
    "amqp.performative",
    "amqp.length",
    "amqp.data",
    "http.request.method",
    "http.content_length",
];

/// Record types (RFC 8446, appendix B.1).
const CHANGE_CIPHER_SPEC: u64 = 20;
const ALERT: u64 = 21;
const HANDSHAKE: u64 = 22;
const APPLICATION_DATA: u64 = 23;
/// A record's type, version and length (RFC 8446, section 5.1).
const HEADER_BYTES: u64 = 5;
/// Server hello (RFC 8446, appendix B.3).
const SERVER_HELLO: u64 = 2;

/// A record with its header.
#[derive(Clone, Copy, Debug)]
struct Record {
    bytes: u64,
    step: Step,
    inner: u64,
    payload: u64,
}

/// One direction; positions are counted from the SYN, which has 0.
#[derive(Debug, Default)]
struct Direction {
    initial: u32,
    records: Vec<Record>,
}

impl Direction {
    fn position(&self, sequence: u32) -> u64 {
        u64::from(sequence.wrapping_sub(self.initial))
    }

    /// What the byte at a position is for; what comes after the last record is the FIN.
    fn step_at(&self, position: u64) -> Step {
        if position == 0 {
            return Step::Connect;
        }
        let ends = self.records.iter().scan(1, |end, record| {
            *end += record.bytes;
            Some((*end, record.step))
        });
        let mut ends = ends;
        ends.find(|(end, _)| position < *end)
            .map_or(Step::Close, |(_, step)| step)
    }
}

/// The books of one connection.
pub(crate) fn books(connection: &Connection) -> Books {
    let directions = Reader::read(connection);
    let mut books = Books::default();
    for (way, direction) in directions.iter().enumerate() {
        for record in &direction.records {
            let sums = Sums {
                security: record.bytes - record.inner,
                application: record.inner - record.payload,
                payload: record.payload,
                ..Sums::default()
            };
            books.enter(record.step, way, &sums);
        }
    }
    for frame in &connection.frames {
        let headers = Sums {
            packets: 1,
            ip: frame.packet.ip_bytes,
            transport: frame.transport_bytes(),
            ..Sums::default()
        };
        books.enter(step_of(frame, &directions), frame.packet.way, &headers);
    }
    books
}

fn segment(frame: &Frame) -> &Segment {
    match &frame.packet.body {
        Body::Tcp(segment) => segment,
        other => panic!("frame {}: {other:?} on a stream", frame.packet.frame),
    }
}

/// A packet is for what its first byte is for, and without bytes for what it acknowledges.
fn step_of(frame: &Frame, directions: &[Direction; 2]) -> Step {
    let (way, segment) = (frame.packet.way, segment(frame));
    if segment.content_bytes > 0 {
        return directions[way].step_at(directions[way].position(segment.sequence));
    }
    if segment.syn {
        return Step::Connect;
    }
    if segment.fin || segment.rst {
        return Step::Close;
    }
    let peer = &directions[1 - way];
    peer.step_at(peer.position(segment.acknowledgement) - 1)
}

/// Reads the records of a connection in the order in which they were complete.
struct Reader<'a> {
    stack: &'a str,
    directions: [Direction; 2],
    /// Bytes that protect a record: nonce, tag and the true type (RFC 8446 section 5.2, RFC 5288 section 3).
    protection: u64,
    messages: u64,
    /// Bytes of application frames by tshark's own lengths, where it has them.
    framed: [u64; 2],
}

impl<'a> Reader<'a> {
    fn read(connection: &'a Connection) -> [Direction; 2] {
        let mut reader = Self {
            stack: &connection.cell,
            directions: Default::default(),
            protection: protection(connection),
            messages: 0,
            framed: [0; 2],
        };
        connection.frames.iter().for_each(|frame| reader.frame(frame));
        reader.check(connection);
        reader.directions
    }

    fn frame(&mut self, frame: &Frame) {
        let (way, segment) = (frame.packet.way, segment(frame));
        if segment.syn {
            self.directions[way].initial = segment.sequence;
        }
        let (types, lengths) = (
            frame.numbers("tls.record.content_type"),
            frame.numbers("tls.record.length"),
        );
        assert_eq!(
            types.len(),
            lengths.len(),
            "frame {}: decrypted",
            frame.packet.frame
        );
        let application = types.contains(&APPLICATION_DATA).then(|| self.application(frame));
        let mut payload = application.map_or(0, |(_, payload)| payload);
        self.framed[way] += framed_bytes(frame);
        for (kind, length) in types.into_iter().zip(lengths) {
            let (step, inner) = match kind {
                CHANGE_CIPHER_SPEC | HANDSHAKE => (Step::Connect, 0),
                ALERT => (Step::Close, 0),
                APPLICATION_DATA => {
                    let (step, _) = application.expect("application data");
                    (step, length - self.protection)
                }
                other => panic!("record type {other}"),
            };
            let of_record = payload.min(inner);
            payload -= of_record;
            let record = Record {
                bytes: HEADER_BYTES + length,
                step,
                inner,
                payload: of_record,
            };
            self.directions[way].records.push(record);
        }
        assert_eq!(
            payload, 0,
            "frame {}: payload outside records",
            frame.packet.frame
        );
    }

    /// What the application data of a frame is for, and how much of it is payload.
    fn application(&mut self, frame: &Frame) -> (Step, u64) {
        let is_up = frame.packet.way == 0;
        match self.stack {
            stack if stack.starts_with("mqtt") => self.mqtt(frame),
            stack if stack.starts_with("amqp") => self.amqp(frame),
            stack if stack.starts_with("http1") => {
                let is_request = frame.has("http.request.method");
                let payload = frame.numbers("http.content_length").iter().sum::<u64>();
                (self.message(is_request), if is_request { payload } else { 0 })
            }
            // The length in 4 bytes, and the payload in a record of its own or behind it.
            _ => {
                let lengths = frame.numbers("tls.record.length");
                let types = frame.numbers("tls.record.content_type");
                let of_data = types
                    .iter()
                    .zip(lengths)
                    .filter(|(kind, _)| **kind == APPLICATION_DATA);
                let inner: u64 = of_data.map(|(_, length)| length - self.protection).sum();
                (self.message(is_up), inner - 4)
            }
        }
    }

    fn message(&mut self, begins: bool) -> Step {
        self.messages += u64::from(begins);
        Step::Message(self.messages)
    }

    /// MQTT 5 section 2.1.2.
    fn mqtt(&mut self, frame: &Frame) -> (Step, u64) {
        const PUBLISH: u64 = 3;
        let kinds = frame.numbers("mqtt.msgtype");
        let Body::Tcp(Segment { mqtt, .. }) = &frame.packet.body else {
            panic!("frame {}: MQTT on a stream", frame.packet.frame);
        };
        let payload = mqtt.iter().map(|packet| packet.payload_bytes).sum();
        let step = match kinds.as_slice() {
            [1 | 2] => Step::Connect,
            [3..=7] => self.message(kinds[0] == PUBLISH),
            [14] => Step::Close,
            other => panic!("frame {}: MQTT types {other:?}", frame.packet.frame),
        };
        (step, payload)
    }

    /// AMQP 1.0 part 2, section 2.7, and part 5, section 5.3.3: the codes of performatives.
    fn amqp(&mut self, frame: &Frame) -> (Step, u64) {
        const FLOW: u64 = 0x13;
        const TRANSFER: u64 = 0x14;
        const DISPOSITION: u64 = 0x15;
        let codes = frame.numbers("amqp.performative");
        let hex: usize = frame.texts("amqp.data").iter().map(|text| text.len()).sum();
        let step = match codes.as_slice() {
            codes if codes.contains(&TRANSFER) => self.message(frame.packet.way == 0),
            codes if codes.contains(&DISPOSITION) => self.message(false),
            [FLOW] if self.messages > 0 => self.message(false),
            codes if codes.iter().all(|code| (0x16..=0x18).contains(code)) && !codes.is_empty() => {
                Step::Close
            }
            _ => Step::Connect,
        };
        (step, hex as u64 / 2)
    }

    /// What was sent is what was described, and what tshark calls a frame is what the records hold.
    fn check(&self, connection: &Connection) {
        for way in 0..2 {
            let of_way = connection.frames.iter().filter(|frame| frame.packet.way == way);
            let sent: u64 = of_way.map(|frame| segment(frame).content_bytes).sum();
            let records = &self.directions[way].records;
            let described: u64 = records.iter().map(|record| record.bytes).sum();
            assert_eq!(sent, described, "{}: segments and records", connection.cell);
            let inner: u64 = records.iter().map(|record| record.inner).sum();
            let header = if self.stack.starts_with("amqp") { 16 } else { 0 };
            if self.framed[way] > 0 {
                assert_eq!(inner, self.framed[way] + header, "{}: data", connection.cell);
            }
        }
    }
}

/// Bytes of MQTT packets and AMQP frames; AMQP's protocol headers, 8 bytes each, are no frames.
fn framed_bytes(frame: &Frame) -> u64 {
    let mqtt = frame.numbers("mqtt.len").into_iter().map(|remaining| {
        // MQTT 5 section 1.5.5: seven bits of the length in a byte.
        let length_bytes = 1 + u64::from(remaining > 127) + u64::from(remaining > 16_383);
        1 + length_bytes + remaining
    });
    mqtt.chain(frame.numbers("amqp.length")).sum()
}

/// What the negotiated suite adds to a record of application data.
fn protection(connection: &Connection) -> u64 {
    let hello = |frame: &&Frame| frame.numbers("tls.handshake.type").contains(&SERVER_HELLO);
    let frame = connection.frames.iter().find(hello).expect("a server hello");
    match frame.numbers("tls.handshake.ciphersuite").as_slice() {
        [0x1301..=0x1303] => 1 + 16,
        // AES-GCM of TLS 1.2.
        [0xc02b | 0xc02c | 0xc02f | 0xc030] => 8 + 16,
        other => panic!("cipher suites {other:x?}"),
    }
}
