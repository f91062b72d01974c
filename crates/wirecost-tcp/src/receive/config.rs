//! The configuration of the receiving side.

use core::time::Duration;

use crate::packed::packs;

/// The configuration of the receiving side of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveConfig {
    /// When acknowledgments leave.
    pub acknowledgments: AckPolicy,
    /// How the receive window is determined.
    pub window: WindowPolicy,
    /// When the application reads.
    pub reader: Reader,
}

/// When an application reads segments that arrive together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// After the last segment, as a process that has to wait for its CPU.
    After,
    /// While the segments arrive, as a process with its own CPU: it has read the first segment when the second one after it has
    /// arrived, even if all share one instant.
    Beside,
}

packs!(enum Reader {
    0 => After {},
    1 => Beside {},
});

/// When acknowledgments leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Linux 6.18: quick acknowledgments at first, then delayed ones that wait for data to ride on.
    Linux {
        /// The tick of the kernel's clock.
        jiffy: Duration,
    },
    /// Every second segment at once, a single one at the next tick of a timer that serves all connections.
    EverySecond {
        /// The timer's period.
        timer: Duration,
    },
}

/// How the receive window is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowPolicy {
    /// Linux 6.18: by a buffer that grows with the bytes that the application reads.
    Linux {
        /// Bytes of the buffer at first (`net.ipv4.tcp_rmem`, the second value).
        buffer_bytes: u32,
        /// Bytes up to which it grows (`net.ipv4.tcp_rmem`, the third value).
        maximum_buffer_bytes: u32,
    },
    /// A buffer of a fixed size.
    Fixed {
        /// Bytes of the buffer.
        bytes: u32,
    },
}

impl ReceiveConfig {
    /// The Linux kernel under the settings of the emulated link, with a clock of 250 Hz.
    pub const fn linux() -> Self {
        Self {
            acknowledgments: AckPolicy::Linux {
                jiffy: Duration::from_millis(4),
            },
            window: WindowPolicy::Linux {
                buffer_bytes: 131_072,
                maximum_buffer_bytes: 6_291_456,
            },
            reader: Reader::After,
        }
    }

    /// The simplified TCP of Larmo et al., whose description names no receiver: RFC 9293's every second segment with the
    /// usual 200 ms, and a window that never limits ten segments in flight.
    pub const fn larmo() -> Self {
        Self {
            acknowledgments: AckPolicy::EverySecond {
                timer: Duration::from_millis(200),
            },
            window: WindowPolicy::Fixed { bytes: 65_535 },
            reader: Reader::After,
        }
    }

    /// The shift of this end's windows in bits, if this end offers scaling (RFC 7323, section 2.3).
    pub const fn window_scale(&self) -> Option<u8> {
        match self.window {
            // The number of bits for the largest window (Linux: tcp_select_initial_window).
            WindowPolicy::Linux {
                maximum_buffer_bytes, ..
            } => {
                let bits = u32::BITS - maximum_buffer_bytes.leading_zeros();
                Some(bits.saturating_sub(u16::BITS) as u8)
            }
            WindowPolicy::Fixed { .. } => None,
        }
    }

    /// Bytes of the window that this end's SYN advertises, for segments with `segment_bytes` of payload.
    pub fn initial_window(&self, segment_bytes: u32) -> u32 {
        let window = match self.window {
            // Half of the buffer is taken for overhead at first; whole segments (Linux: tcp_select_initial_window).
            WindowPolicy::Linux { buffer_bytes, .. } => {
                let space = buffer_bytes / 2;
                space - space.checked_rem(segment_bytes).unwrap_or_default()
            }
            WindowPolicy::Fixed { bytes } => bytes,
        };
        // A SYN's window is not scaled (RFC 7323, section 2.2).
        window.min(u32::from(u16::MAX))
    }
}

/// The options from the handshake that concern the receiving side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The largest segment that this end has announced.
    pub maximum_segment_size: u16,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// Whether the peer understands selective acknowledgments.
    pub selective: bool,
    /// The shift of this end's windows in bits; 0 if one of the ends does not scale.
    pub window_scale: u8,
    /// Bytes of the window that this end's SYN has advertised.
    pub window: u32,
}

packs!(Terms {
    maximum_segment_size,
    timestamps,
    selective,
    window_scale,
    window
});

impl Terms {
    /// Bytes of options in each segment.
    pub(super) const fn option_bytes(&self) -> u32 {
        // RFC 7323, appendix A: ten bytes and two of padding.
        if self.timestamps { 12 } else { 0 }
    }

    /// Bytes of payload in a full segment.
    pub(super) const fn segment_bytes(&self) -> u32 {
        (self.maximum_segment_size as u32).saturating_sub(self.option_bytes())
    }
}
