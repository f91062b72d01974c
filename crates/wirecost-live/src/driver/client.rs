//! The devices' loop: one thread, one poll instance, any number of devices.
//!
//! A device is an endpoint; what all of them do is up to a [`Director`]. The loop gives an endpoint its input, carries
//! its output to the device's socket, and asks the director what to do next whenever something has happened or a time
//! has come.
//!
//! - this file: events, deadlines and turns; `input`: an endpoint's input and output; `readiness`: what sockets have
//!   to say; `flows`: sockets that come and go
//! - [`scripted`]: devices on the emulated link, each with a script, each with its logs
//! - [`load`]: devices of a load, of which nothing is kept
#![expect(
    private_bounds,
    reason = "there are two settings, and both are the loop's own"
)]

mod flows;
mod input;
pub mod load;
mod readiness;
pub mod scripted;
mod setting;
mod slot;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use wirecost_proto::director::{Director, Due};
use wirecost_proto::script::Step;
use wirecost_proto::{Buffer, Endpoint, Input, Instant};

use super::datagram::{Batch, Received};
use super::wakes::Wakes;
use crate::clock::Clock;
use crate::timerfd::TimerFd;
use setting::Setting;
use slot::{Shared, Slot, Target};

pub use load::{Counted, LoadDevice, LoopReport, Traffic};
pub use setting::{InLoad, OnLink};

/// Runs devices until all are finished or until their director ends it.
pub struct ClientLoop<E: Endpoint, D, S> {
    clock: Clock,
    /// The last look at the clock.
    now: Instant,
    poll: Poll,
    timer: TimerFd,
    /// What the timer is set to, while it has not fired.
    armed: Option<Instant>,
    waker: Arc<Waker>,
    director: D,
    /// When the director wants to be asked.
    asked_at: Option<Instant>,
    setting: S,
    slots: Vec<Slot<E>>,
    targets: Vec<Target>,
    /// The sockets that devices share, each of one target.
    shared: Vec<Shared>,
    running: usize,
    finished: Arc<AtomicU64>,
    wakes: Wakes,
    /// Devices that had more to do than one turn takes.
    unfinished_turns: Vec<usize>,
    /// Devices that have been heard and not gone on.
    heard: Vec<usize>,
    /// What the device at hand has given out and the kernel has not been given.
    pending: Pending,
    traffic: Arc<Traffic>,
    counted: Counted,
    /// Why a socket could not be had, the first time.
    socket_error: Option<io::Error>,
    out: Buffer,
    /// Where streams are read to.
    stream_bytes: Vec<u8>,
    /// Where datagrams are received to; none while they are handled.
    received: Option<Box<Received>>,
}

/// Output of one device: of a stream, or datagrams.
#[derive(Debug, Default)]
struct Pending {
    stream: Vec<u8>,
    datagrams: Batch,
}

const TIMER_TOKEN: Token = Token(usize::MAX - 1);
const WAKER_TOKEN: Token = Token(usize::MAX - 2);
/// Tokens from here on are shared sockets; below are devices.
const SHARED_SOCKETS: usize = usize::MAX / 2;
/// Turns by deadlines, and turns by the director, before events are looked at again.
const TURNS_PER_ROUND: usize = 64;
/// How often a device may go on, in one turn, with what its sent output makes possible.
const CONTINUATIONS_PER_TURN: usize = 64;

