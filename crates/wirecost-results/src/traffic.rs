//! What the first devices of a cell did on their links, packet by packet: the input of energy models and tariffs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

/// The most devices of a cell whose packets are kept.
pub const MAX_DEVICES: usize = 20;
/// After this number of packets of a cell no other device begins.
pub const MAX_PACKETS: usize = 20_000;

/// The packets of a cell's first devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellTraffic {
    /// Packets by their bytes, each once.
    pub shapes: Vec<Shape>,
    /// The devices in the order of their samples.
    pub devices: Vec<DeviceTraffic>,
}

/// What the first devices of a load did, from its start on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadTraffic {
    /// The devices that were observed. Those that sent and received nothing are not among [`CellTraffic::devices`].
    pub observed: u64,
    /// The devices of the load, without subscribers.
    pub of: u64,
    /// When the observation began, in nanoseconds on the clock of the packets.
    pub began_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Whether it ended before the load, because enough packets were kept.
    pub cut_short: bool,
    /// The packets.
    #[serde(flatten)]
    pub traffic: CellTraffic,
}

/// What packets have in common apart from their times.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shape {
    /// `up` or `down`.
    pub direction: String,
    /// The phase of its headers.
    pub phase: String,
    /// Why it was sent.
    pub cause: String,
    /// Its bytes from the IP header on: layer, phase, cause and number.
    pub spans: Vec<(String, String, String, u32)>,
}

/// What one device did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTraffic {
    /// Its sample.
    pub sample: u64,
    /// When it started connections, in nanoseconds.
    pub connects_ns: Vec<u64>,
    /// Of each packet the time at the device's end of the link in nanoseconds, and the index of its shape; by time.
    pub packets: Vec<(u64, usize)>,
    /// The same of packets to the device that the link lost, with the time at which they entered it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<(u64, usize)>,
    /// In a modelled NB-IoT cell, its connections to the cell, by time; those for packets that are not kept are among them. Absent
    /// on an emulated link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub air: Vec<AirConnection>,
}

/// A device's connection to a modelled NB-IoT cell, from the begin of random access to the return to idle: when it ended, and how
/// long the device was in each state. All in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AirConnection {
    /// When it ended, on the clock of the packets.
    pub ended_ns: u64,
    /// It transmits.
    pub transmit_ns: u64,
    /// It receives what is for it.
    pub receive_ns: u64,
    /// It monitors search spaces.
    pub monitor_ns: u64,
    /// It waits without a receiver.
    pub wait_ns: u64,
}

impl Shape {
    /// The shape of a packet.
    pub fn from_spans(direction: Direction, phase: Phase, cause: Cause, spans: &[Span]) -> Self {
        let span = |span: &Span| {
            let names = (span.layer.name(), span.phase.name(), span.cause.name());
            (
                names.0.to_owned(),
                names.1.to_owned(),
                names.2.to_owned(),
                span.len,
            )
        };
        Self {
            direction: direction.name().to_owned(),
            phase: phase.name().to_owned(),
            cause: cause.name().to_owned(),
            spans: spans.iter().map(span).collect(),
        }
    }

    /// The direction, phase, cause and spans; `None` if a name is not one of this version.
    pub fn read(&self) -> Option<(Direction, Phase, Cause, Vec<Span>)> {
        let spans = self.spans.iter().map(|(layer, phase, cause, len)| {
            Some(Span {
                len: *len,
                layer: Layer::by_name(layer)?,
                phase: Phase::by_name(phase)?,
                cause: Cause::by_name(cause)?,
            })
        });
        let direction = Direction::by_name(&self.direction)?;
        Some((
            direction,
            Phase::by_name(&self.phase)?,
            Cause::by_name(&self.cause)?,
            spans.collect::<Option<_>>()?,
        ))
    }
}

/// Collects the packets of a cell's devices.
#[derive(Debug, Default)]
pub struct Collector {
    shapes: BTreeMap<Shape, usize>,
    devices: BTreeMap<u64, DeviceTraffic>,
    packets: usize,
}

impl Collector {
    /// Whether packets of the device with this sample are taken: one that has begun, or another if there is room.
    pub fn has_room_for(&self, sample: u64) -> bool {
        let has_room = self.devices.len() < MAX_DEVICES && self.packets < MAX_PACKETS;
        has_room || self.devices.contains_key(&sample)
    }

