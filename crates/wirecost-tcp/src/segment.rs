//! A segment without its payload, with decoded options.

use crate::fast_open::Cookie;
use wirecost_wire::tcp::{self, Flags, Options, Repr, SackBlocks, TcpOption};

/// The two clocks of the timestamps option (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The peer's last clock value.
    pub echo: u32,
}

/// A TCP header without ports, with decoded options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// The next sequence number expected; significant with ACK.
    pub acknowledgment: u32,
    /// The control bits.
    pub flags: Flags,
    /// The value of the window field: scaled, except on a SYN.
    pub window: u16,
    /// The largest segment that the sender accepts; on a SYN.
    pub maximum_segment_size: Option<u16>,
    /// By how many bits the sender's windows are shifted; on a SYN.
    pub window_scale: Option<u8>,
    /// Whether the sender understands selective acknowledgments; on a SYN.
    pub sack_permitted: bool,
    /// The timestamps.
    pub timestamps: Option<Timestamps>,
    /// The SACK blocks.
    pub sack: SackBlocks,
    /// The Fast Open cookie, or the request for one (RFC 7413); on a SYN.
    pub fast_open: Option<Cookie>,
}

impl Segment {
    /// Decodes a segment; ignores unused options.
    pub fn from_view(view: &tcp::Segment<'_>) -> Self {
        let mut segment = Self {
            sequence: view.sequence_number(),
            acknowledgment: view.acknowledgment_number(),
            flags: view.flags(),
            window: view.window(),
            ..Self::default()
        };
        for option in view.options().flatten() {
            segment.note(&option);
        }
        segment
    }

    fn note(&mut self, option: &TcpOption<'_>) {
        match *option {
            TcpOption::MaximumSegmentSize(bytes) => self.maximum_segment_size = Some(bytes),
            TcpOption::WindowScale(shift) => self.window_scale = Some(shift),
            TcpOption::SackPermitted => self.sack_permitted = true,
            TcpOption::Sack(blocks) => self.sack = blocks,
            TcpOption::Timestamps { value, echo } => self.timestamps = Some(Timestamps { value, echo }),
            TcpOption::FastOpenCookie(bytes) => self.fast_open = Cookie::read(bytes),
            TcpOption::EndOfList | TcpOption::NoOperation | TcpOption::Unknown { .. } => {}
        }
    }

    /// The header to be emitted, between these ports.
    pub fn repr(&self, source_port: u16, destination_port: u16) -> Repr {
        Repr {
            source_port,
            destination_port,
            sequence_number: self.sequence,
            acknowledgment_number: self.acknowledgment,
            flags: self.flags,
            window: self.window,
            urgent_pointer: 0,
            options: self.options(),
        }
    }

    /// The options in the order and with the padding that Linux gives them (`tcp_options_write`).
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        let mut push = |pushed: &[TcpOption<'_>]| {
            for option in pushed {
                // There are never more than 40 bytes: a SYN has no SACK blocks, and other segments leave room.
                let _ = options.push(option);
            }
        };
        if let Some(bytes) = self.maximum_segment_size {
            push(&[TcpOption::MaximumSegmentSize(bytes)]);
        }
        let timestamps = self.timestamps.map(TcpOption::from);
        match (self.sack_permitted, timestamps) {
            (true, Some(timestamps)) => push(&[TcpOption::SackPermitted, timestamps]),
            (true, None) => push(&[PAD, PAD, TcpOption::SackPermitted]),
            (false, Some(timestamps)) => push(&[PAD, PAD, timestamps]),
            (false, None) => {}
        }
        if let Some(shift) = self.window_scale {
            push(&[PAD, TcpOption::WindowScale(shift)]);
        }
        if !self.sack.is_empty() {
            push(&[PAD, PAD, TcpOption::Sack(self.sack)]);
        }
        if let Some(cookie) = &self.fast_open {
            push(&[TcpOption::FastOpenCookie(cookie.as_bytes())]);
            for _ in cookie.len() + FAST_OPEN_BYTES..fast_open_bytes(cookie) {
                push(&[PAD]);
            }
        }
        options
    }

    /// Bytes of the TCP header with its options.
    pub fn header_bytes(&self) -> usize {
        let mut options = 0;
        options += if self.maximum_segment_size.is_some() { 4 } else { 0 };
        options += match (self.sack_permitted, self.timestamps) {
            (_, Some(_)) => TIMESTAMPS_BYTES,
            (true, None) => 4,
            (false, None) => 0,
        };
        options += if self.window_scale.is_some() { 4 } else { 0 };
        options += match self.sack.len() {
            0 => 0,
            blocks => SACK_BYTES + SACK_BLOCK_BYTES * blocks,
        };
        options += self.fast_open.as_ref().map_or(0, fast_open_bytes);
        tcp::HEADER_BYTES + options.min(tcp::MAX_OPTION_BYTES)
    }

    /// Whether all of `flags` are set.
    pub const fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// The number of sequence numbers of the segment: its payload, and one for each of SYN and FIN (RFC 9293, section 3.4).
    pub fn sequence_length(&self, payload_bytes: usize) -> u32 {
        let controls = u32::from(self.has(Flags::SYN)) + u32::from(self.has(Flags::FIN));
        u32::try_from(payload_bytes)
            .unwrap_or(u32::MAX)
            .saturating_add(controls)
    }

    /// The RST that answers the segment if it belongs to no connection (RFC 9293, section 3.10.7.1); `None` for an RST.
    pub fn reset(&self, payload_bytes: usize) -> Option<Self> {
        if self.has(Flags::RST) {
            return None;
        }
        if self.has(Flags::ACK) {
            return Some(Self {
                sequence: self.acknowledgment,
                flags: Flags::RST,
                ..Self::default()
            });
        }
        Some(Self {
            acknowledgment: self.sequence.wrapping_add(self.sequence_length(payload_bytes)),
            flags: Flags::RST | Flags::ACK,
            ..Self::default()
        })
    }
}

