//! The bytes of packed state: each value takes two bits, and most take no more.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Pack;
use crate::Config;

/// Numbers of more than a byte that are remembered: of a connection at rest, many sequence numbers and times are equal, or nearly so.
const REMEMBERED: u8 = 16;
/// The most bytes of the difference from one of them.
const NEARBY_BYTES: u8 = 3;
/// From this first byte on, a number is one of those that are remembered; below, it is the byte.
const REFERENCE: u8 = 0xb0;
/// From this first byte on, a number is one of them and a difference of 1 to 3 bytes more.
pub(super) const NEAR: u8 = REFERENCE + REMEMBERED;
/// From this first byte on, a number has 1 to 8 bytes more.
pub(super) const LENGTH: u8 = NEAR + REMEMBERED * NEARBY_BYTES;

/// What the connections of a pattern have in common.
#[derive(Debug)]
pub(crate) struct Usual {
    /// Shared by all connections of a host.
    pub(crate) config: Arc<Config>,
    /// The numbers that most of them have, each by its place among the numbers of a connection. What is written is right whichever they are,
    /// and short where they are the same.
    pub(crate) numbers: Box<[u64]>,
}

/// The last numbers of more than a byte, each in the place of an older one.
#[derive(Debug, Default)]
struct Remembered {
    numbers: [u64; REMEMBERED as usize],
    next: u8,
}

impl Remembered {
    /// The number that was remembered before the last `others` numbers.
    fn before(&self, others: u8) -> u64 {
        let place = self.next.wrapping_sub(others + 1) % REMEMBERED;
        self.numbers.get(usize::from(place)).copied().unwrap_or_default()
    }

    /// How many numbers came after the nearest one, and by how much that is less; the sign is in the lowest bit.
    fn nearest(&self, number: u64) -> (u8, u64) {
        let mut nearest = (0, u64::MAX);
        for others in 0..REMEMBERED {
            let difference = zigzag(number.wrapping_sub(self.before(others)).cast_signed());
            if difference < nearest.1 {
                nearest = (others, difference);
            }
        }
        nearest
    }

    fn remember(&mut self, number: u64) {
        if let Some(oldest) = self.numbers.get_mut(usize::from(self.next)) {
            *oldest = number;
        }
        self.next = (self.next + 1) % REMEMBERED;
    }
}

/// A number with its sign in the lowest bit (ZigZag).
pub(super) const fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

/// The number of [`zigzag`].
pub(super) const fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// The least bytes that hold a number.
const fn length_of(number: u64) -> u8 {
    8 - (number.leading_zeros() / 8) as u8
}

/// The two bits of a byte that follows.
const FOLLOWS: u8 = 2;
/// The two bits of a number that is the usual one at its place.
const USUAL: u8 = 3;

/// The bytes so far. Most are 0 or 1, or numbers that are usual: before each four of them, a byte has two bits for each, which are 0, 1, 2 if the
/// byte follows, or 3 for the usual number.
#[derive(Debug)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    /// The place of the last byte of four times two bits.
    marks: usize,
    /// How many bytes have two bits there.
    marked: u32,
    remembered: Remembered,
    usual: Arc<Usual>,
    /// The numbers so far.
    numbers: usize,
    /// The numbers themselves, where they are to be the usual ones.
    kept: Option<Vec<u64>>,
}

/// Bytes that share a byte of two bits each.
const MARKED: u32 = 4;

