//! The receive window.

use core::time::Duration;

use wirecost_proto::Instant;

use crate::packed::packs;

use super::autotune::Space;
use super::sequence::distance;
use super::{Terms, WindowPolicy};

/// The largest value of the window field, before scaling.
const LARGEST_FIELD: u32 = 65_535;

/// The right edge last advertised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advertised {
    /// The acknowledgment number sent with the window.
    pub(super) acknowledgment: u32,
    /// Bytes of the window.
    pub(super) bytes: u32,
}

packs!(Advertised {
    acknowledgment,
    bytes
});

impl Advertised {
    /// Bytes left of it when `next` is expected.
    pub(super) const fn left_at(self, next: u32) -> u32 {
        // Within the window, which has 32 bits.
        distance(next, self.right_edge()) as u32
    }

    /// The sequence number after the window.
    pub(super) const fn right_edge(self) -> u32 {
        self.acknowledgment.wrapping_add(self.bytes)
    }
}

/// The inputs of the choice of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowState {
    /// The next sequence number expected.
    pub(super) next: u32,
    /// The window last advertised.
    pub(super) advertised: Advertised,
    /// Bytes that wait for the application.
    pub(super) available: usize,
    /// Bytes of a full segment of the peer's.
    pub(super) segment_bytes: u32,
}

/// A window that could be advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowChoice {
    /// Bytes.
    pub(super) bytes: u32,
    /// Whether less than half of the window is free.
    pub(super) is_tight: bool,
}

/// The buffer that determines the window.
#[derive(Debug)]
pub(super) enum Window {
    /// A buffer that grows.
    Linux(Space),
    /// A buffer of this many bytes.
    Fixed(u32),
}

packs!(enum Window {
    0 => Linux { 0: space },
    1 => Fixed { 0: bytes },
});

impl Window {
    pub(super) fn new(policy: WindowPolicy, terms: &Terms, next: u32, now: Instant) -> Self {
        match policy {
            WindowPolicy::Linux {
                buffer_bytes,
                maximum_buffer_bytes,
            } => Self::Linux(Space::new(buffer_bytes, maximum_buffer_bytes, terms, next, now)),
            WindowPolicy::Fixed { bytes } => Self::Fixed(bytes),
        }
    }

    /// The receiver's estimate of the round-trip time, where it makes one.
    pub(super) fn rtt(&self) -> Option<Duration> {
        match self {
            Self::Linux(space) => space.rtt(),
            Self::Fixed(_) => None,
        }
    }

    /// The window that fits into the buffer, without regard to the window advertised last.
    pub(super) fn room(&self, state: &WindowState, scale: u8) -> WindowChoice {
        match self {
            Self::Linux(space) => space.select(state, scale),
            Self::Fixed(bytes) => WindowChoice {
                bytes: fixed_room(*bytes, state),
                is_tight: false,
            },
        }
    }

    /// The window to advertise: its right edge never moves left (RFC 9293, section 3.8.6).
    pub(super) fn choose(&self, state: &WindowState, scale: u8) -> WindowChoice {
        let room = self.room(state, scale);
        let promised = state.advertised.left_at(state.next);
        let bytes = if room.bytes < promised {
            promised.next_multiple_of(1 << scale)
        } else {
            room.bytes
        };
        WindowChoice {
            bytes: bytes.min(LARGEST_FIELD << scale),
            ..room
        }
    }
}

/// The receiver's side of silly window avoidance (RFC 9293, section 3.8.6.2.2): the right edge moves by half of the buffer
/// or a full segment, or not at all.
fn fixed_room(buffer_bytes: u32, state: &WindowState) -> u32 {
    // Never more than the buffer's bytes.
    let free = buffer_bytes.saturating_sub(state.available as u32);
    let promised = state.advertised.left_at(state.next);
    let step = state.segment_bytes.min(buffer_bytes / 2);
    if free >= promised.saturating_add(step) {
        free
    } else {
        promised
    }
}
