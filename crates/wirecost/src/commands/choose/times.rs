//! How long a reading takes, by its parts: the wait for others in its message, the device's wake-up, the connect, the message.

use std::time::Duration;

use wirecost_energy::Device;
use wirecost_results::Cell;
use wirecost_results::summary::Times;

use super::ways::Way;

/// The time of a reading: 95th percentile, or the longest where there are too few.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadingTime {
    /// From the first reading of a message to the last one.
    pub wait: Duration,
    /// From the device's rest to its first packet; zero for a device that is still awake, and without a device.
    pub wake: Duration,
    /// The connect, or what the message waits for one.
    pub connect: Duration,
    /// The message.
    pub message: Duration,
    /// `p95` or `longest`.
    pub what: &'static str,
    /// The 95 % interval of the percentile on the network, in seconds; `None` where there are too few.
    network: Option<[f64; 2]>,
}

impl ReadingTime {
    /// The time of a cell's readings; `None` where none arrived.
    pub fn of(cell: &Cell, way: &Way, every: Duration, device: Option<&Device>) -> Option<Self> {
        let section = cell.message.as_ref()?;
        let alone = section.response_time_ns.as_ref();
        let with_connect = cell.first_message_time_ns.as_ref();
        let (whole, message) = match cell.messages_per_connection {
            1 => (with_connect.or(alone)?, alone?),
            _ => (alone?, section.service_time_ns.as_ref().or(alone)?),
        };
        let (whole, message) = (longest(whole), longest(message).0.min(longest(whole).0));
        let others = u32::try_from(way.readings.saturating_sub(1)).unwrap_or(u32::MAX);
        Some(Self {
            wait: every * others,
            wake: device.map_or(Duration::ZERO, |device| wake(device, every * (others + 1))),
            connect: whole.0 - message,
            message,
            what: whole.1,
            network: interval(match cell.messages_per_connection {
                1 => with_connect.or(alone)?,
                _ => alone?,
            }),
        })
    }

    /// All parts together.
    pub fn total(&self) -> Duration {
        self.wait + self.wake + self.network()
    }

    /// What the network takes.
    pub fn network(&self) -> Duration {
        self.connect + self.message
    }

    /// The 95 % interval of the total, in seconds.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let fixed = (self.wait + self.wake).as_secs_f64();
        Some(self.network?.map(|end| end + fixed))
    }

    /// The parts that are there, with their names.
    pub fn parts(&self) -> Vec<(&'static str, Duration)> {
        let parts = [
            ("wait for the message", self.wait),
            ("wake-up", self.wake),
            ("connect", self.connect),
            ("message", self.message),
        ];
        parts.into_iter().filter(|(_, time)| !time.is_zero()).collect()
    }
}

/// The wake-up before a message: a device whose tails last until the next message does not rest.
fn wake(device: &Device, every: Duration) -> Duration {
    let rests = every > device.tail_time();
    device
        .wake
        .filter(|_| rests)
        .map_or(Duration::ZERO, |wake| wake.time)
}

fn longest(times: &Times) -> (Duration, &'static str) {
    match times.p95 {
        Some(p95) => (Duration::from_nanos(p95), "p95"),
        None => (Duration::from_nanos(times.max), "longest"),
    }
}

fn interval(times: &Times) -> Option<[f64; 2]> {
    if times.min == times.max {
        return Some([times.max as f64 / 1e9; 2]);
    }
    let interval = times.quantile_ci95.get("p95").copied().flatten()?;
    Some(interval.map(|nanos| nanos as f64 / 1e9))
}
