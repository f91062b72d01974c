//! Finds the packets of one log in the other.

use wirecost_proto::{BothWays, Direction};
use wirecost_stats::Sample;

use super::clock::{Clock, Sides};
use super::log::Seen;
use super::{Counted, Log, Transit, Way};

/// The packets of each log that look the same, in the order of time.
pub(super) type Group<'a> = [&'a [Seen]; 2];

/// Sorts the packets of a log for [`groups`].
pub(super) fn sorted(log: &mut Log) {
    log.seen.sort_by_key(|seen| (seen.mark, seen.at_ns));
}

/// The packets of two sorted logs by what tells them from others.
pub(super) fn groups<'a>(logs: [&'a Log; 2]) -> impl Iterator<Item = Group<'a>> {
    let mut left = logs.map(|log| &log.seen[..]);
    std::iter::from_fn(move || {
        let mark = left.iter().filter_map(|seen| Some(seen.first()?.mark)).min()?;
        Some(left.each_mut().map(|seen| {
            let (same, after) = seen.split_at(seen.iter().take_while(|seen| seen.mark == mark).count());
            *seen = after;
            same
        }))
    })
}

/// The packet of a group, if each logger has it once.
pub(super) const fn once([first, second]: Group<'_>) -> Option<[Seen; 2]> {
    match (first, second) {
        ([one], [other]) => Some([*one, *other]),
        _ => None,
    }
}

/// When a packet was logged by the first host's clock, and its bytes.
type Timed = (i64, u32);

/// What became of the packets of both directions, and how many packets of each host are others'.
pub(super) fn ways(logs: [&Log; 2], sides: &Sides, clock: &Clock) -> (BothWays<Way>, [u64; 2]) {
    let timed = |host: usize, seen: &Seen| match host {
        0 => (seen.at_ns, seen.bytes),
        _ => (clock.of_first(seen.at_ns), seen.bytes),
    };
    let ran = [0, 1].map(|host| {
        let times = || logs[host].seen.iter().map(move |seen| timed(host, seen).0);
        (
            times().min().unwrap_or_default(),
            times().max().unwrap_or_default(),
        )
    });
    let mut both: BothWays<Way> = BothWays::default();
    let mut transits: BothWays<Vec<u64>> = BothWays::default();
    let mut others = [0; 2];
    for group in groups(logs) {
        let of_way = |host: usize, way: Option<Direction>| {
            group[host]
                .iter()
                .filter(move |seen| sides.way(host, seen.ends) == way)
        };
        for way in Direction::ALL {
            let (sender, receiver) = match way {
                Direction::Up => (0, 1),
                Direction::Down => (1, 0),
            };
            let [sent, arrived] = [sender, receiver].map(|host| {
                of_way(host, Some(way))
                    .map(|seen| timed(host, seen))
                    .collect::<Vec<_>>()
            });
            let found = find(sent, arrived, clock.within_ns / 2);
            both[way].both += found.transits.len() as u64;
            transits[way].extend(found.transits);
            others[sender] += note(&mut both[way].sender_only, &found.sent, ran[receiver]);
            others[receiver] += note(&mut both[way].receiver_only, &found.arrived, ran[sender]);
        }
        for host in [0, 1] {
            others[host] += of_way(host, None).count() as u64;
        }
    }
    for way in Direction::ALL {
        both[way].transit = transit(std::mem::take(&mut transits[way]));
    }
    (both, others)
}

/// Counts what one logger alone has while the other ran, and returns how many packets it has of other times.
fn note(counted: &mut Counted, alone: &[Timed], (start, end): (i64, i64)) -> u64 {
    let mut others = 0;
    for (at, bytes) in alone {
        if (start..=end).contains(at) {
            counted.packets += 1;
            counted.bytes += u64::from(*bytes);
        } else {
            others += 1;
        }
    }
    others
}

/// Which of the packets that look the same arrived.
struct Found {
    transits: Vec<u64>,
    sent: Vec<Timed>,
    arrived: Vec<Timed>,
}

/// Gives each arrival the latest packet that was sent at least `least` before it: of several that look the same, a lost one was
/// sent again.
fn find(mut sent: Vec<Timed>, mut arrived: Vec<Timed>, least: i64) -> Found {
    let mut found = Found {
        transits: Vec::new(),
        sent: Vec::new(),
        arrived: Vec::new(),
    };
    // The clock of a host may have been set back meanwhile.
    sent.sort_unstable();
    arrived.sort_unstable();
    for arrival in arrived.into_iter().rev() {
        while let Some(late) = sent.pop_if(|send| send.0 > arrival.0.saturating_sub(least)) {
            found.sent.push(late);
        }
        match sent.pop() {
            Some(send) => found
                .transits
                .push(u64::try_from(arrival.0.saturating_sub(send.0)).unwrap_or_default()),
            None => found.arrived.push(arrival),
        }
    }
    found.sent.append(&mut sent);
    found
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
