//! The tail loss probe: no later segment can show the loss of the last one of a flight (RFC 8985, section 7).

use wirecost_proto::Instant;

use super::effect::Effect;
use super::rto::TimerKind;
use super::state::State;
use super::{Recovery, Timeout, micros};
use crate::packed::packs;
use crate::sequence::{is_after, is_before};

/// The smallest margin of a timer, in microseconds. (Linux: `TCP_TIMEOUT_MIN_US`)
pub(super) const MINIMUM_WAIT_MICROS: u64 = 2_000;

/// The state of the tail loss probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TailProbe {
    /// There is no probe.
    #[default]
    Idle,
    /// A probe is to be sent.
    Due {
        /// Whether the probe must be new data.
        is_new_data: bool,
    },
    /// A probe was sent.
    Sent {
        /// SND.NXT after it (TLP.end_seq).
        end: u32,
        /// Whether it was a retransmission (TLP.is_retrans).
        is_retransmission: bool,
    },
}

packs!(enum TailProbe {
    0 => Idle {},
    1 => Due { is_new_data: is_new_data },
    2 => Sent { end: end, is_retransmission: is_retransmission },
});

impl TailProbe {
    pub(super) const fn is_due(&self) -> bool {
        matches!(self, Self::Due { .. })
    }

    pub(super) const fn is_new_data_due(&self) -> bool {
        matches!(self, Self::Due { is_new_data: true })
    }

    pub(super) const fn is_retransmission_due(&self) -> bool {
        matches!(self, Self::Due { is_new_data: false })
    }

    /// Whether a retransmission as probe is outstanding.
    pub(super) const fn is_retransmission_out(&self) -> bool {
        matches!(
            self,
            Self::Sent {
                is_retransmission: true,
                ..
            }
        )
    }

    /// Whether `end` is the end of the outstanding probe.
    pub(super) fn ends_at(&self, end: u32) -> bool {
        matches!(self, Self::Sent { end: probe_end, .. } if *probe_end == end)
    }
}

impl Recovery {
    /// Arms the probe's timer if a probe is possible; `restarts_rto`: the time-out would start now. (Linux:
    /// `tcp_schedule_loss_probe`)
    pub(super) fn schedule_loss_probe(&mut self, restarts_rto: bool, now: Instant) -> bool {
        let is_open = matches!(self.state, State::Open | State::CongestionWindowReduced);
        if !self.config.recovery.tail_loss_probe
            || !self.has_sack
            || !is_open
            || self.scoreboard.outstanding() == 0
        {
            return false;
        }
        let wait = self.probe_ticks();
        let rto = if restarts_rto {
            Some(self.rto_ticks)
        } else {
            self.ticks_to_rto(now)
        };
        // RFC 8985, section 7.2: not later than the time-out would come.
        let wait = rto.map_or(wait, |rto| wait.min(rto));
        self.set_timer(TimerKind::LossProbe, wait, now);
        true
    }

    /// The ticks until a probe (RFC 8985, section 7.2: two round trips, and the longest delay of an acknowledgment if only one
    /// segment is outstanding).
    fn probe_ticks(&self) -> u64 {
        let Some(srtt_eighths) = self.rtt.srtt_eighths() else {
            return self.clock.ticks_in(self.config.recovery.initial_rto);
        };
        let extra = if self.scoreboard.outstanding() == 1 {
            self.clock
                .micros(self.clock.ticks_in(self.config.recovery.minimum_rto))
        } else {
            MINIMUM_WAIT_MICROS
        };
        self.clock.ticks_lasting(srtt_eighths / 4 + extra)
    }

    /// RFC 8985, section 7.3. (Linux: `tcp_send_loss_probe`)
    pub(super) fn send_loss_probe(&mut self, has_new_data: bool, now: Instant) -> Timeout {
        // At most one probe is outstanding.
        let is_first = !matches!(self.probe, TailProbe::Sent { .. });
        if is_first {
            self.probe = TailProbe::Due {
                is_new_data: has_new_data,
            };
        }
        self.rearm_rto(now);
        if is_first {
            Timeout::Transmit
        } else {
            Timeout::Early
        }
    }

    /// Notes that a probe has left.
    pub(super) fn probe_sent(&mut self, is_retransmission: bool, now: Instant) {
        self.probe = TailProbe::Sent {
            end: self.scoreboard.next(),
            is_retransmission,
        };
        self.set_rto_timer(self.rto_ticks, now);
    }

    /// Ends the probe if an acknowledgment shows its fate (RFC 8985, section 7.4). (Linux: `tcp_process_tlp_ack`)
    pub(super) fn end_probe(&mut self, acknowledgment: u32, effect: &Effect, now: Instant) {
        let TailProbe::Sent {
            end,
            is_retransmission,
        } = self.probe
        else {
            return;
        };
        if is_before(acknowledgment, end) {
            return;
        }
        if !is_retransmission || effect.is_probe_duplicate {
            self.probe = TailProbe::Idle;
        } else if is_after(acknowledgment, end) {
            // The probe repaired a loss: a congestion signal (RFC 8985, section 7.4.2).
            self.begin_reduction();
            self.state = State::CongestionWindowReduced;
            self.end_reduction(now);
            self.keep_open();
        } else if !effect.advances && !effect.is_not_duplicate() && !effect.sacked_data {
            self.probe = TailProbe::Idle;
        }
    }

    /// Ticks until the time-out of the first segment, as if no other timer had replaced it; `None` if it has passed.
    pub(super) fn ticks_to_rto(&self, now: Instant) -> Option<u64> {
        let head = self.scoreboard.head()?;
        let due = head.sent_micros + self.clock.micros(self.rto_ticks);
        let wait = due.checked_sub(micros(now)).filter(|wait| *wait > 0)?;
        Some(self.clock.ticks_lasting(wait))
    }
}

#[cfg(test)]
mod tests;
