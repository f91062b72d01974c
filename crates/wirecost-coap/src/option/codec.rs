//! The delta encoding of options (RFC 7252 section 3.1).

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use super::OptionNumber;

/// The longest value in the encoding, in bytes.
const MAX_VALUE_BYTES: usize = 65_535 + 269;

/// Bytes that are not valid encoded options, or a value that an option must not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// A delta or length nibble of 15 that is not the payload marker.
    #[error("option header must have nibbles of 0 to 14, got 0x{header:02x}")]
    ReservedNibble {
        /// The first byte of the option.
        header: u8,
    },
    /// The datagram ends within an option.
    #[error("option must have {needed} more bytes, got {left}")]
    Truncated {
        /// Bytes that the option still needs.
        needed: usize,
        /// The length of the rest, in bytes.
        left: usize,
    },
    /// The deltas add up to more than 65,535.
    #[error("option number must be at most 65535, got {number}")]
    NumberTooLarge {
        /// The sum of the deltas.
        number: u32,
    },
    /// A value that is shorter or longer than the registry allows.
    #[error("option {} must have {min} to {max} B, got {len} B", number.0)]
    ValueLength {
        /// The option.
        number: OptionNumber,
        /// The value's length in bytes.
        len: usize,
        /// The shortest allowed length in bytes.
        min: usize,
        /// The longest allowed length in bytes.
        max: usize,
    },
}

/// One option of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionValue<'a> {
    /// The option number.
    pub number: OptionNumber,
    /// Its value.
    pub value: &'a [u8],
}

/// Well-formed encoded options, in ascending order of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionsView<'a> {
    bytes: &'a [u8],
    numbers: Numbers,
}

/// The set of option numbers modulo 64. A message is searched for a dozen options and has one or two. A number that is
/// not in the set need not be searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) const fn add(&mut self, number: OptionNumber) {
        self.0 |= 1 << (number.0 % 64);
    }

    const fn may_have(self, number: OptionNumber) -> bool {
        self.0 >> (number.0 % 64) & 1 == 1
    }
}

impl<'a> OptionsView<'a> {
    /// The options in `bytes`. The caller has parsed them with [`split_option`] and collected their `numbers`.
    pub(crate) const fn from_walked(bytes: &'a [u8], numbers: Numbers) -> Self {
        Self { bytes, numbers }
    }

    /// Whether the options may include this number.
    pub(super) const fn may_have(&self, number: OptionNumber) -> bool {
        self.numbers.may_have(number)
    }

    /// The encoded options.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The range of the first option with this number, header included.
    pub(crate) fn range_of(&self, number: OptionNumber) -> Option<Range<usize>> {
        if !self.may_have(number) {
            return None;
        }
        let mut options = self.iter();
        loop {
            let start = self.bytes.len() - options.rest.len();
            match options.next()?.number.cmp(&number) {
                Ordering::Less => {}
                Ordering::Equal => return Some(start..self.bytes.len() - options.rest.len()),
                Ordering::Greater => return None,
            }
        }
    }

    /// The options in order.
    pub const fn iter(&self) -> OptionIter<'a> {
        OptionIter {
            rest: self.bytes,
            number: 0,
        }
    }
}

/// Iterates over encoded options.
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    rest: &'a [u8],
    number: u16,
}

impl<'a> Iterator for OptionIter<'a> {
    type Item = OptionValue<'a>;

    fn next(&mut self) -> Option<OptionValue<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (option, rest) = split_option(self.rest, self.number).ok()?;
        (self.rest, self.number) = (rest, option.number.0);
        Some(option)
    }
}

/// The first option of `bytes` and the rest. `previous` is the number of the previous option.
pub(crate) fn split_option(bytes: &[u8], previous: u16) -> Result<(OptionValue<'_>, &[u8]), OptionError> {
    let Some((&header, rest)) = bytes.split_first() else {
        return Err(OptionError::Truncated { needed: 1, left: 0 });
    };
    let (delta, rest) = split_nibble(header >> 4, rest, header)?;
    let (len, rest) = split_nibble(header & 0x0f, rest, header)?;
    let number = u32::from(previous) + delta;
    let number = u16::try_from(number).map_err(|_| OptionError::NumberTooLarge { number })?;
    let (needed, left) = (len as usize, rest.len());
    let (value, rest) = rest
        .split_at_checked(needed)
        .ok_or(OptionError::Truncated { needed, left })?;
    let number = OptionNumber(number);
    Ok((OptionValue { number, value }, rest))
}

/// The number that a nibble and its extension encode, and the rest (RFC 7252 section 3.1).
fn split_nibble(nibble: u8, rest: &[u8], header: u8) -> Result<(u32, &[u8]), OptionError> {
    let left = rest.len();
    match (nibble, rest) {
        (0..=12, _) => Ok((u32::from(nibble), rest)),
        (13, [byte, rest @ ..]) => Ok((u32::from(*byte) + 13, rest)),
        (14, [high, low, rest @ ..]) => Ok((u32::from(u16::from_be_bytes([*high, *low])) + 269, rest)),
        (13, _) => Err(OptionError::Truncated { needed: 1, left }),
        (14, _) => Err(OptionError::Truncated { needed: 2, left }),
        _ => Err(OptionError::ReservedNibble { header }),
    }
}

