//! The sending rate. (Linux: `tcp_update_pacing_rate`)

use crate::packed::packs;

use super::Recovery;

/// The rate at the last acknowledgment: a change of the window alone does not change it. It changes more often than it is read,
/// so that the division is done when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pacing {
    /// The bytes of a round trip, in eighths of a millionth of a byte.
    micro_byte_eighths: u64,
    /// The round trip, in eighths of a microsecond; 0 before the first.
    srtt_eighths: u64,
}

packs!(Pacing {
    micro_byte_eighths,
    srtt_eighths
});

impl Pacing {
    #[cfg(test)]
    pub(crate) const fn of_rate(bytes_per_second: u64) -> Self {
        Self {
            micro_byte_eighths: bytes_per_second,
            srtt_eighths: 1,
        }
    }

    fn bytes_per_second(&self) -> u64 {
        let round_trip = self.srtt_eighths;
        self.micro_byte_eighths
            .checked_div(round_trip)
            .unwrap_or(u64::MAX)
    }

    /// The duration of four trains of the largest length at this rate, in microseconds. (Linux: `hystart_ack_delay`)
    pub(crate) fn train_micros(&self) -> u64 {
        /// `GSO_LEGACY_MAX_SIZE` less the longest header.
        const TRAIN_BYTES: u64 = 65_536 - 193;
        let micros = (TRAIN_BYTES * 4_000_000)
            .checked_div(self.bytes_per_second())
            .unwrap_or(0);
        micros.min(1_000)
    }
}

impl Recovery {
    /// Bytes per second; `u64::MAX` before the first round trip.
    pub(crate) fn bytes_per_second(&self) -> u64 {
        self.pacing.bytes_per_second()
    }

    /// The least round trip of the last minutes, in microseconds; `u64::MAX` before the first.
    pub(crate) const fn least_round_trip_micros(&self) -> u64 {
        self.min_rtt.micros()
    }

    /// Updates the rate: twice the window per round trip in slow start, otherwise 1.2 times the window.
    pub(super) fn update_pacing(&mut self) {
        let Some(srtt_eighths) = self.rtt.srtt_eighths() else {
            return;
        };
        let segments = self.window.cwnd().max(self.scoreboard.outstanding());
        let percent = if self.window.cwnd() < self.window.ssthresh() / 2 {
            200
        } else {
            120
        };
        let bytes = u64::from(self.segment_bytes) * u64::from(segments);
        self.pacing = Pacing {
            micro_byte_eighths: bytes * percent * 80_000,
            srtt_eighths,
        };
    }
}
