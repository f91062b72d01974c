//! The messages among the packets of a device.

use std::time::Duration;

use wirecost_proto::{BothWays, Cause, Direction, Instant, Layer, Phase, Span};

use crate::observer::{DeviceEvent, ObservedPacket, Observer};
use crate::usage::{SentMessage, Usage, What};

/// Bytes of a UDP header: a datagram without other bytes of the transport is no part of a stream.
pub const UDP_HEADER: u32 = 8;
/// The pause in a stream of payload alone after which a message begins.
const PAUSE: Duration = Duration::from_secs(1);
const MINUTE_NANOS: u128 = 60_000_000_000;

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
    /// Bytes of the application around messages that no payload followed yet.
    header_bytes: u32,
}

/// A part of a packet's payload that was not sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadPart {
    /// Bytes of the application before it: those of a message's topic, properties and fields.
    pub header_bytes: u32,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// Whether a message begins with it.
    pub begins: bool,
}

impl Messages {
    /// Tells `each` part of a packet's payload that was not sent before.
    pub fn packet(&mut self, packet: &ObservedPacket<'_>, mut each: impl FnMut(PayloadPart)) {
        let transport = packet.spans.iter().filter(|span| span.layer == Layer::Transport);
        let mut is_alone = transport.map(|span| span.len).sum::<u32>() == UDP_HEADER;
        let has_payload = has_payload(packet);
        for span in packet.spans {
            let payload = span.original_payload_bytes();
            if payload == 0 {
                self.begins |= span.layer == Layer::Application;
                // An acknowledgement without payload is a message by itself.
                if has_payload || span.cause == Cause::Original {
                    self.header_bytes += own_bytes(span, Phase::Message);
                }
                self.has_application |= self.begins;
                continue;
            }
            let pause = self.last.map(|last| packet.at.saturating_since(last));
            let is_paused = !self.has_application && pause.is_some_and(|pause| pause >= PAUSE);
            each(PayloadPart {
                header_bytes: std::mem::take(&mut self.header_bytes),
                payload_bytes: payload,
                begins: self.begins || is_alone || is_paused || pause.is_none(),
            });
            (self.begins, is_alone, self.last) = (false, false, Some(packet.at));
        }
    }
}

/// Whether a packet has payload that was not sent before.
fn has_payload(packet: &ObservedPacket<'_>) -> bool {
    packet.spans.iter().any(|span| span.original_payload_bytes() > 0)
}

/// The bytes of the application in a phase that were not sent before.
fn own_bytes(span: &Span, phase: Phase) -> u32 {
    let is_new = matches!(span.cause, Cause::Original | Cause::Acknowledgement);
    match is_new && span.layer == Layer::Application && span.phase == phase {
        true => span.len,
        false => 0,
    }
}

/// Adds up the usage of one device from its packets: bytes by phase, messages by kind and size, sessions by their length.
///
/// Several messages without payload in one packet count as one: packets do not show where one ends.
#[derive(Clone, Debug, Default)]
pub struct UsageMeter {
    usage: Usage,
    ways: BothWays<Messages>,
    /// The message with payload that each direction is in.
    open: BothWays<Option<SentMessage>>,
    /// When the session began whose end is not known yet, and its last packet.
    session: Option<(Instant, Instant)>,
    /// Whether the session has sent the message that opens it.
    is_open: bool,
}

impl UsageMeter {
    /// The usage.
    pub fn finish(mut self) -> Usage {
        for message in self.open.into_iter().flatten() {
            self.usage.add(message, 1.0);
        }
        self.end_session();
        self.usage
    }

    /// Counts a packet of the link.
    fn carried(&mut self, packet: &ObservedPacket<'_>) {
        self.usage
            .carry(packet.phase, packet.direction, packet.wire_bytes());
    }

    fn end_session(&mut self) {
        if let Some((began, last)) = self.session.take() {
            let minutes = last
                .saturating_since(began)
                .as_nanos()
                .div_ceil(MINUTE_NANOS)
                .max(1);
            *self.usage.sessions.entry(minutes as u64).or_default() += 1.0;
        }
    }

    /// Counts the parts of messages with payload.
    fn with_payload(&mut self, packet: &ObservedPacket<'_>) {
        let what = match packet.direction {
            Direction::Up => What::Publish,
            Direction::Down => What::Delivery,
        };
        let (usage, open) = (&mut self.usage, &mut self.open[packet.direction]);
        self.ways[packet.direction].packet(packet, |part| {
            if let Some(before) = open.take_if(|_| part.begins) {
                usage.add(before, 1.0);
            }
            let message = open.get_or_insert(SentMessage {
                what,
                header_bytes: 0,
                payload_bytes: 0,
            });
            message.header_bytes += u64::from(part.header_bytes);
            message.payload_bytes += u64::from(part.payload_bytes);
        });
    }

