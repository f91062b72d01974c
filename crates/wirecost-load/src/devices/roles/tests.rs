//! Devices in virtual time. The test is the network and the server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Instant, ResetReason, Rng};
use wirecost_results::figures::Interval;
use wirecost_scenario::expected::Matching;
use wirecost_scenario::options::load::{Arrivals, Backoff, Offer, Who};
use wirecost_stack::message::Requests;
use wirecost_stack::pool::{PayloadSource, PoolConfig};
use wirecost_stack::{Client, Command, Event, MessagePool};

use super::subscriber::Subscribers;
use crate::devices::activities::connect::{Connect, Group};
use crate::devices::activities::drop_all::DropAll;
use crate::devices::activities::handshakes::{Handshakes, Handshaking};
use crate::devices::activities::reconnect::Reconnect;
use crate::devices::activity::{Activity, Part};
use crate::devices::connections::Connections;
use crate::devices::part::{FromPart, Inbox, ToPart};
use crate::devices::population::Devices;
use crate::devices::tracker::{MessageTracker, Rules, Span};

const SECOND: Duration = Duration::from_secs(1);
/// The time of a connect and of a close.
const LATENCY: Duration = Duration::from_millis(1);

/// An event of a device at a time.
enum Happens {
    Ready,
    Closed,
    Refused,
    Rejected,
}

/// Devices of a part, with a network in which everything takes a millisecond.
struct Bench {
    devices: Devices,
    inbox: Arc<Inbox>,
    heard: Arc<Mutex<Vec<FromPart>>>,
    now: Instant,
    agenda: BTreeMap<(Instant, u64), (usize, Happens)>,
    count: u64,
    /// The host refuses connects that begin before this.
    server_is_up: Instant,
    /// Whether the server refuses every client.
    rejects: bool,
    /// When connects began.
    connects: Vec<Instant>,
    dropped: u64,
}

type Made = Vec<(Box<dyn Activity>, Span)>;

impl Bench {
    fn new(devices: usize, activities: Made) -> Self {
        let rules = Rules {
            answered: true,
            timeout: SECOND * 30,
            session: false,
            connects: true,
        };
        let pool = PoolConfig {
            stack: "mqtt-qos1".parse().expect("a stack"),
            resource: "t".parse().expect("a pattern"),
            authority: "server".into(),
            requests: Requests::default(),
            retain: false,
            topics: None,
            user_properties: std::sync::Arc::default(),
            recorded: None,
            payload: PayloadSource::random(16, 1),
            utc_offset_ns: 0,
            seed: 1,
            mark: 0,
        };
        let part = Part {
            connections: Connections::new(devices, SECOND * 10, Rng::new(7)),
            tracker: MessageTracker::new(rules, devices),
            pool: MessagePool::new(pool).expect("a pool"),
            subscribers: Subscribers::none(),
            first: 0,
            senders: devices,
            closes_silently: false,
            answers_in_one_datagram: false,
            clock_start_ns: 0,
        };
        let inbox = Inbox::new();
        let heard: Arc<Mutex<Vec<FromPart>>> = Arc::default();
        let ears = Arc::clone(&heard);
        let report = Box::new(move |message| ears.lock().expect("ears").push(message));
        let activities = Mutex::new(activities.into_iter().map(Some).collect::<Vec<_>>());
        let phases = Box::new(move |index: u32| {
            let mut activities = activities.lock().expect("activities");
            activities.get_mut(index as usize)?.take()
        });
        Self {
            devices: Devices::new(part, phases, Arc::clone(&inbox), report),
            inbox,
            heard,
            now: Instant::START,
            agenda: BTreeMap::new(),
            count: 0,
            server_is_up: Instant::START,
            rejects: false,
            connects: Vec::new(),
            dropped: 0,
        }
    }

    fn director(&mut self) -> &mut dyn Director<Client> {
        &mut self.devices
    }

    /// Runs a phase. Returns its duration and its counts.
    fn run(&mut self, phase: u32) -> (Duration, Interval) {
        let begin = self.now + LATENCY;
        let at_ns = begin.as_nanos();
        self.inbox.put(ToPart::Begin {
            phase,
            at_ns,
            shift_ns: 0,
        });
        let now = self.now;
        let _ = self.director().woken(now);
        loop {
            let next = self.turn();
            if self.is_done(phase) {
                break;
            }
            let agenda = self.agenda.keys().next().map(|(at, _)| *at);
            let next = [next, agenda].into_iter().flatten().min().expect("a time");
            self.now = self.now.max(next);
            self.happen();
        }
        // The current second's counts are reported when it is over.
        let mut sum = Interval::default();
        for message in self.heard.lock().expect("ears").drain(..) {
            if let FromPart::Interval(interval) = message
                && interval.phase == phase
            {
                sum.add(&interval);
            }
        }
        (self.now.saturating_since(begin), sum)
    }

    fn is_done(&self, phase: u32) -> bool {
        let heard = self.heard.lock().expect("ears");
        let is_done =
            |message: &FromPart| matches!(message, FromPart::PhaseDone { phase: done } if *done == phase);
        heard.iter().any(is_done)
    }

