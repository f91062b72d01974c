//! Directors: a [`Script`] for all devices of one loop.
//!
//! If thousands of devices share one schedule, one object for all is smaller and faster than one object per device. The
//! director names each device that is due, and the loop asks it for the device's next step.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;

use crate::script::{Context, Script, Step};
use crate::{Endpoint, Instant, ResetReason};

/// The answer of [`Director::due`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The device with this index in the loop is due now: [`Director::next`] returns its step.
    Device(usize),
    /// No device is due before this instant; `None`: before the next event.
    Later(Option<Instant>),
}

/// Decides what the devices of a loop do and when. A device is identified by its index in the loop.
pub trait Director<E: Endpoint> {
    /// Handles an event of a device's endpoint.
    fn event(&mut self, device: usize, event: E::Event, now: Instant);

    /// Handles the failure of a device's socket: the flow was never usable.
    fn failed(&mut self, device: usize, reason: ResetReason, now: Instant);

    /// Handles an empty send buffer: the last byte that the device's endpoint transmitted has left the loop's buffer. A client
    /// reports a message as sent when it has handed out the last byte; that byte has left when `flushed` follows. `now` is
    /// the time before it left: an answer cannot be earlier. Returns whether the loop must call [`Director::next`] for the device.
    fn flushed(&mut self, device: usize, now: Instant) -> bool;

    /// Returns a device's next step. The loop calls it again after every step except `Wait` and `Finished`. After input of a
    /// device the loop calls it even if [`Director::due`] did not name the device.
    fn next(&mut self, device: usize, context: Context) -> Step<E::Command>;

    /// Names the next device that is due at `now`, or says when to ask again. The loop asks until the answer is
    /// [`Due::Later`].
    fn due(&mut self, now: Instant) -> Due;

    /// Handles a wake-up by another thread; returns whether the loop continues.
    fn woken(&mut self, _now: Instant) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Handles the end of a device's endpoint; the device is finished.
    fn ended(&mut self, _device: usize, _error: &dyn fmt::Display, _now: Instant) {}

    /// Returns how many datagrams a device waits for, if that is known and other datagrams may stay in the socket. The loop
    /// then does not ask the kernel for more.
    fn awaited(&self, _device: usize) -> Option<u32> {
        None
    }

    /// Returns the device that a datagram on a shared socket is for; `None` drops the datagram. Device `n` uses socket `n`
    /// modulo the number of sockets.
    fn route(&mut self, _socket: usize, _datagram: &[u8]) -> Option<usize> {
        None
    }

    /// Handles an error on a shared socket, for example that no socket listens at the target. The kernel does not say which
    /// datagram caused the error: its device finds out by a time-out.
    fn shared_failed(&mut self, _reason: ResetReason, _now: Instant) {}
}

/// A director of independent devices with one script each.
#[derive(Debug)]
pub struct Scripts<S> {
    scripts: Vec<S>,
    /// How many devices have started.
    begun: usize,
    /// The errors that ended endpoints, by device.
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

    /// The scripts, and the errors that ended endpoints, by device.
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

    /// Names every device once, so that it starts; after that each device waits for an event or a time.
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
