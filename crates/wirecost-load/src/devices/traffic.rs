//! What the first devices of a load do, kept for energy models and tariffs: told while the load runs in virtual time, recorded
//! while it runs over an emulated link.

pub mod recorded;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use wirecost_cost::{DeviceEvent, ObservedPacket, Observer};
use wirecost_live::emulation::HOSTS;
use wirecost_proto::Instant;
use wirecost_proto::hosts::HostIndex;
use wirecost_results::traffic::{Collector, LoadTraffic, MAX_DEVICES, Shape};
use wirecost_scenario::options::load::LoadOptions;

/// After this number of packets the observation ends: of a long load, its first part is kept.
pub const MAX_PACKETS: usize = 100_000;

/// Collects the packets of the devices that are observed.
#[derive(Debug)]
pub struct Kept {
    collector: Collector,
    connects: BTreeMap<u64, Vec<Instant>>,
    most_packets: usize,
    /// When enough packets were kept.
    full: Option<Instant>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            collector: Collector::default(),
            connects: BTreeMap::new(),
            most_packets: MAX_PACKETS,
            full: None,
        }
    }
}

/// Observes one device of a load.
#[derive(Debug)]
pub struct DeviceKeeper {
    device: u64,
    kept: Rc<RefCell<Kept>>,
}

/// How many of a load's devices are observed.
pub fn observed(clients: u32) -> u32 {
    clients.min(MAX_DEVICES as u32)
}

/// Whether the first devices of a live load can be observed: on an emulated link, each with an address of its own. Beyond
/// [`HOSTS`] devices, and on shared sockets, several devices have one address.
pub fn is_observed(options: &LoadOptions) -> bool {
    let devices = options.clients.saturating_add(options.receivers());
    options.link.is_some() && devices <= HOSTS && !options.shared_socket
}

impl Kept {
    /// The observer of a device, if it is among the first devices of a load with `clients` devices.
    pub fn observer(kept: &Rc<RefCell<Self>>, clients: u32, host: HostIndex) -> Option<DeviceKeeper> {
        (host < observed(clients)).then(|| DeviceKeeper {
            device: host.into(),
            kept: Rc::clone(kept),
        })
    }

    fn is_over(&self, at: Instant) -> bool {
        self.full.is_some_and(|full| at > full)
    }

    /// What was kept of a load with `clients` devices, which took from `began` to `ended`; `None` if there was no packet.
    pub fn finish(self, clients: u32, [began, ended]: [Instant; 2]) -> Option<LoadTraffic> {
        let Self {
            collector,
            mut connects,
            full,
            ..
        } = self;
        let taken = RefCell::new(&mut connects);
        let traffic =
            collector.finish(|device| Some(taken.borrow_mut().remove(&device).unwrap_or_default()))?;
        Some(LoadTraffic {
            observed: observed(clients).into(),
            of: clients.into(),
            began_ns: began.as_nanos(),
            // Where the memory was full, the time after it has no packets, and its rate would be too low.
            ended_ns: full.unwrap_or(ended).as_nanos(),
            cut_short: full.is_some(),
            traffic,
        })
    }
}

impl DeviceKeeper {
    /// Keeps a packet with `add`, unless enough were kept before.
    fn keep(&self, packet: &ObservedPacket<'_>, add: fn(&mut Collector, u64, Instant, Shape)) {
        let mut kept = self.kept.borrow_mut();
        if kept.is_over(packet.at) {
            return;
        }
        let shape = Shape::from_spans(packet.direction, packet.phase, packet.cause, packet.spans);
        add(&mut kept.collector, self.device, packet.at, shape);
        if kept.collector.packets() >= kept.most_packets {
            kept.full = kept.full.or(Some(packet.at));
        }
    }
}

impl Observer for DeviceKeeper {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.keep(packet, Collector::packet);
    }

    fn lost(&mut self, packet: &ObservedPacket<'_>) {
        self.keep(packet, Collector::lost);
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        let mut kept = self.kept.borrow_mut();
        if event == DeviceEvent::Connect && !kept.is_over(at) {
            kept.connects.entry(self.device).or_default().push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use wirecost_proto::{Cause, Direction, Layer, Phase, Span};

    use super::*;

    fn tell(keeper: &mut DeviceKeeper, millis: u64) {
        let spans = [Span {
            len: 48,
            layer: Layer::Payload,
            phase: Phase::Message,
            cause: Cause::Original,
        }];
        let at = Instant::from_millis(millis);
        keeper.event(at, DeviceEvent::Connect);
        keeper.packet(&ObservedPacket {
            at,
            direction: Direction::Up,
            phase: Phase::Message,
            cause: Cause::Original,
            spans: &spans,
        });
    }

    #[test]
    fn the_first_devices_of_a_load_are_observed_and_no_others() {
        let kept = Rc::new(RefCell::new(Kept::default()));
        let observers: Vec<bool> = [0, 19, 20]
            .map(|host| Kept::observer(&kept, 1_000, host).is_some())
            .to_vec();
        assert_eq!(observers, [true, true, false]);
        assert!(Kept::observer(&kept, 3, 3).is_none(), "a subscriber");
    }

    #[test]
    fn a_load_with_too_many_packets_is_kept_up_to_an_instant() {
        let kept = Rc::new(RefCell::new(Kept {
            most_packets: 3,
            ..Kept::default()
        }));
        let mut keepers = [0, 1].map(|host| Kept::observer(&kept, 5, host).expect("observed"));
        for millis in 1..10 {
            keepers.iter_mut().for_each(|keeper| tell(keeper, millis));
        }
        drop(keepers);
        let kept = Rc::into_inner(kept).expect("no other").into_inner();
        let times = [Instant::START, Instant::from_millis(20)];
        let traffic = kept.finish(5, times).expect("packets");
        assert_eq!((traffic.observed, traffic.of), (5, 5));
        assert!(traffic.cut_short);
        assert_eq!(traffic.ended_ns, 2_000_000);
        let packets = traffic.traffic.devices.iter().map(|device| device.packets.len());
        assert_eq!(packets.collect::<Vec<_>>(), [2, 2]);
        assert_eq!(traffic.traffic.devices[1].connects_ns, [1_000_000, 2_000_000]);
    }
}
