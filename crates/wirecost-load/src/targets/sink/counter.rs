//! Counts arrivals at a server.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use wirecost_proto::driver::ServiceObserver;
use wirecost_proto::{Instant, Stamp};
use wirecost_results::figures::Deliveries;
use wirecost_stack::server::{Server, ServerEvent};
use wirecost_stats::Histogram;

use super::report::{SinkReport, SinkUsage};
use crate::devices::roles::track::{ArrivalOrder, Track};
use crate::parts::usage::Measured;
use crate::schedule::backlog::Backlog;

/// The number of devices whose message numbers are tracked. Messages of other devices count, but not as duplicates or
/// out of order. Anyone can send a stamp.
const MAX_DEVICES: usize = 1 << 20;

/// Handles the server's events. Clones share their counts.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    /// The start of its clock on that of the parts, in nanoseconds.
    clock_start_ns: u64,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    messages: u64,
    payload_bytes: u64,
    unstamped: u64,
    phase: Measured,
    /// The deliveries of warm-ups.
    warm_up: Deliveries,
    /// `None` if payloads have no stamp.
    stamps: Option<Stamps>,
}

/// The data from stamps.
#[derive(Debug)]
struct Stamps {
    delays: Histogram,
    duplicates: u64,
    out_of_order: u64,
    worked_off: u64,
    backlog: Backlog,
    /// By the device's number.
    devices: Vec<Track>,
}

impl Counter {
    pub(crate) fn new(clock_start_ns: u64, stamped: bool) -> Self {
        let counts = Counts {
            stamps: stamped.then(Stamps::new),
            ..Counts::default()
        };
        Self {
            clock_start_ns,
            counts: Arc::new(Mutex::new(counts)),
        }
    }

    /// The report of all arrivals.
    pub(crate) fn report(&self) -> SinkReport {
        self.with(|counts| {
            let stamps = counts.stamps.as_ref();
            SinkReport {
                messages: counts.messages,
                payload_bytes: counts.payload_bytes,
                duplicates: stamps.map(|stamps| stamps.duplicates),
                out_of_order: stamps.map(|stamps| stamps.out_of_order),
                unstamped: counts.unstamped,
                warm_up: counts.warm_up,
                worked_off: stamps.map_or(0, |stamps| stamps.worked_off),
                one_way_delay: stamps.map(|stamps| stamps.delays.clone()),
                usage: SinkUsage::default(),
            }
        })
    }

    /// The number of messages that have arrived.
    pub(super) fn messages(&self) -> u64 {
        self.with(|counts| counts.messages)
    }

    pub(crate) fn begin_phase(&self, phase: &Measured) {
        self.with(|counts| {
            counts.phase = *phase;
            if let Some(stamps) = &mut counts.stamps {
                stamps.delays = Histogram::new();
                stamps.backlog = Backlog::new(phase.from_ns, phase.offer_ends_ns);
            }
        });
    }

