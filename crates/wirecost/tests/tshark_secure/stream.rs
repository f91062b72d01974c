//! A TLS connection from tshark's decrypted fields: the records of each direction, what they are for, and the packets
//! that carry them.

use crate::books::{Books, Step, Sums};
use crate::common::frames::{Connection, Frame};
use crate::common::tshark::{Body, Segment, Told};

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

/// A layer that a record's bytes belong to.
#[derive(Clone, Copy, Debug)]
enum Layer {
    Security,
    Application,
    Payload,
}

/// A run of bytes of one layer.
#[derive(Clone, Copy, Debug)]
struct Piece {
    bytes: u64,
    layer: Layer,
    step: Step,
}

/// One direction; positions are counted from the SYN, which has 0.
#[derive(Debug, Default)]
struct Direction {
    initial: u32,
    /// The position behind the last byte whose records were read.
    read: u64,
    pieces: Vec<Piece>,
    /// Bytes within records of application data.
    inner: u64,
}

impl Direction {
    fn position(&self, sequence: u32) -> u64 {
        u64::from(sequence.wrapping_sub(self.initial))
    }

    /// A record that is the security layer's whole.
    fn sealed(&mut self, step: Step, length: u64) {
        self.pieces.push(Piece {
            bytes: HEADER_BYTES + length,
            layer: Layer::Security,
            step,
        });
    }

    /// A record of application data; the payload comes last in it.
    fn data(&mut self, step: Step, inner: u64, payload: u64, [before, after]: [u64; 2]) {
        let pieces = [
            (HEADER_BYTES + before, Layer::Security),
            (inner - payload, Layer::Application),
            (payload, Layer::Payload),
            (after, Layer::Security),
        ];
        let pieces = pieces.map(|(bytes, layer)| Piece { bytes, layer, step });
        self.pieces.extend(pieces);
        self.inner += inner;
    }

    /// The pieces with the positions at which they begin.
    fn places(&self) -> impl Iterator<Item = (u64, &Piece)> {
        self.pieces.iter().scan(1, |next, piece| {
            let start = *next;
            *next += piece.bytes;
            Some((start, piece))
        })
    }

    /// The position behind all that was described.
    fn end(&self) -> u64 {
        1 + self.pieces.iter().map(|piece| piece.bytes).sum::<u64>()
    }

    /// What the byte at a position is for; what comes after the last record is the FIN.
    fn step_at(&self, position: u64) -> Step {
        if position == 0 {
            return Step::Connect;
        }
        let mut places = self.places();
        let place = places.find(|(start, piece)| (*start..start + piece.bytes).contains(&position));
        place.map_or(Step::Close, |(_, piece)| piece.step)
    }

    /// Enters what is between two positions.
    fn enter(&self, start: u64, end: u64, way: usize, books: &mut Books) {
        for (place, piece) in self.places() {
            let bytes = end.min(place + piece.bytes).saturating_sub(start.max(place));
            let mut sums = Sums::default();
            match piece.layer {
                Layer::Security => sums.security = bytes,
                Layer::Application => sums.application = bytes,
                Layer::Payload => sums.payload = bytes,
            }
            books.enter(piece.step, way, &sums);
        }
    }
}

/// The books of one connection.
pub(crate) fn books(connection: &Connection) -> Books {
    let directions = Reader::read(connection);
    let (mut books, mut begun) = (Books::default(), Step::Message(1));
    let (mut told, mut sent, mut last) = ([Told::default(); 2], [0; 2], Step::Connect);
    for frame in &connection.frames {
        let (way, segment) = (frame.packet.way, segment(frame));
        let direction = &directions[way];
        let headers = Sums {
            packets: 1,
            ip: frame.packet.ip_bytes,
            transport: frame.transport_bytes(),
            ..Sums::default()
        };
        let start = direction.position(segment.sequence);
        let end = start + segment.content_bytes + u64::from(segment.syn) + u64::from(segment.fin);
        sent[way] = end.max(sent[way]);
        let told = told_by(segment, &directions[1 - way], sent[1 - way], &mut told[way]);
        let told = told.map_or(last, |position| directions[1 - way].step_at(position));
        last = step_of(frame, &directions).unwrap_or(told);
        // An acknowledgement that is sent again is of the message underway, whatever it repeats.
        let step = match last {
            Step::Message(number) => begun.max(Step::Message(number)),
            step => step,
        };
        if let Step::Message(_) = step {
            begun = step;
        }
        books.enter(step, way, &headers);
        direction.enter(start, start + segment.content_bytes, way, &mut books);
    }
    books
}

