//! Nagle's algorithm: a small segment waits for the acknowledgment of the last small one. (Linux: `tcp_nagle_test`,
//! `tcp_minshall_check`)

use super::Synchronized;
use super::output::Part;

impl Synchronized {
    /// Whether `part` waits for an acknowledgment. A FIN and a probe of the tail do not wait.
    pub(super) fn waits_for_acknowledgment(&self, part: Part) -> bool {
        self.burst.left == 0
            && part.bytes < self.room_in_segment()
            && !part.fin
            && !self.recovery.is_probing()
            && self.has_small_in_flight()
    }

    /// Whether a segment that was not full is unacknowledged, and others wait for it.
    pub(super) fn has_small_in_flight(&self) -> bool {
        self.config.nagle && self.small_end > self.send.start()
    }

    /// Notes the end of a segment that is not full.
    pub(super) fn note_small(&mut self, part: Part) {
        if part.bytes > 0 && part.bytes < self.room_in_segment() {
            self.small_end = part.offset + u64::from(part.bytes);
        }
    }
}