    /// Asks every device that has work to do. Returns the next time.
    fn turn(&mut self) -> Option<Instant> {
        loop {
            let now = self.now;
            match self.director().due(now) {
                Due::Device(device) => self.ask(device),
                Due::Later(next) => return next,
            }
        }
    }

    fn ask(&mut self, device: usize) {
        loop {
            let context = Context {
                now: self.now,
                link_busy_until: Instant::START,
                cpu: Duration::ZERO,
                transmitted: 0,
                congested: false,
            };
            match self.director().next(device, context) {
                Step::Connect => self.connect(device),
                Step::Command(Command::Close) => self.later(device, Happens::Closed),
                Step::Command(other) => panic!("nobody asks for {other:?}"),
                Step::Abort { .. } => {
                    self.dropped += 1;
                    self.agenda.retain(|_, (other, _)| *other != device);
                }
                Step::Wait(_) | Step::Finished => return,
            }
        }
    }

    fn connect(&mut self, device: usize) {
        self.connects.push(self.now);
        let what = match self.rejects {
            _ if self.now < self.server_is_up => Happens::Refused,
            true => Happens::Rejected,
            false => Happens::Ready,
        };
        self.later(device, what);
    }

    fn later(&mut self, device: usize, what: Happens) {
        self.count += 1;
        self.agenda
            .insert((self.now + LATENCY, self.count), (device, what));
    }

    fn happen(&mut self) {
        while let Some(entry) = self.agenda.first_entry()
            && entry.key().0 <= self.now
        {
            let (device, what) = entry.remove();
            let now = self.now;
            let director = self.director();
            match what {
                Happens::Ready => {
                    let session_present = false;
                    director.event(device, Event::Ready { session_present }, now);
                }
                Happens::Closed => director.event(device, Event::Closed, now),
                Happens::Refused => director.failed(device, ResetReason::Refused, now),
                Happens::Rejected => {
                    let reason = "CONNACK not authorized".into();
                    director.event(device, Event::Rejected { reason }, now);
                }
            }
            self.ask(device);
        }
    }
}

fn connect(devices: u32) -> (Box<dyn Activity>, Span) {
    let group = Group {
        first: 0,
        places: 0..devices,
    };
    (
        Box::new(Connect::new(None, &[group], devices, 64, 0)),
        Span::default(),
    )
}

/// Devices connect, lose their connections at once, and reconnect. `down` is how long the server is away.
fn storm(devices: u32, backoff: Backoff, down: Duration, timeout: Duration) -> (Bench, Duration, Interval) {
    let drop_all = DropAll::new(Who::All, true, Matching::Same(0));
    let reconnect = Reconnect::new(Who::All, backoff, timeout, 0);
    let activities: Made = vec![
        connect(devices),
        (Box::new(drop_all), Span::default()),
        (Box::new(reconnect), Span::default()),
    ];
    let mut bench = Bench::new(devices as usize, activities);
    let (_, connected) = bench.run(0);
    assert_eq!(connected.connects.established, u64::from(devices));
    let (took, dropped) = bench.run(1);
    assert_eq!(
        (bench.dropped, dropped.connects.lost),
        (devices.into(), devices.into())
    );
    assert!(took < SECOND);
    bench.connects.clear();
    bench.server_is_up = bench.now + down;
    let (took, back) = bench.run(2);
    (bench, took, back)
}

const BACKOFF: Backoff = Backoff {
    first: SECOND,
    max: Duration::from_secs(8),
    full_jitter: true,
};

/// Connects begun in each second since the first.
fn per_second(connects: &[Instant]) -> Vec<usize> {
    let first = connects[0];
    let mut seconds = Vec::new();
    for at in connects {
        let second = at.saturating_since(first).as_secs() as usize;
        seconds.resize(seconds.len().max(second + 1), 0);
        seconds[second] += 1;
    }
    seconds
}

#[test]
fn every_device_reconnects_from_a_storm_in_bounded_time() {
    let (bench, took, back) = storm(1_000, BACKOFF, SECOND * 5, SECOND * 60);
    assert_eq!(
        (back.outcomes.offered, back.outcomes.acknowledged),
        (1_000, 1_000)
    );
    assert_eq!(back.connects.attempted, bench.connects.len() as u64);
    assert_eq!(back.connects.established, 1_000);
    assert_eq!(back.connects.failed, back.connects.attempted - 1_000);
    // No device waits longer than the longest wait once the server is back.
    assert!((SECOND * 5..SECOND * 14).contains(&took), "{took:?}");
    let times = back.response_time.expect("times");
    assert!(times.min() >= 5_000_000_000 - 10_000_000, "{}", times.min());
    assert_eq!(times.len(), 1_000);
}

