use super::*;
use crate::bytes::hex;
use alloc::string::ToString;
use alloc::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

fn v4() -> Addresses {
    Addresses::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()).unwrap()
}

fn v6() -> Addresses {
    Addresses::new("::1".parse().unwrap(), "::2".parse().unwrap()).unwrap()
}

#[test]
fn reads_a_datagram_up_to_its_length() {
    let bytes = hex("c0 00 16 33 00 0a 00 00 aa bb cc");
    let datagram = Datagram::new(&bytes).unwrap();
    assert_eq!(
        (
            datagram.source_port(),
            datagram.destination_port(),
            datagram.length()
        ),
        (49_152, 5683, 10)
    );
    assert_eq!(datagram.payload(), [0xaa, 0xbb]);
}

#[test]
fn a_length_of_zero_means_all_there_is() {
    let bytes = hex("c0 00 16 33 00 00 00 00 aa bb cc");
    assert_eq!(Datagram::new(&bytes).unwrap().payload().len(), 3);
}

#[test]
fn refuses_with_what_was_expected_and_found() {
    let table = [
        ("c0 00 16", "UDP header cut short: expected at least 8 B, got 3 B"),
        (
            "c0 00 16 33 00 07 00 00",
            "UDP length must be at least 8 bytes, got 7",
        ),
    ];
    for (bytes, message) in table {
        assert_eq!(Datagram::new(&hex(bytes)).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_checksum_of_zero_is_none_in_ipv4_and_wrong_in_ipv6() {
    let bytes = hex("c0 00 16 33 00 08 00 00");
    let datagram = Datagram::new(&bytes).unwrap();
    assert!(datagram.is_checksum_valid(&v4()));
    assert!(!datagram.is_checksum_valid(&v6()));
}

#[test]
fn a_checksum_that_comes_out_as_zero_is_sent_as_ones() {
    let ports = Repr {
        source_port: 0,
        destination_port: 0,
    };
    // One 16-bit word of payload takes every value: exactly one makes the sum all ones.
    let sent_as_ones = (0..=u16::MAX).filter(|word| {
        let mut bytes = Vec::new();
        ports.emit(&v4(), &word.to_be_bytes(), &mut bytes).unwrap();
        assert_ne!(bytes[6..8], [0, 0]);
        assert!(Datagram::new(&bytes).unwrap().is_checksum_valid(&v4()));
        bytes[6..8] == [0xff, 0xff]
    });
    assert_eq!(sent_as_ones.count(), 1);
}

proptest! {
    #[test]
    fn a_repr_survives_emission(
        (source_port, destination_port) in any::<(u16, u16)>(),
        is_v6 in any::<bool>(),
        payload in vec(any::<u8>(), 0..100),
        flip in any::<proptest::sample::Index>(),
    ) {
        let addresses = if is_v6 { v6() } else { v4() };
        let repr = Repr { source_port, destination_port };
        let mut bytes = Vec::new();
        repr.emit(&addresses, &payload, &mut bytes).unwrap();
        let datagram = Datagram::new(&bytes).unwrap();
        prop_assert_eq!(datagram.repr(), repr);
        prop_assert_eq!(datagram.payload(), payload);
        prop_assert!(datagram.is_checksum_valid(&addresses));
        let bit = flip.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let flipped = Datagram::new(&bytes).is_ok_and(|datagram| datagram.is_checksum_valid(&addresses));
        prop_assert!(!flipped || bytes[6..8] == [0, 0]);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..40)) {
        if let Ok(datagram) = Datagram::new(&bytes) {
            datagram.is_checksum_valid(&v6());
            prop_assert!(datagram.payload().len() + 8 <= bytes.len());
        }
    }
}
