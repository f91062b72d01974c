//! A TCP connection from tshark's fields: sequence numbers, what was sent before, and what the bytes are.

use crate::books::{Identity, Phase, Sums};
use crate::common::tshark::{Body, Packet, Segment, Told};

/// What a run of bytes of a direction is.
#[derive(Clone, Copy, Debug)]
struct Piece {
    bytes: u64,
    is_payload: bool,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Connect,
    Message,
    KeepAlive,
    Close,
}

/// One direction, positions counted from the SYN, which has 0.
#[derive(Debug, Default)]
struct Direction {
    initial: u32,
    pieces: Vec<Piece>,
    /// The position after the highest one sent so far.
    next: u64,
    /// The position of the FIN, once sent.
    fin: Option<u64>,
    /// What the other end has told of it.
    told: Told,
}

/// A connection whose packets are taken in their order.
#[derive(Debug)]
pub(crate) struct Connection {
    directions: [Direction; 2],
    identity: Identity,
    /// Positions at which messages begin, the warm-up message first.
    messages: Vec<u64>,
    /// Messages that precede the measured ones.
    warm_ups: usize,
    /// Messages whose sending has begun.
    begun: usize,
    /// What the last packet was.
    last: Kind,
}

impl Connection {
    /// The connection that `packets` are of: its packets are looked through once for what they carry.
    pub(crate) fn new(packets: &[&Packet], warm_ups: usize) -> Self {
        let mut connection = Self {
            warm_ups,
            directions: Default::default(),
            identity: Identity::default(),
            messages: Vec::new(),
            begun: 0,
            last: Kind::Connect,
        };
        let segments = packets
            .iter()
            .filter_map(|packet| segment_of(packet).map(|segment| (packet.way, segment)));
        let segments: Vec<(usize, &Segment)> = segments.collect();
        for way in 0..2 {
            let syn = segments.iter().find(|(of, segment)| *of == way && segment.syn);
            connection.directions[way].initial = syn.map_or(0, |(_, segment)| segment.sequence);
        }
        connection.describe(&segments);
        connection
    }

    fn describe(&mut self, segments: &[(usize, &Segment)]) {
        let bare = segments.iter().any(|(_, segment)| segment.server_port == 9);
        if bare {
            self.describe_bare(segments);
            return;
        }
        let (mut version, mut qos) = (0, 0);
        let mut seen = [0; 2];
        for (way, segment) in segments {
            let direction = &self.directions[*way];
            let end = direction.position(segment.sequence) + segment.content_bytes;
            // tshark shows the packets of some segments again when these are sent again.
            let is_new = end > seen[*way];
            seen[*way] = end.max(seen[*way]);
            for packet in segment.mqtt.iter().filter(|_| is_new) {
                version = packet.version.unwrap_or(version);
                let kind = kind_of(packet.kind);
                const PUBLISH: u8 = 3;
                if packet.kind == PUBLISH {
                    qos = packet.qos.unwrap_or(qos);
                    self.identity.payload_bytes = packet.payload_bytes;
                    self.messages.push(self.directions[*way].described());
                }
                let application = Piece {
                    bytes: packet.bytes - packet.payload_bytes,
                    is_payload: false,
                    kind,
                };
                let payload = Piece {
                    bytes: packet.payload_bytes,
                    is_payload: true,
                    kind,
                };
                self.directions[*way].pieces.extend([application, payload]);
            }
        }
        let name = if version == 5 { "mqtt5" } else { "mqtt" };
        self.identity.stack = format!("{name}-qos{qos}");
        for way in 0..2 {
            let (sent, described) = (
                sent(segments, way, &self.directions[way]),
                self.directions[way].described(),
            );
            assert_eq!(
                sent, described,
                "bytes sent, and bytes of the MQTT packets that tshark found"
            );
        }
    }

    /// Two messages of the same length, each behind its length in 4 bytes.
    fn describe_bare(&mut self, segments: &[(usize, &Segment)]) {
        let message = (sent(segments, 0, &self.directions[0]) - 1) / 2;
        self.identity = Identity {
            stack: "tcp".into(),
            payload_bytes: message - 4,
        };
        for _ in 0..2 {
            self.messages.push(self.directions[0].described());
            let prefix = Piece {
                bytes: 4,
                is_payload: false,
                kind: Kind::Message,
            };
            let payload = Piece {
                bytes: message - 4,
                is_payload: true,
                kind: Kind::Message,
            };
            self.directions[0].pieces.extend([prefix, payload]);
        }
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity.clone()
    }

    pub(crate) fn measured(&self) -> u64 {
        self.begun.saturating_sub(self.warm_ups) as u64
    }

