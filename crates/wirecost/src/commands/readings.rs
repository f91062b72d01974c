//! The readings of a device in a capture.

mod found;

use std::time::Duration;

use wirecost_cost::messages::UDP_HEADER;
use wirecost_cost::{DeviceEvent, Messages, ObservedPacket, Observer};
use wirecost_proto::{BothWays, Cause, Direction, Instant, Layer, Phase, Span};

use found::By;
pub use found::{Found, Hidden};

/// The fewest bytes of an encrypted record that may hold a reading. A TLS 1.3 record has 17 B beside its content, one of TLS 1.2
/// or DTLS 1.2 at most 24 B: smaller ones have room for an alert, for MQTT's PINGREQ, DISCONNECT and acknowledgements, and for
/// AMQP's empty frame.
const SMALLEST_RECORD: u64 = 33;
/// The same of a QUIC packet, whose header is encrypted too: smaller ones hold ACKs and the settings of HTTP/3.
const SMALLEST_QUIC: u64 = 61;
/// CONNACK of MQTT with the usual properties is below this, with TLS; a ticket of TLS is not (RFC 8446 section 4.6.1).
const LARGEST_CONNACK: u64 = 61;
/// The port of MQTT in a secure channel, whose first record on a connection is CONNECT (MQTT 5, section 3.1).
const SECURE_MQTT: u16 = 8883;
/// A QUIC packet up of this size is full: the next one continues the reading.
const FULL_QUIC: u64 = 1_100;

/// A time, and the bytes that a device sent or got at that time.
pub type Reading = (Instant, u64);

/// Notes the time and size of each reading of a device, by direction: its [`Messages`].
#[derive(Debug, Default)]
pub struct Readings {
    /// Time and payload bytes of each reading that the device sends.
    pub seen: Vec<Reading>,
    /// The same of those that it gets.
    pub down: Vec<Reading>,
    /// Bytes of IP packets by layer, both ways.
    pub layers: [u64; 5],
    /// Connections that the device started.
    pub connects: u64,
    records: Vec<Record>,
    ways: BothWays<Messages>,
    packets: u64,
    is_new: bool,
    quic_is_full: bool,
}

/// A record up whose content is encrypted.
#[derive(Clone, Debug)]
struct Record {
    at: Instant,
    /// The number of the packet with its first byte.
    packet: u64,
    /// Bytes behind its header.
    bytes: u64,
    is_quic: bool,
    /// Whether it is in a datagram: the answers of CoAP are as short as CONNACK.
    is_datagram: bool,
    /// Whether it is the first one of a connection.
    is_first: bool,
    /// The bytes of the records down between it and the next one up.
    answers: Vec<u64>,
}

impl Record {
    const fn is_small(&self) -> bool {
        let smallest = match self.is_quic {
            true => SMALLEST_QUIC,
            false => SMALLEST_RECORD,
        };
        self.bytes < smallest
    }

    fn has_answer_below(&self, bytes: u64) -> bool {
        self.answers.iter().any(|answer| *answer < bytes)
    }

    fn has_large_answer(&self) -> bool {
        self.answers.iter().any(|answer| *answer >= SMALLEST_RECORD)
    }
}

/// Whether the first record of a connection opens it, as MQTT's CONNECT does, and is no reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Yes,
    No,
    Unclear,
}

impl Opening {
    /// Judges a connection by its records up and what came down between them.
    ///
    /// A server of MQTT answers CONNECT with CONNACK, and publications with nothing or with acknowledgements, which are small
    /// (MQTT 5, sections 3.2 and 3.4). The answers of HTTP are not: a status line and a field take more.
    fn from_records(records: &[Record]) -> Self {
        let Some((first, later)) = records.split_first() else {
            return Self::No;
        };
        let is_alone = later.iter().all(Record::is_small);
        // The only record of a connection is its reading. One that is small is left out in any case.
        if first.is_quic || first.is_datagram || first.is_small() || is_alone {
            return Self::No;
        }
        let large = later.iter().filter(|record| record.has_large_answer()).count();
        if 2 * large > later.len() {
            Self::No
        } else if first.has_answer_below(LARGEST_CONNACK) {
            Self::Yes
        } else {
            Self::Unclear
        }
    }
}

