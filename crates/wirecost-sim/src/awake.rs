//! The endpoints and sockets that have handled something lately: they keep the memory that they reuse.

use std::collections::VecDeque;
use std::time::Duration;

use wirecost_proto::{Direction, Instant};

/// How long an endpoint or a socket handles nothing before it gives back memory, at most twice as long. One that sends every
/// second reuses its memory.
const REST: Duration = Duration::from_secs(1);

/// How many keep their memory at most: all devices of a fleet may have something to do within [`REST`]. The oldest gives it
/// back first, also if it is in use.
const AWAKE_AT_MOST: usize = 16_384;

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
    /// Nothing: it has given back its memory.
    #[default]
    Asleep,
    /// Nothing since it was put into the list of those that are awake.
    Listed,
    /// Something since then.
    Active,
}

/// Those that keep their memory, with the times at which they were put into the list.
#[derive(Debug, Default)]
pub(crate) struct Awake(VecDeque<(Instant, Sleeper)>);

impl Awake {
    /// Notes that `sleeper` handles something.
    pub(crate) fn note(&mut self, sleeper: Sleeper, activity: &mut Activity, now: Instant) {
        *activity = match activity {
            Activity::Asleep => {
                self.0.push_back((now, sleeper));
                Activity::Listed
            }
            Activity::Listed | Activity::Active => Activity::Active,
        };
    }

    /// Takes one out that may have rested, or is one too many.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Sleeper> {
        let (listed, sleeper) = *self.0.front()?;
        let is_due = listed + REST <= now || self.0.len() > AWAKE_AT_MOST;
        is_due.then(|| {
            self.0.pop_front();
            sleeper
        })
    }

    /// Whether `sleeper`, which was taken out, gives back its memory. If not, it is in the list again.
    pub(crate) fn falls_asleep(&mut self, sleeper: Sleeper, activity: &mut Activity, now: Instant) -> bool {
        *activity = match activity {
            Activity::Active if self.0.len() < AWAKE_AT_MOST => {
                self.0.push_back((now, sleeper));
                Activity::Listed
            }
            Activity::Asleep | Activity::Listed | Activity::Active => Activity::Asleep,
        };
        *activity == Activity::Asleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Sleeper = Sleeper::Device { device: 1 };

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn what_is_active_stays_awake_and_sleeps_when_it_has_rested() {
        let (mut awake, mut activity) = (Awake::default(), Activity::default());
        awake.note(ONE, &mut activity, at(0));
        for second in 1..=5 {
            awake.note(ONE, &mut activity, at(1_000 * second));
            assert_eq!(awake.next(at(1_000 * second - 1)), None, "{second}");
            assert_eq!(awake.next(at(1_000 * second)), Some(ONE), "{second}");
            assert!(
                !awake.falls_asleep(ONE, &mut activity, at(1_000 * second)),
                "{second}"
            );
        }
        assert_eq!(awake.next(at(5_999)), None);
        assert_eq!(awake.next(at(6_000)), Some(ONE));
        assert!(awake.falls_asleep(ONE, &mut activity, at(6_000)));
        assert_eq!(awake.next(at(60_000)), None, "no longer in the list");
        awake.note(ONE, &mut activity, at(60_000));
        assert_eq!(awake.next(at(61_000)), Some(ONE), "again in the list");
    }

    #[test]
    fn a_fleet_that_is_awake_at_once_is_bounded() {
        let mut awake = Awake::default();
        let mut fleet = vec![Activity::default(); 2 * AWAKE_AT_MOST];
        for _ in 0..2 {
            for number in 0..fleet.len() {
                let device = u32::try_from(number).unwrap();
                awake.note(Sleeper::Device { device }, &mut fleet[number], at(0));
                while let Some(sleeper) = awake.next(at(0)) {
                    let Sleeper::Device { device } = sleeper else {
                        panic!("no socket was noted");
                    };
                    assert!(awake.falls_asleep(sleeper, &mut fleet[device as usize], at(0)));
                }
                assert!(awake.0.len() <= AWAKE_AT_MOST);
            }
        }
        let kept = fleet.iter().filter(|activity| **activity != Activity::Asleep);
        assert_eq!(kept.count(), AWAKE_AT_MOST);
    }
}
