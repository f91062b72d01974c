//! Finds the packets of one log in the other.

use wirecost_proto::{BothWays, Direction};
use wirecost_stats::Sample;

use super::clock::{ClockOffset, Sides};
use super::groups::groups;
use super::log::Seen;
use super::{AtOneHost, Log, Passage, Transit};

/// When a packet was logged by the first host's clock, and its bytes.
type Timed = (i64, u32);

/// What became of the packets of both directions, and how many packets of each host are others'.
pub(super) fn ways(logs: [&Log; 2], sides: &Sides, clock: &ClockOffset) -> (BothWays<Passage>, [u64; 2]) {
    let mut found: BothWays<Found> = BothWays::default();
    let mut others = logs.map(|log| log.untimed);
    for group in groups(logs) {
        let of_way = |host: usize, way: Option<Direction>| {
            group[host]
                .iter()
                .filter(move |seen| sides.way(host, seen.ends) == way)
        };
        for way in Direction::ALL {
            let [sent, arrived] = hosts_of(way).map(|host| {
                of_way(host, Some(way))
                    .map(|seen| timed(host, seen, clock))
                    .collect::<Vec<_>>()
            });
            found[way].find(sent, arrived, clock.least_ns());
        }
        for host in [0, 1] {
            others[host] += of_way(host, None).count() as u64;
        }
    }
    let ran = [0, 1].map(|host| {
        let times = || logs[host].seen.iter().map(move |seen| timed(host, seen, clock).0);
        (
            times().min().unwrap_or_default(),
            times().max().unwrap_or_default(),
        )
    });
    let ways = BothWays::from_fn(|way| {
        let [sender, receiver] = hosts_of(way);
        let found = std::mem::take(&mut found[way]);
        let both = found.transits.len() as u64;
        let transit = transit(found.transits);
        let longest = transit.map_or(0, |transit| i64::try_from(transit.max_ns).unwrap_or(i64::MAX));
        let mut alone = |host: usize, other: usize, packets: &[Timed]| {
            let (counted, outside) = counted(packets, ran[other], longest);
            others[host] += outside;
            counted
        };
        Passage {
            both,
            sender_only: alone(sender, receiver, &found.sent),
            receiver_only: alone(receiver, sender, &found.arrived),
            transit,
        }
    });
    (ways, others)
}

/// The sender and the receiver of a direction.
const fn hosts_of(way: Direction) -> [usize; 2] {
    match way {
        Direction::Up => [0, 1],
        Direction::Down => [1, 0],
    }
}

fn timed(host: usize, seen: &Seen, clock: &ClockOffset) -> Timed {
    match host {
        0 => (seen.at_ns, seen.bytes),
        _ => (clock.of_first(seen.at_ns), seen.bytes),
    }
}

/// What one logger alone has while the other ran, and how many packets it has of other times. The other logger may have started
/// before its first packet: up to the longest transit is taken for its time.
fn counted(alone: &[Timed], (start, end): (i64, i64), longest: i64) -> (AtOneHost, u64) {
    let mut counted = AtOneHost::default();
    let mut outside = 0;
    for (at, bytes) in alone {
        if (start.saturating_sub(longest)..=end.saturating_add(longest)).contains(at) {
            counted.packets += 1;
            counted.bytes += u64::from(*bytes);
        } else {
            outside += 1;
        }
    }
    (counted, outside)
}

/// Which packets of a direction arrived.
#[derive(Default)]
struct Found {
    transits: Vec<u64>,
    sent: Vec<Timed>,
    arrived: Vec<Timed>,
}

impl Found {
    /// Gives each arrival the latest packet that was sent at least `least` nanoseconds before it: of several that look the same, a lost one was
    /// sent again.
    fn find(&mut self, mut sent: Vec<Timed>, mut arrived: Vec<Timed>, least: i64) {
        // The clock of a host may have been set back meanwhile.
        sent.sort_unstable();
        arrived.sort_unstable();
        for arrival in arrived.into_iter().rev() {
            while let Some(late) = sent.pop_if(|send| send.0 > arrival.0.saturating_sub(least)) {
                self.sent.push(late);
            }
            match sent.pop() {
                Some(send) => {
                    self.transits
                        .push(u64::try_from(arrival.0.saturating_sub(send.0)).unwrap_or_default());
                }
                None => self.arrived.push(arrival),
            }
        }
        self.sent.append(&mut sent);
    }
}

fn transit(times: Vec<u64>) -> Option<Transit> {
    let sample = Sample::new(times)?;
    let quantile = |probability| sample.quantile(probability).map(|quantile| quantile.value);
    let sorted = sample.sorted();
    Some(Transit {
        min_ns: *sorted.first()?,
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        max_ns: *sorted.last()?,
    })
}