#[test]
fn jitter_spreads_the_attempts_and_follows_from_the_seed() {
    let attempts = |full_jitter| {
        let backoff = Backoff {
            full_jitter,
            ..BACKOFF
        };
        storm(1_000, backoff, Duration::ZERO, SECOND * 60).0.connects
    };
    let (spread, together) = (attempts(true), attempts(false));
    let within = |connects: &[Instant], span: Duration| {
        let busiest = |from: &Instant| {
            let in_span = |at: &&Instant| **at >= *from && at.saturating_since(*from) < span;
            connects.iter().filter(in_span).count()
        };
        connects.iter().map(busiest).max()
    };
    let tenth = Duration::from_millis(100);
    assert_eq!(within(&together, tenth), Some(1_000), "all at once without it");
    // Of 1,000 evenly drawn over 1 s, about 100 fall into a tenth: the busiest tenth has less than twice that.
    assert!(within(&spread, tenth) < Some(200), "{:?}", within(&spread, tenth));
    assert_eq!(spread, attempts(true), "the same seed, the same storm");
    assert_eq!(per_second(&spread), [1_000]);
}

#[test]
fn waits_grow_while_the_server_is_away() {
    let backoff = Backoff {
        full_jitter: false,
        ..BACKOFF
    };
    let (bench, _, back) = storm(10, backoff, SECOND * 20, SECOND * 60);
    // Waits of 1, 2, 4, 8 and 8 s: seconds 0, 2, 6, 14, 22 after the first.
    let seconds = per_second(&bench.connects);
    let busy: Vec<usize> = (0..seconds.len()).filter(|second| seconds[*second] > 0).collect();
    assert_eq!(busy, [0, 2, 6, 14, 22]);
    assert_eq!(back.outcomes.acknowledged, 10);
}

#[test]
fn a_server_that_stays_away_ends_the_storm_at_its_time_out() {
    let (_, took, back) = storm(50, BACKOFF, SECOND * 1_000, SECOND * 20);
    assert_eq!(took, SECOND * 20);
    assert_eq!((back.outcomes.offered, back.outcomes.failed), (50, 50));
    assert_eq!(back.reasons.get("not back in time"), Some(&50));
}

fn handshakes(devices: u32, arrivals: Arrivals, duration: Duration) -> Bench {
    let offer = Offer {
        arrivals,
        duration: Some(duration),
        count: None,
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        spread: None,
    };
    let activity = Handshakes::new(Handshaking {
        offer,
        devices: 0..devices,
        of: devices,
        transport: Transport::Stream,
        linger: Duration::ZERO,
        rng: Rng::new(1),
    });
    Bench::new(devices as usize, vec![(Box::new(activity), Span::default())])
}

const OPEN: Arrivals = Arrivals::Open {
    rate: 100.0,
    per_client: false,
    poisson: false,
};

#[test]
fn handshakes_keep_to_their_rate() {
    let (took, counted) = handshakes(5, OPEN, SECOND * 2).run(0);
    assert_eq!(
        (counted.outcomes.offered, counted.outcomes.acknowledged),
        (200, 200)
    );
    assert_eq!(
        (counted.connects.attempted, counted.connects.established),
        (200, 200)
    );
    assert_eq!(
        counted.connects.lost, 0,
        "connections that are closed are not lost"
    );
    let times = counted.response_time.expect("times");
    assert!((999_000..1_010_000).contains(&times.max()), "{}", times.max());
    assert!(took < SECOND * 2 + LATENCY * 5, "{took:?}");
}

#[test]
fn handshakes_in_a_closed_loop_follow_one_another() {
    let (_, counted) = handshakes(10, Arrivals::Closed, SECOND).run(0);
    // A connect and a close of 1 ms each, 10 devices, 1 s.
    assert_eq!(counted.outcomes.offered, 5_000);
    assert_eq!(counted.outcomes.acknowledged, 5_000);
}

#[test]
fn a_busy_device_does_not_hold_the_offer_back() {
    // One device takes 2 ms for each handshake: of 1,000 per second it completes 500.
    let arrivals = Arrivals::Open {
        rate: 1_000.0,
        per_client: false,
        poisson: false,
    };
    let (took, counted) = handshakes(1, arrivals, SECOND).run(0);
    assert_eq!(
        (counted.outcomes.offered, counted.outcomes.acknowledged),
        (1_000, 1_000)
    );
    assert!(
        (SECOND * 2 - LATENCY * 20..SECOND * 2 + LATENCY * 20).contains(&took),
        "{took:?}"
    );
    let response = counted.response_time.expect("times");
    let service = counted.service_time.expect("times");
    assert!(response.max() > 900_000_000 && service.max() < 1_100_000);
}

#[test]
fn a_server_that_rejects_refuses_and_a_missing_one_fails() {
    let mut bench = handshakes(5, OPEN, SECOND);
    bench.rejects = true;
    let (_, counted) = bench.run(0);
    assert_eq!((counted.outcomes.offered, counted.outcomes.refused), (100, 100));
    assert_eq!(counted.connects.refused, 100);

    let mut bench = handshakes(5, Arrivals::Closed, SECOND);
    bench.server_is_up = Instant::START + SECOND * 100;
    let (_, counted) = bench.run(0);
    assert_eq!(counted.outcomes.failed, counted.outcomes.offered);
    // Each of the five devices waits 100 ms after a failure.
    assert!(
        (40..=60).contains(&counted.outcomes.offered),
        "{}",
        counted.outcomes.offered
    );
}
