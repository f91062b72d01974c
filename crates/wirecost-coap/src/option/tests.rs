use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

type List<'a> = &'a [(u16, &'a [u8])];

fn options(list: List<'_>) -> Options {
    let mut options = Options::new();
    for (number, value) in list {
        options
            .insert(OptionNumber(*number), value)
            .expect("the value fits");
    }
    options
}

/// 75 is 11 + 64: a view compares numbers modulo 64 first, and then the numbers.
#[test]
fn options_whose_numbers_are_equal_modulo_64_stay_distinct() {
    let both = options(&[(11, b"a"), (75, b"x")]);
    let other = options(&[(75, b"x")]);
    let sent = other.view().bytes().to_vec();
    let (received, _) = crate::message::split_options(&sent).expect("options");
    assert_eq!(received, other.view());
    for (view, path) in [(both.view(), Some("a")), (other.view(), None), (received, None)] {
        assert_eq!(view.uri_path().next(), path);
        assert_eq!(view.first(OptionNumber::URI_PATH).is_some(), path.is_some());
        assert_eq!(view.range_of(OptionNumber::URI_PATH).is_some(), path.is_some());
        assert!(view.range_of(OptionNumber(75)).is_some());
    }
}

#[test]
fn deltas_and_lengths_grow_by_extension_bytes() {
    let long = [0xaa; 300];
    let table: [(List<'_>, &[u8]); 6] = [
        (&[(11, b"test")], &[0xb4, b't', b'e', b's', b't']),
        (&[(11, b""), (12, &[42])], &[0xb0, 0x11, 42]),
        (&[(258, &[26])], &[0xd1, 245, 26]),
        (&[(2000, b"")], &[0xe0, 0x06, 0xc3]),
        (&[(11, &[b'x'; 13])], &[0xbd, 0x00]),
        (&[(2000, &long)], &[0xee, 0x06, 0xc3, 0x00, 0x1f]),
    ];
    for (list, head) in table {
        let options = options(list);
        assert!(
            options.view().bytes().starts_with(head),
            "{:02x?}",
            options.view().bytes()
        );
        let read: Vec<_> = options.view().iter().map(|o| (o.number.0, o.value)).collect();
        assert_eq!(read, list);
    }
}

#[test]
fn options_are_sorted_and_keep_the_order_of_equals() {
    let options = options(&[(60, &[1]), (11, b"b"), (11, b"a"), (1, b"")]);
    let read: Vec<_> = options.view().iter().map(|o| (o.number.0, o.value)).collect();
    assert_eq!(read, [(1, &b""[..]), (11, b"b"), (11, b"a"), (60, &[1])]);
}

#[test]
fn a_value_of_wrong_length_is_refused_with_the_range() {
    let error = Options::new()
        .insert(OptionNumber::ETAG, b"123456789")
        .unwrap_err();
    assert_eq!(
        alloc::string::ToString::to_string(&error),
        "option 4 must have 1 to 8 B, got 9 B"
    );
}

#[test]
fn numbers_use_as_few_bytes_as_they_need() {
    for (number, bytes) in [
        (0, &[][..]),
        (1, &[1]),
        (255, &[255]),
        (256, &[1, 0]),
        (65_536, &[1, 0, 0]),
    ] {
        assert_eq!(UintBytes::new(number).bytes(), bytes);
    }
}

#[test]
fn the_lowest_bit_of_the_number_says_critical() {
    // RFC 7252 section 5.10, table 4: C.
    for (number, is_critical) in [
        (OptionNumber::IF_MATCH, true),
        (OptionNumber::URI_PATH, true),
        (OptionNumber::MAX_AGE, false),
        (OptionNumber::SIZE1, false),
        (OptionNumber::CONTENT_FORMAT, false),
        (OptionNumber::NO_RESPONSE, false),
    ] {
        assert_eq!(number.is_critical(), is_critical, "{number:?}");
    }
}

#[test]
fn unknown_malformed_and_repeated_critical_options_are_refused() {
    let everything = |_| true;
    let refused = |list: &[(u16, &[u8])]| options(list).view().unacceptable(everything);
    assert_eq!(refused(&[(11, b"a"), (11, b"b")]), None);
    assert_eq!(refused(&[(2000, b"")]), None);
    assert_eq!(refused(&[(2001, b"")]), Some(OptionNumber(2001)));
    assert_eq!(refused(&[(17, &[0]), (17, &[0])]), Some(OptionNumber::ACCEPT));
    let mut long = Options::new();
    long.push(OptionNumber::BLOCK1, &[0; 4]);
    assert_eq!(long.view().unacceptable(everything), Some(OptionNumber::BLOCK1));
    let unsupported = |number| number != OptionNumber::BLOCK1;
    assert_eq!(
        options(&[(27, &[6])]).view().unacceptable(unsupported),
        Some(OptionNumber::BLOCK1)
    );
}

#[test]
fn a_merge_sorts_numeric_options_and_can_leave_one_out() {
    let base = options(&[(11, b"test"), (258, &[26])]);
    let mut merged = Options::new();
    let extra = [(OptionNumber::OBSERVE, 0), (OptionNumber::BLOCK1, 0x0e)];
    let keep = |number| number != OptionNumber::NO_RESPONSE;
    merged.merge(base.view(), extra.into_iter(), keep);
    assert_eq!(merged, options(&[(6, b""), (11, b"test"), (27, &[0x0e])]));
}

#[test]
fn values_are_read_by_type() {
    let options = options(&[
        (4, b"e1"),
        (12, &[42]),
        (14, &[1, 0]),
        (23, &[0x1e]),
        (15, b"a=1"),
    ]);
    let view = options.view();
    assert_eq!(view.etag(), Some(&b"e1"[..]));
    assert_eq!(view.content_format(), Some(content_format::OCTET_STREAM));
    assert_eq!(view.max_age(), 256);
    assert_eq!(
        view.block2().map(|block| (block.number, block.more)),
        Some((1, true))
    );
    assert_eq!(view.uri_query().collect::<Vec<_>>(), ["a=1"]);
    assert_eq!(view.uri_path().count(), 0);
    assert_eq!(Options::new().view().max_age(), 60);
}

proptest! {
    #[test]
    fn any_options_survive_the_encoding(
        mut list in prop::collection::vec((600u16..=u16::MAX, prop::collection::vec(any::<u8>(), 0..400)), 0..12)
    ) {
        let mut options = Options::new();
        for (number, value) in &list {
            options.insert(OptionNumber(*number), value).unwrap();
        }
        list.sort_by_key(|(number, _)| *number);
        let read: Vec<_> = options.view().iter().map(|o| (o.number.0, vec::Vec::from(o.value))).collect();
        prop_assert_eq!(read, list);
    }
}
