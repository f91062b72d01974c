//! The queue before a rate-limited line: tail drop, then serialisation, first in, first out.
//!
//! The queue does not store packets: when a packet enters, its departure follows from those before it. The queue stores only
//! the future departures.

use std::collections::VecDeque;
use std::time::Duration;

use wirecost_proto::{BitRate, Instant};

use crate::counters::Traffic;

/// The capacity of the queue, including the packet being sent. The queue drops a packet that would exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// A number of bytes of whole packets.
    Bytes(u64),
    /// A number of packets of any size.
    Packets(u64),
}

impl QueueLimit {
    /// Whether a packet of `bytes` fits beside `backlog`.
    fn admits(self, backlog: Traffic, bytes: u64) -> bool {
        match self {
            Self::Bytes(limit) => backlog.bytes + bytes <= limit,
            Self::Packets(limit) => backlog.packets < limit,
        }
    }
}

/// An instant, and the order of what happens at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    /// How late it is among those of the instant, see [`ties`](crate::ties).
    pub(crate) late: u64,
}

impl Moment {
    /// The moment of an instant at which nothing else happens.
    pub(crate) const fn alone_at(at: Instant) -> Self {
        Self { at, late: 0 }
    }
}

/// The queue and the line of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    rate: BitRate,
    limit: QueueLimit,
    /// In the order of departure.
    bookings: VecDeque<Booking>,
    booked: Traffic,
}

/// The departure of a packet in the queue.
#[derive(Clone, Copy, Debug)]
struct Booking {
    departs: Moment,
    bytes: u64,
}

/// A packet that the queue accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// When its last bit is sent.
    pub(crate) departs: Moment,
    /// How long sending it takes.
    pub(crate) service: Duration,
    /// The queue's content, including the packet.
    pub(crate) backlog: Traffic,
}

impl Queue {
    pub(crate) fn new(rate: BitRate, limit: QueueLimit) -> Self {
        Self {
            rate,
            limit,
            bookings: VecDeque::new(),
            booked: Traffic::default(),
        }
    }

    /// Accepts a packet that enters at `now`; `None` if the queue is full. A packet that leaves at `now` has left. `now` must
    /// not go back.
    pub(crate) fn admit(&mut self, bytes: u64, now: Moment) -> Option<Admitted> {
        self.forget_until(now);
        if !self.limit.admits(self.booked, bytes) {
            return None;
        }
        let service = self.rate.time_for(bytes);
        let departs = self.book(bytes, now, service);
        Some(Admitted {
            departs,
            service,
            backlog: self.booked,
        })
    }

    /// Drops the departures until `now`.
    fn forget_until(&mut self, now: Moment) {
        while let Some(first) = self.bookings.front().filter(|first| first.departs <= now) {
            self.booked.remove(first.bytes);
            self.bookings.pop_front();
        }
    }

    /// Adds a packet after all others, with `service` as its sending time; returns its departure.
    fn book(&mut self, bytes: u64, now: Moment, service: Duration) -> Moment {
        let free = self.bookings.back().map_or(now, |last| last.departs);
        let starts = free.max(now);
        let departs = Moment {
            at: starts.at + service,
            ..starts
        };
        self.bookings.push_back(Booking { departs, bytes });
        self.booked.add(bytes);
        departs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 bit/us: one byte per microsecond.
    fn queue(limit: QueueLimit) -> Queue {
        Queue::new(BitRate::from_bits_per_second(8_000_000).unwrap(), limit)
    }

    fn us(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1_000)
    }

    fn departs(queue: &mut Queue, bytes: u64, at: u64) -> Option<u64> {
        let admitted = queue.admit(bytes, Moment::alone_at(us(at)))?;
        Some(admitted.departs.at.as_nanos() / 1_000)
    }

    #[test]
    fn a_packet_waits_for_those_before_it() {
        let mut queue = queue(QueueLimit::Packets(10));
        assert_eq!(departs(&mut queue, 100, 0), Some(100));
        assert_eq!(departs(&mut queue, 50, 10), Some(150));
        assert_eq!(departs(&mut queue, 10, 500), Some(510), "the line was idle");
    }

    #[test]
    fn the_packet_being_sent_counts_until_its_last_bit() {
        let mut queue = queue(QueueLimit::Packets(2));
        assert_eq!(departs(&mut queue, 100, 0), Some(100));
        assert_eq!(departs(&mut queue, 100, 0), Some(200));
        assert_eq!(departs(&mut queue, 100, 99), None);
        assert_eq!(departs(&mut queue, 100, 100), Some(300));
    }

    #[test]
    fn a_full_queue_refuses_the_earlier_packet_of_a_tie() {
        let late = |at, late| Moment { at: us(at), late };
        let full = || {
            let mut queue = queue(QueueLimit::Packets(2));
            for _ in 0..2 {
                assert!(queue.admit(100, late(0, 5)).is_some());
            }
            queue
        };
        let enters = |queue: &mut Queue, now| queue.admit(100, now).is_some();
        assert!(!enters(&mut full(), late(100, 4)));
        assert!(enters(&mut full(), late(100, 5)), "the first has left");
        assert!(enters(&mut full(), late(101, 0)), "the first has left");
        assert!(enters(&mut full(), late(200, 0)), "there is room for one");
    }

    #[test]
    fn a_busy_period_is_as_late_as_its_first_packet() {
        let mut queue = queue(QueueLimit::Packets(10));
        let mut departs = |at, late| {
            queue
                .admit(100, Moment { at: us(at), late })
                .map(|admitted| admitted.departs.late)
        };
        assert_eq!(departs(0, 5), Some(5));
        assert_eq!(departs(50, 90), Some(5));
        assert_eq!(departs(300, 7), Some(7), "the line was idle");
        assert_eq!(departs(400, 9), Some(9), "the line became idle before it came");
        assert_eq!(departs(500, 3), Some(9), "the line was busy when it came");
    }

    #[test]
    fn a_byte_limit_counts_bytes_of_whole_packets() {
        let mut queue = queue(QueueLimit::Bytes(250));
        assert_eq!(departs(&mut queue, 100, 0), Some(100));
        assert_eq!(departs(&mut queue, 100, 0), Some(200));
        assert_eq!(departs(&mut queue, 51, 0), None);
        assert_eq!(departs(&mut queue, 50, 0), Some(250), "exactly full");
        assert_eq!(departs(&mut queue, 1, 0), None);
    }

    #[test]
    fn what_has_left_is_forgotten() {
        let mut queue = queue(QueueLimit::Packets(10));
        for at in 0..1_000 {
            departs(&mut queue, 1, at * 2);
        }
        assert_eq!(queue.bookings.len(), 1);
        assert!(
            queue.bookings.capacity() <= 8,
            "nothing is allocated as time goes by"
        );
        assert_eq!(queue.booked, Traffic { packets: 1, bytes: 1 });
    }
}