impl<E, D, S> ClientLoop<E, D, S>
where
    E: Endpoint<Error: std::fmt::Display>,
    D: Director<E>,
    S: Setting,
{
    fn build(
        slots: Vec<Slot<E>>,
        targets: Vec<Target>,
        director: D,
        clock: Clock,
        setting: S,
    ) -> io::Result<Self> {
        let (poll, timer) = TimerFd::with_poll(TIMER_TOKEN)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER_TOKEN)?);
        Ok(Self {
            clock,
            now: clock.now(),
            poll,
            timer,
            armed: None,
            waker,
            director,
            asked_at: None,
            setting,
            running: slots.len(),
            slots,
            targets,
            shared: Vec::new(),
            finished: Arc::new(AtomicU64::new(0)),
            wakes: Wakes::default(),
            unfinished_turns: Vec::new(),
            heard: Vec::new(),
            pending: Pending::default(),
            traffic: Arc::new(Traffic::default()),
            counted: Counted::default(),
            socket_error: None,
            out: Buffer::new(),
            stream_bytes: vec![0; super::READ_BYTES],
            received: Some(Box::default()),
        })
    }

    /// Wakes the loop from any thread, to have its director told: [`Director::woken`].
    pub fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// How many devices are finished, to be watched from any thread.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.finished)
    }

    fn run_to_end(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            self.run_due();
            // Asked after what was due: the last device may have finished there, and nothing would wake the poll.
            if self.running == 0 {
                return Ok(());
            }
            match self.wait(&mut events) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                self.tick();
                match event.token() {
                    WAKER_TOKEN => {
                        if self.director.woken(self.now).is_break() {
                            return Ok(());
                        }
                    }
                    TIMER_TOKEN => self.armed = None,
                    Token(index) if index >= SHARED_SOCKETS => self.receive_shared(index - SHARED_SOCKETS),
                    Token(index) => self.handle_ready(index, event),
                }
                if self.heard.len() >= S::HEARD_TOGETHER {
                    self.answer();
                }
                self.ask_director_if_due();
            }
            self.answer();
        }
    }

    /// Reads the clock.
    fn tick(&mut self) -> Instant {
        self.now = self.clock.now();
        self.now
    }

    /// The time of what is at hand.
    fn now(&mut self) -> Instant {
        if S::EXACT { self.tick() } else { self.now }
    }

    fn run_due(&mut self) {
        for _ in 0..TURNS_PER_ROUND {
            let now = self.tick();
            let Some(index) = self.wakes.due(now) else {
                break;
            };
            self.turn(index, |this| this.input(index, Input::Timeout));
        }
        let unfinished = self.unfinished_turns.len();
        for position in 0..unfinished {
            let index = self.unfinished_turns[position];
            self.tick();
            self.turn(index, |this| this.read_on(index));
        }
        // Those that are behind them have come meanwhile.
        self.unfinished_turns.drain(..unfinished);
        for shared in 0..self.shared.len() {
            if self.shared[shared].is_unread {
                self.receive_shared(shared);
            }
        }
        self.ask_director();
        self.send_shared();
    }

    fn ask_director_if_due(&mut self) {
        if self.asked_at.is_some_and(|at| at <= self.now) {
            self.ask_director();
        }
    }

    /// Gives the devices their turns that have something to do by their director, who may look at what was counted.
    fn ask_director(&mut self) {
        self.traffic.note(&self.counted);
        for _ in 0..TURNS_PER_ROUND {
            let now = self.tick();
            match self.director.due(now) {
                Due::Device(index) => self.turn(index, |_| {}),
                Due::Later(at) => {
                    self.asked_at = at;
                    return;
                }
            }
        }
        self.asked_at = Some(self.now);
    }

    /// Waits for events, at most until the next deadline.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let has_more = !self.unfinished_turns.is_empty() || self.shared.iter().any(|shared| shared.is_unread);
        if has_more {
            return self.poll.poll(events, Some(Duration::ZERO));
        }
        let Some(next) = self.wakes.next().into_iter().chain(self.asked_at).min() else {
            return self.poll.poll(events, None);
        };
        if next.saturating_since(self.now) <= S::AWAKE_BEFORE {
            return self.wait_awake(events, next);
        }
        // A timer that fires earlier than needed costs less than one that is set anew for each message.
        if self.armed.is_none_or(|armed| next < armed || armed <= self.now) {
            self.timer.arm(&self.clock, next)?;
            self.armed = Some(next);
        }
        self.poll.poll(events, None)
    }

    /// Waits for events without a sleep, until a deadline that is nearer than a sleep would take.
    fn wait_awake(&mut self, events: &mut Events, until: Instant) -> io::Result<()> {
        let began = self.now;
        loop {
            self.poll.poll(events, Some(Duration::ZERO))?;
            if !events.is_empty() || self.now >= until {
                break;
            }
            // Where the target has no other CPU, it needs this one.
            std::thread::yield_now();
            self.tick();
        }
        // Who was not given the CPU meanwhile has not used it.
        self.counted.awake += self.now.min(until).saturating_since(began);
        Ok(())
    }

    /// Does `work` for a device, then whatever that makes possible, and charges the device for it.
    fn turn(&mut self, index: usize, work: impl FnOnce(&mut Self)) {
        if self.slots.get(index).is_none_or(|slot| slot.is_finished) {
            return;
        }
        self.setting.begin();
        work(self);
        self.go_on(index);
        self.setting.charge(index);
    }

    /// Does `work` for a device whose socket has something to say. Where devices are heard together, it goes on when the others
    /// have been heard too, unless it already has something to send.
    fn hear(&mut self, index: usize, work: impl FnOnce(&mut Self)) {
        if S::HEARD_TOGETHER <= 1 {
            return self.turn(index, work);
        }
        if self.slots.get(index).is_none_or(|slot| slot.is_finished) {
            return;
        }
        work(self);
        if self.slots[index].owes_sent {
            return self.go_on(index);
        }
        self.heard.push(index);
    }

    /// Lets the devices go on that have been heard.
    fn answer(&mut self) {
        let mut heard = std::mem::take(&mut self.heard);
        // A turn that has sent has looked at the clock behind it, which is when the next one begins.
        self.tick();
        for index in heard.drain(..) {
            self.turn(index, |_| {});
            self.ask_director_if_due();
        }
        self.heard = heard;
    }

    /// Lets a device go on until it waits and the kernel has been given all its output.
    fn go_on(&mut self, index: usize) {
        for _ in 0..CONTINUATIONS_PER_TURN {
            let waits = self.advance(index);
            if waits.is_continue() {
                break;
            }
            if !self.flush(index) {
                return;
            }
        }
        self.flush(index);
        self.continue_later(index);
    }

    fn continue_later(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if !slot.is_finished && !std::mem::replace(&mut slot.continues, true) {
            self.unfinished_turns.push(index);
        }
    }

    /// Does what the director wants of a device until it waits, or until it is the others' turn (`Continue`).
    fn advance(&mut self, index: usize) -> ControlFlow<()> {
        for _ in 0..S::STEPS_PER_TURN {
            let slot = &self.slots[index];
            if slot.is_finished {
                return ControlFlow::Break(());
            }
            if slot.has_ended {
                self.finish(index);
                return ControlFlow::Break(());
            }
            let congested = slot.is_congested;
            let now = self.now();
            let context = self.setting.context(index, now, congested);
            match self.director.next(index, context) {
                Step::Connect => self.connect(index),
                Step::Command(command) => {
                    self.slots[index].owes_sent = true;
                    self.input(index, Input::Command(command));
                }
                Step::Abort { reset } => self.abort(index, reset),
                Step::Wait(at) => {
                    if let Some(at) = at {
                        self.wakes.want(index, at);
                    }
                    return ControlFlow::Break(());
                }
                Step::Finished => {
                    self.finish(index);
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self, index: usize) {
        self.flush(index);
        self.close_socket(index);
        if !std::mem::replace(&mut self.slots[index].is_finished, true) {
            self.running -= 1;
            self.finished.fetch_add(1, Ordering::Relaxed);
        }
    }
}
