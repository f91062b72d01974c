//! The V2 format of HdrHistogram, compressed, for histograms of our precision: from the places with a count, and back to them.
//!
//! ```text
//! compressed cookie, length | zlib: cookie, length of the counts, 0, digits, lowest, highest, 1.0, counts
//! counts, by place: a number in ZigZag LEB128 of at most 9 bytes: n values in this place, or -n places without a value
//! ```
//!
//! The library writes from an array of all places, and reads into one: 220 kB for the few places that a second uses. A load of days
//! has thousands of seconds.

use std::cell::RefCell;
use std::collections::VecDeque;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::{DIGITS, MAX_NS, bound_of, total};
use crate::chunks::{Recorded, place_of, value_of};

/// The form without compression: base cookie, and words of at most 9 bytes.
const COOKIE: u32 = 0x1c84_9303 | 0x10;
/// The compressed form.
const COMPRESSED_COOKIE: u32 = 0x1c84_9304 | 0x10;
/// Cookie, length, normalizing offset, digits, lowest and highest value, ratio of integers to floating-point numbers.
const HEADER_BYTES: usize = 40;
/// The smallest value that is told from 0.
const LOWEST: u64 = 1;
/// The most bytes of a number.
const NUMBER_BYTES: usize = 9;
/// The most bytes of a histogram that is not compressed.
const MAX_BYTES: usize = HEADER_BYTES + NUMBER_BYTES * (place_of(MAX_NS) + 1);
/// How many bytes a buffer gets first: most histograms need fewer.
const FIRST_BYTES: usize = 1_024;
/// How many results are kept: those of the histograms of one interval and of the one before.
const KEPT: usize = 8;

thread_local! {
    /// Their state is large, and takes longer to make than to use.
    static COMPRESS: RefCell<Compress> = RefCell::new(Compress::new(Compression::default(), true));
    static DECOMPRESS: RefCell<Decompress> = RefCell::new(Decompress::new(true));
    static DEFLATED: RefCell<LastFew> = const { RefCell::new(LastFew(VecDeque::new())) };
    static INFLATED: RefCell<LastFew> = const { RefCell::new(LastFew(VecDeque::new())) };
}

/// The last few inputs with their results. Intervals of a load in virtual time are often alike, and to compress a small histogram takes
/// 100 times longer than to compare it.
struct LastFew(VecDeque<[Vec<u8>; 2]>);

impl LastFew {
    fn result_of(&self, input: &[u8]) -> Option<Vec<u8>> {
        let mut known = self.0.iter();
        known
            .find(|[known, _]| known == input)
            .map(|[_, result]| result.clone())
    }

    /// Keeps a result instead of the oldest one. Large histograms are hardly ever equal.
    fn keep(&mut self, input: &[u8], result: &[u8]) {
        if input.len().max(result.len()) > FIRST_BYTES {
            return;
        }
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back([input.to_vec(), result.to_vec()]);
    }
}

/// Appends the compressed form of the places, which are in ascending order.
pub(super) fn write(recorded: &[Recorded], bytes: &mut Vec<u8>) {
    let plain = plain(recorded);
    let known = DEFLATED.with_borrow(|known| known.result_of(&plain));
    let deflated = known.unwrap_or_else(|| {
        let deflated = deflate(&plain);
        DEFLATED.with_borrow_mut(|known| known.keep(&plain, &deflated));
        deflated
    });
    bytes.extend_from_slice(&COMPRESSED_COOKIE.to_be_bytes());
    bytes.extend_from_slice(&length(&deflated).to_be_bytes());
    bytes.extend_from_slice(&deflated);
}

/// The places of a compressed form, in ascending order; `None` for other bytes.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Recorded>> {
    let (cookie, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let deflated = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    if u32::from_be_bytes(*cookie) != COMPRESSED_COOKIE {
        return None;
    }
    if let Some(plain) = INFLATED.with_borrow(|known| known.result_of(deflated)) {
        return read_plain(&plain);
    }
    let plain = inflate(deflated)?;
    INFLATED.with_borrow_mut(|known| known.keep(deflated, &plain));
    read_plain(&plain)
}

fn plain(recorded: &[Recorded]) -> Vec<u8> {
    let mut counts = Vec::new();
    let mut next = 0;
    for at in recorded {
        let place = place_of(at.value);
        skip(place - next, &mut counts);
        put(i64::try_from(at.times).unwrap_or(i64::MAX), &mut counts);
        next = place + 1;
    }
    if total(recorded) == 0 {
        // An empty histogram has its first place, without a value.
        skip(1, &mut counts);
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES + counts.len());
    for word in [COOKIE, length(&counts), 0, DIGITS.into()] {
        bytes.extend_from_slice(&word.to_be_bytes());
    }
    let highest = bound_of(recorded);
    for word in [LOWEST, highest, 1.0_f64.to_bits()] {
        bytes.extend_from_slice(&word.to_be_bytes());
    }
    bytes.append(&mut counts);
    bytes
}

