//! The loop of a part without sockets: calls the part's director as a live loop does, and a function answers its
//! messages.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_live::driver::client::{Counted, Traffic};
use wirecost_proto::Instant;
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::{Context, Step};
use wirecost_results::figures::Interval;
use wirecost_scenario::options::load::{Arrivals, LoadOptions, Offer, Phase, Who};
use wirecost_stack::{Client, Command, Event};

use crate::devices::destination::{Destination, Trust};
use crate::devices::part::{FromPart, Inbox, ToPart};
use crate::devices::population::Devices;
use crate::devices::share::Share;

/// The virtual time at which the first phase begins.
pub(super) const BEGIN: Duration = Duration::from_secs(1);
/// The size of a message on the wire.
pub(super) const MESSAGE_BYTES: u64 = 100;
/// More turns than any test needs.
const MAXIMUM_TURNS: u64 = 20_000_000;

/// A request that reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// A device connects.
    Connect,
    /// A device sends the message of this handle.
    Message(u64),
}

/// The server's reaction: events of the device, each after a time.
pub(super) type Answers = Vec<(Duration, Event)>;

/// A running part.
pub(super) struct Rig<F> {
    devices: Devices,
    inbox: Arc<Inbox>,
    heard: Receiver<(u32, FromPart)>,
    clock_start_ns: u64,
    server: F,
    now: Instant,
    traffic: Arc<Traffic>,
    counted: Counted,
    events: BinaryHeap<Reverse<(Instant, u64)>>,
    pending: BTreeMap<u64, (usize, Event)>,
    numbered: u64,
    turns: u64,
    /// How many more messages devices may send.
    credit: u64,
    grant: Option<(Instant, u64)>,
    /// Messages that wait for credit, by device.
    held: BTreeMap<usize, u64>,
    /// When each device last sent or received.
    used: BTreeMap<usize, Instant>,
    /// How long the close of a connection takes.
    pub(super) close: Duration,
    /// A message to the part, and its time.
    later: Option<(Instant, ToPart)>,
}

/// The result of a phase.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The sum of all its intervals.
    pub(super) sum: Interval,
    /// Its intervals without the warm-up.
    pub(super) measured: Interval,
    /// Its intervals, by second.
    pub(super) seconds: BTreeMap<u32, Interval>,
    /// How often the part said that it lives.
    pub(super) reports: u32,
    /// When it was over.
    pub(super) over: Instant,
}

impl<F: FnMut(usize, Request, Instant) -> Answers> Rig<F> {
    /// All devices of a load in one part, and a server.
    pub(super) fn new(options: LoadOptions, server: F) -> Self {
        let destination = Destination {
            subscribers: None,
            address: ([127, 0, 0, 1], 1).into(),
            authority: "localhost".into(),
            trust: Trust::Foreign {
                server_name: "localhost".into(),
                authorities: None,
                psk: None,
                identities: Vec::new(),
            },
            link: None,
            mark: 0,
            classical_signatures: false,
        };
        let share = Share::split(&Arc::new(options), &destination, 1).remove(0);
        let (outbox, heard) = channel();
        let (inbox, clock) = (Inbox::new(), Clock::start());
        let traffic = Arc::<Traffic>::default();
        let devices = share.director(clock.into(), &inbox, &outbox).expect("a director");
        let devices = devices.with_traffic(Arc::clone(&traffic));
        Self {
            devices,
            inbox,
            heard,
            clock_start_ns: clock.monotonic_nanos(Instant::START),
            server,
            now: Instant::START,
            traffic,
            counted: Counted::default(),
            events: BinaryHeap::new(),
            pending: BTreeMap::new(),
            numbered: 0,
            turns: 0,
            credit: u64::MAX,
            grant: None,
            held: BTreeMap::new(),
            used: BTreeMap::new(),
            close: Duration::ZERO,
            later: None,
        }
    }

    /// The same with the devices of a simulation.
    pub(super) fn in_virtual_time(self) -> Self {
        Self {
            devices: self.devices.in_virtual_time(),
            ..self
        }
    }

    /// Sends a message to the part when the next phase has lasted for `after`.
    pub(super) fn tell_after(&mut self, message: ToPart, after: Duration) {
        self.later = Some((self.now + BEGIN + after, message));
    }

    /// Runs a phase to its end. It begins a second after the last phase was over.
    pub(super) fn phase(&mut self, phase: u32) -> Outcome {
        self.begin(phase);
        self.run_to_end()
    }

    /// Runs a phase whose first turn comes `late`, and which is stopped after that turn.
    pub(super) fn stopped_after_a_turn(&mut self, phase: u32, late: Duration) -> Outcome {
        self.begin(phase);
        self.now = self.now + BEGIN + late;
        if let Due::Device(device) = Director::<Client>::due(&mut self.devices, self.now) {
            self.turn(device);
        }
        self.tell(ToPart::Stop);
        self.run_to_end()
    }

    fn begin(&mut self, phase: u32) {
        let at = self.now + BEGIN;
        let at_ns = self.clock_start_ns + at.as_nanos();
        self.tell(ToPart::Begin {
            phase,
            at_ns,
            shift_ns: 0,
        });
    }

    fn run_to_end(&mut self) -> Outcome {
        let mut seconds: BTreeMap<u32, Interval> = BTreeMap::new();
        let mut measured = Interval::default();
        let mut reports = 0;
        loop {
            let next = self.run_due();
            while let Ok((_, message)) = self.heard.try_recv() {
                match message {
                    FromPart::Interval(interval) => {
                        if !interval.warm_up {
                            measured.add(&interval);
                        }
                        match seconds.get_mut(&interval.second) {
                            Some(sum) => sum.add(&interval),
                            None => drop(seconds.insert(interval.second, *interval)),
                        }
                    }
                    FromPart::Alive { .. } => reports += 1,
                    FromPart::PhaseDone { .. } => return self.outcome(seconds, measured, reports),
                    _ => {}
                }
            }
            self.advance(next);
        }
    }

