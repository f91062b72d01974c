//! The readings of a device in a capture.

use std::time::Duration;

use wirecost_cost::messages::UDP_HEADER;
use wirecost_cost::{DeviceEvent, Messages, ObservedPacket, Observer};
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

/// The fewest bytes of an encrypted record that may hold a reading. A TLS 1.3 record has 17 B beside its content, one of TLS 1.2
/// or DTLS 1.2 at most 24 B: smaller ones have room for an alert, for MQTT's PINGREQ, DISCONNECT and acknowledgements, and for
/// AMQP's empty frame.
pub const SMALLEST_RECORD: u64 = 33;
/// The same of a QUIC packet, whose header is encrypted too: smaller ones hold ACKs and the settings of HTTP/3.
pub const SMALLEST_QUIC: u64 = 61;
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
    ways: [Messages; 2],
    packets: u64,
    is_new: bool,
    quic_is_full: bool,
}

/// A record up whose content is encrypted.
#[derive(Clone, Copy, Debug)]
struct Record {
    at: Instant,
    /// The number of the packet with its first byte.
    packet: u64,
    /// Bytes behind its header.
    bytes: u64,
    is_quic: bool,
    /// Whether it is the first one of a connection.
    is_first: bool,
}

impl Readings {
    /// The encrypted records up that may hold readings, those of a packet as one, and how many records are left out: the small
    /// ones, and with `mqtt` the first one of each connection, which is its CONNECT.
    pub fn encrypted(&self, mqtt: bool) -> (Vec<Reading>, u64) {
        let mut kept: Vec<(u64, Reading)> = Vec::new();
        let mut left_out = 0;
        for record in &self.records {
            let smallest = if record.is_quic {
                SMALLEST_QUIC
            } else {
                SMALLEST_RECORD
            };
            if record.bytes < smallest || (mqtt && record.is_first) {
                left_out += 1;
                continue;
            }
            match kept.last_mut().filter(|(packet, _)| *packet == record.packet) {
                Some((_, (_, bytes))) => *bytes += record.bytes,
                None => kept.push((record.packet, (record.at, record.bytes))),
            }
        }
        (kept.into_iter().map(|(_, reading)| reading).collect(), left_out)
    }

    fn payload(&mut self, packet: &ObservedPacket<'_>) {
        let seen = match packet.direction {
            Direction::Up => &mut self.seen,
            Direction::Down => &mut self.down,
        };
        self.ways[packet.direction as usize].packet(packet, |bytes, begins| match seen.last_mut() {
            Some(last) if !begins => last.1 += u64::from(bytes),
            _ => seen.push((packet.at, bytes.into())),
        });
    }

    /// Notes the records of a packet up without payload.
    fn closed(&mut self, packet: &ObservedPacket<'_>) {
        let is_message = |span: &Span| span.phase == Phase::Message && span.cause == Cause::Original;
        let mut begins = transport(packet, |_| true) == UDP_HEADER;
        let mut has_content = false;
        for span in packet.spans.iter().filter(|span| is_message(span)) {
            begins |= span.layer == Layer::Security;
            if span.layer != Layer::Application {
                continue;
            }
            has_content = true;
            self.record(packet.at, span.len.into(), begins, false);
            begins = false;
        }
        let quic = u64::from(transport(packet, is_message).saturating_sub(UDP_HEADER));
        let is_connect = |span: &Span| span.phase == Phase::Connect;
        let is_handshake = packet.spans.iter().any(is_connect);
        // A header of TCP has at most 60 B.
        if !has_content && !is_handshake && quic >= SMALLEST_QUIC {
            let begins = !std::mem::replace(&mut self.quic_is_full, quic >= FULL_QUIC);
            self.record(packet.at, quic, begins, true);
        }
    }

    fn record(&mut self, at: Instant, bytes: u64, begins: bool, is_quic: bool) {
        match self.records.last_mut() {
            Some(last) if !begins => last.bytes += bytes,
            _ => {
                let is_first = std::mem::take(&mut self.is_new);
                self.records.push(Record {
                    at,
                    packet: self.packets,
                    bytes,
                    is_quic,
                    is_first,
                });
            }
        }
    }
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
        if packet.direction == Direction::Up && !has_payload {
            self.closed(packet);
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
    for part in sorted.chunks(sorted.len().div_ceil(most)) {
        let count = part.len() as u64;
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
