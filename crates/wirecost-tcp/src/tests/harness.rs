//! Two connections over a path in virtual time, for tests.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{Instant, Rng};

use crate::{Config, Connection, ConnectionStart, Event, RestPattern, Segment, State};

/// Which end.
pub(crate) const CLIENT: usize = 0;
/// Which end.
pub(crate) const SERVER: usize = 1;

/// Each end's first sequence number: near the end, so that every test wraps.
pub(crate) const ISS: [u32; 2] = [u32::MAX - 2, u32::MAX - 700];

/// A segment as it entered the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) from: usize,
    pub(crate) segment: Segment,
    pub(crate) bytes: u32,
}

/// What the path does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
    /// Up to this much more delay for each segment: later ones overtake.
    pub(crate) disorder: Duration,
}

impl Faults {
    pub(crate) const NONE: Self = Self {
        loss: 0.0,
        duplication: 0.0,
        disorder: Duration::ZERO,
    };
}

/// One end and its application: it writes what it has and reads what comes.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) connection: Option<Connection>,
    pub(crate) unwritten: Vec<u8>,
    pub(crate) received: Vec<u8>,
    pub(crate) events: Vec<Event>,
    pub(crate) reads: bool,
    /// Whether it closes when everything is written.
    pub(crate) closes: bool,
    /// Whether it closes when the peer has.
    pub(crate) follows: bool,
    config: Config,
    pattern: RestPattern,
}

impl End {
    pub(crate) fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("the end exists")
    }

    pub(crate) fn state(&self) -> Option<State> {
        self.connection.as_ref().map(Connection::state)
    }
}

#[derive(Debug)]
pub(crate) struct Net {
    pub(crate) now: Instant,
    pub(crate) ends: [End; 2],
    pub(crate) sent: Vec<Sent>,
    delay: Duration,
    faults: Faults,
    rng: Rng,
    flying: BTreeMap<(Instant, usize), (usize, Segment, Vec<u8>)>,
    /// The segments, by their place in `sent`, that are lost whatever the faults say.
    pub(crate) lost: Vec<usize>,
    /// How the server's end starts.
    server: ConnectionStart,
}

impl Net {
    pub(crate) fn new(configs: [Config; 2], delay: Duration, faults: Faults, seed: u64) -> Self {
        Self::starting(configs, ISS.map(ConnectionStart::from), delay, (faults, seed))
    }

    /// With ends that start in these ways.
    pub(crate) fn starting(
        configs: [Config; 2],
        [client, server]: [ConnectionStart; 2],
        delay: Duration,
        (faults, seed): (Faults, u64),
    ) -> Self {
        let end = |config| End {
            connection: None,
            unwritten: Vec::new(),
            received: Vec::new(),
            events: Vec::new(),
            reads: true,
            closes: false,
            follows: true,
            config,
            pattern: RestPattern::default(),
        };
        let mut net = Self {
            now: Instant::from_millis(1),
            ends: configs.map(end),
            sent: Vec::new(),
            delay,
            faults,
            rng: Rng::new(seed),
            flying: BTreeMap::new(),
            lost: Vec::new(),
            server,
        };
        let config = net.ends[CLIENT].config.clone();
        net.ends[CLIENT].connection = Some(Connection::connect(config, client, net.now));
        net
    }

    pub(crate) fn linux(delay: Duration) -> Self {
        Self::new([Config::linux(1460), Config::linux(1460)], delay, Faults::NONE, 0)
    }

