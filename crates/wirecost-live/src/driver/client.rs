//! The devices' loop: one thread, one poll instance, any number of devices.
//!
//! A device is an endpoint. A [`Director`] decides what all devices do. The loop passes input to an endpoint, carries
//! its output to the device's socket, and asks the director for the next step after every event and deadline.
//!
//! - this file: events, deadlines and turns; `waiting`: for the next of them; `input`: an endpoint's input and output;
//!   `readiness`: socket events; `flows`: opening and closing sockets
//! - [`scripted`]: devices on the emulated link, each with a script and logs
//! - [`load`]: devices of a load, without logs
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
mod waiting;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mio::{Events, Poll, Token, Waker};
use wirecost_proto::director::{Director, Due};
use wirecost_proto::driver::Writing;
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
    /// The last reading of the clock.
    now: Instant,
    /// Whether a system call or a turn has taken time since then.
    is_past: bool,
    poll: Poll,
    timer: TimerFd,
    /// The time of the timer, until it fires.
    armed: Option<Instant>,
    waker: Arc<Waker>,
    director: D,
    writing: Writing,
    /// When the director next wants a call.
    asked_at: Option<Instant>,
    setting: S,
    slots: Vec<Slot<E>>,
    targets: Vec<Target>,
    /// The shared sockets, each for one target.
    shared: Vec<Shared>,
    running: usize,
    finished: Arc<AtomicU64>,
    wakes: Wakes,
    /// Devices that had more work than one turn allows.
    unfinished_turns: Vec<usize>,
    /// Devices that have received input and not acted on it.
    heard: Vec<usize>,
    /// Output of the current device that the kernel has not received.
    pending: Pending,
    traffic: Arc<Traffic>,
    counted: Counted,
    /// The first error of opening a socket.
    socket_error: Option<io::Error>,
    out: Buffer,
    /// The read buffer of streams.
    stream_bytes: Vec<u8>,
    /// The receive buffer of datagrams; `None` while its datagrams are handled.
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
/// Tokens from here on are shared sockets. Lower tokens are devices.
const SHARED_SOCKETS: usize = usize::MAX / 2;
/// The most turns by deadlines, and by the director, before the loop polls again.
const TURNS_PER_ROUND: usize = 64;
/// How often a device may continue in one turn after its output was sent.
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
            is_past: false,
            poll,
            timer,
            armed: None,
            waker,
            director,
            writing: Writing::default(),
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

    /// Gives the bytes of streams to TCP in this way.
    #[must_use]
    pub fn with_writing(self, writing: Writing) -> Self {
        Self { writing, ..self }
    }

    /// Wakes the loop from any thread, so that it calls [`Director::woken`].
    pub fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// The number of finished devices, readable from any thread.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.finished)
    }

    fn run_to_end(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            self.run_due();
            // After due work: the last device may have finished there, and nothing would wake the poll.
            if self.running == 0 {
                return Ok(());
            }
            let waited = self.wait(&mut events);
            self.is_past = true;
            match waited {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                self.current();
                match event.token() {
                    WAKER_TOKEN => {
                        if self.director.woken(self.now).is_break() {
                            return Ok(());
                        }
                    }
                    // It has fired: the next deadline must arm it again even if it is the same one.
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
        self.is_past = false;
        self.now
    }

    /// The time. Of a load the clock is read again only if a system call or a turn has come in between: of each message, reading the clock
    /// would otherwise be a tenth of what the program itself does.
    fn current(&mut self) -> Instant {
        if S::EXACT || self.is_past {
            return self.tick();
        }
        self.now
    }

    /// The time of the current event.
    fn now(&mut self) -> Instant {
        if S::EXACT { self.tick() } else { self.now }
    }

    fn run_due(&mut self) {
        for _ in 0..TURNS_PER_ROUND {
            let now = self.current();
            let Some(index) = self.wakes.due(now) else {
                break;
            };
            self.turn(index, |this| this.input(index, Input::Timeout));
            self.is_past = true;
        }
        // Only those that are there now: a device that is always unfinished would keep the loop from its sockets.
        let unfinished = self.unfinished_turns.len();
        for position in 0..unfinished {
            let index = self.unfinished_turns[position];
            self.current();
            self.turn(index, |this| this.read_on(index));
            self.is_past = true;
        }
        // Later entries were added in the meantime.
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

    /// Asks the director which devices have work, and gives them their turns.
    fn ask_director(&mut self) {
        self.traffic.note(&self.counted);
        for _ in 0..TURNS_PER_ROUND {
            let now = self.current();
            match self.director.due(now) {
                Due::Device(index) => {
                    self.turn(index, |_| {});
                    self.is_past = true;
                }
                Due::Later(at) => {
                    self.asked_at = at;
                    return;
                }
            }
        }
        // Not done: it asks again at once, after the sockets had their turn.
        self.asked_at = Some(self.now);
    }

    /// Does `work` for a device and all work that follows from it, and charges the device for it.
    fn turn(&mut self, index: usize, work: impl FnOnce(&mut Self)) {
        if self.slots.get(index).is_none_or(|slot| slot.is_finished) {
            return;
        }
        self.setting.begin();
        work(self);
        self.go_on(index);
        self.setting.charge(index);
    }

    /// Does `work` for a device with a socket event. With batched input, the device continues after the other devices
    /// have received theirs, unless it already has output.
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

    /// Lets the devices continue that have received input.
    fn answer(&mut self) {
        let mut heard = std::mem::take(&mut self.heard);
        for index in heard.drain(..) {
            self.turn(index, |_| {});
            self.ask_director_if_due();
        }
        self.heard = heard;
    }

    /// Lets a device continue until it waits and the kernel has all its output.
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

    /// Carries out the director's steps for a device until it waits, or until other devices have their turn
    /// (`Continue`).
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
            // After reading, and after the turn before has sent.
            let now = self.current();
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
