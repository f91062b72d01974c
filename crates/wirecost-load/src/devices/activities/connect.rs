//! Makes connections, at a given rate over all devices or as fast as possible. Subscribers connect first.

use std::iter::Peekable;
use std::ops::Range;
use std::time::Duration;

use wirecost_proto::{Instant, Rng};
use wirecost_scenario::options::load::{Arrivals, Offer};

use crate::devices::activity::{Activity, Ended, Part};
use crate::devices::connections::{NextStep, State};
use crate::schedule::arrivals::Schedule;

/// How long the phase waits for answers to subscriptions after the last device has connected.
const SUBSCRIBE_PATIENCE: Duration = Duration::from_secs(10);

/// Devices of a part that connect together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The index of the first device in the part.
    pub first: usize,
    /// The positions of the devices among all devices that connect.
    pub places: Range<u32>,
}

/// Makes the connection of each device once.
#[derive(Debug)]
pub struct Connect {
    pace: Pace,
    begins: Instant,
    /// How many retained messages each subscriber receives.
    retained: u32,
    /// Devices that have not begun to connect.
    left: usize,
    /// Since when only unanswered subscriptions are left.
    connected: Option<Instant>,
}

#[derive(Debug)]
enum Pace {
    /// Connects each group at the times of a schedule.
    At(Vec<(usize, Peekable<Schedule>)>),
    /// As soon as there is room.
    Free {
        /// The devices that connect next.
        devices: Vec<usize>,
        /// How many connections are being made at once.
        at_once: usize,
    },
}

impl Connect {
    /// Connects `groups` at `rate` connections per second over all `of` devices, or `at_once` at a time. Each subscriber receives
    /// `retained` retained messages.
    pub fn new(rate: Option<f64>, groups: &[Group], of: u32, at_once: usize, retained: u32) -> Self {
        let devices = |group: &Group| group.first..group.first + group.places.len();
        let pace = match rate {
            Some(rate) => Pace::At(
                groups
                    .iter()
                    .filter_map(|group| Some((group.first, schedule(rate, group, of)?.peekable())))
                    .collect(),
            ),
            // In reverse, because they are taken from the end.
            None => Pace::Free {
                devices: groups.iter().flat_map(devices).rev().collect(),
                at_once,
            },
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

    /// Connects the devices whose time has come. Returns the next time.
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
            Pace::Free { devices, at_once } if part.connections.pending() < *at_once => devices.pop(),
            Pace::Free { .. } | Pace::At(_) => None,
        }
    }

    /// The next device whose time has come, or the time of the next device.
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
    // Equal gaps need no random numbers.
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
        self.pace = Pace::Free {
            devices: Vec::new(),
            at_once: 0,
        };
        self.left = 0;
        self.connected = Some(Instant::START);
        for device in 0..part.connections.len() {
            if part.connections.state(device) == State::Connecting {
                part.connections.abort(device, false);
            }
        }
    }
}
