//! Connections are made: at a rate over all devices, or as fast as they come about. Subscribers come first.

use std::iter::Peekable;
use std::ops::Range;
use std::time::Duration;

use wirecost_proto::{Instant, Rng};
use wirecost_scenario::options::load::{Arrivals, Offer};

use crate::activity::{Activity, Ended, Part};
use crate::arrivals::Schedule;
use crate::connections::{NextStep, State};

/// Connections of a part that are being made at the same time where no rate is asked for: fewer than a usual server
/// lets wait to be accepted.
const AT_A_TIME: usize = 64;

/// How long answers to subscriptions are waited for, once everybody is connected.
const SUBSCRIBE_PATIENCE: Duration = Duration::from_secs(10);

/// Devices of a part that connect together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The index of the first one in the part.
    pub first: usize,
    /// Their places among all that connect.
    pub places: Range<u32>,
}

/// Makes the connection of each device, once.
#[derive(Debug)]
pub struct Connect {
    pace: Pace,
    begins: Instant,
    /// What each subscriber finds retained.
    retained: u32,
    /// Devices that have not been told to connect.
    left: usize,
    /// Since when nothing is left but subscriptions that are not answered.
    connected: Option<Instant>,
}

#[derive(Debug)]
enum Pace {
    /// At the times of a schedule, of each group.
    At(Vec<(usize, Peekable<Schedule>)>),
    /// The devices that follow, when there is room.
    Free(Vec<usize>),
}

impl Connect {
    /// Connections of `groups`, so many per second over all `of` devices that connect. Each subscriber finds so many
    /// messages retained.
    pub fn new(rate: Option<f64>, groups: &[Group], of: u32, retained: u32) -> Self {
        let devices = |group: &Group| group.first..group.first + group.places.len();
        let pace = match rate {
            Some(rate) => Pace::At(
                groups
                    .iter()
                    .filter_map(|group| Some((group.first, schedule(rate, group, of)?.peekable())))
                    .collect(),
            ),
            None => Pace::Free(groups.iter().flat_map(devices).rev().collect()),
        };
        Self {
            pace,
            begins: Instant::START,
            retained,
            left: groups.iter().map(|group| group.places.len()).sum(),
            connected: None,
        }
    }

    fn connect(&mut self, part: &mut Part, device: usize) {
        self.left -= 1;
        if part.connections.state(device) == State::Down {
            part.connections.request(device, NextStep::Connect);
        }
    }

    /// Connects whom it is time for; returns when to do so again.
    fn connect_due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        while let Some(device) = self.next_free(part) {
            self.connect(part, device);
        }
        loop {
            match self.next_due(now) {
                Ok(device) => self.connect(part, device),
                Err(next) => return next,
            }
        }
    }

    fn next_free(&mut self, part: &Part) -> Option<usize> {
        match &mut self.pace {
            Pace::Free(devices) if part.connections.pending() < AT_A_TIME => devices.pop(),
            Pace::Free(_) | Pace::At(_) => None,
        }
    }

    /// The next device whose time has come, or when the next one's does.
    fn next_due(&mut self, now: Instant) -> Result<usize, Option<Instant>> {
        let Pace::At(groups) = &mut self.pace else {
            return Err(None);
        };
        let mut earliest = None;
        for (first, schedule) in groups {
            let Some(arrival) = schedule.peek().copied() else {
                continue;
            };
            let at = self.begins + Duration::from_nanos(arrival.offset);
            if now >= at {
                schedule.next();
                return Ok(*first + arrival.device);
            }
            earliest = Some(earliest.map_or(at, |earliest: Instant| earliest.min(at)));
        }
        Err(earliest)
    }
}

/// When the devices of a group connect.
fn schedule(rate: f64, group: &Group, of: u32) -> Option<Schedule> {
    let offer = Offer {
        arrivals: Arrivals::Open {
            rate,
            per_client: false,
            poisson: false,
        },
        duration: None,
        count: Some(u64::from(of)),
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        spread: None,
    };
    // Nothing is drawn where the gaps are equal.
    Schedule::new(&offer, group.places.clone(), of, Rng::new(0))
}

impl Activity for Connect {
    fn begin(&mut self, part: &mut Part, at: Instant) {
        self.begins = at;
        part.subscribers.expect_retained(self.retained);
    }

    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        if now < self.begins {
            return Some(self.begins);
        }
        let next = self.connect_due(part, now);
        if self.left > 0 || part.connections.pending() > 0 {
            return next;
        }
        Some(*self.connected.get_or_insert(now) + SUBSCRIBE_PATIENCE)
    }

    fn came_up(&mut self, part: &mut Part, _: usize, now: Instant) {
        self.due(part, now);
    }

    fn went_down(&mut self, part: &mut Part, _: usize, _: Ended<'_>, now: Instant) {
        self.due(part, now);
    }

    fn is_done(&self, part: &Part, now: Instant) -> bool {
        let is_over = |connected| !part.subscribers.are_asking() || now >= connected + SUBSCRIBE_PATIENCE;
        self.left == 0 && part.connections.pending() == 0 && self.connected.is_some_and(is_over)
    }

    fn stop(&mut self, part: &mut Part, _: Instant, _: Instant) {
        self.pace = Pace::Free(Vec::new());
        self.left = 0;
        self.connected = Some(Instant::START);
        for device in 0..part.connections.len() {
            if part.connections.state(device) == State::Connecting {
                part.connections.abort(device, false);
            }
        }
    }
}
