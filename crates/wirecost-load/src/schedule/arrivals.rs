//! The times at which messages are intended, whatever happens to earlier messages.
//!
//! All devices of a load share one schedule. Each part takes its devices' share of it. In the constant schedule,
//! message k belongs to device k mod n, so the shares of all parts interleave with equal gaps. A Poisson stream is the
//! sum of independent streams: each part draws its own stream, and a device for each message. In both schedules, a rate
//! per device is the total rate divided by the number of devices.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::ops::Range;
use std::time::Duration;

use wirecost_proto::{Instant, Rng};
use wirecost_scenario::options::load::trace::Trace;
use wirecost_scenario::options::load::{Arrivals, Offer};

use crate::nanos;

/// The most arrivals that a loop notes before it reads its sockets and its inbox. Without this limit, a loop that falls
/// behind would take longer for each turn.
pub(crate) const ARRIVALS_PER_TURN: usize = 4_096;

/// The end of a phase that a count ends, until the count is reached.
pub(crate) const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// When a part offers the messages or handshakes of a phase.
#[derive(Debug)]
pub(crate) enum Flow {
    /// An open loop: the times of a schedule.
    Open(Peekable<Merged>),
    /// A closed loop: offers whenever a device has room.
    Closed {
        /// How many messages the part may still offer.
        left: u64,
    },
}

impl Flow {
    /// The share of `devices` among the `of` senders of the load, of which the first one may have a trace.
    pub(crate) fn new(offer: &Offer, devices: &Range<u32>, of: u32, rng: Rng, trace: Option<&Trace>) -> Self {
        // With a trace, the schedule is that of the other devices.
        let without = |device: u32| device.saturating_sub(u32::from(trace.is_some()));
        let others = without(devices.start)..without(devices.end);
        let own = trace.filter(|_| devices.contains(&0));
        match Schedule::new(offer, others, without(of), rng) {
            Some(schedule) => Self::Open(Merged::new(schedule, own, offer).peekable()),
            None => Self::Closed {
                left: offer.count.map_or(u64::MAX, |count| share(count, devices, of)),
            },
        }
    }

    /// The device of the next arrival and its intended time, in a phase that begins at `begins`; `None` in a closed
    /// loop, and at the end of the schedule.
    pub(crate) fn next_arrival(&mut self, begins: Instant) -> Option<(usize, Instant)> {
        let Self::Open(schedule) = self else {
            return None;
        };
        let arrival = schedule.peek()?;
        Some((arrival.device, begins + Duration::from_nanos(arrival.offset)))
    }

    /// The times of all arrivals since the beginning of the phase, in nanoseconds; `None` in a closed loop.
    pub(crate) fn offsets(self) -> Option<impl Iterator<Item = u64>> {
        match self {
            Self::Open(schedule) => Some(schedule.map(|arrival| arrival.offset)),
            Self::Closed { .. } => None,
        }
    }

    /// Moves an open loop past its next arrival.
    pub(crate) fn advance(&mut self) {
        if let Self::Open(schedule) = self {
            schedule.next();
        }
    }
}

/// An intended message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Since the beginning of the phase, in nanoseconds.
    pub offset: u64,
    /// The device's index in its part.
    pub device: usize,
}

/// The arrivals of a schedule, and those of a trace of the first device.
#[derive(Debug)]
pub(crate) struct Merged {
    schedule: Peekable<Schedule>,
    /// The devices of the part before the first one of the schedule.
    behind: usize,
    recorded: VecDeque<Arrival>,
}

impl Merged {
    fn new(schedule: Schedule, trace: Option<&Trace>, offer: &Offer) -> Self {
        let end = offer.duration.map_or(u64::MAX, nanos);
        let values = trace.iter().flat_map(|trace| trace.values());
        let recorded = values.map(|recorded| Arrival {
            offset: nanos(recorded.at),
            device: 0,
        });
        Self {
            schedule: schedule.peekable(),
            behind: usize::from(trace.is_some()),
            recorded: recorded.take_while(|arrival| arrival.offset < end).collect(),
        }
    }
}

impl Iterator for Merged {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let scheduled = self.schedule.peek().map_or(u64::MAX, |arrival| arrival.offset);
        if self
            .recorded
            .front()
            .is_some_and(|arrival| arrival.offset <= scheduled)
        {
            return self.recorded.pop_front();
        }
        let arrival = self.schedule.next()?;
        Some(Arrival {
            device: arrival.device + self.behind,
            ..arrival
        })
    }
}

/// One part's share of the schedule of all devices. Iterates over its arrivals in order.
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    stream: Stream,
    /// The part's devices among all devices.
    devices: Range<u32>,
    of: u32,
    /// The end of the schedule, in nanoseconds.
    end: u64,
    /// The most arrivals that the part may still have.
    left: u64,
}

