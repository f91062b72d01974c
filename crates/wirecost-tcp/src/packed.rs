//! State as few bytes: of a connection at rest most numbers are small or 0.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::Instant;

use crate::Config;
use crate::on_demand::OnDemand;

/// A value that is written as bytes, and read back as it was.
pub(crate) trait Pack: Sized {
    /// Appends it.
    fn pack(&self, out: &mut Packer);

    /// Reads it; `None` if these are not its bytes.
    fn unpack(from: &mut Unpacker<'_>) -> Option<Self>;
}

/// Most connections take fewer bytes.
const USUAL_BYTES: usize = 256;
/// Numbers of more than a byte that are remembered: of a connection at rest, many sequence numbers and times are equal.
const REMEMBERED: usize = 32;
/// From this first byte on, a number is one of those that are remembered; below, it is the byte.
const REFERENCE: u8 = 0xd8;
/// From this first byte on, a number has 1 to 8 bytes more.
const LENGTH: u8 = REFERENCE + REMEMBERED as u8;

/// The last numbers of more than a byte, each in the place of an older one.
#[derive(Debug, Default)]
struct Remembered {
    numbers: [u64; REMEMBERED],
    next: usize,
}

impl Remembered {
    fn place_of(&self, number: u64) -> Option<u8> {
        let place = self.numbers.iter().position(|known| *known == number)?;
        u8::try_from(place).ok()
    }

    fn at(&self, place: u8) -> Option<u64> {
        self.numbers.get(usize::from(place)).copied()
    }

    fn remember(&mut self, number: u64) {
        if let Some(oldest) = self.numbers.get_mut(self.next) {
            *oldest = number;
        }
        self.next = (self.next + 1) % REMEMBERED;
    }
}

/// The bytes so far. Most are 0 or 1: before each four of them, a byte has two bits for each, which are 0, 1, or 2 if the byte follows.
#[derive(Debug)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    /// The place of the last byte of four times two bits.
    marks: usize,
    /// How many bytes have two bits there.
    marked: u32,
    remembered: Remembered,
}

/// Bytes that share a byte of two bits each.
const MARKED: u32 = 4;

impl Default for Packer {
    fn default() -> Self {
        Self {
            bytes: Vec::with_capacity(USUAL_BYTES),
            marks: 0,
            marked: MARKED,
            remembered: Remembered::default(),
        }
    }
}

impl Packer {
    pub(crate) fn into_bytes(self) -> Box<[u8]> {
        self.bytes.into()
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        if self.marked == MARKED {
            (self.marks, self.marked) = (self.bytes.len(), 0);
            self.bytes.push(0);
        }
        if let Some(marks) = self.bytes.get_mut(self.marks) {
            *marks |= byte.min(2) << (2 * self.marked);
        }
        self.marked += 1;
        if byte > 1 {
            self.bytes.push(byte);
        }
    }

    fn number(&mut self, number: u64) {
        if number < REFERENCE.into() {
            return self.byte(number as u8);
        }
        if let Some(place) = self.remembered.place_of(number) {
            return self.byte(REFERENCE + place);
        }
        self.remembered.remember(number);
        let length = 8 - number.leading_zeros() as usize / 8;
        self.byte(LENGTH + (length as u8 - 1));
        self.bytes.extend(number.to_le_bytes().into_iter().take(length));
    }
}

/// Bytes from the next value on, and what their connection shares with others.
#[derive(Debug)]
pub(crate) struct Unpacker<'a> {
    bytes: &'a [u8],
    /// The two bits of the bytes that follow.
    marks: u8,
    /// How many of them have been read.
    marked: u32,
    remembered: Remembered,
    config: &'a Arc<Config>,
}

