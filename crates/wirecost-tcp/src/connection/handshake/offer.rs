//! SYN and SYN-ACK, and the options on which both ends agree.

use wirecost_proto::Instant;
use wirecost_wire::tcp::{Flags, SackBlocks};

use super::{Opening, clock};
use crate::fast_open::Cookie;
use crate::segment::{Segment, TIMESTAMPS_BYTES, Timestamps};

/// The send MSS towards a peer that names none (RFC 9293, section 3.7.1), in bytes.
const DEFAULT_MSS: u16 = 536;

/// The smallest send MSS that Linux accepts from a peer (`TCP_MIN_MSS`), in bytes.
const MINIMUM_MSS: u16 = 88;

/// The largest shift of a window (RFC 7323, section 2.3).
const MAXIMUM_SHIFT: u8 = 14;

/// The peer's SYN, with the options on which both ends agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerSyn {
    /// The sequence number after the SYN.
    pub(crate) next: u32,
    /// The largest segment to be sent, without options.
    pub(crate) send_mss: u16,
    /// The shift of the peer's windows and of this end's; `None` if windows are not scaled.
    pub(crate) shifts: Option<(u8, u8)>,
    /// The peer's clock, if both ends use timestamps.
    pub(crate) timestamp: Option<u32>,
    pub(crate) selective: bool,
    /// The window in bytes.
    pub(crate) window: u32,
}

impl PeerSyn {
    /// Bytes of payload in a full segment.
    pub(crate) const fn segment_bytes(&self) -> u16 {
        let options = if self.timestamp.is_some() {
            TIMESTAMPS_BYTES as u16
        } else {
            0
        };
        self.send_mss.saturating_sub(options)
    }
}

impl Opening {
    /// The peer's SYN, with the options that both ends offer.
    pub(super) fn agree(&self, syn: &Segment) -> PeerSyn {
        let config = &self.config;
        let offered = syn.maximum_segment_size.unwrap_or(DEFAULT_MSS).max(MINIMUM_MSS);
        let shifts = syn.window_scale.zip(config.receive.window_scale());
        let timestamp = syn
            .timestamps
            .filter(|_| config.timestamps)
            .map(|stamps| stamps.value);
        PeerSyn {
            next: syn.sequence.wrapping_add(1),
            send_mss: offered.min(config.maximum_segment_size),
            // RFC 7323, section 2.3: a larger shift counts as 14.
            shifts: shifts.map(|(theirs, ours)| (theirs.min(MAXIMUM_SHIFT), ours)),
            timestamp,
            selective: syn.sack_permitted && config.selective_acknowledgments,
            // RFC 7323, section 2.2: the window of a SYN is never scaled.
            window: u32::from(syn.window),
        }
    }

    pub(super) fn syn(&self, now: Instant) -> Segment {
        let config = &self.config;
        Segment {
            sequence: self.start.sequence,
            flags: Flags::SYN,
            window: self.window(),
            maximum_segment_size: Some(config.maximum_segment_size),
            window_scale: config.receive.window_scale(),
            sack_permitted: config.selective_acknowledgments,
            timestamps: self.timestamps(now),
            // RFC 7413, section 4.1.3: not after a time-out.
            fast_open: match self.start.fast_open {
                Some(fast_open) if self.timeouts == 0 => Some(fast_open.cookie.unwrap_or(Cookie::REQUEST)),
                _ => None,
            },
            ..Segment::default()
        }
    }

    /// RFC 9293, section 3.5; each option only if the SYN had it.
    pub(super) fn syn_ack(&self, peer: PeerSyn, now: Instant) -> Segment {
        Segment {
            sequence: self.start.sequence,
            acknowledgment: peer.next,
            flags: Flags::SYN | Flags::ACK,
            window: self.window(),
            maximum_segment_size: Some(self.config.maximum_segment_size),
            window_scale: peer.shifts.map(|(_, shift)| shift),
            sack_permitted: peer.selective,
            timestamps: self.timestamps(now),
            sack: SackBlocks::default(),
            fast_open: match self.start.fast_open {
                Some(fast_open) if self.grants_cookie => fast_open.cookie,
                _ => None,
            },
        }
    }

    /// The window of the SYN or SYN-ACK: whole segments of the size that the peer will send. (Linux: an end that connects does
    /// not know yet whether the peer uses timestamps, `tcp_connect_init`)
    pub(crate) fn window(&self) -> u16 {
        let has_timestamps = self.peer.is_some_and(|peer| peer.timestamp.is_some());
        let options = if has_timestamps {
            TIMESTAMPS_BYTES as u32
        } else {
            0
        };
        let segment_bytes = u32::from(self.config.maximum_segment_size).saturating_sub(options);
        let window = self.config.receive.initial_window(segment_bytes);
        u16::try_from(window).unwrap_or(u16::MAX)
    }

    pub(super) fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        let echo = match &self.peer {
            None => self.config.timestamps.then_some(0),
            Some(peer) => peer.timestamp,
        };
        echo.map(|echo| Timestamps {
            value: clock(self.start.sequence, now),
            echo,
        })
    }
}
