//! What a device does and when: the part of a run that is neither protocol nor link.
//!
//! A driver gives a [`Script`] what its endpoint reports and asks it what to do next, live and in virtual time alike.

use core::time::Duration;

use crate::{Endpoint, Instant, ResetReason};

/// What a device does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<C> {
    /// Open a flow to the server.
    Connect,
    /// Give the endpoint this command.
    Command(C),
    /// Let go of the socket at once, whatever it still has to send; the endpoint is told that its flow is gone.
    Abort {
        /// By RST; otherwise the kernel closes in order.
        reset: bool,
    },
    /// Nothing before something happens, or before this time.
    Wait(Option<Instant>),
    /// The device is done; its socket, if any is left, is closed.
    Finished,
}

/// What a script may know when it decides.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Now.
    pub now: Instant,
    /// Until when the device's link was, or is known to be, busy.
    pub link_busy_until: Instant,
    /// CPU time spent on this device so far.
    pub cpu: Duration,
    /// Bytes of the current flow that the endpoint has handed out so far.
    pub transmitted: u64,
    /// Whether so much waits for the socket that no command may be given; the script is asked again when it no
    /// longer does.
    pub congested: bool,
}

/// What a device does and when.
pub trait Script<E: Endpoint> {
    /// Takes what the endpoint reported.
    fn event(&mut self, event: E::Event, now: Instant);

    /// Takes the failure of the socket itself: the flow was never usable.
    fn failed(&mut self, reason: ResetReason, now: Instant);

    /// Takes that the driver's buffer is empty. A client reports a message as sent when it has handed out the last byte;
    /// that byte has left when `flushed` follows.
    fn flushed(&mut self, now: Instant);

    /// Says what to do next; called again after every step that is not `Wait` or `Finished`.
    fn next(&mut self, context: Context) -> Step<E::Command>;
}
