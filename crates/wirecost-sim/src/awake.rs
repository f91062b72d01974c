//! The endpoints and sockets that have handled something lately: they keep the memory that they reuse.

use std::collections::VecDeque;

use wirecost_proto::{Direction, Instant};

/// How many keep their memory at most: all devices of a fleet may have something to do at one instant. What is seldom used gives
/// its memory back first, the longest listed before others, also if it is in use.
const AWAKE_AT_MOST: usize = 16_384;

/// Milliseconds since the start. They begin again after 49 days: what was used 49 days ago is then taken for recently used, once.
type Millis = u32;

const fn millis_of(now: Instant) -> Millis {
    (now.as_nanos() / 1_000_000) as Millis
}

/// How long something keeps its memory.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// After a long pause: what follows comes within a few round trips. Memory that is given back later than that is no longer in
    /// the processor's caches.
    Seldom,
    /// Soon after it was looked at: it may be in use every second.
    Often,
}

impl Pace {
    /// How long after it was put into its list something is looked at, and how long it must have handled nothing then.
    const fn pause(self) -> (Millis, Millis) {
        match self {
            Self::Seldom => (200, 100),
            Self::Often => (2_000, 2_000),
        }
    }
}

/// What gives back memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleeper {
    /// The endpoint of a device.
    Device { device: u32 },
    /// An end of a connection.
    Socket { flow: u32, sends: Direction },
}

/// What an endpoint or a socket has handled lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Nothing yet.
    #[default]
    New,
    /// Something before it left the lists. It gave back its memory then, unless something was on its way.
    AsleepSince(Millis),
    /// Something since then, the last time at `last`. It is in a list since `listed`.
    Awake { listed: Millis, last: Millis },
}

/// What is to be looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) sleeper: Sleeper,
    pace: Pace,
    listed: Millis,
}

/// What keeps its memory, each list in the order in which it is looked at.
#[derive(Debug, Default)]
pub(crate) struct Awake {
    seldom: VecDeque<Entry>,
    often: VecDeque<Entry>,
}

impl Awake {
    const fn list_mut(&mut self, pace: Pace) -> &mut VecDeque<Entry> {
        match pace {
            Pace::Seldom => &mut self.seldom,
            Pace::Often => &mut self.often,
        }
    }

    fn len(&self) -> usize {
        self.seldom.len() + self.often.len()
    }

    /// Notes that `sleeper` handles something.
    pub(crate) fn note(&mut self, sleeper: Sleeper, activity: &mut Activity, now: Instant) {
        let (now, (recent, _)) = (millis_of(now), Pace::Often.pause());
        let pace = match activity {
            Activity::Awake { last, .. } => {
                *last = now;
                return;
            }
            Activity::AsleepSince(then) if now.wrapping_sub(*then) < recent => Pace::Often,
            Activity::New | Activity::AsleepSince(_) => Pace::Seldom,
        };
        self.list(pace, sleeper, now);
        *activity = Activity::Awake {
            listed: now,
            last: now,
        };
    }

    fn list(&mut self, pace: Pace, sleeper: Sleeper, listed: Millis) {
        self.list_mut(pace).push_back(Entry {
            pace,
            sleeper,
            listed,
        });
    }

    /// Takes out the next one that is to be looked at: it is due, or the lists are too long.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Entry> {
        let is_full = self.len() > AWAKE_AT_MOST;
        [Pace::Seldom, Pace::Often].into_iter().find_map(|pace| {
            let (looked_at, _) = pace.pause();
            let waited = millis_of(now).wrapping_sub(self.list_mut(pace).front()?.listed);
            if !is_full && waited < looked_at {
                return None;
            }
            self.list_mut(pace).pop_front()
        })
    }

    /// Whether what was taken out gives back its memory. If it is in use, it is in its list again.
    pub(crate) fn falls_asleep(&mut self, entry: Entry, activity: &mut Activity, now: Instant) -> bool {
        let Entry {
            pace,
            sleeper,
            listed,
        } = entry;
        let (now, (_, rest)) = (millis_of(now), pace.pause());
        let last = match *activity {
            Activity::Awake { listed: own, last } if own == listed => last,
            // A later flow has the number of the flow that was put into the list.
            Activity::New | Activity::AsleepSince(_) | Activity::Awake { .. } => return false,
        };
        if now.wrapping_sub(last) < rest && self.len() < AWAKE_AT_MOST {
            self.list(pace, sleeper, now);
            *activity = Activity::Awake { listed: now, last };
            return false;
        }
        *activity = Activity::AsleepSince(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ONE: Sleeper = Sleeper::Device { device: 1 };

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// Handles something at each of `times`; the times at which memory was given back, up to `until`.
    fn rests(times: &[u64], until: u64) -> Vec<u64> {
        let (mut awake, mut activity, mut rests) = (Awake::default(), Activity::default(), Vec::new());
        for now in 0..=until {
            if times.contains(&now) {
                awake.note(ONE, &mut activity, at(now));
            }
            while let Some(entry) = awake.next(at(now)) {
                if awake.falls_asleep(entry, &mut activity, at(now)) {
                    rests.push(now);
                }
            }
        }
        rests
    }

    #[test]
    fn memory_is_given_back_once_after_a_message_that_comes_alone() {
        let exchange = [0, 50, 90, 140];
        let again = exchange.map(|time| 60_000 + time);
        assert_eq!(rests(&[exchange, again].concat(), 120_000), [400, 60_400]);
    }

    #[test]
    fn what_is_used_every_second_keeps_its_memory() {
        let messages: Vec<u64> = (0..20).map(|second| 1_000 * second).collect();
        assert_eq!(rests(&messages, 60_000), [200, 21_000]);
    }

    #[test]
    fn an_entry_of_an_earlier_flow_with_the_same_number_goes() {
        let mut awake = Awake::default();
        for flow in 0..100 {
            let mut activity = Activity::default();
            awake.note(ONE, &mut activity, at(50 * flow));
            while let Some(entry) = awake.next(at(50 * flow)) {
                assert!(!awake.falls_asleep(entry, &mut activity, at(50 * flow)));
            }
            assert!(awake.len() <= 4, "{}", awake.len());
        }
    }

    #[test]
    fn a_fleet_that_is_awake_at_once_is_bounded() {
        let mut awake = Awake::default();
        let mut fleet = vec![Activity::default(); 2 * AWAKE_AT_MOST];
        for round in 0..2 {
            for number in 0..fleet.len() {
                let device = u32::try_from(number).unwrap();
                awake.note(Sleeper::Device { device }, &mut fleet[number], at(round));
                while let Some(entry) = awake.next(at(round)) {
                    let Sleeper::Device { device } = entry.sleeper else {
                        panic!("no socket was noted");
                    };
                    assert!(awake.falls_asleep(entry, &mut fleet[device as usize], at(round)));
                }
                assert!(awake.len() <= AWAKE_AT_MOST);
            }
        }
        let kept = fleet
            .iter()
            .filter(|activity| matches!(activity, Activity::Awake { .. }));
        assert_eq!(kept.count(), AWAKE_AT_MOST);
    }
}