    fn outcome(&self, seconds: BTreeMap<u32, Interval>, measured: Interval, reports: u32) -> Outcome {
        let mut sum = Interval::default();
        seconds.values().for_each(|interval| sum.add(interval));
        Outcome {
            sum,
            measured,
            seconds,
            reports,
            over: self.now,
        }
    }

    /// Sends a message to the part.
    pub(super) fn tell(&mut self, message: ToPart) {
        self.inbox.put(message);
        // The part reports whether it goes on.
        let _ = Director::<Client>::woken(&mut self.devices, self.now);
    }

    /// Ends the part. Returns its last counts.
    pub(super) fn quit(&mut self) -> Interval {
        self.tell(ToPart::Quit);
        let mut sum = Interval::default();
        while let Ok((_, message)) = self.heard.try_recv() {
            if let FromPart::Interval(interval) = message {
                sum.add(&interval);
            }
        }
        sum
    }

    /// Advances to the next event, and handles it.
    fn advance(&mut self, due: Option<Instant>) {
        let event = self.events.peek().map(|Reverse((at, _))| *at);
        let told = self.later.map(|(at, _)| at);
        let granted = self.grant.map(|(at, _)| at);
        let next = due.into_iter().chain(event).chain(told).chain(granted).min();
        self.now = self.now.max(next.expect("something will happen"));
        self.take_grant();
        if let Some((_, message)) = self.later.take_if(|(at, _)| *at <= self.now) {
            self.tell(message);
        }
        while let Some(Reverse((at, number))) = self.events.peek().copied()
            && at <= self.now
        {
            self.events.pop();
            if let Some((device, event)) = self.pending.remove(&number) {
                self.used.insert(device, self.now);
                Director::<Client>::event(&mut self.devices, device, event, self.now);
                self.turn(device);
            }
        }
    }

    fn run_due(&mut self) -> Option<Instant> {
        self.traffic.note(&self.counted);
        loop {
            match Director::<Client>::due(&mut self.devices, self.now) {
                Due::Device(device) => self.turn(device),
                Due::Later(next) => return next,
            }
        }
    }

    /// A device's turn: asks it until it waits, sends its output, then asks it again.
    fn turn(&mut self, device: usize) {
        self.turns += 1;
        assert!(self.turns < MAXIMUM_TURNS, "the part never waits");
        while self.ask(device) {
            Director::<Client>::flushed(&mut self.devices, device, self.now);
        }
    }

    /// Whether the device had output.
    fn ask(&mut self, device: usize) -> bool {
        let mut has_sent = false;
        loop {
            let context = Context {
                now: self.now,
                link_busy_until: self.used.get(&device).copied().unwrap_or_default(),
                cpu: Duration::ZERO,
                transmitted: 0,
                congested: false,
            };
            match Director::<Client>::next(&mut self.devices, device, context) {
                Step::Connect => self.request(device, Request::Connect),
                Step::Command(Command::Transmit { message, .. }) => {
                    has_sent = true;
                    self.send(device, message);
                }
                Step::Command(Command::Close) => self.answer(device, (self.close, Event::Closed)),
                Step::Command(_) | Step::Abort { .. } => {}
                Step::Wait(_) | Step::Finished => return has_sent,
            }
        }
    }

    /// Hands a message out at once, or holds it until there is credit.
    fn send(&mut self, device: usize, message: u64) {
        if self.credit == 0 {
            let before = self.held.insert(device, message);
            assert_eq!(
                before, None,
                "a device is given one message at a time beyond its credit"
            );
            return;
        }
        self.credit -= 1;
        let sent = Event::Sent { message };
        Director::<Client>::event(&mut self.devices, device, sent, self.now);
        self.request(device, Request::Message(message));
    }

    /// Grants all devices together credit for `messages` when the next phase has lasted for `after`, and none after
    /// that.
    pub(super) fn grant_after(&mut self, messages: u64, after: Duration) {
        self.grant = Some((self.now + BEGIN + after, messages));
    }

    /// Withholds all credit.
    pub(super) const fn withhold(&mut self) {
        self.credit = 0;
    }

    fn take_grant(&mut self) {
        let Some((_, messages)) = self.grant.take_if(|(at, _)| *at <= self.now) else {
            return;
        };
        self.credit = messages;
        for (device, message) in std::mem::take(&mut self.held) {
            self.send(device, message);
            Director::<Client>::flushed(&mut self.devices, device, self.now);
            self.turn(device);
        }
    }

    fn request(&mut self, device: usize, request: Request) {
        self.used.insert(device, self.now);
        if matches!(request, Request::Message(_)) {
            self.counted.sent_bytes += MESSAGE_BYTES;
        }
        for answer in (self.server)(device, request, self.now) {
            self.answer(device, answer);
        }
    }

    fn answer(&mut self, device: usize, (after, event): (Duration, Event)) {
        self.numbered += 1;
        self.events.push(Reverse((self.now + after, self.numbered)));
        self.pending.insert(self.numbered, (device, event));
    }
}

/// All devices connect as fast as possible.
pub(super) const CONNECT: Phase = Phase::Connect {
    who: Who::All,
    rate: None,
};

/// Messages with equal gaps, at `rate` per second over all devices.
pub(super) const fn open(rate: f64, duration: Duration) -> Offer {
    Offer {
        arrivals: Arrivals::Open {
            rate,
            per_client: false,
            poisson: false,
        },
        duration: Some(duration),
        count: None,
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        spread: None,
    }
}

/// The client may send.
pub(super) const READY: Event = Event::Ready {
    session_present: false,
};