    /// Adds a packet of the device with this sample, at the time at the device's end of the link.
    pub fn packet(&mut self, sample: u64, at: Instant, shape: Shape) {
        let packet = (at.as_nanos(), self.number_of(shape));
        self.devices.entry(sample).or_default().packets.push(packet);
        self.packets += 1;
    }

    /// Adds a packet to the device with this sample that entered the link at `at` and was lost.
    pub fn lost(&mut self, sample: u64, at: Instant, shape: Shape) {
        let packet = (at.as_nanos(), self.number_of(shape));
        self.devices.entry(sample).or_default().lost.push(packet);
        self.packets += 1;
    }

    fn number_of(&mut self, shape: Shape) -> usize {
        let next = self.shapes.len();
        *self.shapes.entry(shape).or_insert(next)
    }

    /// Adds the connections to the cell of the device with this sample, if its packets are taken.
    pub fn air(&mut self, sample: u64, air: Vec<AirConnection>) {
        if let Some(device) = self.devices.get_mut(&sample) {
            device.air = air;
        }
    }

    /// How many packets there are.
    pub const fn packets(&self) -> usize {
        self.packets
    }

    /// The packets of the devices that `connects` knows: it has the times at which a sample's device started connections, and
    /// `None` for a device that does not count. `None` if no device is left.
    pub fn finish(self, connects: impl Fn(u64) -> Option<Vec<Instant>>) -> Option<CellTraffic> {
        let mut shapes: Vec<(Shape, usize)> = self.shapes.into_iter().collect();
        shapes.sort_by_key(|(_, index)| *index);
        let mut devices = Vec::new();
        for (sample, mut device) in self.devices {
            let Some(connects) = connects(sample) else {
                continue;
            };
            device.sample = sample;
            device.connects_ns = connects.into_iter().map(Instant::as_nanos).collect();
            device.packets.sort_by_key(|(at, _)| *at);
            device.lost.sort_by_key(|(at, _)| *at);
            devices.push(device);
        }
        let shapes = shapes.into_iter().map(|(shape, _)| shape).collect();
        (!devices.is_empty()).then_some(CellTraffic { shapes, devices })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(len: u32) -> Shape {
        let span = Span {
            len,
            layer: Layer::Payload,
            phase: Phase::Message,
            cause: Cause::Original,
        };
        Shape::from_spans(Direction::Up, Phase::Message, Cause::Original, &[span])
    }

    #[test]
    fn packets_are_by_time_and_equal_ones_have_one_shape() {
        let mut collector = Collector::default();
        for (sample, at, len) in [(1, 30, 48), (1, 10, 48), (0, 20, 5), (7, 5, 9)] {
            collector.packet(sample, Instant::from_nanos(at), shape(len));
        }
        let connects = |sample| (sample < 7).then(|| vec![Instant::from_nanos(1)]);
        let traffic = collector.finish(connects).expect("devices");
        assert_eq!(traffic.shapes.len(), 3);
        let packets: Vec<_> = traffic
            .devices
            .iter()
            .map(|device| (device.sample, device.packets.clone()))
            .collect();
        assert_eq!(packets, [(0, vec![(20, 1)]), (1, vec![(10, 0), (30, 0)])]);
        assert_eq!(traffic.devices[0].connects_ns, [1]);
    }

    #[test]
    fn lost_packets_are_beside_those_of_the_device() {
        let mut collector = Collector::default();
        collector.packet(0, Instant::from_nanos(10), shape(48));
        collector.lost(0, Instant::from_nanos(20), shape(48));
        let traffic = collector.finish(|_| Some(Vec::new())).expect("a device");
        assert_eq!(traffic.devices[0].packets, [(10, 0)]);
        assert_eq!(traffic.devices[0].lost, [(20, 0)]);
    }

    #[test]
    fn a_shape_is_read_as_it_was_written() {
        let (direction, phase, cause, spans) = shape(48).read().expect("known names");
        assert_eq!(Shape::from_spans(direction, phase, cause, &spans), shape(48));
        let unknown = Shape {
            phase: "nap".to_owned(),
            ..shape(1)
        };
        assert_eq!(unknown.read(), None);
    }

    #[test]
    fn a_full_collector_keeps_whole_devices() {
        let mut collector = Collector::default();
        for sample in 0..25 {
            let has_room = collector.has_room_for(sample);
            assert_eq!(has_room, sample < MAX_DEVICES as u64);
            if has_room {
                collector.packet(sample, Instant::START, shape(1));
            }
        }
        let traffic = collector.finish(|_| Some(Vec::new())).expect("devices");
        assert_eq!(traffic.devices.len(), MAX_DEVICES);
    }
}
