//! What all devices of one loop do and when: a [`Script`] for many.
//!
//! Where thousands of devices share one schedule, one object that knows them all is smaller and faster than an object
//! for each: it names the devices that have something to do, and the loop asks it for each of them what that is.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;

use crate::script::{Context, Script, Step};
use crate::{Endpoint, Instant, ResetReason};

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// This device, by its index in the loop, has something to do now: [`Director::next`] says what.
    Device(usize),
    /// Nothing before this instant, or before something happens.
    Later(Option<Instant>),
}

/// What the devices of a loop do and when. Devices are numbered by their index in the loop.
pub trait Director<E: Endpoint> {
    /// Takes what a device's endpoint reported.
    fn event(&mut self, device: usize, event: E::Event, now: Instant);

    /// Takes the failure of a device's socket itself: the flow was never usable.
    fn failed(&mut self, device: usize, reason: ResetReason, now: Instant);

    /// Takes that the loop's buffer of a device is empty. A client reports a message as sent when it has handed out the last
    /// byte; that byte has left when `flushed` follows. Returns whether the device may have something to do now, and is to
    /// be asked for it.
    fn flushed(&mut self, device: usize, now: Instant) -> bool;

    /// Says what a device does next; called again after every step that is not `Wait` or `Finished`. After input of the
    /// device it is asked without being named by [`Director::due`].
    fn next(&mut self, device: usize, context: Context) -> Step<E::Command>;

    /// Names the next device with something to do at `now`, once for each turn that it is to have, or says when to ask
    /// again. The loop asks until it is told to wait.
    fn due(&mut self, now: Instant) -> Due;

    /// Takes that another thread has woken the loop, and says whether it goes on.
    fn woken(&mut self, _now: Instant) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Takes the end of a device's endpoint; the device is finished.
    fn ended(&mut self, _device: usize, _error: &dyn fmt::Display, _now: Instant) {}

    /// Says how many datagrams a device waits for, where that is known and anything else that may have come can lie until
    /// more comes: then a loop need not ask the kernel whether there is more.
    fn awaited(&self, _device: usize) -> Option<u32> {
        None
    }

    /// Says whose datagram has arrived on a socket that devices share, by the socket's number; `None` drops
    /// it. Device `n` has socket `n` modulo their number.
    fn route(&mut self, _socket: usize, _datagram: &[u8]) -> Option<usize> {
        None
    }

    /// Takes what the machine says of a socket that devices share, as that no socket listens at the target. Whose datagram it
    /// is about is not said: its device finds out by a time-out.
    fn shared_failed(&mut self, _reason: ResetReason, _now: Instant) {}
}

/// A director of devices that have a script each, and nothing to do with one another.
#[derive(Debug)]
pub struct Scripts<S> {
    scripts: Vec<S>,
    /// Devices that have been told to begin.
    begun: usize,
    /// Why endpoints have ended, by device.
    errors: BTreeMap<usize, String>,
}

impl<S> Scripts<S> {
    /// A director for devices with these scripts, in their order.
    pub fn new(scripts: Vec<S>) -> Self {
        Self {
            scripts,
            begun: 0,
            errors: BTreeMap::new(),
        }
    }

    /// The scripts, and why endpoints have ended, by device.
    pub fn into_parts(self) -> (Vec<S>, BTreeMap<usize, String>) {
        (self.scripts, self.errors)
    }
}

impl<E: Endpoint, S: Script<E>> Director<E> for Scripts<S> {
    fn event(&mut self, device: usize, event: E::Event, now: Instant) {
        self.scripts[device].event(event, now);
    }

    fn failed(&mut self, device: usize, reason: ResetReason, now: Instant) {
        self.scripts[device].failed(reason, now);
    }

    fn flushed(&mut self, device: usize, now: Instant) -> bool {
        self.scripts[device].flushed(now);
        true
    }

    fn next(&mut self, device: usize, context: Context) -> Step<E::Command> {
        self.scripts[device].next(context)
    }

    /// Every device is to begin; from then on each waits for something or for a time.
    fn due(&mut self, _: Instant) -> Due {
        if self.begun == self.scripts.len() {
            return Due::Later(None);
        }
        self.begun += 1;
        Due::Device(self.begun - 1)
    }

    fn woken(&mut self, _: Instant) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn ended(&mut self, device: usize, error: &dyn fmt::Display, _: Instant) {
        self.errors.insert(device, error.to_string());
    }
}
