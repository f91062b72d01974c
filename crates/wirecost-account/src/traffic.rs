//! All that a device repeats.

use wirecost_cost::{ObservedPacket, Observer, Usage, UsageMeter, What};
use wirecost_energy::{Account, Device, Meter};
use wirecost_proto::calendar::Period;
use wirecost_proto::{Direction, Instant};

use crate::{Cycle, ReadingTime, Way};

/// How far the sum of rounded times may be above the whole, in seconds.
const ROUNDING_S: f64 = 1e-3;

/// The traffic of one device.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The device's address, or the cell.
    pub label: String,
    /// The name of the stack of a cell or a load; `None` for a capture, whose packets may be of any.
    pub stack: Option<String>,
    /// How it is repeated.
    pub way: Way,
    /// Seconds between readings.
    pub interval: f64,
    /// Seconds between keep-alives that are not part of the readings' traffic.
    pub keep_alive: Option<f64>,
    /// What repeats, each at its own interval.
    pub cycles: Vec<Cycle>,
    /// How long a reading takes; `None` where that was not simulated.
    pub time: Option<ReadingTime>,
    /// What the device of a capture did; `None` for a cell, and without a device file.
    pub activity: Option<Activity>,
}

impl Traffic {
    /// What one device uses in a month.
    pub fn month(&self) -> Usage {
        self.cycles.iter().fold(Usage::default(), |sum, cycle| {
            sum.plus(&cycle.used_in(Period::Month))
        })
    }

    /// What one device uses for a message, with its share of everything else that repeats.
    pub fn message(&self) -> Usage {
        match self.messages_in(Period::Month) {
            messages if messages > 0.0 => self.month().scaled(1.0 / messages),
            _ => Usage::default(),
        }
    }

    /// Messages of one device in a period.
    pub fn messages_in(&self, period: Period) -> f64 {
        let cycles = self.cycles.iter();
        cycles
            .map(|cycle| cycle.readings * period.times(cycle.every))
            .sum()
    }

    /// Bytes of IP packets of a message, both ways, with its share of everything else that repeats.
    pub fn bytes_each(&self) -> f64 {
        self.message().wire_bytes()
    }

    /// Whether the traffic overlaps with its tails, so that energy is an upper bound. A life in a cell takes the whole time until the
    /// next one, with each of its times rounded to a nanosecond.
    pub fn overlaps(&self) -> bool {
        let overlaps = |cycle: &Cycle| cycle.seconds() > cycle.every + ROUNDING_S;
        !self.way.is_gapless() && self.cycles.iter().any(overlaps)
    }
}

/// What the device of a capture did, as the model has it: from the wake-up before its first packet to the end of the tails after
/// its last one.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Time and energy.
    pub account: Account,
    /// Seconds of the wake-up before the first packet.
    pub wake: f64,
    /// Seconds from the first packet to the first packet up; `None` if there is no packet up.
    pub first_up: Option<f64>,
    /// Messages that the device sent.
    pub readings: f64,
}

impl Activity {
    /// What the device did.
    pub fn observe(device: &Device, tell: impl FnOnce(&mut dyn Observer)) -> Self {
        let mut observers = (Meter::new(device), (UsageMeter::default(), FirstTimes::default()));
        tell(&mut observers);
        let (meter, (usage, FirstTimes { first, first_up })) = observers;
        let times = first.zip(first_up);
        Self {
            account: meter.finish(),
            wake: device.wake.map_or(0.0, |wake| wake.time.as_secs_f64()),
            first_up: times.map(|(first, up)| up.saturating_since(first).as_secs_f64()),
            readings: usage.finish().count(What::Publish),
        }
    }

    /// How long the device was active.
    pub fn seconds(&self) -> f64 {
        self.account.total_nanos() as f64 / 1e9
    }
}

/// Observes when the first packet was, and when the first one up.
#[derive(Default)]
struct FirstTimes {
    first: Option<Instant>,
    first_up: Option<Instant>,
}

impl Observer for FirstTimes {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.first.get_or_insert(packet.at);
        if packet.direction == Direction::Up {
            self.first_up.get_or_insert(packet.at);
        }
    }
}