impl<'a> Unpacker<'a> {
    pub(crate) fn new(bytes: &'a [u8], config: &'a Arc<Config>) -> Self {
        Self {
            bytes,
            marks: 0,
            marked: MARKED,
            remembered: Remembered::default(),
            config,
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        if self.marked == MARKED {
            (self.marks, self.marked) = (self.next()?, 0);
        }
        let mark = self.marks >> (2 * self.marked) & 3;
        self.marked += 1;
        match mark {
            0 | 1 => Some(mark),
            _ => self.next(),
        }
    }

    fn number(&mut self) -> Option<u64> {
        match self.byte()? {
            byte @ 0..REFERENCE => Some(byte.into()),
            reference @ REFERENCE..LENGTH => self.remembered.at(reference - REFERENCE),
            length => {
                let mut bytes = [0; 8];
                for byte in bytes.get_mut(..=usize::from(length - LENGTH))? {
                    *byte = self.next()?;
                }
                let number = u64::from_le_bytes(bytes);
                self.remembered.remember(number);
                Some(number)
            }
        }
    }
}

/// Implements [`Pack`] for a struct by all of its fields, or for an enum by all of its variants, each with a number.
macro_rules! packs {
    (enum $type:ident { $($tag:literal => $variant:ident { $($place:tt: $name:ident),* }),+ $(,)? }) => {
        impl $crate::packed::Pack for $type {
            fn pack(&self, out: &mut $crate::packed::Packer) {
                match self {
                    $(Self::$variant { $($place: $name),* } => {
                        out.byte($tag);
                        $($crate::packed::Pack::pack($name, out);)*
                    })+
                }
            }

            fn unpack(from: &mut $crate::packed::Unpacker<'_>) -> Option<Self> {
                let tag: u8 = $crate::packed::Pack::unpack(from)?;
                Some(match tag {
                    $($tag => Self::$variant { $($place: $crate::packed::Pack::unpack(from)?),* },)+
                    _ => return None,
                })
            }
        }
    };
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::packed::Pack for $type {
            fn pack(&self, out: &mut $crate::packed::Packer) {
                let Self { $($field),+ } = self;
                $($crate::packed::Pack::pack($field, out);)+
            }

            fn unpack(from: &mut $crate::packed::Unpacker<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::packed::Pack::unpack(from)?),+ })
            }
        }
    };
}
pub(crate) use packs;

impl Pack for u8 {
    fn pack(&self, out: &mut Packer) {
        out.byte(*self);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        from.byte()
    }
}

/// It is the number after it that is written: "none" is often the largest number.
impl Pack for u64 {
    fn pack(&self, out: &mut Packer) {
        out.number(self.wrapping_add(1));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(from.number()?.wrapping_sub(1))
    }
}

/// As [`u64`], so that its largest number is as short as 0.
impl Pack for u32 {
    fn pack(&self, out: &mut Packer) {
        u64::from(self.wrapping_add(1)).wrapping_sub(1).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let next = Self::try_from(u64::unpack(from)?.wrapping_add(1)).ok()?;
        Some(next.wrapping_sub(1))
    }
}

impl Pack for u16 {
    fn pack(&self, out: &mut Packer) {
        u64::from(*self).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Self::try_from(u64::unpack(from)?).ok()
    }
}

impl Pack for usize {
    fn pack(&self, out: &mut Packer) {
        (*self as u64).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Self::try_from(u64::unpack(from)?).ok()
    }
}

