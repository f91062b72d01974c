//! The devices of one loop, in any phase.
//!
//! ```text
//! coordinator --ToPart--> Inbox -> phase begins -> Activity: which devices to wake, what to send, when the phase is over
//! loop: due -> which device has work; next -> connect, close, or the activity's command; event -> connections, MessageTracker
//! coordinator <-FromPart-- intervals every second, phase done
//! ```

use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use wirecost_live::driver::client::{Counted, Traffic};
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Endpoint, Instant, ResetReason};
use wirecost_results::figures::Connects;
use wirecost_results::intervals::width_from;
use wirecost_security::Start;
use wirecost_stack::{Command, Event};

use crate::cpu_ns;
use crate::devices::activity::{Activity, Ended, Part};
use crate::devices::connections::{NextStep, State, Timer};
use crate::devices::part::{FromPart, Inbox, ToPart};
use crate::devices::shared::SharedEndpoints;
use crate::devices::tracker::Span;
use crate::earlier;
use crate::nanos;

/// How often the loop hands its counts over.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// The most seconds that a report in virtual time counts: the coordinator gives up a phase that is over for longer.
const LONGEST_REPORT: u32 = 10;
/// The reason of a session that was made anew, and of the messages that were open in it.
pub(crate) const FORGOTTEN: &str = "made a new session: the NAT had forgotten the old one's port";
/// How long an interrupted phase waits for outstanding answers.
pub const LAST_WAIT: Duration = Duration::from_secs(2);

/// Builds the activity and the span of a phase from its index.
pub type Phases = Box<dyn Fn(u32) -> Option<(Box<dyn Activity>, Span)> + Send>;

/// Sends a part's reports.
pub type Report = Box<dyn FnMut(FromPart) + Send>;

/// The devices of one loop.
pub struct Devices {
    part: Part,
    phases: Phases,
    stage: Stage,
    inbox: Arc<Inbox>,
    report: Report,
    /// The beginning of the phase.
    began: Instant,
    /// The end of the seconds of the phase that the next report counts.
    next_report: Instant,
    /// Whether a report counts as many seconds as a row of the results will have, up to [`LONGEST_REPORT`].
    reports_rows: bool,
    /// The end of the warm-up, while it lies ahead.
    warm_up_ends: Option<Instant>,
    traffic: Arc<Traffic>,
    /// The traffic that intervals contain already.
    counted: Counted,
    /// When the traffic was last read: later traffic belongs to the second of that time.
    counted_at: Instant,
    shared_endpoints: SharedEndpoints,
    /// The start of the part's clock before any shift.
    clock_start_ns: u64,
    /// CPU time of the loop so far, in nanoseconds.
    cpu_ns: fn() -> u64,
    is_over: bool,
}

enum Stage {
    /// Between two phases.
    Idle,
    /// In a phase.
    Active { phase: u32, activity: Box<dyn Activity> },
}

impl Devices {
    /// Devices without connections that wait for the first phase.
    pub fn new(part: Part, phases: Phases, inbox: Arc<Inbox>, report: Report) -> Self {
        Self {
            clock_start_ns: part.clock_start_ns,
            part,
            phases,
            stage: Stage::Idle,
            inbox,
            report,
            began: Instant::START,
            next_report: Instant::START,
            reports_rows: false,
            warm_up_ends: None,
            traffic: Arc::default(),
            counted: Counted::default(),
            counted_at: Instant::START,
            shared_endpoints: SharedEndpoints::default(),
            cpu_ns,
            is_over: false,
        }
    }

    /// Adds the traffic that the loop counts in its intervals.
    #[must_use]
    pub fn with_traffic(self, traffic: Arc<Traffic>) -> Self {
        Self { traffic, ..self }
    }

    /// Adds the endpoints that the devices share.
    #[must_use]
    pub fn with_shared_endpoints(self, shared_endpoints: SharedEndpoints) -> Self {
        Self {
            shared_endpoints,
            ..self
        }
    }

    /// Devices in virtual time: the CPU time of the simulation is not that of a generator, and to read it each virtual second takes
    /// longer than a second with few messages. So does a report of each second of a day.
    #[must_use]
    pub(crate) fn in_virtual_time(self) -> Self {
        Self {
            cpu_ns: || 0,
            reports_rows: true,
            ..self
        }
    }

