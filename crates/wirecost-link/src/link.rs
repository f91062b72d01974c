//! The link: one lane per direction, each a sequence of stages.

use std::net::IpAddr;

use wirecost_proto::bare::Transport;
use wirecost_proto::{Delivery, Direction, Fate, Instant, Path, Rng};

use crate::config::LinkConfig;
use crate::corrupt::CorruptStage;
use crate::counters::Counters;
use crate::delay::DelayStage;
use crate::duplicate::DuplicateStage;
use crate::loss::LossStage;
use crate::nat::Nat;
use crate::queue::{Moment, Queue};
use crate::reorder::ReorderStage;
use crate::ties::Lateness;

/// A link between a device and a server. Its decisions are a function of its configuration, its random stream and, in each
/// direction, the packets offered so far.
#[derive(Clone, Debug)]
pub struct Link {
    nat: Nat,
    up: Lane,
    down: Lane,
}

impl Link {
    /// An idle link. Two links with the same `rng` make the same decisions.
    ///
    /// An invalid configuration does not fail here, but the link may deliver nothing; see [`LinkConfig::validate`].
    pub fn new(config: LinkConfig, rng: Rng) -> Self {
        Self {
            nat: Nat::new(config.nat),
            up: Lane::new(&config, rng, Direction::Up),
            down: Lane::new(&config, rng, Direction::Down),
        }
    }

    /// Decides ties at a full queue as hosts on a real machine do, which answer some microseconds late, by a varying amount. For
    /// virtual time, in which hosts answer at once.
    #[must_use]
    pub fn with_chance_in_ties(mut self, rng: Rng) -> Self {
        // Without a rate there is no queue.
        if self.up.queue.is_some() || self.down.queue.is_some() {
            self.up.ties = Some(Lateness::new(rng, Direction::Up));
            self.down.ties = Some(Lateness::new(rng, Direction::Down));
        }
        self
    }

    /// The counters of a direction.
    pub const fn counters(&self, direction: Direction) -> &Counters {
        match direction {
            Direction::Up => &self.up.counters,
            Direction::Down => &self.down.counters,
        }
    }
}

impl Path for Link {
    fn offer(
        &mut self,
        direction: Direction,
        wire_bytes: usize,
        now: Instant,
        deliveries: &mut Vec<Delivery>,
    ) -> Fate {
        let (lane, other) = match direction {
            Direction::Up => (&mut self.up, &mut self.down),
            Direction::Down => (&mut self.down, &mut self.up),
        };
        let cause = other.ties.as_mut().map_or(0, |ties| ties.of_arrival(now));
        lane.enter(wire_bytes, now, cause, deliveries)
    }

    fn translate(
        &mut self,
        direction: Direction,
        end: (Transport, IpAddr),
        port: u16,
        now: Instant,
    ) -> Option<u16> {
        let translated = self.nat.translate(direction, end, port, now);
        if translated.is_none() {
            self.down.counters.unmapped += 1;
        }
        translated
    }

    fn own_port(&self, end: (Transport, IpAddr), seen: u16) -> u16 {
        self.nat.own_port(end, seen)
    }
}

/// One direction: the stages in the order in which a packet meets them.
#[derive(Clone, Debug)]
struct Lane {
    mtu: usize,
    queue: Option<Queue>,
    ties: Option<Lateness>,
    loss: LossStage,
    delay: DelayStage,
    reorder: ReorderStage,
    duplicate: DuplicateStage,
    corrupt: CorruptStage,
    counters: Counters,
}

impl Lane {
    fn new(link: &LinkConfig, rng: Rng, direction: Direction) -> Self {
        let config = link.direction(direction);
        let limit = link.queue_limit(direction);
        Self {
            mtu: usize::from(config.mtu),
            queue: config.rate.map(|rate| Queue::new(rate, limit)),
            ties: None,
            loss: LossStage::new(config.loss, rng, direction),
            delay: DelayStage::new(config.delay, config.delay_variation, rng, direction),
            reorder: ReorderStage::new(config.reorder, rng, direction),
            duplicate: DuplicateStage::new(config.duplicate, rng, direction),
            corrupt: CorruptStage::new(config.corrupt, rng, direction),
            counters: Counters::default(),
        }
    }

    /// Takes a packet; `cause`: the lateness of what arrived at its host at this instant.
    fn enter(&mut self, wire_bytes: usize, now: Instant, cause: u64, deliveries: &mut Vec<Delivery>) -> Fate {
        let index = self.counters.offered.packets;
        let now = match &mut self.ties {
            Some(ties) => ties.enter(index, now, cause),
            None => Moment::alone_at(now),
        };
        self.counters.offered.add(wire_bytes as u64);
        // Called for every packet, so that a drop before this stage does not shift the losses after it.
        let is_lost = self.loss.is_lost(index);
        if wire_bytes > self.mtu {
            self.counters.too_large += 1;
            return Fate::TooLarge;
        }
        let Some(departure) = self.serialise(wire_bytes as u64, now) else {
            self.counters.queue_dropped += 1;
            return Fate::QueueDropped;
        };
        if is_lost {
            self.counters.lost += 1;
            return Fate::Lost;
        }
        let arrival = self.propagate(index, departure.at);
        if let Some(ties) = &mut self.ties {
            ties.note_arrival(Moment {
                at: arrival,
                ..departure
            });
        }
        self.deliver(index, wire_bytes, arrival, deliveries)
    }

    /// When the packet's last bit is sent; `None` if the queue is full.
    fn serialise(&mut self, bytes: u64, now: Moment) -> Option<Moment> {
        let Some(queue) = &mut self.queue else {
            return Some(now);
        };
        let admitted = queue.admit(bytes, now)?;
        self.counters.serialised.add(bytes);
        self.counters.busy += admitted.service;
        self.counters.raise_high_water(admitted.backlog);
        Some(admitted.departs)
    }

    fn propagate(&mut self, index: u64, departure: Instant) -> Instant {
        let arrival = self.delay.arrival(index, departure);
        let Some(late) = self.reorder.held_back(index, arrival) else {
            return arrival;
        };
        self.counters.reordered += 1;
        late
    }

    /// Appends the copies. A packet that is duplicated and corrupted has the fate duplicated; its copies show the corruption.
    fn deliver(
        &mut self,
        index: u64,
        wire_bytes: usize,
        at: Instant,
        deliveries: &mut Vec<Delivery>,
    ) -> Fate {
        self.counters.delivered.add(wire_bytes as u64);
        let copies = self.duplicate.copies(index);
        let mut flips = self.corrupt.flips(index, wire_bytes);
        let mut corrupted = 0;
        for _ in 0..copies {
            let flip_bit = flips();
            corrupted += u64::from(flip_bit.is_some());
            deliveries.push(Delivery { at, flip_bit });
        }
        self.counters.corrupted += corrupted;
        if copies > 1 {
            self.counters.duplicated += 1;
            return Fate::Duplicated;
        }
        if corrupted > 0 {
            Fate::Corrupted
        } else {
            Fate::Delivered
        }
    }
}
