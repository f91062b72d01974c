//! The packets of one cell's ladder: on a time axis without the settle, and by flights.

use wirecost_cost::PacketVerdict;
use wirecost_proto::record::RecordedPacket;
use wirecost_proto::{Direction, Instant, Layer, Span};
use wirecost_results::{Ladder, LadderPacket};
use wirecost_scenario::plan::PlannedCell;

use super::analysis::DeviceMeasurement;
use crate::air::AirRecorder;

/// A packet of a ladder: when it entered and left the link, and its description.
#[derive(Clone, Debug)]
pub struct DrawnPacket {
    direction: Direction,
    /// When it entered the link.
    pub entered: Instant,
    delivered: Option<Instant>,
    packet: LadderPacket,
}

/// The packets of one device, in the order of entry into the link.
pub type DrawnPackets = Vec<DrawnPacket>;

/// The times at which a device's steps began, where a ladder is cut.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// When the client could send application data; `None` if it always could.
    ready: Option<Instant>,
    /// When the first message was sent.
    message: Instant,
    /// When the next step began.
    end: Instant,
}

impl DrawnPacket {
    /// A packet with its name and the ledger's verdict.
    pub fn new(
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        verdict: &PacketVerdict,
        spans: &[Span],
        label: String,
    ) -> Self {
        let of_layer = |layer| spans.iter().filter(move |span| span.layer == layer);
        let bytes = |layer: Layer| of_layer(layer).map(|span| u64::from(span.len)).sum();
        Self {
            direction: packet.direction,
            entered: packet.entered,
            delivered,
            packet: LadderPacket {
                direction: packet.direction.name().into(),
                phase: verdict.phase.name().into(),
                cause: verdict.cause.name().into(),
                fate: packet.fate.name().into(),
                label,
                ip: bytes(Layer::Ip),
                transport: bytes(Layer::Transport),
                security: bytes(Layer::Security),
                application: bytes(Layer::Application),
                payload: bytes(Layer::Payload),
                ..LadderPacket::default()
            },
        }
    }
}

/// The ladder of a cell from the packets of one of its devices, and what was on the air for it in a modelled cell; `None` if the device sent no message.
pub fn ladder(
    planned: &PlannedCell,
    link: String,
    device: &DeviceMeasurement,
    mut packets: DrawnPackets,
    air: Option<&AirRecorder>,
) -> Option<Ladder> {
    let script = &device.report.script;
    let notes = script.notes();
    let next = notes.messages.get(1);
    let steps = Steps {
        ready: notes.ready,
        message: notes.messages.first()?.actual,
        // With one message, what follows until the end, such as its acknowledgement, belongs to it.
        end: next.map_or(Instant::from_nanos(u64::MAX), |next| next.actual),
    };
    // The connection that only fetches a ticket is not part of what the cell measures.
    packets.retain(|packet| !script.is_before_connect(packet.entered));
    let from = packets.first().map_or(steps.message, |packet| packet.entered);
    Some(Ladder {
        cell: None,
        stack: planned.stack.to_string(),
        start: planned.start.to_string(),
        payload_bytes: planned.payload.len() as u64,
        link,
        packets: ladder_packets(packets, &steps),
        air: air.map_or_else(Vec::new, |air| air.sequence(from, steps.end)),
    })
}

/// The packets of a ladder: connect and first message, without the settle in between.
fn ladder_packets(mut packets: DrawnPackets, steps: &Steps) -> Vec<LadderPacket> {
    packets.retain(|packet| packet.entered < steps.end);
    let Some(first) = packets.first().map(|packet| packet.entered) else {
        return Vec::new();
    };
    let flights = flights(&packets, steps);
    let (connect, _) = halves(&packets, steps);
    let last = |packet: &DrawnPacket| packet.delivered.unwrap_or(packet.entered);
    // The message follows the connect at once: no packet passed in between.
    let begin = connect.iter().map(last).max().unwrap_or(first);
    let cut = steps.message.saturating_since(begin);
    let place = |entered: Instant, at: Instant| {
        let at = if entered < steps.message { at } else { at - cut };
        at.saturating_since(first).as_nanos() as u64
    };
    let placed = packets
        .into_iter()
        .zip(flights)
        .map(|(drawn, flight)| LadderPacket {
            sent_ns: place(drawn.entered, drawn.entered),
            delivered_ns: drawn.delivered.map(|at| place(drawn.entered, at)),
            flight,
            ..drawn.packet
        });
    placed.collect()
}

/// The packets before the first message was sent, and the later ones.
fn halves<'a>(packets: &'a [DrawnPacket], steps: &Steps) -> (&'a [DrawnPacket], &'a [DrawnPacket]) {
    packets.split_at(packets.partition_point(|packet| packet.entered < steps.message))
}