    /// Whether the load is over.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    fn begin(&mut self, phase: u32, at: Instant, now: Instant) {
        // Traffic until now belongs to the phase before.
        self.count_traffic(now);
        let Some((mut activity, span)) = (self.phases)(phase) else {
            return (self.report)(FromPart::PhaseDone { phase });
        };
        self.part.tracker.begin(phase, at, span);
        activity.begin(&mut self.part, at);
        (self.began, self.next_report) = (at, at + REPORT_INTERVAL);
        self.warm_up_ends = (!span.warm_up.is_zero()).then_some(at + span.warm_up);
        self.counted_at = at;
        self.stage = Stage::Active { phase, activity };
    }

    fn take_messages(&mut self, now: Instant) {
        while let Some(message) = self.inbox.take() {
            match message {
                ToPart::Begin {
                    phase,
                    at_ns,
                    shift_ns,
                } => {
                    self.part.clock_start_ns = self
                        .clock_start_ns
                        .saturating_add_signed(shift_ns.saturating_neg());
                    self.part.subscribers.set_clock_start(self.part.clock_start_ns);
                    let at = at_ns.saturating_sub(self.part.clock_start_ns);
                    self.begin(phase, Instant::from_nanos(at), now);
                }
                ToPart::Stop => {
                    if let Stage::Active { activity, .. } = &mut self.stage {
                        activity.stop(&mut self.part, now, now + LAST_WAIT);
                    }
                }
                ToPart::Quit => {
                    // What has arrived since the end of the last phase.
                    self.hand_over(now);
                    self.is_over = true;
                }
            }
        }
    }

    /// Handles expired timers.
    fn run_timers(&mut self, now: Instant) {
        while let Some((device, timer)) = self.part.connections.next_timer(now) {
            match timer {
                Timer::Connect => {
                    self.connect(device, now).timed_out += 1;
                    self.went_down(device, Some("no connection in time"), now);
                    self.part.connections.abort(device, false);
                }
                Timer::Close => {
                    self.went_down(device, None, now);
                    self.part.connections.abort(device, false);
                }
                Timer::Backoff => self.part.connections.request(device, NextStep::Connect),
            }
        }
    }

    /// Does everything that is due. Returns when to call again.
    fn run(&mut self, now: Instant) -> Option<Instant> {
        self.run_timers(now);
        let Part {
            connections,
            tracker,
            subscribers,
            ..
        } = &mut self.part;
        let mut next = tracker.expire(now, |device| connections.wake(device));
        next = earlier(next, subscribers.wake_due(now, |device| connections.wake(device)));
        if let Stage::Active { phase, activity } = &mut self.stage {
            next = earlier(next, activity.due(&mut self.part, now));
            if activity.is_done(&self.part, now) {
                let phase = *phase;
                self.stage = Stage::Idle;
                self.hand_over(now);
                (self.report)(FromPart::PhaseDone { phase });
            }
        }
        // The activity may just have set some timers.
        next = earlier(next, self.part.connections.next_deadline());
        next = earlier(next, self.warm_up_ends);
        earlier(next, Some(self.next_report))
    }

    /// Reads the traffic when a second or the warm-up is over, and reports each second.
    fn look_at_time(&mut self, now: Instant) {
        if self.warm_up_ends.take_if(|at| now >= *at).is_some() {
            self.count_traffic(now);
        }
        if now >= self.next_report {
            self.hand_over(now);
            // Reports stay on the seconds of the phase, however late this one was.
            let late = now.saturating_since(self.next_report);
            self.next_report += REPORT_INTERVAL * (late.as_secs() as u32 + self.seconds_of_report());
        }
    }

    /// The seconds that the report after the one that is due counts. They begin where a row begins, and end within it.
    fn seconds_of_report(&self) -> u32 {
        if !self.reports_rows {
            return 1;
        }
        let second = self.next_report.saturating_since(self.began).as_secs();
        width_from(u32::try_from(second).unwrap_or(u32::MAX)).min(LONGEST_REPORT)
    }

    /// Adds the traffic since the last reading, which was at most one report ago.
    fn count_traffic(&mut self, now: Instant) {
        let sum = self.traffic.counted();
        let before = std::mem::replace(&mut self.counted, sum);
        let since = std::mem::replace(&mut self.counted_at, now);
        if sum != before {
            let interval = self.part.tracker.now(since);
            interval.socket_bytes[0] += sum.sent_bytes - before.sent_bytes;
            interval.socket_bytes[1] += sum.received_bytes - before.received_bytes;
            interval.dropped_datagrams += sum.dropped_datagrams - before.dropped_datagrams;
        }
    }

    /// Reports the counts.
    fn hand_over(&mut self, now: Instant) {
        self.count_traffic(now);
        for interval in self.part.tracker.take() {
            (self.report)(FromPart::Interval(interval));
        }
        let connected = self.part.connections.count(State::Up) as u64;
        (self.report)(FromPart::Alive {
            at_ns: self.part.clock_start_ns.saturating_add(now.as_nanos()),
            connected,
            // Keeping a CPU awake is no work of the generator.
            cpu_ns: (self.cpu_ns)().saturating_sub(nanos(self.counted.awake)),
            intended_ns: self
                .part
                .clock_start_ns
                .saturating_add(self.part.tracker.intended_until().as_nanos()),
        });
    }

    fn came_up(&mut self, device: usize, now: Instant) {
        if self.part.connections.state(device) != State::Connecting {
            return;
        }
        let since = self.part.connections.since(device);
        self.part.tracker.connected(since, now);
        self.part.connections.came_up(device, now);
        if let Stage::Active { activity, .. } = &mut self.stage {
            activity.came_up(&mut self.part, device, now);
        }
    }

    /// The counters of a device's connect that ends now.
    fn connect(&mut self, device: usize, now: Instant) -> &mut Connects {
        let began = self.part.connections.since(device);
        self.part.tracker.connects_begun(began, now)
    }

    /// A connection has ended, or a connect has failed. `reason` is `None` if the device closed it.
    fn went_down(&mut self, device: usize, reason: Option<&str>, now: Instant) {
        let state = self.part.connections.went_down(device, now);
        // An abort of our own and the socket's error report the same end: the second report must not count.
        if state == State::Down {
            return;
        }
        let asked = state == State::Closing;
        if let Some(reason) = reason
            && !asked
        {
            self.part.tracker.now(now).reason(reason);
        }
        if state == State::Up {
            self.part.tracker.connects(now).lost += 1;
        }
        self.part.tracker.lost(device, reason.unwrap_or("closed"));
        let Stage::Active { activity, .. } = &mut self.stage else {
            return;
        };
        let reason = reason.filter(|_| !asked);
        activity.went_down(&mut self.part, device, Ended { state, reason }, now);
        if let (false, Some(backoff)) = (asked, activity.keeps_up()) {
            self.part.connections.connect_again(device, &backoff, now);
        }
    }

    /// A device leaves a session that its server cannot continue, and makes a new one at once. The session counts as none that was
    /// lost: what tells of it is the reason.
    fn renew(&mut self, device: usize, now: Instant) {
        self.part.connections.went_down(device, now);
        self.part.tracker.now(now).reason(FORGOTTEN);
        self.part.tracker.lost(device, FORGOTTEN);
        if let Stage::Active { activity, .. } = &self.stage
            && let Some(backoff) = activity.keeps_up()
        {
            self.part.connections.connect_again(device, &backoff, now);
        }
    }

    /// The next command of a device that may send.
    fn command(&mut self, device: usize, context: Context) -> Option<Command> {
        let Part {
            subscribers,
            pool,
            tracker,
            ..
        } = &mut self.part;
        // Before anything is sent: what comes before the subscription would count as missing.
        if let Some(subscribe) = subscribers.next(device, pool, tracker, context.now) {
            return Some(subscribe);
        }
        let Stage::Active { activity, .. } = &mut self.stage else {
            return None;
        };
        activity.next(&mut self.part, device, context)
    }

    fn rejected(&mut self, device: usize, reason: &str, now: Instant) {
        if self.part.connections.state(device) == State::Connecting {
            self.connect(device, now).refused += 1;
        }
        self.ended_by_others(device, reason, now);
    }

    fn lost(&mut self, device: usize, reason: &str, now: Instant) {
        if self.part.connections.state(device) == State::Connecting {
            self.connect(device, now).failed += 1;
        }
        self.ended_by_others(device, reason, now);
    }

    /// The peer or the network has ended a connection. If this phase does not reconnect, the next phase that does finds
    /// the device.
    fn ended_by_others(&mut self, device: usize, reason: &str, now: Instant) {
        let was_up = self.part.connections.is_up(device);
        self.went_down(device, Some(reason), now);
        if was_up {
            self.part.connections.miss(device);
        }
    }
}

