//! Finds the packets of one log in the other.

use wirecost_proto::{BothWays, Direction};
use wirecost_stats::Sample;

use super::clock::{ClockOffset, HostClocks};
use super::groups::{groups, once};
use super::log::Seen;
use super::sides::Sides;
use super::{AtOneHost, Log, Passage, Transit};

/// When a packet was logged by the first host's clock, and its bytes.
type Timed = (i64, u32);

/// What became of the packets of both directions, and how many packets of each host are others'.
pub(super) fn ways(logs: [&Log; 2], sides: &Sides, clocks: &HostClocks) -> (BothWays<Passage>, [u64; 2]) {
    let offset = clocks.offset();
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
                    .map(|seen| timed(host, seen, offset))
                    .collect::<Vec<_>>()
            });
            match offset {
                Some(offset) if once(group).is_none() => {
                    found[way].by_time(sent, arrived, offset.least_ns());
                }
                Some(_) | None => found[way].by_number(sent, arrived),
            }
        }
        for host in [0, 1] {
            others[host] += of_way(host, None).count() as u64;
        }
    }
    let ran = [0, 1].map(|host| {
        if offset.is_none() {
            // The clocks cannot be compared, so that no packet can be left out because the other logger did not run.
            return (i64::MIN, i64::MAX);
        }
        let times = || {
            logs[host]
                .seen
                .iter()
                .map(move |seen| timed(host, seen, offset).0)
        };
        (
            times().min().unwrap_or_default(),
            times().max().unwrap_or_default(),
        )
    });
    let ways = BothWays::from_fn(|way| {
        let [sender, receiver] = hosts_of(way);
        let found = std::mem::take(&mut found[way]);
        let both = found.transits.len() as u64;
        let transit = offset.and(transit(found.transits));
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

/// A packet with its time by the first host's clock, or by its own host's if the clocks' difference is unknown.
fn timed(host: usize, seen: &Seen, offset: Option<&ClockOffset>) -> Timed {
    match (host, offset) {
        (1, Some(offset)) => (offset.of_first(seen.at_ns), seen.bytes),
        _ => (seen.at_ns, seen.bytes),
    }
}

/// How long a packet took that was sent at a time and arrived at another.
fn took((sent, _): Timed, (arrived, _): Timed) -> u64 {
    u64::try_from(arrived.saturating_sub(sent)).unwrap_or_default()
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
    fn by_time(&mut self, mut sent: Vec<Timed>, mut arrived: Vec<Timed>, least: i64) {
        // The clock of a host may have been set back meanwhile.
        sent.sort_unstable();
        arrived.sort_unstable();
        for arrival in arrived.into_iter().rev() {
            while let Some(late) = sent.pop_if(|send| send.0 > arrival.0.saturating_sub(least)) {
                self.sent.push(late);
            }
            match sent.pop() {
                Some(send) => self.transits.push(took(send, arrival)),
                None => self.arrived.push(arrival),
            }
        }
        self.sent.append(&mut sent);
    }

    /// Gives each arrival a packet that was sent, whatever their times say.
    fn by_number(&mut self, mut sent: Vec<Timed>, mut arrived: Vec<Timed>) {
        let pairs = sent.len().min(arrived.len());
        let paired = sent.drain(..pairs).zip(arrived.drain(..pairs));
        self.transits
            .extend(paired.map(|(send, arrival)| took(send, arrival)));
        self.sent.append(&mut sent);
        self.arrived.append(&mut arrived);
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
