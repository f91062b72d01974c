//! What all devices of one loop do and when: a [`Script`](crate::Script) for many.
//!
//! Where thousands of devices share one schedule, one object that knows them all is smaller and faster than an object
//! for each: it names the devices that have something to do, and the loop asks it for each of them what that is.

use core::fmt;
use core::ops::ControlFlow;

use crate::script::{Context, Step};
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

    /// Takes that the last byte that a device's endpoint handed out has left the loop's buffer: all its commands so far
    /// are sent, unless the endpoint holds some of them back. Returns whether the device may have something to do by that,
    /// and is to be asked for it.
    fn sent(&mut self, device: usize, now: Instant) -> bool;

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

    /// Says whose datagram has arrived on a socket that devices share, one of so many that they have; it is dropped where
    /// it is nobody's. Device `n` has socket `n` modulo their number.
    fn route(&mut self, _socket: usize, _datagram: &[u8]) -> Option<usize> {
        None
    }

    /// Takes what the machine says of a socket that devices share, as that nobody listens at the target. Whose datagram it
    /// is about is not said: its device finds out by a time-out.
    fn shared_failed(&mut self, _reason: ResetReason, _now: Instant) {}
}
