//! How fast an end sends. (Linux: `tcp_update_pacing_rate`)

use super::Recovery;

/// The rate as the last acknowledgment left it: the window does not change it by itself. It changes more often than it is
/// asked for, so the division waits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacing {
    /// What is sent in a round trip, in eighths of a millionth of a byte.
    micro_byte_eighths: u64,
    /// The round trip, in eighths of a microsecond; 0 before the first.
    srtt_eighths: u64,
}

impl Recovery {
    /// Bytes per second; `u64::MAX` before the first round trip.
    pub(crate) fn bytes_per_second(&self) -> u64 {
        let Pacing {
            micro_byte_eighths,
            srtt_eighths,
        } = self.pacing;
        micro_byte_eighths.checked_div(srtt_eighths).unwrap_or(u64::MAX)
    }

    /// The least round trip of the last minutes, in microseconds; `u64::MAX` before the first.
    pub(crate) const fn least_round_trip_micros(&self) -> u64 {
        self.min_rtt.micros()
    }

    /// Notes the rate anew: twice the window per round trip in slow start, else 1.2 times.
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