#[derive(Clone, Debug)]
enum Stream {
    /// The next message of the part: its round over all devices, and its device.
    Constant { round: u64, device: u32 },
    /// The expected messages of this part so far.
    Poisson { expected: f64, rng: Rng },
}

/// The rate over time: it rises linearly from 0 to its full value, and stays there.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Messages per second over all devices.
    rate: f64,
    /// How long it rises, in seconds.
    ramp: f64,
    /// How many seconds each round of messages is spread over; `None` spreads it over the whole round.
    spread: Option<f64>,
}

impl Schedule {
    /// The share of `devices` among the `of` devices of an open loop; `None` for a closed loop. `rng` belongs to this
    /// part.
    pub fn new(offer: &Offer, devices: Range<u32>, of: u32, rng: Rng) -> Option<Self> {
        let Arrivals::Open {
            rate,
            per_client,
            poisson,
        } = offer.arrivals
        else {
            return None;
        };
        let clients = if per_client { f64::from(of) } else { 1.0 };
        let pace = Pace {
            rate: rate * clients,
            ramp: offer.ramp.as_secs_f64(),
            spread: offer.spread.map(|spread| spread.as_secs_f64()),
        };
        let (stream, left) = if poisson {
            let stream = Stream::Poisson { expected: 0.0, rng };
            (
                stream,
                offer.count.map_or(u64::MAX, |count| share(count, &devices, of)),
            )
        } else {
            let device = devices.start;
            let stream = Stream::Constant { round: 0, device };
            (
                stream,
                // In turn, the first devices get one message more where the count is no multiple of the devices.
                offer.count.map_or(u64::MAX, |count| turns(count, &devices, of)),
            )
        };
        Some(Self {
            pace,
            stream,
            devices,
            of,
            end: offer.duration.map_or(u64::MAX, nanos),
            left,
        })
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        if self.left == 0 || self.devices.is_empty() {
            return None;
        }
        let arrival = match &mut self.stream {
            Stream::Constant { round, device } => {
                let offset = self.pace.time_of_round(*round, *device, self.of);
                let index = *device - self.devices.start;
                *device += 1;
                if *device == self.devices.end {
                    (*round, *device) = (*round + 1, self.devices.start);
                }
                Arrival {
                    offset,
                    device: index as usize,
                }
            }
            Stream::Poisson { expected, rng } => {
                let devices = self.devices.end - self.devices.start;
                let part = f64::from(devices) / f64::from(self.of);
                // A Poisson process split at random gives each part an independent one with its share of the rate: parts need not agree.
                *expected += rng.next_exponential() / part;
                Arrival {
                    offset: self.pace.time_of(*expected),
                    device: rng.next_below(u64::from(devices)) as usize,
                }
            }
        };
        self.left -= 1;
        // Offsets only grow: what follows lies behind the end as well.
        if arrival.offset >= self.end {
            self.left = 0;
            return None;
        }
        Some(arrival)
    }
}

impl Pace {
    /// The intended time of a device's message in a round over `of` devices, in nanoseconds.
    fn time_of_round(self, round: u64, device: u32, of: u32) -> u64 {
        let devices = u64::from(of);
        let Some(spread) = self.spread else {
            return self.time_of((round * devices + u64::from(device)) as f64);
        };
        let within = spread * f64::from(device) / f64::from(of.max(1));
        self.time_of((round * devices) as f64) + (within * 1e9).round() as u64
    }

    /// The time by which `messages` are expected, in nanoseconds: the inverse of the integral of the rate, which is
    /// rate t^2 / (2 ramp) while it rises and rate (t - ramp / 2) after that.
    fn time_of(self, messages: f64) -> u64 {
        let Self { rate, ramp, .. } = self;
        let seconds = if messages < rate * ramp / 2.0 {
            (2.0 * ramp * messages / rate).sqrt()
        } else {
            messages / rate + ramp / 2.0
        };
        (seconds * 1e9).round() as u64
    }
}

/// The part's share of a count. The shares of all parts sum to the count.
pub(crate) fn share(count: u64, devices: &Range<u32>, of: u32) -> u64 {
    let upto = |device: u32| u128::from(count) * u128::from(device) / u128::from(of.max(1));
    (upto(devices.end) - upto(devices.start)) as u64
}