/// The flight of each packet. A message can leave with the flight after the one that allowed the client to send, so its
/// count continues from there: later packets of the connect delay no message.
fn flights(packets: &[DrawnPacket], steps: &Steps) -> Vec<u32> {
    let (connect, message) = halves(packets, steps);
    let mut flights = flights_from(0, connect);
    let arrived = |packet: &DrawnPacket| {
        packet.direction == Direction::Down
            && packet
                .delivered
                // Only what arrived before the client was ready can have allowed it to send.
                .is_some_and(|at| steps.ready.is_none_or(|ready| at <= ready))
    };
    let before = flights.iter().zip(connect).filter(|(_, packet)| arrived(packet));
    let ready = before.map(|(flight, _)| *flight).max().unwrap_or(0);
    flights.extend(flights_from(ready, message));
    flights
}

/// The flights of `packets`, continued from `before`: a packet is caused by the packets that its sender had received,
/// so it belongs to the flight after the last of these (RFC 9147 section 5.1).
fn flights_from(before: u32, packets: &[DrawnPacket]) -> Vec<u32> {
    let mut flights: Vec<u32> = Vec::new();
    for packet in packets {
        let received = |(_, earlier): &(&u32, &DrawnPacket)| {
            earlier.direction != packet.direction && earlier.delivered.is_some_and(|at| at <= packet.entered)
        };
        let causes = flights.iter().zip(packets).filter(received);
        let cause = causes.map(|(flight, _)| *flight).max().unwrap_or(before);
        flights.push(cause + 1);
    }
    flights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Direction, time of entry, time of delivery, in milliseconds.
    fn drawn(direction: Direction, entered: u64, delivered: Option<u64>) -> DrawnPacket {
        DrawnPacket {
            direction,
            entered: Instant::from_millis(entered),
            delivered: delivered.map(Instant::from_millis),
            packet: LadderPacket::default(),
        }
    }

    fn up(entered: u64) -> DrawnPacket {
        drawn(Direction::Up, entered, Some(entered + 50))
    }

    fn down(entered: u64) -> DrawnPacket {
        drawn(Direction::Down, entered, Some(entered + 50))
    }

    fn steps(ready: Option<u64>, message: u64, end: u64) -> Steps {
        Steps {
            ready: ready.map(Instant::from_millis),
            message: Instant::from_millis(message),
            end: Instant::from_millis(end),
        }
    }

    /// Flight, time of sending and time of delivery on the ladder, in milliseconds.
    fn placed(packets: Vec<DrawnPacket>, steps: Steps) -> Vec<(u32, u64, Option<u64>)> {
        let millis = |nanos: u64| nanos / 1_000_000;
        ladder_packets(packets, &steps)
            .iter()
            .map(|packet| {
                (
                    packet.flight,
                    millis(packet.sent_ns),
                    packet.delivered_ns.map(millis),
                )
            })
            .collect()
    }

    #[test]
    fn a_flight_leaves_before_the_peers_answer_arrives() {
        // SYN, SYN ACK, ACK and request, their answers. One packet of the last flight is lost.
        let lost = drawn(Direction::Down, 151, None);
        let packets = vec![up(0), down(50), up(100), up(101), down(150), lost];
        let flights: Vec<u32> = placed(packets, steps(Some(200), 1_000, 9_000))
            .iter()
            .map(|row| row.0)
            .collect();
        assert_eq!(flights, [1, 2, 3, 3, 4, 4]);
    }

    #[test]
    fn the_count_of_a_message_continues_from_the_end_of_the_connect() {
        // Ready at 100 ms. Later packets of the connect take flights 3 to 5, which the message does not wait for.
        let connect = [up(0), down(50), up(101), down(151), up(201)];
        let message = [up(1_200), down(1_250), up(1_300)];
        let packets = connect.into_iter().chain(message).collect();
        let expected = [
            (1, 0, Some(50)),
            (2, 50, Some(100)),
            (3, 101, Some(151)),
            (4, 151, Some(201)),
            (5, 201, Some(251)),
            // Without the settle from 251 ms to 1,200 ms.
            (3, 251, Some(301)),
            (4, 301, Some(351)),
            (5, 351, Some(401)),
        ];
        assert_eq!(placed(packets, steps(Some(100), 1_200, 9_000)), expected);
    }

    #[test]
    fn a_message_that_leaves_at_once_begins_the_count() {
        let packets = vec![up(0), down(50), up(2_000)];
        let expected = [(1, 0, Some(50)), (2, 50, Some(100))];
        assert_eq!(placed(packets, steps(Some(0), 0, 1_500)), expected);
    }
}
