//! Scripts: bytes as a sequence of decisions.

use std::fmt::Debug;
use std::slice::Chunks;
use std::time::Duration;

/// The remaining decisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The first byte, which chooses a configuration, and a script of the other bytes; `None` without a byte.
    pub(crate) fn with_choice(bytes: &'a [u8]) -> Option<(u8, Self)> {
        let (choice, rest) = bytes.split_first()?;
        Some((*choice, Self { rest }))
    }

    /// The next byte; `None` at the end.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// The next two bytes as a number.
    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// The next `len` bytes, or as many as are left.
    pub(crate) fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// What is left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// The fate of the next bytes in transit; at the end of the script everything arrives.
    pub(crate) fn fate(&mut self) -> Fate {
        let mut fate = || {
            Some(match self.byte()? {
                0x80..=0xbf => Fate::Change(self.u16()?, self.byte()?),
                0xc0..=0xcf => Fate::Split(self.u16()?),
                0xd0..=0xdf => Fate::Cut(self.u16()?),
                0xe0..=0xef => Fate::Lost,
                0xf0..=0xff => Fate::Twice,
                _ => Fate::Arrive,
            })
        };
        fate().unwrap_or(Fate::Arrive)
    }

    /// The next step of an endpoint's life; `None` at the end.
    pub(crate) fn step(&mut self) -> Option<(usize, Step<'a>)> {
        let first = self.byte()?;
        let step = match first & 0x07 {
            0 => Step::Open,
            1 => {
                let len = usize::from(self.byte()?);
                Step::Receive(self.take(len))
            }
            2 => {
                let len = usize::from(self.u16()?);
                Step::Receive(self.take(len))
            }
            3 if first & 0x08 == 0 => Step::PeerClosed,
            3 => Step::Reset,
            4 => Step::Command(self.byte()?),
            // A nanosecond to 39 hours.
            5 => Step::Wait(Duration::from_nanos(1 << (self.byte()? % 48))),
            6 => Step::Wake,
            _ if first & 0x08 == 0 => Step::Writable,
            _ => Step::Congested,
        };
        Some((usize::from(first >> 6), step))
    }
}

/// Reads the stream behind the first byte as a whole, byte by byte, and in pieces of a length that the first byte chooses,
/// and asserts that `read` returns the same each time. Returns the stream and that result; `None` without a byte.
pub(crate) fn read_in_pieces<'a, T: PartialEq + Debug>(
    bytes: &'a [u8],
    read: impl Fn(Chunks<'a, u8>) -> T,
) -> Option<(&'a [u8], T)> {
    let (stride, stream) = bytes.split_first()?;
    let whole = read(stream.chunks(stream.len().max(1)));
    assert_eq!(whole, read(stream.chunks(usize::from(*stride) + 1)));
    assert_eq!(whole, read(stream.chunks(1)));
    Some((stream, whole))
}

/// The fate of bytes in transit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Arrive,
    /// They arrive with these bits flipped in the byte at this position, modulo their length.
    Change(u16, u8),
    /// They arrive in two pieces; the first has this length.
    Split(u16),
    /// Only the first bytes arrive.
    Cut(u16),
    Lost,
    Twice,
}

/// A step of an endpoint's life.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// A flow opens, unless one is open here.
    Open,
    /// Bytes arrive: on an open flow, or late on one that the endpoint closed.
    Receive(&'a [u8]),
    PeerClosed,
    Reset,
    Writable,
    Congested,
    /// The user's command of this number.
    Command(u8),
    /// Time passes.
    Wait(Duration),
    /// The time that the endpoint waits for comes.
    Wake,
}
