mod again;
mod ahead;
mod steps;

use std::time::Duration;

use wirecost_security::Start;
use wirecost_stack::Client;

use super::*;

const SETTLE: Duration = Duration::from_secs(1);
const START: Instant = Instant::from_millis(100);
const READY: Event = Event::Ready {
    session_present: false,
};

fn timing() -> Timing {
    Timing {
        at: START,
        settle: SETTLE,
        timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(10),
        messages: 1,
        interval: None,
        answered: true,
        start: Start::Cold,
        warm_up: true,
        early: false,
        server_closes: false,
        reconnects: false,
        forgotten_after: None,
    }
}

/// A device without protocol or link. The test injects the events, and time advances to the script's next wake-up.
struct Bench {
    sampler: Sampler,
    now: Instant,
    link_busy_until: Instant,
    congested: bool,
    sent: Vec<(Instant, u64)>,
    closed: Option<Instant>,
    connects: Vec<Instant>,
    left: Vec<Instant>,
    finished: bool,
}

impl Bench {
    fn new(timing: Timing) -> Self {
        Self {
            sampler: Sampler::new(timing),
            now: Instant::START,
            link_busy_until: Instant::START,
            congested: false,
            sent: Vec::new(),
            closed: None,
            connects: Vec::new(),
            left: Vec::new(),
            finished: false,
        }
    }

    fn script(&mut self) -> &mut dyn Script<Client> {
        &mut self.sampler
    }

    /// Carries out the script's steps until it waits. Returns its wake-up time.
    fn advance(&mut self) -> Option<Instant> {
        loop {
            let context = Context {
                now: self.now,
                link_busy_until: self.link_busy_until,
                cpu: Duration::ZERO,
                transmitted: 100 * self.sent.len() as u64,
                congested: self.congested,
            };
            match self.script().next(context) {
                Step::Connect => self.connects.push(self.now),
                Step::Command(Command::Send { message }) => {
                    self.sent.push((self.now, message));
                    let now = self.now;
                    self.script().flushed(now);
                }
                Step::Command(Command::Close) => self.closed = Some(self.now),
                Step::Command(other) => panic!("no sampler asks for {other:?}"),
                Step::Abort { reset } => {
                    assert!(!reset, "a sample ends in order");
                    self.left.push(self.now);
                    let reason = "left".to_owned();
                    self.report(Event::Lost { reason });
                }
                Step::Wait(at) if at == Some(self.now) => {}
                Step::Wait(at) => return at,
                Step::Finished => {
                    self.finished = true;
                    return None;
                }
            }
        }
    }

    /// Advances time to `deadline`, or to the end of the script.
    fn run_until(&mut self, deadline: Instant) {
        while let Some(at) = self.advance().filter(|at| *at <= deadline) {
            self.now = at;
        }
        if !self.finished {
            self.now = deadline;
        }
    }

    fn report(&mut self, event: Event) {
        let now = self.now;
        self.script().event(event, now);
    }

    fn notes(&self) -> &Notes {
        self.sampler.notes()
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A device that is connected at 150 ms.
fn connected(timing: Timing) -> Bench {
    let mut bench = Bench::new(timing);
    bench.run_until(at(150));
    bench.report(READY);
    bench
}