    /// What the next packet is.
    pub(crate) fn packet(&mut self, packet: &Packet) -> (Phase, Sums) {
        let segment = segment_of(packet).expect("a segment");
        let direction = &mut self.directions[packet.way];
        let start = direction.position(segment.sequence) + u64::from(segment.syn);
        let content_end = start + segment.content_bytes;
        let (seen, first) = (direction.next, start - u64::from(segment.syn));
        let end = content_end + u64::from(segment.fin);
        if segment.fin {
            direction.fin = Some(content_end);
        }
        direction.next = direction.next.max(end);
        if packet.way == 0 {
            let begun = self
                .messages
                .iter()
                .filter(|position| **position < content_end)
                .count();
            self.begun = self.begun.max(begun);
        }
        let phase = self.phase(packet.way, segment, start);
        let direction = &self.directions[packet.way];
        let (application, payload) = direction.layers(start, content_end);
        let mut sums = Sums {
            packets: 1,
            ip: packet.ip_bytes,
            transport: segment.header_bytes,
            application,
            payload,
            ..Sums::default()
        };
        // A segment without content, SYN or FIN takes no sequence numbers: it cannot be sent again.
        if first < end && first < seen && !segment.rst {
            sums.retransmitted =
                packet.ip_bytes + segment.header_bytes + content_end.min(seen).saturating_sub(start);
        }
        (phase, sums)
    }

    fn phase(&mut self, way: usize, segment: &Segment, start: u64) -> Phase {
        let told = self.directions[1 - way].told_by(segment);
        let kind = if segment.content_bytes > 0 {
            self.directions[way].kind_at(start)
        } else if segment.syn {
            Kind::Connect
        } else if segment.fin || segment.rst {
            Kind::Close
        } else {
            told.map_or(self.last, |position| self.directions[1 - way].kind_at(position))
        };
        self.last = kind;
        match kind {
            Kind::Connect => Phase::Connect,
            Kind::KeepAlive => Phase::KeepAlive,
            Kind::Close => Phase::Close,
            Kind::Message if self.begun > self.warm_ups => Phase::Measured,
            Kind::Message => Phase::WarmUp,
        }
    }
}

impl Direction {
    /// Sequence numbers wrap (RFC 9293 section 3.4); a connection here is far shorter than their circle.
    fn position(&self, sequence: u32) -> u64 {
        u64::from(sequence.wrapping_sub(self.initial))
    }

    /// What a segment of the other end tells about, where it has no content.
    fn told_by(&mut self, segment: &Segment) -> Option<u64> {
        if segment.rst || (segment.syn && segment.acknowledgement == 0) {
            return None;
        }
        let reported = segment.reported.map(|right| self.position(right));
        let acknowledged = self.position(segment.acknowledgement);
        self.told.take(acknowledged, reported, segment.window, self.next)
    }

    /// The position after the bytes described so far.
    fn described(&self) -> u64 {
        1 + self.pieces.iter().map(|piece| piece.bytes).sum::<u64>()
    }

    fn kind_at(&self, position: u64) -> Kind {
        if position == 0 {
            return Kind::Connect;
        }
        if self.fin == Some(position) {
            return Kind::Close;
        }
        let piece = self
            .places()
            .find(|(start, piece)| (*start..start + piece.bytes).contains(&position));
        piece
            .unwrap_or_else(|| panic!("nothing is at position {position}"))
            .1
            .kind
    }

    /// Application bytes and payload bytes between two positions.
    fn layers(&self, start: u64, end: u64) -> (u64, u64) {
        let mut bytes = [0, 0];
        for (place, piece) in self.places() {
            let overlap = end.min(place + piece.bytes).saturating_sub(start.max(place));
            bytes[usize::from(piece.is_payload)] += overlap;
        }
        (bytes[0], bytes[1])
    }

    fn places(&self) -> impl Iterator<Item = (u64, &Piece)> {
        self.pieces.iter().scan(1, |next, piece| {
            let start = *next;
            *next += piece.bytes;
            Some((start, piece))
        })
    }
}

const fn segment_of(packet: &Packet) -> Option<&Segment> {
    match &packet.body {
        Body::Tcp(segment) => Some(segment),
        _ => None,
    }
}

/// The position after the last byte that a direction sent.
fn sent(segments: &[(usize, &Segment)], way: usize, direction: &Direction) -> u64 {
    let of_way = segments
        .iter()
        .filter(|(of, segment)| *of == way && segment.content_bytes > 0);
    let ends = of_way.map(|(_, segment)| direction.position(segment.sequence) + segment.content_bytes);
    ends.max().unwrap_or(1)
}

/// The phase of an MQTT packet by its type (MQTT 5 section 2.1.2).
fn kind_of(mqtt_type: u8) -> Kind {
    match mqtt_type {
        1 | 2 => Kind::Connect,
        3..=7 => Kind::Message,
        12 | 13 => Kind::KeepAlive,
        14 => Kind::Close,
        other => panic!("MQTT type {other} in a comparison"),
    }
}
