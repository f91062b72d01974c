//! Scripts: what a device does and when, independent of protocol and link.
//!
//! A driver gives a [`Script`] the events of its endpoint and asks it for the next step, live and in virtual time.

use core::time::Duration;

use crate::{Endpoint, Instant, ResetReason};

/// The next step of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<C> {
    /// Open a flow to the server.
    Connect,
    /// Give the endpoint this command.
    Command(C),
    /// Close the socket at once, even if it has bytes to send. The endpoint receives [`Input::Reset`](crate::Input::Reset).
    Abort {
        /// Send RST; otherwise the kernel closes the connection in order.
        reset: bool,
    },
    /// Wait for an event, at most until this time.
    Wait(Option<Instant>),
    /// The device is done; the driver closes its socket.
    Finished,
}

/// The information for a script's decision.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Now.
    pub now: Instant,
    /// The time until which the device's link was busy, or is known to be busy. In a load on kernel sockets: when the device last
    /// sent or received.
    pub link_busy_until: Instant,
    /// CPU time spent on this device so far.
    pub cpu: Duration,
    /// Bytes of the current flow that the endpoint has transmitted so far.
    pub transmitted: u64,
    /// Whether too many bytes wait for the socket. The script must then give no command; the driver asks again when the
    /// socket has room.
    pub congested: bool,
}

/// Decides what a device does and when.
pub trait Script<E: Endpoint> {
    /// Handles an event of the endpoint.
    fn event(&mut self, event: E::Event, now: Instant);

    /// Handles the failure of the socket: the flow was never usable.
    fn failed(&mut self, reason: ResetReason, now: Instant);

    /// Handles an empty send buffer: the last transmitted byte has left the driver's buffer. A client reports a message as sent
    /// when it has handed out the last byte; that byte has left when `flushed` follows.
    fn flushed(&mut self, now: Instant);

    /// Returns the next step. The driver calls it again after every step except `Wait` and `Finished`.
    fn next(&mut self, context: Context) -> Step<E::Command>;
}
