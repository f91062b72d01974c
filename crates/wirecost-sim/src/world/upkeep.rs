//! What the driver keeps of any endpoint, a device's or a service's.

use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};

use crate::network::streams::earlier;

/// Whether an endpoint has ended, and when it is woken.
#[derive(Debug)]
pub(super) struct Upkeep {
    /// Why the endpoint ended, if it did.
    pub(super) error: Option<String>,
    /// When the endpoint wants to be woken.
    pub(super) wanted: Option<Instant>,
    /// The earliest wake-up of this endpoint that the queue holds.
    queued: Option<Instant>,
}

impl Upkeep {
    pub(super) const fn new() -> Self {
        Self {
            error: None,
            wanted: None,
            queued: None,
        }
    }

    /// Gives the endpoint an input; whether it lives and took it, so that it has to be polled.
    pub(super) fn input<E>(&mut self, endpoint: &mut E, input: Input<'_, E::Command>, now: Instant) -> bool
    where
        E: Endpoint<Error: std::fmt::Display>,
    {
        if self.error.is_some() {
            return false;
        }
        self.error = endpoint
            .handle_input(input, now)
            .err()
            .map(|error| error.to_string());
        self.error.is_none()
    }

    /// What the endpoint says next; `None` when it has said everything, and when it wants to be woken is noted.
    #[inline]
    pub(super) fn poll<E: Endpoint>(
        &mut self,
        endpoint: &mut E,
        out: &mut Buffer,
    ) -> Option<Output<E::Event>> {
        out.clear();
        match endpoint.poll_output(out) {
            Output::Timeout(at) => {
                self.wanted = at;
                None
            }
            said => Some(said),
        }
    }

    /// The wake-up at `at`, or now if that has passed, if the queue holds none so early.
    pub(super) fn queue(&mut self, at: Instant, now: Instant) -> Option<Instant> {
        earlier(&mut self.queued, Some(at.max(now)))
    }

    /// Takes the wake-up of `now` from the queue; false where an earlier one has replaced it.
    pub(super) fn wake(&mut self, now: Instant) -> bool {
        let is_due = self.queued == Some(now);
        if is_due {
            self.queued = None;
        }
        is_due
    }
}