    fn with<R>(&self, work: impl FnOnce(&mut Counts) -> R) -> R {
        // Each count is valid at any moment, even if a thread panicked while it held the lock.
        work(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ServiceObserver<Server> for Counter {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: ServerEvent, now: Instant) {
        let Some((payload_bytes, front)) = event.message() else {
            return;
        };
        let monotonic_ns = self.clock_start_ns.saturating_add(now.as_nanos());
        self.with(|counts| {
            counts.messages += 1;
            counts.payload_bytes += payload_bytes;
            // What is recorded has no stamp: its text, read as one, is of the far future.
            let stamp = front.stamp().filter(|stamp| stamp.intended_ns <= monotonic_ns);
            let stamp = stamp.filter(|_| counts.stamps.is_some());
            let intended_ns = stamp.map_or(monotonic_ns, |stamp| stamp.intended_ns);
            // By the intended time, not by the arrival: a message that queued across the border belongs to the phase that offered it.
            let is_earlier = intended_ns < counts.phase.from_ns;
            let is_warm_up = counts.phase.has_warm_up && is_earlier;
            counts.warm_up.arrived += u64::from(is_warm_up);
            let Some(stamps) = &mut counts.stamps else {
                return;
            };
            let Some(stamp) = stamp else {
                counts.unstamped += 1;
                return;
            };
            let place = stamps.take(stamp);
            if is_warm_up {
                counts.warm_up.duplicates += u64::from(place == ArrivalOrder::Duplicate);
                counts.warm_up.out_of_order += u64::from(place == ArrivalOrder::OutOfOrder);
            } else {
                stamps.delays.record(monotonic_ns.saturating_sub(intended_ns));
            }
            // Messages left over from an earlier phase do not count for this one.
            if !is_earlier && place != ArrivalOrder::Duplicate {
                let is_behind = stamps.backlog.is_behind(intended_ns, monotonic_ns);
                stamps.worked_off += u64::from(is_behind);
            }
        });
    }

    fn is_work(&self, event: &ServerEvent) -> bool {
        event.message().is_some()
    }
}

impl Stamps {
    fn new() -> Self {
        Self {
            delays: Histogram::new(),
            duplicates: 0,
            out_of_order: 0,
            worked_off: 0,
            backlog: Backlog::new(0, None),
            devices: Vec::new(),
        }
    }

    /// Counts a message. Returns its order among those of its device.
    fn take(&mut self, stamp: Stamp) -> ArrivalOrder {
        let device = stamp.device as usize;
        if device >= MAX_DEVICES {
            return ArrivalOrder::InOrder;
        }
        if device >= self.devices.len() {
            self.devices.resize(device + 1, Track::default());
        }
        let place = self.devices[device].note(stamp.message);
        self.out_of_order += u64::from(place == ArrivalOrder::OutOfOrder);
        self.duplicates += u64::from(place == ArrivalOrder::Duplicate);
        place
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirecost_live::Clock;
    use wirecost_proto::{Front, bare};

    use super::*;

    #[test]
    fn counts_what_a_server_reports() {
        let clock = Clock::start();
        let mut counter = Counter::new(clock.monotonic_nanos(Instant::START), true);
        let now = clock.now();
        let stamp = Stamp {
            device: 3,
            message: 0,
            intended_ns: clock.monotonic_nanos(now) - 5_000,
        };
        for payload in [&stamp.to_bytes()[..], &stamp.to_bytes(), b"short"] {
            counter.event(0, None, message(payload), now);
        }
        let report = counter.report();
        assert_eq!((report.messages, report.payload_bytes), (3, 37));
        assert_eq!((report.duplicates, report.out_of_order), (Some(1), Some(0)));
        assert_eq!(report.unstamped, 1);
        let delays = report.one_way_delay.expect("delays");
        assert_eq!(delays.len(), 2);
        assert!(delays.max().abs_diff(5_000) <= 5, "{} ns", delays.max());
        counter.begin_phase(&Measured::default());
        assert!(counter.report().one_way_delay.expect("delays").is_empty());
    }

    #[test]
    fn messages_intended_in_the_warm_up_are_counted_apart() {
        let clock = Clock::start();
        let now = clock.now();
        let now_ns = clock.monotonic_nanos(now);
        for is_stamped in [true, false] {
            let mut counter = Counter::new(clock.monotonic_nanos(Instant::START), is_stamped);
            counter.begin_phase(&Measured {
                from_ns: now_ns,
                has_warm_up: true,
                offer_ends_ns: None,
            });
            let mut arrive =
                |message, intended_ns, at| counter.event(0, None, stamped_message(message, intended_ns), at);
            let before = Instant::from_nanos(now.as_nanos().saturating_sub(1));
            arrive(0, now_ns - 9, before);
            // Its second copy arrives after the warm-up: only the stamp shows that it belongs to it.
            arrive(0, now_ns - 9, now);
            arrive(1, now_ns, now);
            let report = counter.report();
            let warm_up = report.warm_up;
            assert_eq!(report.messages, 3);
            let expected = if is_stamped { (2, 1) } else { (1, 0) };
            assert_eq!((warm_up.arrived, warm_up.duplicates), expected);
            assert_eq!(
                report.one_way_delay.map(|delays| delays.len()),
                is_stamped.then_some(1)
            );
        }
    }

    /// Messages every 10 ms for 100 ms over a link that delivers one every 30 ms, the first one 5 ms after its intended
    /// time.
    #[test]
    fn messages_after_the_end_of_the_offer_are_worked_off() {
        const MS: u64 = 1_000_000;
        let clock = Clock::start();
        let start = clock.now();
        let at = |millis| start + Duration::from_millis(millis);
        let begin_ns = clock.monotonic_nanos(start);
        for (is_stamped, offer_ends_ms, worked_off) in
            [(true, Some(100), 6), (true, None, 0), (false, Some(100), 0)]
        {
            let mut counter = Counter::new(clock.monotonic_nanos(Instant::START), is_stamped);
            for phase in 0..2 {
                let begins = phase * 1_000;
                counter.begin_phase(&Measured {
                    from_ns: begin_ns + begins * MS,
                    has_warm_up: false,
                    offer_ends_ns: offer_ends_ms.map(|end| begin_ns + (begins + end) * MS),
                });
                if phase > 0 {
                    let left_over = stamped_message(10, begin_ns);
                    counter.event(0, None, left_over, at(begins));
                }
                for message in 0..10 {
                    let number = (phase * 20 + message) as u32;
                    let intended_ns = begin_ns + (begins + message * 10) * MS;
                    let arrives = at(begins + 5 + message * 30);
                    // Its second copy was not delivered.
                    for _ in 0..2 {
                        counter.event(0, None, stamped_message(number, intended_ns), arrives);
                    }
                }
                counter.event(0, None, message(b"short"), at(begins + 900));
            }
            assert_eq!(counter.report().worked_off, 2 * worked_off);
        }
    }

    fn stamped_message(message: u32, intended_ns: u64) -> ServerEvent {
        let stamp = Stamp {
            device: 3,
            message,
            intended_ns,
        };
        self::message(&stamp.to_bytes())
    }

    fn message(payload: &[u8]) -> ServerEvent {
        ServerEvent::Bare(bare::ServerEvent::Message {
            flow: wirecost_proto::FlowId(0),
            payload_bytes: payload.len() as u64,
            front: Front::from_payload(payload),
        })
    }
}