impl Readings {
    /// The readings that the device sends: its payload or, where nothing could be decrypted, its records.
    pub fn found(&self, hidden: Hidden) -> Found {
        let of_payload = |by| Found {
            readings: self.seen.clone(),
            by,
        };
        match hidden {
            Hidden::Nothing => of_payload(By::Payload),
            Hidden::Content | Hidden::Mqtt if !self.seen.is_empty() => of_payload(By::SomePayload),
            Hidden::Content => self.encrypted(false),
            Hidden::Mqtt => self.encrypted(true),
        }
    }

    /// The encrypted records up that may hold readings, those of a packet as one. With `mqtt` the first one of each connection is
    /// CONNECT.
    fn encrypted(&self, mqtt: bool) -> Found {
        let mut kept: Vec<(u64, Reading)> = Vec::new();
        let [mut small, mut openings, mut unclear] = [0; 3];
        for connection in self.records.chunk_by(|_, next| !next.is_first) {
            let opening = match mqtt {
                true => Opening::Yes,
                false => Opening::from_records(connection),
            };
            for record in connection {
                if record.is_small() {
                    small += 1;
                    continue;
                }
                // A CONNECT is no reading, but encrypted it has the size of one.
                if record.is_first && opening == Opening::Yes {
                    openings += 1;
                    continue;
                }
                unclear += u64::from(record.is_first && opening == Opening::Unclear);
                match kept.last_mut().filter(|(packet, _)| *packet == record.packet) {
                    Some((_, (_, bytes))) => *bytes += record.bytes,
                    None => kept.push((record.packet, (record.at, record.bytes))),
                }
            }
        }
        Found {
            readings: kept.into_iter().map(|(_, reading)| reading).collect(),
            by: By::Records {
                small,
                openings,
                unclear,
            },
        }
    }

    fn payload(&mut self, packet: &ObservedPacket<'_>) {
        let seen = match packet.direction {
            Direction::Up => &mut self.seen,
            Direction::Down => &mut self.down,
        };
        self.ways[packet.direction].packet(packet, |part| match seen.last_mut() {
            Some(last) if !part.begins => last.1 += u64::from(part.payload_bytes),
            _ => seen.push((packet.at, part.payload_bytes.into())),
        });
    }

    /// Notes the records of a packet up without payload.
    fn closed(&mut self, packet: &ObservedPacket<'_>) {
        let mut has_content = false;
        for (bytes, begins) in records(packet) {
            has_content = true;
            self.record(packet, bytes, begins, false);
        }
        let quic = u64::from(transport(packet, is_message).saturating_sub(UDP_HEADER));
        let is_connect = |span: &Span| span.phase == Phase::Connect;
        let is_handshake = packet.spans.iter().any(is_connect);
        // A header of TCP has at most 60 B.
        if !has_content && !is_handshake && quic >= SMALLEST_QUIC {
            let begins = !std::mem::replace(&mut self.quic_is_full, quic >= FULL_QUIC);
            self.record(packet, quic, begins, true);
        }
    }

    /// Notes the records of a packet down as answers to the last one up.
    fn answer(&mut self, packet: &ObservedPacket<'_>) {
        let Some(last) = self.records.last_mut().filter(|_| !self.is_new) else {
            return;
        };
        for (bytes, begins) in records(packet) {
            match last.answers.last_mut() {
                Some(answer) if !begins => *answer += bytes,
                _ => last.answers.push(bytes),
            }
        }
    }

    fn record(&mut self, packet: &ObservedPacket<'_>, bytes: u64, begins: bool, is_quic: bool) {
        match self.records.last_mut() {
            Some(last) if !begins => last.bytes += bytes,
            _ => {
                let is_first = std::mem::take(&mut self.is_new);
                self.records.push(Record {
                    at: packet.at,
                    packet: self.packets,
                    bytes,
                    is_quic,
                    is_datagram: transport(packet, |_| true) == UDP_HEADER,
                    is_first,
                    answers: Vec::new(),
                });
            }
        }
    }
}

