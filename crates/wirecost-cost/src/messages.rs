//! The messages among the packets of a device.

use std::time::Duration;

use wirecost_proto::{Cause, Direction, Instant, Layer, Phase};

use crate::observer::{DeviceEvent, ObservedPacket, Observer};
use crate::tariff::Usage;

/// Bytes of a UDP header: a datagram without other bytes of the transport is no part of a stream.
pub const UDP_HEADER: u32 = 8;
/// The pause in a stream of payload alone after which a message begins.
const PAUSE: Duration = Duration::from_secs(1);

/// Tells where messages begin in the packets of one direction.
///
/// A message begins with payload behind bytes of the application, or with payload alone in a UDP datagram. Payload that follows
/// without them, e.g. in the next TCP segment, belongs to the same message. A device whose TCP connections carry payload alone
/// begins one with each pause of a second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Messages {
    /// Whether bytes of the application came behind the last payload.
    begins: bool,
    /// Whether there were any.
    has_application: bool,
    /// The time of the last payload.
    last: Option<Instant>,
}

impl Messages {
    /// Tells `each` part of a packet's payload that was not sent before: its bytes, and whether a message begins with it.
    pub fn packet(&mut self, packet: &ObservedPacket<'_>, mut each: impl FnMut(u32, bool)) {
        let transport = packet.spans.iter().filter(|span| span.layer == Layer::Transport);
        let mut is_alone = transport.map(|span| span.len).sum::<u32>() == UDP_HEADER;
        for span in packet.spans {
            let payload = span.original_payload_bytes();
            if payload == 0 {
                self.begins |= span.layer == Layer::Application;
                self.has_application |= self.begins;
                continue;
            }
            let pause = self.last.map(|last| packet.at.saturating_since(last));
            let is_paused = !self.has_application && pause.is_some_and(|pause| pause >= PAUSE);
            each(payload, self.begins || is_alone || is_paused || pause.is_none());
            (self.begins, is_alone, self.last) = (false, false, Some(packet.at));
        }
    }
}

/// Adds up the usage of one device from its packets. A message up counts with its payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageMeter {
    usage: Usage,
    messages: Messages,
    payload_bytes: u64,
}

impl UsageMeter {
    /// The usage so far.
    pub fn finish(self) -> Usage {
        let Self {
            usage, payload_bytes, ..
        } = self;
        Usage {
            payload_bytes: payload_bytes as f64 / usage.messages.max(1.0),
            ..usage
        }
    }
}

impl UsageMeter {
    /// Counts a packet of the link.
    fn carried(&mut self, packet: &ObservedPacket<'_>) {
        let way = packet.direction as usize;
        self.usage.packets[way] += 1.0;
        self.usage.bytes[way] += packet.wire_bytes() as f64;
    }
}

impl Observer for UsageMeter {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.carried(packet);
        if packet.direction == Direction::Down {
            return;
        }
        let usage = &mut self.usage;
        self.messages.packet(packet, |bytes, begins| {
            self.payload_bytes += u64::from(bytes);
            usage.messages += f64::from(u8::from(begins));
        });
        let asks = packet.phase == Phase::KeepAlive && packet.cause == Cause::Original;
        usage.keep_alives += f64::from(u8::from(asks));
    }

    fn lost(&mut self, packet: &ObservedPacket<'_>) {
        self.carried(packet);
    }

    fn event(&mut self, _at: Instant, event: DeviceEvent) {
        self.usage.sessions += f64::from(u8::from(event == DeviceEvent::Connect));
    }
}

#[cfg(test)]
mod tests {
    use wirecost_proto::Span;

    use super::*;

    fn usage(packets: &[&[(u32, Layer)]]) -> Usage {
        let mut meter = UsageMeter::default();
        for content in packets {
            let headers = [(20, Layer::Ip), (32, Layer::Transport)];
            let spans = headers.iter().chain(*content).map(|(len, layer)| Span {
                len: *len,
                layer: *layer,
                phase: Phase::Message,
                cause: Cause::Original,
            });
            meter.packet(&ObservedPacket {
                at: Instant::from_nanos(0),
                direction: Direction::Up,
                phase: Phase::Message,
                cause: Cause::Original,
                spans: &spans.collect::<Vec<Span>>(),
            });
        }
        meter.finish()
    }

    #[test]
    fn a_message_of_several_segments_is_one_message() {
        let first = [(12, Layer::Application), (1_400, Layer::Payload)];
        let used = usage(&[&first, &[(600, Layer::Payload)]]);
        assert_eq!((used.messages, used.payload_bytes), (1.0, 2_000.0));
        assert_eq!(used.packets, [2.0, 0.0]);
    }

    #[test]
    fn a_packet_that_the_link_lost_on_its_way_to_the_device_counts() {
        let spans = [Span {
            len: 52,
            layer: Layer::Ip,
            phase: Phase::Message,
            cause: Cause::Acknowledgement,
        }];
        let mut meter = UsageMeter::default();
        meter.lost(&ObservedPacket {
            at: Instant::from_nanos(0),
            direction: Direction::Down,
            phase: Phase::Message,
            cause: Cause::Acknowledgement,
            spans: &spans,
        });
        let used = meter.finish();
        assert_eq!((used.packets, used.bytes), ([0.0, 1.0], [0.0, 52.0]));
    }

    #[test]
    fn two_messages_of_one_segment_are_two() {
        let both = [
            (12, Layer::Application),
            (48, Layer::Payload),
            (12, Layer::Application),
            (50, Layer::Payload),
        ];
        let used = usage(&[&both]);
        assert_eq!((used.messages, used.payload_bytes), (2.0, 49.0));
    }
}
