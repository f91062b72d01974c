//! Several links one after the other: an access link, a backhaul, a tunnel.
//!
//! A packet enters each link at the time at which it leaves the one before, and its fate at the last one is
//! known when it enters the first. Where links before reorder packets, a later link is told of them in another
//! order than they enter it; it knows from the chain how far back that may go (no packet leaves a link
//! before it entered the chain) and keeps what it needs. Queues then treat a packet told late as [`queue`]
//! describes: it does not delay those already told. Without reordering before a rate-limited link, or
//! without such a link, a chain is exact.
//!
//! [`queue`]: crate::queue

use std::mem;

use wirecost_proto::{Delivery, Direction, Fate, Instant, Path};

use crate::link::Link;

/// Links in a row, the device's first; packets to the device pass them from the last to the first.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    links: Vec<Link>,
    arriving: Vec<Delivery>,
    leaving: Vec<Delivery>,
}

impl Chain {
    /// A chain of `links`; without any, packets arrive at once.
    pub const fn new(links: Vec<Link>) -> Self {
        Self {
            links,
            arriving: Vec::new(),
            leaving: Vec::new(),
        }
    }

    /// The links, the device's first.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Takes every copy in `arriving` through one link, to `arriving` again; returns the fate of the first one
    /// that did not pass.
    fn pass(&mut self, place: usize, direction: Direction, wire_bytes: usize, now: Instant) -> Option<Fate> {
        let link = self.links.get_mut(place)?;
        let mut gone = None;
        self.leaving.clear();
        for copy in &self.arriving {
            let first_new = self.leaving.len();
            let fate = link.enter(direction, wire_bytes, copy.at, now, &mut self.leaving);
            let new = self.leaving.iter_mut().skip(first_new);
            // One flipped bit per copy is all that a delivery tells: the first link's stands.
            new.for_each(|delivery| delivery.flip_bit = copy.flip_bit.or(delivery.flip_bit));
            if self.leaving.len() == first_new {
                gone = gone.or(Some(fate));
            }
        }
        mem::swap(&mut self.arriving, &mut self.leaving);
        gone
    }
}

impl Path for Chain {
    /// The fate is what came out at the end: nothing (then the first copy's reason), one copy, or more.
    fn offer(
        &mut self,
        direction: Direction,
        wire_bytes: usize,
        now: Instant,
        deliveries: &mut Vec<Delivery>,
    ) -> Fate {
        let entry = Delivery {
            at: now,
            flip_bit: None,
        };
        self.arriving.clear();
        self.arriving.push(entry);
        let mut gone = None;
        for step in 0..self.links.len() {
            let place = match direction {
                Direction::Up => step,
                Direction::Down => self.links.len() - 1 - step,
            };
            gone = gone.or(self.pass(place, direction, wire_bytes, now));
        }
        deliveries.extend_from_slice(&self.arriving);
        match self.arriving.as_slice() {
            [] => gone.unwrap_or(Fate::Lost),
            [
                Delivery {
                    flip_bit: Some(_), ..
                },
            ] => Fate::Corrupted,
            [_] => Fate::Delivered,
            _ => Fate::Duplicated,
        }
    }
}
