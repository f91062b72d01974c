//! Proportional rate reduction: how the window shrinks during a recovery (RFC 6937, superseded by RFC 9937).

use crate::packed::packs;

/// A reduction of the window in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reduction {
    /// The window before it (RecoverFS).
    prior_cwnd: u32,
    /// Segments delivered since it began.
    delivered: u32,
    /// Segments sent since it began.
    sent: u32,
}

packs!(Reduction {
    prior_cwnd,
    delivered,
    sent
});

/// The information of one acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Segments newly delivered.
    pub(super) delivered: u32,
    /// Segments newly found lost.
    pub(super) lost: u32,
    /// Whether SND.UNA advanced.
    pub(super) advances: bool,
    /// Segments in the network.
    pub(super) in_flight: u32,
    /// The target window.
    pub(super) ssthresh: u32,
}

impl Reduction {
    pub(super) const fn new(prior_cwnd: u32) -> Self {
        Self {
            prior_cwnd,
            delivered: 0,
            sent: 0,
        }
    }

    /// A segment was sent.
    pub(super) const fn note_sent(&mut self) {
        self.sent += 1;
    }

    /// The window after an acknowledgment; `None` if nothing was delivered. (Linux: `tcp_cwnd_reduction`)
    pub(super) fn window(&mut self, progress: &Progress) -> Option<u32> {
        if progress.delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered += progress.delivered;
        let room = progress.ssthresh.checked_sub(progress.in_flight);
        let send = match room {
            None => self.proportional(progress.ssthresh),
            Some(room) => self.bounded(progress, room),
        };
        // The first acknowledgment of a recovery allows at least one retransmission.
        let least = u32::from(self.sent == 0);
        Some(progress.in_flight + send.max(least))
    }

    /// RFC 6937, section 3: ssthresh out of the prior window, for every segment delivered.
    fn proportional(&self, ssthresh: u32) -> u32 {
        let target = (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(u64::from(self.prior_cwnd));
        u32::try_from(target)
            .unwrap_or(u32::MAX)
            .saturating_sub(self.sent)
    }

    /// RFC 6937, section 3.1: conservation below ssthresh, and slow start where no further loss was found (RFC 9937,
    /// section 6.2).
    fn bounded(&self, progress: &Progress, room: u32) -> u32 {
        let limit = self.delivered.saturating_sub(self.sent).max(progress.delivered);
        let is_safe = progress.advances && progress.lost == 0;
        (limit + u32::from(is_safe)).min(room)
    }
}

#[cfg(test)]
mod tests;
