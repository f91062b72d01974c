//! The link: one lane per direction, each a sequence of stages.

use std::net::IpAddr;

use wirecost_proto::bare::Transport;
use wirecost_proto::{Delivery, Direction, Fate, Instant, Path, Rng};

use crate::config::LinkConfig;
use crate::corrupt::CorruptStage;
use crate::counters::Counters;
use crate::delay::DelayStage;
use crate::dice::{Dice, Purpose};
use crate::duplicate::DuplicateStage;
use crate::loss::LossStage;
use crate::nat::Nat;
use crate::queue::Queue;
use crate::reorder::ReorderStage;

/// A link between a device and a server. Its decisions are a function of its configuration, its random stream and, in each
/// direction, the packets offered so far.
#[derive(Clone, Debug)]
pub struct Link {
    config: LinkConfig,
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
            config,
            nat: Nat::new(config.nat),
            up: Lane::new(&config, rng, Direction::Up),
            down: Lane::new(&config, rng, Direction::Down),
        }
    }

    /// Resolves ties at a full queue at random: a packet enters at the instant at which another one leaves. For virtual time,
    /// in which hosts answer at once. Hosts on a real machine answer some microseconds late, by a varying amount.
    #[must_use]
    pub fn with_chance_in_ties(mut self, rng: Rng) -> Self {
        self.up.ties = Some(Dice::new(rng, Direction::Up, Purpose::Tie));
        self.down.ties = Some(Dice::new(rng, Direction::Down, Purpose::Tie));
        self
    }

    /// Its configuration.
    pub const fn config(&self) -> &LinkConfig {
        &self.config
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
        let lane = match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        };
        lane.enter(wire_bytes, now, deliveries)
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
}

/// The probability that, in a tie, the packet that enters was earlier than the one that leaves: a fifth of some 480 ties in
/// live captures (Linux 6.18, a queue of three packets at 1 Mbit/s). It is below a half, because the packet that leaves was
/// the first of its burst, and the packet that enters often is not.
const EARLIER: f64 = 0.2;

/// One direction: the stages in the order in which a packet meets them.
#[derive(Clone, Debug)]
struct Lane {
    mtu: usize,
    queue: Option<Queue>,
    ties: Option<Dice>,
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

    fn enter(&mut self, wire_bytes: usize, now: Instant, deliveries: &mut Vec<Delivery>) -> Fate {
        let index = self.counters.offered.packets;
        self.counters.offered.add(wire_bytes as u64);
        // Called for every packet, so that a drop before this stage does not shift the losses after it.
        let is_lost = self.loss.is_lost(index);
        if wire_bytes > self.mtu {
            self.counters.too_large += 1;
            return Fate::TooLarge;
        }
        let Some(departure) = self.serialise(index, wire_bytes as u64, now) else {
            self.counters.queue_dropped += 1;
            return Fate::QueueDropped;
        };
        if is_lost {
            self.counters.lost += 1;
            return Fate::Lost;
        }
        let arrival = self.propagate(index, departure);
        self.deliver(index, wire_bytes, arrival, deliveries)
    }

    /// When the packet's last bit is sent; `None` if the queue is full.
    fn serialise(&mut self, index: u64, bytes: u64, now: Instant) -> Option<Instant> {
        let Some(queue) = &mut self.queue else {
            return Some(now);
        };
        let ties = self.ties;
        let is_earlier = || ties.is_some_and(|dice| dice.packet(index).next_f64() < EARLIER);
        let admitted = queue.admit(bytes, now, is_earlier)?;
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
