//! The send window (RFC 9293, section 3.8.6).

use crate::packed::packs;
use crate::segment::Segment;
use crate::sequence::is_before;

/// SND.WND with the variables for its update.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendWindow {
    /// Bytes from the acknowledgment on.
    pub(super) bytes: u32,
    /// The largest that the peer ever offered.
    pub(super) maximum: u32,
    /// SND.WL1: the sequence number of the segment that updated it last.
    told_at: u32,
    shift: u8,
}

packs!(SendWindow {
    bytes,
    maximum,
    told_at,
    shift
});

impl SendWindow {
    pub(super) const fn new(bytes: u32, told_at: u32, shift: u8) -> Self {
        Self {
            bytes,
            maximum: bytes,
            told_at,
            shift,
        }
    }

    /// Updates it from an acceptable segment; `advances`: the segment acknowledges new bytes. Returns whether the window
    /// changed. RFC 9293, section 3.10.7.4, fifth. Linux also accepts a window that grows or closes from a segment with the same
    /// sequence number (`tcp_may_update_window`), so that SND.WL2 is not needed.
    pub(super) fn update(&mut self, segment: &Segment, advances: bool) -> bool {
        let offered = u32::from(segment.window) << self.shift;
        let is_newer = is_before(self.told_at, segment.sequence);
        let is_same = self.told_at == segment.sequence && (offered > self.bytes || offered == 0);
        if !(advances || is_newer || is_same) {
            return false;
        }
        let changes = self.bytes != offered;
        self.told_at = segment.sequence;
        self.bytes = offered;
        self.maximum = self.maximum.max(offered);
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(sequence: u32, window: u16) -> Segment {
        Segment {
            sequence,
            window,
            ..Segment::default()
        }
    }

    #[test]
    fn an_old_segment_does_not_shrink_the_window() {
        let mut window = SendWindow::new(1_000, 50, 0);
        assert!(!window.update(&told(49, 10), false));
        assert!(!window.update(&told(50, 10), false));
        assert_eq!(window.bytes, 1_000);
        assert!(window.update(&told(51, 10), false));
        assert!(window.update(&told(51, 0), false));
        assert!(window.update(&told(51, 7), true));
        assert_eq!((window.bytes, window.maximum), (7, 1_000));
    }

    #[test]
    fn windows_are_scaled() {
        let mut window = SendWindow::new(0, 0, 7);
        window.update(&told(1, 509), false);
        assert_eq!(window.bytes, 509 << 7);
    }
}
