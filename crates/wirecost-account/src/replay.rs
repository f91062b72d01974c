//! The packets of a comparison's cell, as an observer is told them: those of one device's connect and first message
//! (`ladder.json`), or the whole life of a device of a cell with an interval.

use wirecost_cost::{DeviceEvent, ObservedPacket, Observer};
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};
use wirecost_results::Cell;
use wirecost_results::ladder::{Ladder, LadderPacket};
use wirecost_results::summary::Bytes;
use wirecost_results::traffic::{CellTraffic, DeviceTraffic};

/// The most packets of a close. Each stack needs fewer than ten.
const MAX_CLOSE_PACKETS: f64 = 1_000.0;

/// A packet's direction, phase, cause and spans.
pub type Shape = (Direction, Phase, Cause, Vec<Span>);

/// The shapes of a cell's packets; `None` if a name is not one of this version.
pub fn shapes(traffic: &CellTraffic) -> Option<Vec<Shape>> {
    traffic.shapes.iter().map(|shape| shape.read()).collect()
}

/// Tells an observer what a device did, in the order of time, then what its link lost.
pub fn tell_life(device: &DeviceTraffic, shapes: &[Shape], observer: &mut dyn Observer) {
    let mut connects = device.connects_ns.iter().peekable();
    for (at, shape) in &device.packets {
        while let Some(connect) = connects.next_if(|connect| *connect <= at) {
            observer.event(Instant::from_nanos(*connect), DeviceEvent::Connect);
        }
        tell_packet(*at, shapes.get(*shape), |packet| observer.packet(packet));
    }
    for (at, shape) in &device.lost {
        tell_packet(*at, shapes.get(*shape), |packet| observer.lost(packet));
    }
}

/// Tells a packet of this shape, if there is one.
fn tell_packet(at: u64, shape: Option<&Shape>, tell: impl FnOnce(&ObservedPacket<'_>)) {
    let Some((direction, phase, cause, spans)) = shape else {
        return;
    };
    tell(&ObservedPacket {
        at: Instant::from_nanos(at),
        direction: *direction,
        phase: *phase,
        cause: *cause,
        spans,
    });
}

/// Tells an observer the packets of one device: those of the connect and the first message, or of the message alone, then those
/// of the close, if there are any. A packet up counts when it is sent, one down when it arrives; a lost one down never does.
pub fn tell(ladder: &Ladder, cell: &Cell, is_kept: bool, observer: &mut dyn Observer) {
    let wanted = |packet: &&LadderPacket| !is_kept || packet.phase == "message";
    let mut told: Vec<(u64, &LadderPacket)> = ladder
        .packets
        .iter()
        .filter(wanted)
        .filter_map(|packet| Some((time(packet)?, packet)))
        .collect();
    // By when the device knows of them, which is not the order in which they were sent.
    told.sort_by_key(|(at, _)| *at);
    // A kept connection whose message has no packet has nothing to tell.
    let Some((first, _)) = told.first() else {
        return;
    };
    if !is_kept {
        observer.event(Instant::from_nanos(*first), DeviceEvent::Connect);
    }
    for (at, packet) in &told {
        ladder_packet(*at, packet, observer);
    }
    let last = told.last().map_or(0, |(at, _)| *at);
    if let Some(close) = cell.close_of_a_connection().filter(|_| !is_kept) {
        for (direction, bytes) in [(Direction::Up, &close.up), (Direction::Down, &close.down)] {
            mean_packets(last, direction, bytes, observer);
        }
    }
}

fn time(packet: &LadderPacket) -> Option<u64> {
    if packet.direction == "up" {
        Some(packet.sent_ns)
    } else {
        packet.delivered_ns
    }
}

fn ladder_packet(at: u64, packet: &LadderPacket, observer: &mut dyn Observer) {
    let phase = if packet.phase == "connect" {
        Phase::Connect
    } else {
        Phase::Message
    };
    let cause = Cause::by_name(&packet.cause).unwrap_or(Cause::Original);
    let bytes = [
        packet.ip,
        packet.transport,
        packet.security,
        packet.application,
        packet.payload,
    ];
    let spans = spans_of(bytes.map(|bytes| bytes as u32), phase, cause);
    observer.packet(&ObservedPacket {
        at: Instant::from_nanos(at),
        direction: if packet.direction == "up" {
            Direction::Up
        } else {
            Direction::Down
        },
        phase,
        cause,
        spans: &spans,
    });
}

/// Tells the packets of a close, of which only means are known, as packets of equal size.
fn mean_packets(at: u64, direction: Direction, bytes: &Bytes, observer: &mut dyn Observer) {
    // A number of a file: a damaged one must not make a loop without end.
    let packets = bytes.packets.mean.round().min(MAX_CLOSE_PACKETS);
    if packets < 1.0 {
        return;
    }
    let layers = [
        &bytes.ip,
        &bytes.transport,
        &bytes.security,
        &bytes.application,
        &bytes.payload,
    ];
    let each = layers.map(|layer| (layer.mean / packets).round() as u32);
    let spans = spans_of(each, Phase::Close, Cause::Original);
    for _ in 0..packets as u64 {
        observer.packet(&ObservedPacket {
            at: Instant::from_nanos(at),
            direction,
            phase: Phase::Close,
            cause: Cause::Original,
            spans: &spans,
        });
    }
}

/// Bytes by layer as spans of one phase and cause.
fn spans_of(bytes: [u32; Layer::ALL.len()], phase: Phase, cause: Cause) -> Vec<Span> {
    let layers = Layer::ALL.into_iter().zip(bytes);
    let spans = layers.filter(|(_, len)| *len > 0).map(|(layer, len)| Span {
        len,
        layer,
        phase,
        cause,
    });
    spans.collect()
}