    /// Lets everything happen up to `until`, or until nothing is left to happen.
    pub(crate) fn run(&mut self, until: Instant) {
        self.settle(CLIENT);
        self.settle(SERVER);
        while let Some(at) = self.next().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.step();
        }
        self.now = self.now.max(until);
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run(self.now + time);
    }

    /// Lets the application of `end` write.
    pub(crate) fn write(&mut self, end: usize, bytes: &[u8]) {
        self.ends[end].unwritten.extend_from_slice(bytes);
        self.settle(end);
    }

    fn next(&self) -> Option<Instant> {
        let timeout = |end: &End| end.connection.as_ref().and_then(Connection::next_timeout);
        let timeouts = self.ends.iter().filter_map(timeout);
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        timeouts.chain(arrival).min()
    }

    fn step(&mut self) {
        let now = self.now;
        if let Some(entry) = self.flying.first_entry()
            && entry.key().0 <= now
        {
            let (to, segment, payload) = entry.remove();
            self.arrive(to, &segment, &payload);
            return self.settle(to);
        }
        for end in [CLIENT, SERVER] {
            let Some(connection) = &mut self.ends[end].connection else {
                continue;
            };
            if connection.next_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
                assert!(
                    connection.next_timeout().is_none_or(|at| at > now),
                    "a timer stays due: {connection:?}"
                );
                self.settle(end);
            }
        }
    }

    fn arrive(&mut self, to: usize, segment: &Segment, payload: &[u8]) {
        let now = self.now;
        let end = &mut self.ends[to];
        let is_new = to == SERVER && end.connection.is_none();
        if is_new {
            let config = end.config.clone();
            end.connection = Some(Connection::accept(config, segment, payload, self.server, now));
            return;
        }
        end.connection().handle_segment(segment, payload, now);
    }

    /// Sends what is to be sent, as TCP first and as the application then.
    pub(crate) fn settle(&mut self, end: usize) {
        if self.ends[end].connection.is_none() {
            return;
        }
        self.transmit(end);
        while self.act(end) {
            self.transmit(end);
        }
        // As often as it can: what follows must not depend on it.
        let end = &mut self.ends[end];
        if let Some(connection) = &mut end.connection {
            connection.rest(&mut end.pattern);
        }
    }

    fn transmit(&mut self, from: usize) {
        let mut payload = Vec::new();
        let now = self.now;
        let mut budget = 100_000;
        while let Some(transmit) = self.ends[from].connection().poll_transmit(&mut payload, now) {
            budget -= 1;
            assert!(budget > 0, "an end that never stops: {:?}", transmit.segment);
            assert_eq!(payload.len(), transmit.payload_bytes as usize);
            let bytes = transmit.segment.header_bytes() + payload.len();
            assert!(bytes <= 1_480, "{bytes} B do not fit into a packet of 1,500 B");
            let is_lost = self.rng.next_f64() < self.faults.loss || self.lost.contains(&self.sent.len());
            self.sent.push(Sent {
                at: now,
                from,
                segment: transmit.segment,
                bytes: transmit.payload_bytes,
            });
            let copies = usize::from(!is_lost) + usize::from(self.rng.next_f64() < self.faults.duplication);
            for _ in 0..copies {
                self.fly(1 - from, transmit.segment, payload.clone());
            }
            payload.clear();
        }
    }

    fn fly(&mut self, to: usize, segment: Segment, payload: Vec<u8>) {
        let disorder = self.rng.next_below(self.faults.disorder.as_nanos() as u64 + 1);
        let at = self.now + self.delay + Duration::from_nanos(disorder);
        let id = self.sent.len() * 4 + self.flying.len() % 4;
        let id = (id..)
            .find(|id| !self.flying.contains_key(&(at, *id)))
            .expect("an id is free");
        self.flying.insert((at, id), (to, segment, payload));
    }

    /// What the application does next; false where it waits.
    fn act(&mut self, index: usize) -> bool {
        let now = self.now;
        let end = &mut self.ends[index];
        let connection = end.connection.as_mut().expect("the end exists");
        if let Some(event) = connection.poll_event() {
            end.events.push(event);
            return true;
        }
        if end.reads && connection.read(&mut end.received, usize::MAX, now) > 0 {
            return true;
        }
        let is_open = end.events.contains(&Event::Opened);
        if is_open && !end.unwritten.is_empty() {
            let written = connection.write(&end.unwritten, now);
            end.unwritten.drain(..written);
            return written > 0;
        }
        let wants_close = end.closes || (end.follows && end.events.contains(&Event::PeerClosed));
        if is_open && wants_close && end.unwritten.is_empty() {
            end.closes = false;
            end.follows = false;
            connection.shutdown(now);
            return true;
        }
        false
    }
}