/// The sign in the lowest bit (ZigZag).
impl Pack for i64 {
    fn pack(&self, out: &mut Packer) {
        (self << 1 ^ self >> 63).cast_unsigned().pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let number = u64::unpack(from)?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

impl Pack for bool {
    fn pack(&self, out: &mut Packer) {
        out.byte(u8::from(*self));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(from.byte()? != 0)
    }
}

/// As [`u64`]: the last instant, which is often "none", is 0.
impl Pack for Instant {
    fn pack(&self, out: &mut Packer) {
        self.as_nanos().wrapping_add(1).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::from_nanos(u64::unpack(from)?.wrapping_sub(1)))
    }
}

impl Pack for Duration {
    fn pack(&self, out: &mut Packer) {
        self.as_secs().pack(out);
        self.subsec_nanos().pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let (seconds, nanos) = (u64::unpack(from)?, u32::unpack(from)?);
        (nanos < 1_000_000_000).then(|| Self::new(seconds, nanos))
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, out: &mut Packer) {
        self.is_some().pack(out);
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        match bool::unpack(from)? {
            true => T::unpack(from).map(Some),
            false => Some(None),
        }
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn pack(&self, out: &mut Packer) {
        self.0.pack(out);
        self.1.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some((A::unpack(from)?, B::unpack(from)?))
    }
}

impl<T: Pack> Pack for [T; 3] {
    fn pack(&self, out: &mut Packer) {
        self.iter().for_each(|value| value.pack(out));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some([T::unpack(from)?, T::unpack(from)?, T::unpack(from)?])
    }
}

/// The connection is packed while it has none.
impl<T> Pack for OnDemand<T> {
    fn pack(&self, _: &mut Packer) {}

    fn unpack(_: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::NONE)
    }
}

/// As [`OnDemand`].
impl<T> Pack for VecDeque<T> {
    fn pack(&self, _: &mut Packer) {}

    fn unpack(_: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::new())
    }
}

/// Shared by all connections of a host.
impl Pack for Arc<Config> {
    fn pack(&self, _: &mut Packer) {}

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::clone(from.config))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn back<T: Pack>(value: &T) -> (Option<T>, usize) {
        let (mut packer, config) = (Packer::default(), Arc::new(Config::linux(1460)));
        value.pack(&mut packer);
        let bytes = packer.into_bytes();
        let mut from = Unpacker::new(&bytes, &config);
        let read = T::unpack(&mut from);
        assert!(from.bytes.is_empty(), "all of it was read");
        (read, bytes.len())
    }

    #[test]
    fn of_none_and_nothing_four_are_a_byte() {
        assert_eq!(back(&0_u64), (Some(0), 1));
        assert_eq!(back(&u64::MAX), (Some(u64::MAX), 1));
        assert_eq!(back(&u32::MAX), (Some(u32::MAX), 1));
        assert_eq!(back(&None::<Duration>), (Some(None), 1));
        let four = ((true, 0_u64), (None::<u64>, u32::MAX));
        assert_eq!(back(&four), (Some(four), 1));
        assert_eq!(back(&(four, false)), (Some((four, false)), 2));
    }

    #[test]
    fn a_number_that_was_there_before_is_one_byte() {
        let (first, other) = (1_000_000_u64, 2_000_000_u64);
        assert_eq!(back(&((first, other), (first, other))).1, 1 + 4 + 4 + 2);
        let many: Vec<u64> = (0..100).map(|number| 1_000 + number % 40).collect();
        let thrice = |list: &[u64]| back(&[list[0], list[40], list[80]]);
        assert_eq!(thrice(&many), (Some([1_000; 3]), 1 + 3 + 2));
    }

    #[test]
    fn bytes_that_end_too_early_are_refused() {
        let config = Arc::new(Config::linux(1460));
        assert_eq!(u64::unpack(&mut Unpacker::new(&[2, LENGTH], &config)), None);
        assert_eq!(
            <[bool; 3]>::unpack(&mut Unpacker::new(&[0b10_00_01], &config)),
            None
        );
    }

    proptest! {
        #[test]
        fn numbers_come_back(long: u64, short: u32, signed: i64, tiny: u16, nanos: u64) {
            prop_assert_eq!(back(&long).0, Some(long));
            prop_assert_eq!(back(&short).0, Some(short));
            prop_assert_eq!(back(&signed).0, Some(signed));
            prop_assert_eq!(back(&tiny).0, Some(tiny));
            let (at, span) = (Instant::from_nanos(nanos), Duration::from_nanos(nanos));
            prop_assert_eq!(back(&Some((at, span))).0, Some(Some((at, span))));
        }
    }
}
