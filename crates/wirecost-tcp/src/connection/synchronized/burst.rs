//! Bursts: how many segments a host gives to its network at once.

use wirecost_proto::Instant;

use crate::config::BurstConfig;
use crate::packed::packs;
use crate::recovery::Waiting;

use super::output::Part;
use super::{Fin, Synchronized};

/// The state of a burst: segments that leave at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// The number of segments left in the burst.
    pub(super) left: u32,
    /// Whether the burst has only one segment.
    is_single: bool,
    /// Whether the last segment was full, so that a smaller one may fill the rest of the window.
    pub(super) is_full: bool,
}

packs!(Burst {
    left,
    is_single,
    is_full
});

impl BurstConfig {
    /// Segments that may leave at once (Linux: `tcp_tso_autosize`).
    fn segments(&self, segment_bytes: u32, bytes_per_second: u64, least_round_trip_micros: u64) -> u32 {
        // sk_pacing_shift: 1/1,024 of a second.
        let of_rate = bytes_per_second >> 10;
        // net.ipv4.tcp_tso_rtt_log: near peers get more; the bonus is halved with each 512 us.
        let near = least_round_trip_micros >> 9;
        let of_nearness = self
            .maximum_bytes
            .checked_shr(u32::try_from(near).unwrap_or(u32::MAX));
        let bytes = of_rate.saturating_add(u64::from(of_nearness.unwrap_or(0)));
        let bytes = bytes.min(u64::from(self.maximum_bytes)) as u32;
        (bytes / segment_bytes.max(1)).max(self.minimum_segments)
    }
}

impl Synchronized {
    /// Counts `part` as the next segment of the burst; returns whether it is the last of several.
    pub(super) fn note_burst(&mut self, part: Part) -> bool {
        let segment = self.room_in_segment();
        if self.burst.left == 0 {
            let is_rest = self.send.end() - part.offset <= u64::from(segment);
            let bytes = if is_rest {
                part.bytes
            } else {
                self.burst_bytes(segment)
            };
            self.burst.left = bytes.div_ceil(segment).max(1);
            self.burst.is_single = self.burst.left == 1;
            if self.config.burst.is_some() && bytes > 0 {
                self.send.cut_packet(part.offset, part.offset + u64::from(bytes));
            }
        }
        self.burst.left -= 1;
        self.burst.is_full = part.bytes == segment;
        // Linux sets PSH on the last segment of its own segmentation (`__tcp_transmit_skb`).
        self.config.burst.is_some() && self.burst.left == 0 && !self.burst.is_single
    }

    /// Whether the next burst, which starts with `part`, waits for the next acknowledgment.
    pub(super) fn is_deferred(&mut self, part: Part, now: Instant) -> bool {
        if self.config.burst.is_none() || self.burst.left > 0 || self.recovery.is_probing() {
            return false;
        }
        let segment = self.room_in_segment();
        if self.send.end() - part.offset <= u64::from(segment) {
            return false;
        }
        let bytes = self.packet_bytes(self.segments_now(segment) * segment);
        let is_followed = part.offset + u64::from(bytes) < self.send.end();
        let waiting = Waiting {
            bytes,
            is_followed,
            burst_bytes: self.most_segments(segment).saturating_mul(segment),
            window_room: self.room_in_window(),
            window_bytes: self.window.bytes,
            is_last: self.fin == Fin::Due && !is_followed,
        };
        self.recovery.defers(&waiting, now)
    }

    /// Bytes of the next burst: those of the next packet that fit into the windows (Linux: `tcp_mss_split_point`).
    fn burst_bytes(&self, segment: u32) -> u32 {
        let most = self.segments_now(segment) * segment;
        let bytes = self.packet_bytes(most).min(self.room_in_window()).min(most);
        let small = bytes % segment;
        if small > 0 && bytes > segment && self.has_small_in_flight() {
            // The rest waits by itself.
            return bytes - small;
        }
        bytes
    }

    /// Bytes of the next packet: its written length, or more if bytes of the packet after it may leave too, up to `most`
    /// (Linux: `tcp_grow_skb`).
    fn packet_bytes(&self, most: u32) -> u32 {
        let packet = self.send.packet_at(self.sent);
        let grown = u64::from(most).min(packet.bytes + packet.next_bytes);
        u32::try_from(packet.bytes.max(grown)).unwrap_or(u32::MAX)
    }

    /// Segments that the congestion window allows in a burst, at most half of the window (Linux: `tcp_cwnd_test`).
    fn segments_now(&self, segment: u32) -> u32 {
        let window = self.recovery.congestion_window();
        let room = window.saturating_sub(self.recovery.in_flight());
        room.min(window / 2).min(self.most_segments(segment)).max(1)
    }

    /// The largest number of segments in a burst: those of about a millisecond.
    fn most_segments(&self, segment: u32) -> u32 {
        let (rate, round_trip) = (
            self.recovery.bytes_per_second(),
            self.recovery.least_round_trip_micros(),
        );
        self.config
            .burst
            .map_or(1, |burst| burst.segments(segment, rate, round_trip))
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    #[test]
    fn a_millisecond_of_segments_leaves_at_once_and_at_least_two() {
        let burst = Config::linux(1460).burst.expect("bursts");
        let segments = |rate, round_trip| burst.segments(1_448, rate, round_trip);
        // 2 x 10 x 1,448 B in 25 ms: 1,131 B in 1/1,024 s.
        assert_eq!(segments(1_158_400, 25_000), 2);
        // 5,656 B, and 127 B for the nearness: 3.99 segments.
        assert_eq!(segments(5_792_000, 5_000), 3);
        assert_eq!(segments(115_840_000, 25_000), 45);
    }
}