    /// Counts what a packet of the device has beside messages with payload.
    fn without_payload(&mut self, packet: &ObservedPacket<'_>) {
        let of = |phase, cause| -> u64 {
            let own = packet.spans.iter().filter(|span| span.cause == cause);
            own.map(|span| u64::from(own_bytes(span, phase))).sum()
        };
        let connect = of(Phase::Connect, Cause::Original);
        if connect > 0 {
            let is_first = !std::mem::replace(&mut self.is_open, true);
            let what = if is_first { What::Connect } else { What::Subscribe };
            self.bare(what, connect);
        }
        if packet.phase == Phase::KeepAlive && packet.cause == Cause::Original {
            self.bare(What::KeepAlive, of(Phase::KeepAlive, Cause::Original));
        }
        let acknowledged = of(Phase::Message, Cause::Acknowledgement);
        if acknowledged > 0 && !has_payload(packet) {
            self.bare(What::Acknowledgement, acknowledged);
        }
        let close = of(Phase::Close, Cause::Original);
        if close > 0 {
            self.bare(What::Close, close);
        }
    }

    fn bare(&mut self, what: What, header_bytes: u64) {
        let message = SentMessage {
            what,
            header_bytes,
            payload_bytes: 0,
        };
        self.usage.add(message, 1.0);
    }
}

impl Observer for UsageMeter {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.carried(packet);
        if let Some((_, last)) = &mut self.session {
            *last = packet.at;
        }
        self.with_payload(packet);
        if packet.direction == Direction::Up {
            self.without_payload(packet);
        }
    }

    fn lost(&mut self, packet: &ObservedPacket<'_>) {
        self.carried(packet);
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        if event == DeviceEvent::Connect {
            self.end_session();
            self.session = Some((at, at));
            self.is_open = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const fn publish(header_bytes: u64, payload_bytes: u64) -> SentMessage {
        SentMessage {
            what: What::Publish,
            header_bytes,
            payload_bytes,
        }
    }

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
        assert_eq!(used.messages, BTreeMap::from([(publish(12, 2_000), 1.0)]));
        assert_eq!(used.packets(), [2.0, 0.0]);
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
        assert_eq!((used.packets(), used.bytes()), ([0.0, 1.0], [0.0, 52.0]));
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
        let expected = [(publish(12, 48), 1.0), (publish(12, 50), 1.0)];
        assert_eq!(used.messages, BTreeMap::from(expected));
    }

    #[test]
    fn a_session_has_its_kinds_of_messages_and_its_started_minutes() {
        let mut meter = UsageMeter::default();
        let mut tell = |at_s: u64, direction, (phase, cause), content: &[(u32, Layer)]| {
            let spans = content.iter().map(|(len, layer)| Span {
                len: *len,
                layer: *layer,
                phase,
                cause,
            });
            meter.packet(&ObservedPacket {
                at: Instant::from_millis(1_000 * at_s),
                direction,
                phase,
                cause,
                spans: &spans.collect::<Vec<Span>>(),
            });
        };
        let (up, down) = (Direction::Up, Direction::Down);
        let (original, acknowledged) = (Cause::Original, Cause::Acknowledgement);
        tell(0, up, (Phase::Connect, original), &[(30, Layer::Application)]);
        tell(1, up, (Phase::Connect, original), &[(12, Layer::Application)]);
        tell(
            1,
            down,
            (Phase::Connect, acknowledged),
            &[(5, Layer::Application)],
        );
        tell(
            2,
            up,
            (Phase::Message, original),
            &[(20, Layer::Application), (48, Layer::Payload)],
        );
        tell(
            2,
            down,
            (Phase::Message, acknowledged),
            &[(4, Layer::Application)],
        );
        tell(
            3,
            down,
            (Phase::Message, original),
            &[(15, Layer::Application), (9, Layer::Payload)],
        );
        tell(3, up, (Phase::Message, acknowledged), &[(4, Layer::Application)]);
        tell(60, up, (Phase::KeepAlive, original), &[(2, Layer::Application)]);
        tell(90, up, (Phase::Close, original), &[(2, Layer::Application)]);
        let used = meter.finish();
        let bare = |what, header_bytes| SentMessage {
            what,
            header_bytes,
            payload_bytes: 0,
        };
        let expected = [
            publish(20, 48),
            SentMessage {
                what: What::Delivery,
                header_bytes: 15,
                payload_bytes: 9,
            },
            bare(What::Connect, 30),
            bare(What::Subscribe, 12),
            bare(What::Acknowledgement, 4),
            bare(What::KeepAlive, 2),
            bare(What::Close, 2),
        ];
        assert_eq!(
            used.messages,
            BTreeMap::from(expected.map(|message| (message, 1.0)))
        );
        assert_eq!(used.carried[Phase::Connect as usize].bytes, [42.0, 5.0]);
        // No event says that it began.
        assert!(used.sessions.is_empty());
        let mut meter = UsageMeter::default();
        for began in [0, 1_000_000] {
            meter.event(Instant::from_millis(began), DeviceEvent::Connect);
            let span = Span {
                len: 40,
                layer: Layer::Ip,
                phase: Phase::Close,
                cause: original,
            };
            meter.packet(&ObservedPacket {
                at: Instant::from_millis(began + 90_000),
                direction: up,
                phase: Phase::Close,
                cause: original,
                spans: &[span],
            });
        }
        assert_eq!(meter.finish().sessions, BTreeMap::from([(2, 2.0)]));
    }
}
