//! How long a reading takes, by its parts: the wait for others in its message, the device's wake-up, the connect, the message.

use std::time::Duration;

use wirecost_energy::Device;
use wirecost_results::Cell;
use wirecost_results::summary::Times;

wirecost_proto::named! {
    /// The statistic that a time is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Statistic {
        /// The 95th percentile.
        P95 => "p95",
        /// The longest, where readings are too few for a percentile.
        Longest => "longest",
    }
}

/// How long a reading takes from the sensor to the server, in the parts that follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadingTime {
    /// From the first reading of a message to the last one.
    pub wait: Duration,
    /// From the device's rest to its first packet; zero for a device that is still awake, without a device, and in a modelled cell,
    /// where the way into a connection is part of the message's time already.
    pub wake: Duration,
    /// The connect, or what the message waits for one.
    pub connect: Duration,
    /// The message.
    pub message: Duration,
    /// Which time it is.
    pub statistic: Statistic,
    /// The 95 % interval of the percentile on the network, in seconds; `None` where there are too few.
    network: Option<[f64; 2]>,
}

impl ReadingTime {
    /// The time of the readings of a cell; `None` where none arrived, and without an interval, which decides whether a device rests.
    pub fn from_cell(cell: &Cell, device: Option<&Device>) -> Option<Self> {
        let section = cell.message.as_ref()?;
        let between = Duration::from_nanos(cell.interval_ns?);
        let alone = section.response_time_ns.as_ref();
        let (whole, message) = match cell.messages_per_connection {
            // With one message per connection each reading waits for a connect.
            1 => (cell.first_message_time_ns.as_ref().or(alone)?, alone?),
            _ => (alone?, section.service_time_ns.as_ref().or(alone)?),
        };
        let network = interval(whole);
        let (whole, statistic) = longest(whole);
        // Each is an order statistic of its own samples: that of a part could be larger than that of the whole.
        let message = longest(message).0.min(whole);
        // In a modelled cell the way out of rest is in the response time already.
        let device = device.filter(|_| cell.link.nbiot_cell.is_none());
        Some(Self {
            wait: wait(cell, between),
            wake: device.map_or(Duration::ZERO, |device| wake(device, between)),
            connect: whole - message,
            message,
            statistic,
            network,
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

/// How long the first reading of a message waits for the last one, of messages that come `between` apart.
fn wait(cell: &Cell, between: Duration) -> Duration {
    let readings = cell.readings.as_ref().map_or(1, |readings| readings.count);
    let readings = u32::try_from(readings.max(1)).unwrap_or(u32::MAX);
    between / readings * (readings - 1)
}

/// The wake-up before a message: a device whose tails last until the next message does not rest.
fn wake(device: &Device, between: Duration) -> Duration {
    let rests = between > device.tail_time();
    device
        .wake
        .filter(|_| rests)
        .map_or(Duration::ZERO, |wake| wake.time)
}

fn longest(times: &Times) -> (Duration, Statistic) {
    match times.p95 {
        Some(p95) => (Duration::from_nanos(p95), Statistic::P95),
        None => (Duration::from_nanos(times.max), Statistic::Longest),
    }
}

fn interval(times: &Times) -> Option<[f64; 2]> {
    if times.min == times.max {
        return Some([times.max as f64 / 1e9; 2]);
    }
    let interval = times.quantile_ci95.get("p95").copied().flatten()?;
    Some(interval.map(|nanos| nanos as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use wirecost_results::summary::Section;

    use super::*;

    fn same(nanos: u64) -> Option<Times> {
        Some(Times {
            min: nanos,
            max: nanos,
            p95: Some(nanos),
            ..Times::default()
        })
    }

    /// A connection for each message, which comes every 100 s.
    fn cell() -> Cell {
        Cell {
            messages_per_connection: 1,
            interval_ns: Some(100_000_000_000),
            first_message_time_ns: same(300_000_000),
            message: Some(Section {
                samples: 1,
                response_time_ns: same(100_000_000),
                ..Section::default()
            }),
            ..Cell::default()
        }
    }

    #[test]
    fn the_connect_is_what_the_first_message_takes_longer() {
        let time = ReadingTime::from_cell(&cell(), None).expect("it arrived");
        let millis = |millis| Duration::from_millis(millis);
        assert_eq!(
            (time.wait, time.wake, time.connect, time.message),
            (Duration::ZERO, Duration::ZERO, millis(200), millis(100))
        );
        assert_eq!((time.total(), time.statistic), (millis(300), Statistic::P95));
        assert_eq!(time.interval(), Some([0.3; 2]));
    }

    #[test]
    fn the_first_reading_of_a_message_waits_for_the_last_one() {
        let batch = Cell {
            readings: Some(wirecost_results::readings::Readings {
                count: 4,
                ..Default::default()
            }),
            ..cell()
        };
        let time = ReadingTime::from_cell(&batch, None).expect("it arrived");
        assert_eq!(time.wait, Duration::from_secs(75));
        assert_eq!(time.total(), Duration::from_millis(75_300));
    }

    #[test]
    fn a_reading_that_did_not_arrive_has_no_time() {
        assert_eq!(ReadingTime::from_cell(&Cell::default(), None), None);
        let without_interval = Cell {
            interval_ns: None,
            ..cell()
        };
        assert_eq!(ReadingTime::from_cell(&without_interval, None), None);
    }
}