/// Options that can be added in any order. They are stored encoded and sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    bytes: Vec<u8>,
    last: u16,
    numbers: Numbers,
}

impl Options {
    /// No options.
    pub const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            last: 0,
            numbers: Numbers(0),
        }
    }

    /// The options as a view.
    pub fn view(&self) -> OptionsView<'_> {
        OptionsView::from_walked(&self.bytes, self.numbers)
    }

    /// Adds an option after those with the same or a lower number.
    ///
    /// # Errors
    /// The value is shorter or longer than the registry allows.
    pub fn insert(&mut self, number: OptionNumber, value: &[u8]) -> Result<(), OptionError> {
        check_length(number, value.len())?;
        if number.0 >= self.last {
            self.push(number, value);
            return Ok(());
        }
        let mut sorted = Self::new();
        let (lower, higher): (Vec<_>, Vec<_>) =
            self.view().iter().partition(|option| option.number <= number);
        let new = OptionValue { number, value };
        for option in lower.into_iter().chain([new]).chain(higher) {
            sorted.push(option.number, option.value);
        }
        *self = sorted;
        Ok(())
    }

    /// Adds an option whose value is a number.
    ///
    /// # Errors
    /// The number needs more bytes than the registry allows.
    pub(crate) fn insert_uint(&mut self, number: OptionNumber, value: u64) -> Result<(), OptionError> {
        self.insert(number, UintBytes::new(value).bytes())
    }

    /// A copy of the options in `view`.
    pub fn copied(view: OptionsView<'_>) -> Self {
        Self {
            bytes: view.bytes().to_vec(),
            last: view.iter().last().map_or(0, |option| option.number.0),
            numbers: view.numbers,
        }
    }

    /// Removes all options and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.last = 0;
        self.numbers = Numbers::default();
    }

    /// Replaces the options by those of `base` that `keep` selects, merged with the numeric options `extra` in
    /// ascending order.
    pub(crate) fn merge(
        &mut self,
        base: OptionsView<'_>,
        extra: impl Iterator<Item = (OptionNumber, u32)>,
        keep: impl Fn(OptionNumber) -> bool,
    ) {
        self.clear();
        let mut extra = extra.peekable();
        for option in base.iter().filter(|option| keep(option.number)) {
            while let Some((number, value)) = extra.next_if(|(number, _)| *number <= option.number) {
                self.push_uint(number, u64::from(value));
            }
            self.push(option.number, option.value);
        }
        extra.for_each(|(number, value)| self.push_uint(number, u64::from(value)));
    }

    /// Appends a numeric option. Its number must not be below the last one.
    pub(crate) fn push_uint(&mut self, number: OptionNumber, value: u64) {
        self.push(number, UintBytes::new(value).bytes());
    }

    /// Appends an option. Its number must not be below the last one.
    pub(crate) fn push(&mut self, number: OptionNumber, value: &[u8]) {
        self.numbers.add(number);
        push_option(&mut self.bytes, &mut self.last, number, value);
    }
}

/// Appends an option. `last` is the number of the previous option, and then of this one.
pub(crate) fn push_option(bytes: &mut Vec<u8>, last: &mut u16, number: OptionNumber, value: &[u8]) {
    push_option_header(bytes, last, number, value.len());
    bytes.extend_from_slice(value);
}

/// Appends an option without its value of `len` bytes.
pub(crate) fn push_option_header(bytes: &mut Vec<u8>, last: &mut u16, number: OptionNumber, len: usize) {
    debug_assert!(number.0 >= *last, "options are written in ascending order");
    let (delta, delta_extension) = nibble(usize::from(number.0.saturating_sub(*last)));
    let (len, len_extension) = nibble(len);
    bytes.push(delta << 4 | len);
    bytes.extend_from_slice(delta_extension.bytes());
    bytes.extend_from_slice(len_extension.bytes());
    *last = number.0;
}

/// The nibble and the extension bytes of a delta or length (RFC 7252 section 3.1).
fn nibble(value: usize) -> (u8, UintBytes) {
    let extension = |above: usize, width| UintBytes::fixed((value - above) as u64, width);
    match value {
        0..=12 => (value as u8, UintBytes::fixed(0, 0)),
        13..=268 => (13, extension(13, 1)),
        _ => (14, extension(269, 2)),
    }
}

fn check_length(number: OptionNumber, len: usize) -> Result<(), OptionError> {
    let (min, max) = match number.definition() {
        Some(definition) => (definition.min, definition.max),
        None => (0, MAX_VALUE_BYTES),
    };
    if (min..=max).contains(&len) {
        return Ok(());
    }
    Err(OptionError::ValueLength {
        number,
        len,
        min,
        max,
    })
}

/// A number in as few big-endian bytes as possible; 0 has no bytes (RFC 7252 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UintBytes {
    bytes: [u8; 8],
    start: usize,
}

impl UintBytes {
    /// The shortest encoding of `value`.
    pub const fn new(value: u64) -> Self {
        Self {
            bytes: value.to_be_bytes(),
            start: value.leading_zeros() as usize / 8,
        }
    }

    /// The low `width` bytes of `value`.
    pub(crate) const fn fixed(value: u64, width: usize) -> Self {
        Self {
            bytes: value.to_be_bytes(),
            start: 8 - width,
        }
    }

    /// The encoding.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}