/// Whether a span belongs to a message, for the first time.
fn is_message(span: &Span) -> bool {
    span.phase == Phase::Message && span.cause == Cause::Original
}

/// The records in a packet whose content is encrypted: their bytes in it, and whether they begin in it.
fn records(packet: &ObservedPacket<'_>) -> impl Iterator<Item = (u64, bool)> {
    let mut begins = transport(packet, |_| true) == UDP_HEADER;
    let spans = packet.spans.iter().filter(|span| is_message(span));
    spans.filter_map(move |span| {
        begins |= span.layer == Layer::Security;
        (span.layer == Layer::Application).then(|| (span.len.into(), std::mem::take(&mut begins)))
    })
}

/// Bytes of the transport layer's spans that `is` selects.
fn transport(packet: &ObservedPacket<'_>, is: impl Fn(&Span) -> bool) -> u32 {
    let spans = packet.spans.iter().filter(|span| span.layer == Layer::Transport);
    spans.filter(|span| is(span)).map(|span| span.len).sum()
}

impl Observer for Readings {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.packets += 1;
        for span in packet.spans {
            self.layers[span.layer as usize] += u64::from(span.len);
        }
        self.payload(packet);
        let has_payload = packet.spans.iter().any(|span| span.layer == Layer::Payload);
        match packet.direction {
            _ if has_payload => {}
            Direction::Up => self.closed(packet),
            Direction::Down => self.answer(packet),
        }
    }

    fn event(&mut self, _at: Instant, event: DeviceEvent) {
        if event == DeviceEvent::Connect {
            self.connects += 1;
            self.is_new = true;
        }
    }
}

/// The middle value, the lower one of two.
pub fn median<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// The times from one reading to the next.
fn gaps(readings: &[Reading]) -> Vec<Duration> {
    let pairs = readings.windows(2);
    pairs.map(|pair| pair[1].0.saturating_since(pair[0].0)).collect()
}

/// The median time from one reading to the next; whole milliseconds from a second on.
pub fn interval(readings: &[Reading]) -> Option<Duration> {
    let gap = median(gaps(readings)).filter(|gap| !gap.is_zero())?;
    let millis = gap.saturating_add(Duration::from_micros(500)).as_millis() as u64;
    Some(if millis < 1_000 {
        gap
    } else {
        Duration::from_millis(millis)
    })
}

/// Whether a time from one reading to the next is more than a tenth away from an interval.
pub fn is_irregular(readings: &[Reading], interval: Duration) -> bool {
    gaps(readings)
        .iter()
        .any(|gap| gap.abs_diff(interval) > interval / 10)
}

/// The sizes that are simulated, each with its number of readings: every size, if there are at most `most`; otherwise the means
/// of `most` equal parts of the sorted sizes.
pub fn sizes(readings: &[Reading], most: usize) -> Vec<(u64, u64)> {
    let mut sorted: Vec<u64> = readings.iter().map(|(_, size)| *size).collect();
    sorted.sort_unstable();
    let alike = sorted.chunk_by(|one, other| one == other);
    let each: Vec<(u64, u64)> = alike.map(|part| (part[0], part.len() as u64)).collect();
    if each.len() <= most {
        return each;
    }
    let mut sizes: Vec<(u64, u64)> = Vec::new();
    // Parts of equal numbers and not of equal widths: rare large readings must not take most of the sizes.
    for part in sorted.chunks(sorted.len().div_ceil(most)) {
        let count = part.len() as u64;
        // Rounded to the nearest: rounded down, the mix would have fewer bytes than the capture.
        let mean = (part.iter().sum::<u64>() + count / 2) / count;
        match sizes.last_mut().filter(|last| last.0 == mean) {
            Some(last) => last.1 += count,
            None => sizes.push((mean, count)),
        }
    }
    sizes
}

#[cfg(test)]
mod tests;
