//! Traffic for tests and the bench: Poisson arrivals of devices, each with one short exchange.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_nbiot::{AirEvent, Network, Packet, UeFacts, UeId};
use wirecost_proto::{Direction, Instant, Rng};

/// Packets of an exchange: direction and bytes. Each follows the delivery of the one before it.
pub(crate) type Exchange = &'static [(Direction, u32)];

/// One report in one packet: 25 B of payload, with CoAP, UDP and IP headers.
pub(crate) const REPORT: Exchange = &[(Direction::Up, 58)];

/// The shape of a report over TCP: SYN, SYN-ACK, report with its ACK, ACK.
pub(crate) const FOUR_PACKETS: Exchange = &[
    (Direction::Up, 60),
    (Direction::Down, 60),
    (Direction::Up, 90),
    (Direction::Down, 52),
];

/// Delay of the network behind the cells, each way.
const INTERNET: Duration = Duration::from_millis(4);

/// How long a device stays that is not done.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the traffic is.
pub(crate) struct Traffic {
    pub(crate) exchange: Exchange,
    /// Devices per second in the whole network.
    pub(crate) rate: f64,
    /// How long devices arrive.
    pub(crate) arrivals: Duration,
    pub(crate) seed: u64,
}

/// What became of the devices.
#[derive(Default)]
pub(crate) struct Result {
    pub(crate) devices: u64,
    /// Devices whose exchange was complete.
    pub(crate) served: u64,
    /// Time from arrival to the delivery of the first uplink packet, per device that was served, in ms.
    pub(crate) delays_ms: Vec<f64>,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// Packets that the network held when their device was removed.
    pub(crate) held: u64,
    pub(crate) offered: u64,
    pub(crate) facts: Vec<UeFacts>,
    pub(crate) most_devices: usize,
    /// A hash of everything that happened, in order.
    pub(crate) hash: u64,
}

struct Device {
    arrived: Instant,
    step: usize,
    index: u64,
}

enum Due {
    Arrival,
    Offer(UeId),
    Removal(UeId),
}

struct Driver<'a> {
    network: &'a mut Network,
    traffic: &'a Traffic,
    due: BTreeMap<(Instant, u64), Due>,
    count: u64,
    devices: BTreeMap<UeId, Device>,
    result: Result,
    arrivals: Rng,
}

/// Runs the traffic until every device is gone.
pub(crate) fn run(network: &mut Network, traffic: &Traffic) -> Result {
    let mut driver = Driver {
        network,
        traffic,
        due: BTreeMap::new(),
        count: 0,
        devices: BTreeMap::new(),
        result: Result::default(),
        arrivals: Rng::new(traffic.seed).purpose(99),
    };
    driver.next_arrival(Instant::START);
    driver.run();
    driver.result
}

impl Driver<'_> {
    fn at(&mut self, at: Instant, due: Due) {
        self.count += 1;
        self.due.insert((at, self.count), due);
    }

    fn next_arrival(&mut self, now: Instant) {
        let gap = self.arrivals.next_exponential() / self.traffic.rate;
        let at = now + Duration::from_secs_f64(gap);
        if at < Instant::START + self.traffic.arrivals {
            self.at(at, Due::Arrival);
        }
    }

    fn run(&mut self) {
        let mut events = Vec::new();
        loop {
            let air = self.network.next_event();
            let own = self.due.first_key_value().map(|((at, _), _)| *at);
            match (air, own) {
                (Some(air), own) if own.is_none_or(|own| air <= own) => {
                    self.network.advance(air, &mut |event| events.push(event));
                    for event in events.drain(..) {
                        self.hear(event);
                    }
                    if self.devices.is_empty() && self.due.is_empty() {
                        return;
                    }
                }
                (_, Some(_)) => {
                    let ((at, _), due) = self.due.pop_first().expect("something is due");
                    self.do_due(at, due);
                }
                _ => return,
            }
        }
    }

    fn do_due(&mut self, now: Instant, due: Due) {
        match due {
            Due::Arrival => {
                let index = self.result.devices;
                self.result.devices += 1;
                let ue = self.network.arrive(index, now);
                let device = Device {
                    arrived: now,
                    step: 0,
                    index,
                };
                self.devices.insert(ue, device);
                self.result.most_devices = self.result.most_devices.max(self.devices.len());
                self.offer(ue, now);
                self.at(now + PATIENCE, Due::Removal(ue));
                self.next_arrival(now);
            }
            Due::Offer(ue) => self.offer(ue, now),
            Due::Removal(ue) => self.remove(ue, now),
        }
    }

    fn offer(&mut self, ue: UeId, now: Instant) {
        let Some(device) = self.devices.get(&ue) else {
            return;
        };
        let (direction, bytes) = self.traffic.exchange[device.step];
        let token = device.index * 16 + device.step as u64;
        self.result.offered += 1;
        self.network.offer(ue, direction, Packet { token, bytes }, now);
    }

    fn hear(&mut self, event: AirEvent) {
        let (kind, number, at) = match event {
            AirEvent::Delivered { token, at, .. } => (1, token, at),
            AirEvent::Lost { token, at, .. } => (2, token, at),
            AirEvent::Connected { at, .. } => (3, 0, at),
            AirEvent::Released { at, .. } => (4, 0, at),
            AirEvent::Transmission(_) => return,
        };
        for value in [kind, number, at.as_nanos()] {
            self.result.hash = (self.result.hash ^ value)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(17);
        }
        match event {
            AirEvent::Delivered { ue, token, at, .. } => self.delivered(ue, token, at),
            AirEvent::Lost { ue, at, .. } => {
                self.result.lost += 1;
                self.remove(ue, at);
            }
            AirEvent::Connected { .. } | AirEvent::Transmission(_) => {}
            AirEvent::Released { ue, at } => {
                let is_done = self
                    .devices
                    .get(&ue)
                    .is_some_and(|device| device.step == self.traffic.exchange.len());
                if is_done {
                    self.remove(ue, at);
                }
            }
        }
    }

    fn delivered(&mut self, ue: UeId, token: u64, at: Instant) {
        self.result.delivered += 1;
        let Some(device) = self.devices.get_mut(&ue) else {
            return;
        };
        assert_eq!(
            token,
            device.index * 16 + device.step as u64,
            "packets arrive in order"
        );
        if device.step == 0 {
            let delay = at.saturating_since(device.arrived);
            self.result.delays_ms.push(delay.as_secs_f64() * 1_000.0);
        }
        device.step += 1;
        match self.traffic.exchange.get(device.step) {
            None => self.result.served += 1,
            Some((Direction::Up, _)) => self.at(at, Due::Offer(ue)),
            Some((Direction::Down, _)) => self.at(at + 2 * INTERNET, Due::Offer(ue)),
        }
    }

    fn remove(&mut self, ue: UeId, now: Instant) {
        if self.devices.remove(&ue).is_none() {
            return;
        }
        for direction in Direction::ALL {
            self.result.held += self.network.held(ue, direction).len() as u64;
        }
        let facts = self.network.remove(ue, now);
        self.result.facts.extend(facts);
    }
}
