//! The driver's state of an endpoint, of a device or of a service.

use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};

use crate::network::streams::earlier;

/// Whether an endpoint has ended, and when to wake it.
#[derive(Debug)]
pub(super) struct EndpointStatus {
    /// The error that ended the endpoint, if one did.
    pub(super) error: Option<String>,
    /// When the endpoint asked to be woken.
    pub(super) wanted: Option<Instant>,
    /// The earliest wake-up of this endpoint that the queue holds.
    queued: Option<Instant>,
}

impl EndpointStatus {
    pub(super) const fn new() -> Self {
        Self {
            error: None,
            wanted: None,
            queued: None,
        }
    }

    /// Gives the endpoint an input; returns whether the endpoint has not ended, so that it must be polled.
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

    /// The next output of the endpoint. `None` after the last one; the wake-up time is then in `wanted`.
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

    /// The wake-up at `at`, or now if `at` has passed, unless the queue already has an earlier one.
    pub(super) fn queue(&mut self, at: Instant, now: Instant) -> Option<Instant> {
        earlier(&mut self.queued, Some(at.max(now)))
    }

    /// Handles the wake-up of `now`; returns false if an earlier one has replaced it.
    pub(super) fn wake(&mut self, now: Instant) -> bool {
        let is_due = self.queued == Some(now);
        if is_due {
            self.queued = None;
        }
        is_due
    }
}
