//! Counts what arrives at a server.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use wirecost_amqp::container as amqp;
use wirecost_coap::server as coap;
use wirecost_http::server as http;
use wirecost_live::Clock;
use wirecost_mqtt::broker as mqtt;
use wirecost_proto::bare;
use wirecost_proto::driver::Observer;
use wirecost_proto::{Front, Instant, Stamp};
use wirecost_stats::Histogram;

use super::report::{SinkReport, SinkUsage};
use crate::load::roles::track::{Place, Track};
use crate::stack::server::{Server, ServerEvent};

/// Devices whose numbers are followed; messages of others count, but not as duplicates or out of order. Anyone can send a
/// stamp.
const MAX_DEVICES: usize = 1 << 20;

/// Takes the server's events; clones share what they have counted.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    clock: Clock,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    messages: u64,
    payload_bytes: u64,
    unstamped: u64,
    /// `None` where payloads have no stamp.
    stamps: Option<Stamps>,
}

/// What stamps have told.
#[derive(Debug, Default)]
struct Stamps {
    delays: Histogram,
    duplicates: u64,
    out_of_order: u64,
    /// By the device's number.
    devices: Vec<Track>,
}

impl Counter {
    pub(super) fn new(clock: Clock, stamped: bool) -> Self {
        let counts = Counts {
            stamps: stamped.then(Stamps::default),
            ..Counts::default()
        };
        Self {
            clock,
            counts: Arc::new(Mutex::new(counts)),
        }
    }

    /// What has arrived, and what was used for it.
    pub(super) fn report(&self) -> SinkReport {
        self.with(|counts| {
            let stamps = counts.stamps.as_ref();
            SinkReport {
                messages: counts.messages,
                payload_bytes: counts.payload_bytes,
                duplicates: stamps.map(|stamps| stamps.duplicates),
                out_of_order: stamps.map(|stamps| stamps.out_of_order),
                unstamped: counts.unstamped,
                one_way_delay: stamps.map(|stamps| stamps.delays.clone()),
                usage: SinkUsage::own(counts.messages),
            }
        })
    }

    /// Messages that have arrived.
    pub(super) fn messages(&self) -> u64 {
        self.with(|counts| counts.messages)
    }

    pub(super) fn begin_delays(&self) {
        self.with(|counts| {
            if let Some(stamps) = &mut counts.stamps {
                stamps.delays = Histogram::new();
            }
        });
    }

    fn with<R>(&self, work: impl FnOnce(&mut Counts) -> R) -> R {
        // Counts are whole numbers at every moment, also where a holder has panicked.
        work(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer<Server> for Counter {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: ServerEvent, now: Instant) {
        let Some((payload_bytes, front)) = arrived(&event) else {
            return;
        };
        let monotonic_ns = self.clock.monotonic_nanos(now);
        self.with(|counts| {
            counts.messages += 1;
            counts.payload_bytes += payload_bytes;
            let Some(stamps) = &mut counts.stamps else {
                return;
            };
            match front.stamp() {
                Some(stamp) => stamps.take(stamp, monotonic_ns),
                None => counts.unstamped += 1,
            }
        });
    }
}

/// Payload of the message that has arrived, where the event says that one has.
fn arrived(event: &ServerEvent) -> Option<(u64, Front)> {
    match *event {
        ServerEvent::Bare(bare::ServerEvent::Message {
            payload_bytes, front, ..
        })
        | ServerEvent::Coap(coap::Event::MessageReceived {
            payload_bytes,
            front,
            duplicate: false,
            ..
        })
        | ServerEvent::Amqp(amqp::Event::Received {
            payload_bytes, front, ..
        })
        | ServerEvent::Http(http::Event::Answered {
            payload_bytes, front, ..
        }) => Some((payload_bytes, front)),
        ServerEvent::Mqtt(mqtt::Event::Published {
            payload_bytes, front, ..
        }) => Some((payload_bytes as u64, front)),
        _ => None,
    }
}

impl Stamps {
    fn take(&mut self, stamp: Stamp, monotonic_ns: u64) {
        self.delays.record(monotonic_ns.saturating_sub(stamp.intended_ns));
        let device = stamp.device as usize;
        if device >= MAX_DEVICES {
            return;
        }
        if device >= self.devices.len() {
            self.devices.resize(device + 1, Track::default());
        }
        match self.devices[device].note(stamp.message) {
            Place::InOrder => {}
            Place::OutOfOrder => self.out_of_order += 1,
            Place::Duplicate => self.duplicates += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_a_server_reports() {
        let clock = Clock::start();
        let mut counter = Counter::new(clock, true);
        let now = clock.now();
        let stamp = Stamp {
            device: 3,
            message: 0,
            intended_ns: clock.monotonic_nanos(now) - 5_000,
        };
        let message = |payload: &[u8]| {
            ServerEvent::Bare(bare::ServerEvent::Message {
                flow: wirecost_proto::FlowId(0),
                payload_bytes: payload.len() as u64,
                front: Front::of(payload),
            })
        };
        for payload in [&stamp.to_bytes()[..], &stamp.to_bytes(), b"short"] {
            counter.event(0, None, message(payload), now);
        }
        let report = counter.report();
        assert_eq!((report.messages, report.payload_bytes), (3, 37));
        assert_eq!((report.duplicates, report.out_of_order), (Some(1), Some(0)));
        assert_eq!(report.unstamped, 1);
        let delays = report.one_way_delay.expect("delays");
        assert_eq!(delays.len(), 2);
        assert!(delays.max().abs_diff(5_000) <= 5, "{} ns", delays.max());
        counter.begin_delays();
        assert!(counter.report().one_way_delay.expect("delays").is_empty());
    }
}
