//! Every second segment at once, a single one at the next tick (RFC 9293, section 3.8.6.3): lwIP's `tcp_ack` and
//! `tcp_fasttmr`.

use core::time::Duration;

use wirecost_proto::Instant;

use crate::Granularity;
use crate::packed::packs;
use crate::receive::AckDue;

/// The counters of a small implementation.
#[derive(Debug)]
pub(crate) struct EverySecond {
    timer: Duration,
    due: AckDue,
}

packs!(EverySecond { timer, due });

impl EverySecond {
    pub(crate) const fn new(timer: Duration) -> Self {
        Self {
            timer,
            due: AckDue::No,
        }
    }

    pub(crate) const fn due(&self) -> AckDue {
        self.due
    }

    pub(crate) fn in_order(&mut self, now: Instant) {
        self.due = match self.due {
            // One timer serves all connections: a delay is what is left until its next tick.
            AckDue::No => AckDue::At(Granularity::Ticks(self.timer).deadline(now, self.timer)),
            AckDue::At(_) | AckDue::Now => AckDue::Now,
        };
    }

    pub(crate) const fn at_once(&mut self) {
        self.due = AckDue::Now;
    }

    pub(crate) const fn acknowledged(&mut self) {
        self.due = AckDue::No;
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let AckDue::At(at) = self.due
            && at <= now
        {
            self.due = AckDue::Now;
        }
    }
}