/// How many of the first `count` messages belong to the part, if message k belongs to device k mod n.
fn turns(count: u64, devices: &Range<u32>, of: u32) -> u64 {
    let of = u64::from(of.max(1));
    let (start, end) = (u64::from(devices.start), u64::from(devices.end));
    let (rounds, rest) = (count / of, count % of);
    rounds * (end - start) + rest.clamp(start, end) - start
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn offer(rate: f64, per_client: bool, poisson: bool) -> Offer {
        Offer {
            arrivals: Arrivals::Open {
                rate,
                per_client,
                poisson,
            },
            duration: Some(Duration::from_secs(10_000)),
            count: None,
            warm_up: Duration::ZERO,
            ramp: Duration::ZERO,
            spread: None,
        }
    }

    fn schedule(offer: &Offer, devices: Range<u32>, of: u32) -> Schedule {
        let rng = Rng::new(7).host(u64::from(devices.start));
        Schedule::new(offer, devices, of, rng).expect("an open loop")
    }

    #[test]
    fn a_constant_rate_is_exact_over_10_000_s() {
        for (rate, expected) in [
            (1_000.0, 10_000_000),
            (0.5, 5_000),
            (1.0 / 60.0, 167),
            (3.0, 30_000),
        ] {
            let offer = offer(rate, false, false);
            let mut arrivals = schedule(&offer, 0..10, 10);
            let mut count = 0_u64;
            for arrival in &mut arrivals {
                let exact = (count as f64 / rate * 1e9).round() as u64;
                assert!(arrival.offset.abs_diff(exact) <= 1, "{rate}: message {count}");
                assert_eq!(arrival.device as u64, count % 10);
                count += 1;
            }
            assert_eq!(count, expected, "{rate}");
        }
    }

    #[test]
    fn the_shares_of_all_parts_interleave_to_the_whole() {
        for count in [None, Some(1), Some(4), Some(7), Some(1_003)] {
            let offer = Offer {
                duration: Some(Duration::from_secs(2)),
                count,
                ..offer(1_000.0, false, false)
            };
            let whole: Vec<Arrival> = schedule(&offer, 0..7, 7).collect();
            let mut parts: Vec<Arrival> = [0..3, 3..4, 4..7]
                .into_iter()
                .flat_map(|devices| {
                    let first = devices.start as usize;
                    schedule(&offer, devices, 7).map(move |arrival| Arrival {
                        device: arrival.device + first,
                        ..arrival
                    })
                })
                .collect();
            parts.sort_by_key(|arrival| arrival.offset);
            assert_eq!(parts, whole, "{count:?}");
            assert_eq!(whole.len() as u64, count.unwrap_or(2_000).min(2_000));
        }
    }

    #[test]
    fn a_rate_per_device_is_that_of_each_device() {
        let arrivals: Vec<Arrival> = schedule(&offer(0.5, true, false), 0..4, 4).take(12).collect();
        let of_second: Vec<u64> = arrivals
            .iter()
            .filter(|arrival| arrival.device == 1)
            .map(|arrival| arrival.offset)
            .collect();
        assert_eq!(of_second, [500_000_000, 2_500_000_000, 4_500_000_000]);
    }

    #[test]
    fn a_ramp_offers_half_as_much_as_its_final_rate() {
        let offer = Offer {
            ramp: Duration::from_secs(10),
            duration: Some(Duration::from_secs(20)),
            ..offer(100.0, false, false)
        };
        let offsets: Vec<u64> = schedule(&offer, 0..1, 1).map(|arrival| arrival.offset).collect();
        // 100/s for 10 s, and half of that for the 10 s before.
        assert_eq!(offsets.len(), 1_500);
        let before = |seconds: u64| {
            offsets
                .iter()
                .filter(|offset| **offset < seconds * 1_000_000_000)
                .count()
        };
        // rate t^2 / (2 ramp): a quarter of the ramp's 500 at half its time.
        assert_eq!((before(5), before(10), before(15)), (125, 500, 1_000));
        assert!(offsets.is_sorted());
    }

    #[test]
    fn poisson_gaps_have_an_exponential_mean_and_variance() {
        let offsets: Vec<u64> = schedule(&offer(100.0, false, true), 0..10, 10)
            .take(100_000)
            .map(|arrival| arrival.offset)
            .collect();
        let gaps: Vec<f64> = offsets
            .windows(2)
            .map(|two| (two[1] - two[0]) as f64 / 1e9)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Five standard errors: 0.01 / sqrt(n) for the mean, about sqrt(8 / n) for the relative variance.
        assert!((mean - 0.01).abs() < 5.0 * 0.01 / 316.0, "mean {mean}");
        assert!(
            (variance - 1e-4).abs() < 5.0 * 1e-4 * 0.009,
            "variance {variance}"
        );
    }

    #[test]
    fn poisson_shares_sum_to_the_rate_and_the_count() {
        let offer = Offer {
            duration: Some(Duration::from_secs(1_000)),
            ..offer(100.0, false, true)
        };
        let all: usize = [0..3, 3..4, 4..10]
            .map(|devices| schedule(&offer, devices, 10).count())
            .iter()
            .sum();
        // Five standard deviations: that of a Poisson count of 100,000 is 316.
        assert!(all.abs_diff(100_000) < 1_582, "{all}");
        let counted = Offer {
            count: Some(1_001),
            ..offer
        };
        let all: usize = [0..3, 3..4, 4..10]
            .map(|devices| schedule(&counted, devices, 10).count())
            .iter()
            .sum();
        assert_eq!(all, 1_001);
    }
}
