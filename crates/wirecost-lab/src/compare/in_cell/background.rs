//! The other devices of a loaded network: packets of the size of reports, without endpoints.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Direction, Instant, Rng};
use wirecost_sim::Cells;
use wirecost_sim::cells::CellEvent;

use super::{DEVICE, packet};

/// A report of another device: the IP packet of a confirmable CoAP message of 25 B, header included, over IPv4 (20 + 8 + 25 B).
const REPORT_BYTES: usize = 53;
/// Its answer: an empty CoAP acknowledgement (20 + 8 + 4 B).
const ANSWER_BYTES: usize = 32;
/// How long a device tries before it leaves without success (MODEL 2.7 of the study's parameters).
const PATIENCE: Duration = Duration::from_secs(60);

/// Devices that come by a Poisson process, send a report each, get its answer, and leave when they are idle again.
pub(super) struct Background {
    /// Reports per second in all cells.
    rate: f64,
    rng: Rng,
    next_arrival: Instant,
    next_host: HostIndex,
    /// Whether the exchange of a device is over, one way or the other.
    devices: BTreeMap<HostIndex, bool>,
    /// Reports that cross the internet: when they arrive at the server, which answers at once.
    answers: VecDeque<(Instant, HostIndex)>,
    /// When devices lose their patience, in the order of their arrivals.
    patience: VecDeque<(Instant, HostIndex)>,
}

impl Background {
    /// `rate` reports per second in all cells together.
    pub(super) fn new(rate: f64, rng: Rng) -> Self {
        let mut background = Self {
            rate,
            rng,
            next_arrival: Instant::START,
            next_host: DEVICE + 1,
            devices: BTreeMap::new(),
            answers: VecDeque::new(),
            patience: VecDeque::new(),
        };
        background.draw_arrival();
        background
    }

    fn draw_arrival(&mut self) {
        let gap = self.rng.next_exponential() / self.rate;
        self.next_arrival += Duration::from_secs_f64(gap);
    }

    /// When something happens next.
    pub(super) fn next_event(&self) -> Instant {
        let due = |queue: &VecDeque<(Instant, HostIndex)>| queue.front().map(|(at, _)| *at);
        let earliest = [due(&self.answers), due(&self.patience)].into_iter().flatten();
        earliest.fold(self.next_arrival, Instant::min)
    }

    /// Lets devices come, servers answer, and devices leave that have waited too long.
    pub(super) fn advance(&mut self, now: Instant, cells: &mut Cells) {
        // Answers first: a device whose answer is due now must not be given up in the same moment.
        while let Some(host) = due(&mut self.answers, now) {
            cells.offer(&packet(host, Direction::Down, ANSWER_BYTES), now);
        }
        while let Some(host) = due(&mut self.patience, now) {
            self.leave(host, cells, now);
        }
        while self.next_arrival <= now {
            let host = self.next_host;
            self.next_host += 1;
            cells.arrive(host, now);
            self.devices.insert(host, false);
            self.patience.push_back((now + PATIENCE, host));
            cells.offer(&packet(host, Direction::Up, REPORT_BYTES), now);
            self.draw_arrival();
        }
    }

    /// Takes an event of another device.
    pub(super) fn take(&mut self, event: CellEvent, cells: &mut Cells, now: Instant) {
        match event {
            // A report of the device arrives later than now; an answer arrives now.
            CellEvent::Delivered { host, arrives, .. } if arrives > now => {
                self.answers.push_back((arrives, host));
            }
            CellEvent::Delivered { host, .. } | CellEvent::Lost { host, .. } => {
                if let Some(is_over) = self.devices.get_mut(&host) {
                    *is_over = true;
                }
                self.leave_if_over(host, cells, now);
            }
            CellEvent::Released { host, .. } => self.leave_if_over(host, cells, now),
            CellEvent::Connected { .. } | CellEvent::Transmission(_) => {}
        }
    }

    fn leave_if_over(&mut self, host: HostIndex, cells: &mut Cells, now: Instant) {
        if cells.is_idle(host) && self.devices.get(&host) == Some(&true) {
            self.leave(host, cells, now);
        }
    }

    fn leave(&mut self, host: HostIndex, cells: &mut Cells, now: Instant) {
        if self.devices.remove(&host).is_some() {
            cells.remove(host, now);
        }
    }
}

/// Takes the first device whose time has come.
fn due(queue: &mut VecDeque<(Instant, HostIndex)>, now: Instant) -> Option<HostIndex> {
    let (at, host) = *queue.front()?;
    (at <= now).then(|| queue.pop_front())?;
    Some(host)
}