impl<E: Endpoint<Command = Command, Event = Event>> Director<E> for Devices {
    fn event(&mut self, device: usize, event: Event, now: Instant) {
        let Part {
            subscribers, tracker, ..
        } = &mut self.part;
        // Before the activity, which may ask whether all have subscribed.
        subscribers.event(device, &event, tracker, now);
        if let Stage::Active { activity, .. } = &mut self.stage {
            activity.event(&mut self.part, device, &event, now);
        }
        match &event {
            Event::MaySend => self.part.connections.let_ahead(device),
            Event::Ready { .. } => self.came_up(device, now),
            Event::Established { start } => match start {
                Start::Cold | Start::Edhoc | Start::EdhocByValue => {}
                Start::Resumed => self.connect(device, now).resumed += 1,
                Start::ZeroRtt => self.connect(device, now).early += 1,
            },
            Event::Sent { message } => self.part.tracker.handed_out(device, *message, now),
            Event::Acknowledged { message } => {
                self.part.connections.prove(device);
                self.part.tracker.acknowledged(device, *message, now);
            }
            Event::Refused { message, reason } => {
                self.part.connections.prove(device);
                self.part.tracker.refused(device, *message, reason);
            }
            Event::TimedOut { message } | Event::Unanswered { message } => {
                self.part.tracker.given_up(device, *message);
            }
            Event::Rejected { reason } => self.rejected(device, reason, now),
            Event::Closed => self.lost(device, "the server closed the connection", now),
            Event::Lost { reason } => self.lost(device, reason, now),
            Event::Polled(_) => self.part.connections.prove(device),
            Event::Subscribed | Event::SubscriptionRefused { .. } | Event::Received(_) | Event::Other => {}
        }
    }