impl From<Timestamps> for TcpOption<'_> {
    fn from(Timestamps { value, echo }: Timestamps) -> Self {
        Self::Timestamps { value, echo }
    }
}

const PAD: TcpOption<'static> = TcpOption::NoOperation;

/// Bytes of the timestamps option, padded.
pub(crate) const TIMESTAMPS_BYTES: usize = 12;

/// Bytes of a SACK option without its blocks, padded.
pub(crate) const SACK_BYTES: usize = 4;

/// Bytes of a Fast Open option without its cookie.
const FAST_OPEN_BYTES: usize = 2;

/// Bytes of a Fast Open option, padded.
const fn fast_open_bytes(cookie: &Cookie) -> usize {
    (FAST_OPEN_BYTES + cookie.len()).next_multiple_of(4)
}

/// Bytes of one block of a SACK option.
pub(crate) const SACK_BLOCK_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use wirecost_wire::ip::Addresses;
    use wirecost_wire::tcp::SackBlock;

    fn options_hex(segment: &Segment) -> Vec<u8> {
        let addresses = Addresses::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()).unwrap();
        let mut bytes = Vec::new();
        segment.repr(1, 2).emit(&addresses, &[], &mut bytes);
        assert_eq!(bytes.len(), segment.header_bytes());
        assert_eq!(Segment::from_view(&tcp::Segment::new(&bytes).unwrap()), *segment);
        bytes.split_off(20)
    }

    const STAMPS: Option<Timestamps> = Some(Timestamps {
        value: 0x11,
        echo: 0x22,
    });

    #[test]
    fn options_stand_as_linux_writes_them() {
        let syn = Segment {
            maximum_segment_size: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: STAMPS,
            ..Segment::default()
        };
        assert_eq!(
            options_hex(&syn),
            [
                0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a, 0, 0, 0, 0x11, 0, 0, 0, 0x22, 0x01, 0x03,
                0x03, 7
            ]
        );
        let block = SackBlock { left: 1, right: 2 };
        let sack = Segment {
            timestamps: STAMPS,
            sack: SackBlocks::new(&[block; 3]),
            ..Segment::default()
        };
        let bytes = options_hex(&sack);
        assert_eq!(bytes[..4], [0x01, 0x01, 0x08, 0x0a]);
        assert_eq!(bytes[12..16], [0x01, 0x01, 0x05, 26]);
        assert_eq!(bytes.len(), 40);
        let fast = Segment {
            maximum_segment_size: Some(1460),
            fast_open: Cookie::read(&[9; 8]),
            ..Segment::default()
        };
        let bytes = options_hex(&fast);
        assert_eq!(bytes[4..], [34, 10, 9, 9, 9, 9, 9, 9, 9, 9, 0x01, 0x01]);
        let plain = Segment {
            sack_permitted: true,
            ..Segment::default()
        };
        assert_eq!(options_hex(&plain), [0x01, 0x01, 0x04, 0x02]);
    }

    #[test]
    fn a_segment_without_connection_gets_an_acceptable_reset() {
        let syn = Segment {
            sequence: 9,
            flags: Flags::SYN,
            ..Segment::default()
        };
        let reset = syn.reset(5).unwrap();
        assert_eq!((reset.sequence, reset.acknowledgment), (0, 15));
        assert_eq!(reset.flags, Flags::RST | Flags::ACK);
        let ack = Segment {
            acknowledgment: 77,
            flags: Flags::ACK,
            ..Segment::default()
        };
        let reset = ack.reset(0).unwrap();
        assert_eq!((reset.sequence, reset.flags), (77, Flags::RST));
        assert_eq!(reset.reset(0), None);
    }
}
