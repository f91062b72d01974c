//! How many segments a host gives to its network at once.

use core::time::Duration;

use crate::config::BurstConfig;

/// Where the segments stand that leave at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Segments of it that are still to come.
    pub(super) left: u32,
    /// Whether it has only one.
    pub(super) is_single: bool,
    /// Whether the last of them was full, so that a rest of the window may be filled.
    pub(super) is_full: bool,
}

/// How fast an end sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) segment_bytes: u32,
    /// In segments.
    pub(super) congestion_window: u32,
    /// In segments.
    pub(super) slow_start_threshold: u32,
    pub(super) round_trip: Option<Duration>,
}

impl Pace {
    /// Bytes per second: twice the window per round trip in slow start, else 1.2 times (Linux: `tcp_update_pacing_rate`).
    fn bytes_per_second(&self) -> u64 {
        let percent = if self.congestion_window < self.slow_start_threshold / 2 {
            200
        } else {
            120
        };
        let window = u64::from(self.segment_bytes) * u64::from(self.congestion_window);
        let micros = self
            .round_trip
            .map_or(0, |round_trip| round_trip.as_micros() as u64);
        (window * percent * 10_000)
            .checked_div(micros)
            .unwrap_or(u64::MAX)
    }
}

impl BurstConfig {
    /// Segments that may leave at once (Linux: `tcp_tso_autosize`).
    pub(super) fn segments(&self, pace: &Pace) -> u32 {
        // sk_pacing_shift: 1/1,024 of a second.
        let of_rate = pace.bytes_per_second() >> 10;
        // net.ipv4.tcp_tso_rtt_log: near peers get more, halved with each 512 us.
        let near = pace
            .round_trip
            .map_or(0, |round_trip| round_trip.as_micros() as u64 >> 9);
        let of_nearness = self
            .maximum_bytes
            .checked_shr(u32::try_from(near).unwrap_or(u32::MAX));
        let bytes = of_rate.saturating_add(u64::from(of_nearness.unwrap_or(0)));
        let bytes = bytes.min(u64::from(self.maximum_bytes)) as u32;
        (bytes / pace.segment_bytes.max(1)).max(self.minimum_segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn segments(round_trip_ms: u64, congestion_window: u32) -> u32 {
        let pace = Pace {
            segment_bytes: 1_448,
            congestion_window,
            slow_start_threshold: u32::MAX,
            round_trip: Some(Duration::from_millis(round_trip_ms)),
        };
        Config::linux(1460).burst.map_or(0, |burst| burst.segments(&pace))
    }

    #[test]
    fn a_millisecond_of_segments_leaves_at_once_and_at_least_two() {
        // 2 x 10 x 1,448 B in 25 ms are 1.158 MB/s: 1,131 B in 1/1,024 s.
        assert_eq!(segments(25, 10), 2);
        // 5.79 MB/s: 5,656 B, and 127 B for the nearness: 3.99 segments.
        assert_eq!(segments(5, 10), 3);
        assert_eq!(segments(25, 1_000), 45);
    }
}