fn segment(frame: &Frame) -> &Segment {
    match &frame.packet.body {
        Body::Tcp(segment) => segment,
        other => panic!("frame {}: {other:?} on a stream", frame.packet.frame),
    }
}

/// A packet is for what its first byte is for; `None` where it carries nothing.
fn step_of(frame: &Frame, directions: &[Direction; 2]) -> Option<Step> {
    let (way, segment) = (frame.packet.way, segment(frame));
    if segment.content_bytes > 0 {
        return Some(directions[way].step_at(directions[way].position(segment.sequence)));
    }
    if segment.syn {
        return Some(Step::Connect);
    }
    (segment.fin || segment.rst).then_some(Step::Close)
}

/// What a segment tells about the other direction, which has sent everything before `sent`.
fn told_by(segment: &Segment, other: &Direction, sent: u64, told: &mut Told) -> Option<u64> {
    if segment.rst || (segment.syn && segment.acknowledgement == 0) {
        return None;
    }
    let reported = segment.reported.map(|right| other.position(right));
    let acknowledged = other.position(segment.acknowledgement);
    told.take(acknowledged, reported, segment.window, sent)
}

/// Reads the records of a connection in the order in which they were complete.
struct Reader<'a> {
    stack: &'a str,
    directions: [Direction; 2],
    /// Bytes that protect a record before and behind its data: nonce; tag and true type (RFC 8446 section 5.2, RFC
    /// 5288 section 3).
    protection: [u64; 2],
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
        let direction = &mut self.directions[way];
        if segment.syn {
            direction.initial = segment.sequence;
        }
        // tshark shows the records of some segments again when these are sent again.
        let end = direction.position(segment.sequence) + segment.content_bytes;
        if end <= direction.read {
            return;
        }
        direction.read = end;
        let types = frame.numbers("tls.record.content_type");
        let lengths = frame.numbers("tls.record.length");
        let place = frame.packet.frame;
        assert_eq!(types.len(), lengths.len(), "frame {place}: decrypted");
        let application = types.contains(&APPLICATION_DATA).then(|| self.application(frame));
        let (step, mut payload) = application.unwrap_or((Step::Connect, 0));
        self.framed[way] += framed_bytes(frame);
        for (kind, length) in types.into_iter().zip(lengths) {
            let direction = &mut self.directions[way];
            match kind {
                CHANGE_CIPHER_SPEC | HANDSHAKE => direction.sealed(Step::Connect, length),
                ALERT => direction.sealed(Step::Close, length),
                APPLICATION_DATA => {
                    let inner = length - self.protection.iter().sum::<u64>();
                    let of_record = payload.min(inner);
                    payload -= of_record;
                    direction.data(step, inner, of_record, self.protection);
                }
                other => panic!("frame {place}: record type {other}"),
            }
        }
        assert_eq!(payload, 0, "frame {place}: payload outside records");
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
                let inner: u64 = of_data
                    .map(|(_, length)| length - self.protection.iter().sum::<u64>())
                    .sum();
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
            let direction = &self.directions[way];
            let of_way = connection.frames.iter().filter(|frame| frame.packet.way == way);
            let ends = of_way.map(|frame| {
                let segment = segment(frame);
                direction.position(segment.sequence) + segment.content_bytes
            });
            let has_content = direction.end() > 1;
            let sent = ends.max().filter(|_| has_content);
            let fin = sent.map(|sent| sent - direction.end());
            assert!(
                matches!(fin, None | Some(0 | 1)),
                "{}: segments and records",
                connection.cell
            );
            let header = if self.stack.starts_with("amqp") { 16 } else { 0 };
            if self.framed[way] > 0 {
                assert_eq!(
                    direction.inner,
                    self.framed[way] + header,
                    "{}: data",
                    connection.cell
                );
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

/// What the negotiated suite adds to a record of application data, before and behind it.
fn protection(connection: &Connection) -> [u64; 2] {
    let hello = |frame: &&Frame| frame.numbers("tls.handshake.type").contains(&SERVER_HELLO);
    let frame = connection.frames.iter().find(hello).expect("a server hello");
    match frame.numbers("tls.handshake.ciphersuite").as_slice() {
        [0x1301..=0x1303] => [0, 1 + 16],
        // AES-GCM of TLS 1.2.
        [0xc02b | 0xc02c | 0xc02f | 0xc030] => [8, 16],
        other => panic!("cipher suites {other:x?}"),
    }
}
