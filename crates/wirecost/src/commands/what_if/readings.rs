//! The readings of a device in a capture.

use std::time::Duration;

use wirecost_cost::{DeviceEvent, ObservedPacket, Observer};
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

/// Bytes of a UDP header: such a datagram is a reading of its own, even without a header of the application.
const UDP_HEADER: u32 = 8;

/// Notes the time and size of each reading that a device sends.
///
/// A reading starts with payload behind bytes of the application, or with payload alone in a UDP datagram. Payload that
/// follows without them, e.g. in the next TCP segment, belongs to the same reading.
#[derive(Debug, Default)]
pub struct Readings {
    /// Time and payload bytes of each.
    pub seen: Vec<(Instant, u64)>,
    /// Time and bytes of packets up with bytes of the application and no payload: records that could not be decrypted.
    pub records: Vec<(Instant, u64)>,
    /// Bytes of IP packets, both ways.
    pub wire_bytes: u64,
    /// Connections that the device started.
    pub connects: u64,
    begins: bool,
}

impl Observer for Readings {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.wire_bytes += packet.wire_bytes();
        if packet.direction == Direction::Down {
            return;
        }
        let of = |layer: Layer| packet.spans.iter().filter(move |span| span.layer == layer);
        let transport: u32 = of(Layer::Transport).map(|span| span.len).sum();
        let mut is_alone = transport == UDP_HEADER;
        for span in packet.spans {
            let payload = u64::from(Span::original_payload_bytes(span));
            if payload == 0 {
                self.begins |= span.layer == Layer::Application;
                continue;
            }
            match self.seen.last_mut() {
                Some(last) if !self.begins && !is_alone => last.1 += payload,
                _ => self.seen.push((packet.at, payload)),
            }
            (self.begins, is_alone) = (false, false);
        }
        let is_message = |span: &&Span| span.phase == Phase::Message && span.cause == Cause::Original;
        let hidden: u32 = of(Layer::Application)
            .filter(is_message)
            .map(|span| span.len)
            .sum();
        if hidden > 0 && of(Layer::Payload).next().is_none() {
            self.records.push((packet.at, hidden.into()));
        }
    }

    fn event(&mut self, _at: Instant, event: DeviceEvent) {
        self.connects += u64::from(event == DeviceEvent::Connect);
    }
}

/// The middle value, the lower one of two.
pub fn median<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// The median time from one reading to the next; whole milliseconds from a second on.
pub fn interval(readings: &[(Instant, u64)]) -> Option<Duration> {
    let gaps = readings
        .windows(2)
        .map(|pair| pair[1].0.saturating_since(pair[0].0))
        .collect();
    let gap = median(gaps).filter(|gap| !gap.is_zero())?;
    let millis = gap.saturating_add(Duration::from_micros(500)).as_millis() as u64;
    Some(if millis < 1_000 {
        gap
    } else {
        Duration::from_millis(millis)
    })
}