fn read_plain(bytes: &[u8]) -> Option<Vec<Recorded>> {
    let (header, mut counts) = bytes.split_at_checked(HEADER_BYTES)?;
    let word = |at: usize| Some(u32::from_be_bytes(*header.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_be_bytes(*header.get(at..)?.first_chunk()?));
    let is_ours = [word(0)?, word(8)?, word(12)?] == [COOKIE, 0, DIGITS.into()]
        && [long(16)?, long(32)?] == [LOWEST, 1.0_f64.to_bits()];
    counts = counts.get(..usize::try_from(word(4)?).ok()?)?;
    if !is_ours {
        return None;
    }
    let mut recorded = Vec::new();
    let mut place = 0_usize;
    while !counts.is_empty() {
        let number = take(&mut counts)?;
        let Ok(times) = u64::try_from(number) else {
            place = place.checked_add(usize::try_from(number.unsigned_abs()).ok()?)?;
            continue;
        };
        if times > 0 {
            let value = (place <= place_of(MAX_NS)).then(|| value_of(place))?;
            recorded.push(Recorded { value, times });
        }
        place = place.checked_add(1)?;
    }
    Some(recorded)
}

/// Appends the numbers of places without a value.
fn skip(places: usize, counts: &mut Vec<u8>) {
    match i64::try_from(places) {
        Ok(0) | Err(_) => {}
        // A single one is written as its count.
        Ok(1) => put(0, counts),
        Ok(places) => put(-places, counts),
    }
}

fn put(number: i64, counts: &mut Vec<u8>) {
    let mut rest = (number << 1 ^ number >> 63).cast_unsigned();
    for _ in 1..NUMBER_BYTES {
        if rest < 0x80 {
            break;
        }
        counts.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    counts.push(rest as u8);
}

/// Takes the next number. The ninth byte has eight bits of it.
fn take(counts: &mut &[u8]) -> Option<i64> {
    let mut number = 0;
    for place in 0..NUMBER_BYTES {
        let (byte, rest) = counts.split_first()?;
        *counts = rest;
        let is_last = *byte < 0x80 || place + 1 == NUMBER_BYTES;
        let bits = if is_last { *byte } else { *byte & 0x7f };
        number |= u64::from(bits) << (7 * place);
        if is_last {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

fn deflate(plain: &[u8]) -> Vec<u8> {
    COMPRESS.with_borrow_mut(|compress| {
        compress.reset();
        let mut bytes = Vec::with_capacity(FIRST_BYTES);
        loop {
            // Below 2^32 bytes, of which each is one input.
            let taken = compress.total_in() as usize;
            let status = compress.compress_vec(&plain[taken..], &mut bytes, FlushCompress::Finish);
            if status.expect("memory is all that it needs") == Status::StreamEnd {
                return bytes;
            }
            bytes.reserve(bytes.capacity());
        }
    })
}

/// The bytes before compression; `None` where they are not whole, or too many.
fn inflate(deflated: &[u8]) -> Option<Vec<u8>> {
    DECOMPRESS.with_borrow_mut(|decompress| {
        decompress.reset(true);
        let mut bytes = Vec::with_capacity(FIRST_BYTES);
        loop {
            let rest = deflated.get(usize::try_from(decompress.total_in()).ok()?..)?;
            let status = decompress
                .decompress_vec(rest, &mut bytes, FlushDecompress::None)
                .ok()?;
            if status == Status::StreamEnd {
                return Some(bytes);
            }
            // It has stopped before its buffer was full: the rest is missing.
            if bytes.len() < bytes.capacity() || bytes.len() > MAX_BYTES {
                return None;
            }
            bytes.reserve(bytes.capacity());
        }
    })
}

fn length(bytes: &[u8]) -> u32 {
    // At most MAX_BYTES, which compression hardly exceeds.
    bytes.len() as u32
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

    use super::*;
    use crate::histogram::tests::record;

    proptest::proptest! {
        /// Both directions are those of the library, to the last byte.
        #[test]
        fn bytes_are_those_of_the_library(
            values in proptest::collection::vec((0..63_u32, 0..1_000_u64), 0..3_000),
            many in 0..u64::MAX / 4,
        ) {
            let values = values.iter().map(|(power, low)| (1_u64 << power) + low % (1_u64 << power));
            let mut recorded = record(values.map(|value| value.min(MAX_NS))).recorded().into_owned();
            if let Some(last) = recorded.last_mut() {
                last.times = many + 1;
            }
            let mut theirs = Vec::new();
            let library = crate::histogram::in_library(&recorded);
            V2DeflateSerializer::new().serialize(&library, &mut theirs).expect("bytes");
            let mut ours = Vec::new();
            write(&recorded, &mut ours);
            proptest::prop_assert_eq!(&ours, &theirs);
            proptest::prop_assert_eq!(read(&theirs), Some(recorded));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let mut packed = Vec::new();
            packed.extend_from_slice(&COMPRESSED_COOKIE.to_be_bytes());
            let deflated = deflate(&[&plain(&[])[..HEADER_BYTES - 1], &bytes[..]].concat());
            packed.extend_from_slice(&length(&deflated).to_be_bytes());
            packed.extend_from_slice(&deflated);
            read(&packed);
            read(&bytes);
            proptest::prop_assert_eq!(read(&packed[..packed.len() - 1]), None);
        }
    }

    #[test]
    fn a_histogram_that_was_written_before_has_its_own_bytes_again() {
        let written = |times: u64| {
            let mut bytes = Vec::new();
            write(&[Recorded { value: 7, times }], &mut bytes);
            bytes
        };
        let first: Vec<Vec<u8>> = (1..=20).map(written).collect();
        for round in [1..=20, 13..=20] {
            for times in round {
                assert_eq!(written(times), first[times as usize - 1]);
                let recorded = Recorded { value: 7, times };
                assert_eq!(read(&written(times)), Some(vec![recorded]));
            }
        }
        assert!(DEFLATED.with_borrow(|known| known.0.len()) <= KEPT);
    }

    #[test]
    fn a_histogram_of_another_precision_is_refused() {
        let of_digits = |digits| {
            let mut counts =
                hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1_000, digits).expect("bounds");
            counts.record(7).expect("a value");
            let mut bytes = Vec::new();
            V2DeflateSerializer::new()
                .serialize(&counts, &mut bytes)
                .expect("bytes");
            bytes
        };
        assert_eq!(read(&of_digits(2)), None);
        assert_eq!(read(&of_digits(3)).map(|recorded| recorded.len()), Some(1));
    }
}