impl Packer {
    /// Nothing yet; `bytes` are empty memory.
    pub(crate) fn new(usual: Arc<Usual>, bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            marks: 0,
            marked: MARKED,
            remembered: Remembered::default(),
            usual,
            numbers: 0,
            kept: None,
        }
    }

    /// The numbers of a value, to be the usual ones.
    pub(crate) fn numbers_of(value: &impl Pack, config: &Arc<Config>) -> Box<[u64]> {
        let none = Usual {
            config: Arc::clone(config),
            numbers: Box::default(),
        };
        let mut packer = Self {
            kept: Some(Vec::new()),
            ..Self::new(Arc::new(none), Vec::new())
        };
        value.pack(&mut packer);
        packer.kept.unwrap_or_default().into()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes two bits.
    fn mark(&mut self, mark: u8) {
        if self.marked == MARKED {
            (self.marks, self.marked) = (self.bytes.len(), 0);
            self.bytes.push(0);
        }
        if let Some(marks) = self.bytes.get_mut(self.marks) {
            *marks |= mark << (2 * self.marked);
        }
        self.marked += 1;
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.mark(byte.min(FOLLOWS));
        if byte > 1 {
            self.bytes.push(byte);
        }
    }

    pub(super) fn number(&mut self, number: u64) {
        let is_usual = self.usual.numbers.get(self.numbers) == Some(&number);
        self.numbers += 1;
        if let Some(kept) = &mut self.kept {
            kept.push(number);
        }
        if is_usual {
            return self.mark(USUAL);
        }
        if number < REFERENCE.into() {
            return self.byte(number as u8);
        }
        let (others, difference) = self.remembered.nearest(number);
        if difference == 0 {
            return self.byte(REFERENCE + others);
        }
        self.remembered.remember(number);
        let (length, nearby) = (length_of(number), length_of(difference));
        if nearby <= NEARBY_BYTES && nearby < length {
            self.byte(NEAR + others * NEARBY_BYTES + (nearby - 1));
            self.append(difference, nearby);
        } else {
            self.byte(LENGTH + (length - 1));
            self.append(number, length);
        }
    }

    /// Appends the lowest bytes of a number.
    fn append(&mut self, number: u64, bytes: u8) {
        self.bytes
            .extend(number.to_le_bytes().into_iter().take(bytes.into()));
    }
}

/// Bytes from the next value on, and what their connection shares with others.
#[derive(Debug)]
pub(crate) struct Unpacker<'a> {
    pub(super) bytes: &'a [u8],
    /// The two bits of the bytes that follow.
    marks: u8,
    /// How many of them have been read.
    marked: u32,
    remembered: Remembered,
    pub(super) usual: &'a Usual,
    /// The numbers so far.
    numbers: usize,
}

impl<'a> Unpacker<'a> {
    pub(crate) fn new(bytes: &'a [u8], usual: &'a Usual) -> Self {
        Self {
            bytes,
            marks: 0,
            marked: MARKED,
            remembered: Remembered::default(),
            usual,
            numbers: 0,
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    /// Reads two bits.
    fn mark(&mut self) -> Option<u8> {
        if self.marked == MARKED {
            (self.marks, self.marked) = (self.next()?, 0);
        }
        let mark = self.marks >> (2 * self.marked) & 3;
        self.marked += 1;
        Some(mark)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        match self.mark()? {
            FOLLOWS => self.next(),
            USUAL => None,
            byte => Some(byte),
        }
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let place = self.numbers;
        self.numbers += 1;
        match self.mark()? {
            FOLLOWS => self.long_number(),
            USUAL => self.usual.numbers.get(place).copied(),
            byte => Some(byte.into()),
        }
    }

    fn long_number(&mut self) -> Option<u64> {
        let number = match self.next()? {
            byte @ 0..REFERENCE => return Some(byte.into()),
            reference @ REFERENCE..NEAR => return Some(self.remembered.before(reference - REFERENCE)),
            near @ NEAR..LENGTH => {
                let (others, bytes) = ((near - NEAR) / NEARBY_BYTES, (near - NEAR) % NEARBY_BYTES + 1);
                let difference = unzigzag(self.read(bytes)?);
                self.remembered.before(others).wrapping_add_signed(difference)
            }
            length => self.read(length - LENGTH + 1)?,
        };
        self.remembered.remember(number);
        Some(number)
    }

    /// Reads a number of `length` bytes.
    fn read(&mut self, length: u8) -> Option<u64> {
        let mut bytes = [0; 8];
        for byte in bytes.get_mut(..usize::from(length))? {
            *byte = self.next()?;
        }
        Some(u64::from_le_bytes(bytes))
    }
}
