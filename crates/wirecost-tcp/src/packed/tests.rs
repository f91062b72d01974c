use alloc::vec::Vec;

use proptest::prelude::*;

use super::bytes::{LENGTH, NEAR};
use super::*;

fn usual(numbers: &[u64]) -> Arc<Usual> {
    Arc::new(Usual {
        config: Arc::new(Config::linux(1460)),
        numbers: numbers.into(),
    })
}

fn back<T: Pack>(value: &T) -> (Option<T>, usize) {
    back_among(value, &usual(&[]))
}

/// What a value is read as, and its bytes, among those whose numbers are usual.
fn back_among<T: Pack>(value: &T, usual: &Arc<Usual>) -> (Option<T>, usize) {
    let mut packer = Packer::new(Arc::clone(usual), Vec::new());
    value.pack(&mut packer);
    let bytes = packer.into_bytes();
    let mut from = Unpacker::new(&bytes, usual);
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
    assert_eq!(back(&[1_000_u64; 3]), (Some([1_000; 3]), 1 + 3 + 2));
}

#[test]
fn a_number_near_one_of_the_last_ones_is_their_difference() {
    let later = |nanos: u64| {
        back(&(1_000_000_000_000_u64, 1_000_000_000_000 + nanos)).1 - back(&1_000_000_000_000_u64).1
    };
    assert_eq!([1, 100, 10_000, 1_000_000].map(later), [2, 2, 3, 4]);
    let four = ((5_000_000_u64, 9_000_000_u64), (4_999_990_u64, 9_000_010_u64));
    assert_eq!(back(&four), (Some(four), 1 + 4 + 4 + 2 + 2));
}

#[test]
fn usual_numbers_take_two_bits() {
    let config = Arc::new(Config::linux(1460));
    let usual_ones = ((1_000_000_u64, true), (7_u64, (u32::MAX, 70_000_u32)));
    let numbers = Packer::numbers_of(&usual_ones, &config);
    assert_eq!(numbers.len(), 4, "a bool is no number");
    let usual = usual(&numbers);
    assert_eq!(back_among(&usual_ones, &usual), (Some(usual_ones), 2));
    let other = ((1_000_000_u64, false), (8_u64, (0_u32, 70_000_u32)));
    assert_eq!(back_among(&other, &usual), (Some(other), 2 + 1));
    let more = (usual_ones, 70_000_u32);
    assert_eq!(
        back_among(&more, &usual),
        (Some(more), 2 + 4),
        "no number is usual there"
    );
}

#[test]
fn bytes_that_end_too_early_are_refused() {
    let none = usual(&[]);
    for bytes in [&[2, LENGTH][..], &[2, NEAR], &[2], &[3], &[]] {
        assert_eq!(u64::unpack(&mut Unpacker::new(bytes, &none)), None, "{bytes:?}");
    }
    assert_eq!(
        <[bool; 3]>::unpack(&mut Unpacker::new(&[0b10_00_01], &none)),
        None
    );
    assert_eq!(bool::unpack(&mut Unpacker::new(&[3], &none)), None);
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

    #[test]
    fn numbers_come_back_among_any_others(first: u64, apart in proptest::array::uniform3(0..40_u32), others: [u64; 3]) {
        let [near, nearer, nearest] = apart.map(|bits| first.wrapping_sub(1 << bits));
        let all = ((first, near), (nearer, (nearest, first)));
        prop_assert_eq!(back_among(&all, &usual(&others)).0, Some(all));
        prop_assert_eq!(back_among(&all, &usual(&[first, nearer, nearest])).0, Some(all));
    }
}