    fn failed(&mut self, device: usize, reason: ResetReason, now: Instant) {
        self.lost(device, &reason.to_string(), now);
    }

    fn shared_failed(&mut self, reason: ResetReason, now: Instant) {
        self.part.tracker.now(now).reason(&reason.to_string());
    }

    fn flushed(&mut self, device: usize, now: Instant) -> bool {
        self.part.tracker.sent(device, now)
    }

    fn next(&mut self, device: usize, context: Context) -> Step<Command> {
        if self.is_over {
            return Step::Finished;
        }
        match self.part.connections.take_request(device, context.now) {
            NextStep::Stay => {}
            NextStep::Connect => {
                self.part.tracker.connects(context.now).attempted += 1;
                return Step::Connect;
            }
            NextStep::Close => {
                if self.part.closes_silently {
                    self.part.connections.abort(device, false);
                }
                return Step::Command(Command::Close);
            }
            NextStep::Renew => {
                self.renew(device, context.now);
                return Step::Abort { reset: false };
            }
            NextStep::Abort { reset } => {
                if self.part.connections.state(device) == State::Connecting {
                    self.connect(device, context.now).given_up += 1;
                }
                self.went_down(device, Some("left"), context.now);
                return Step::Abort { reset };
            }
        }
        if context.congested || !self.part.connections.may_send(device) {
            return Step::Wait(None);
        }
        match self.command(device, context) {
            Some(command) => {
                self.part.connections.end_ahead(device);
                Step::Command(command)
            }
            None => Step::Wait(None),
        }
    }

    fn due(&mut self, now: Instant) -> Due {
        self.look_at_time(now);
        if let Some(device) = self.part.connections.next_awake() {
            return Due::Device(device);
        }
        let next = self.run(now);
        match self.part.connections.next_awake() {
            Some(device) => Due::Device(device),
            None => Due::Later(next),
        }
    }

    fn woken(&mut self, now: Instant) -> ControlFlow<()> {
        self.take_messages(now);
        if self.is_over {
            for device in 0..self.part.connections.len() {
                if self.part.connections.state(device) == State::Connecting {
                    self.connect(device, now).given_up += 1;
                }
            }
            self.hand_over(now);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn awaited(&self, device: usize) -> Option<u32> {
        let is_known = self.part.answers_in_one_datagram && device < self.part.senders;
        is_known.then(|| self.part.tracker.in_flight(device))
    }

    fn route(&mut self, socket: usize, datagram: &[u8]) -> Option<usize> {
        self.shared_endpoints.route(socket, datagram)
    }

    fn ended(&mut self, device: usize, error: &dyn Display, now: Instant) {
        self.lost(device, &error.to_string(), now);
    }
}
