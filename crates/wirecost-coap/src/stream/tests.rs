//! Tests of the framing: the examples of RFC 8323, and properties.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{Connection, Fault, Framer, MAX_MESSAGE_BYTES, emit_csm, message_len};
use crate::code::Code;
use crate::message::{MessageError, Repr};
use crate::option::{OptionNumber, Options, OptionsView};
use crate::testing::hex;
use crate::token::Token;

fn emitted(repr: &Repr<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    repr.emit_stream(&mut bytes).expect("a message that fits");
    bytes
}

fn with_payload(payload: &[u8]) -> Vec<u8> {
    let token = Token::new(&[7, 8]).expect("short");
    emitted(&Repr::on_stream(
        Code::PUT,
        token,
        OptionsView::default(),
        payload,
    ))
}

#[test]
fn the_examples_of_the_standard_are_encoded_alike() {
    let token = Token::new(&[0x42]).expect("short");
    for (text, code) in [("01 e2 42", Code::PING), ("01 e3 42", Code::PONG)] {
        let repr = Repr::on_stream(code, token, OptionsView::default(), &[]);
        assert_eq!(emitted(&repr), hex(text));
        assert_eq!(Repr::parse_stream(&hex(text)), Ok(repr));
    }
}

#[test]
fn the_length_is_extended_at_13_269_and_65805() {
    // One byte of Len is the payload marker.
    for (rest, header) in [
        (12, "c2 03"),
        (13, "d2 00 03"),
        (268, "d2 ff 03"),
        (269, "e2 00 00 03"),
        (65_804, "e2 ff ff 03"),
        (65_805, "f2 00 00 00 00 03"),
        (65_806, "f2 00 00 00 01 03"),
    ] {
        let payload = vec![1; rest - 1];
        let bytes = with_payload(&payload);
        let header = hex(header);
        assert_eq!(bytes[..header.len()], header, "{rest} B");
        assert_eq!(message_len(&bytes, u32::MAX), Ok(Some(bytes.len())));
        assert_eq!(
            Repr::parse_stream(&bytes).map(|repr| repr.payload.len()),
            Ok(rest - 1)
        );
    }
}

#[test]
fn a_csm_states_limit_and_block_wise_transfers() {
    let mut csm = Vec::new();
    emit_csm(MAX_MESSAGE_BYTES, &mut csm);
    assert_eq!(csm, hex("50 e1 23 10 00 00 20"));
    let mut least = Vec::new();
    emit_csm(1_152, &mut least);
    assert_eq!(least, hex("10 e1 40"));
}

/// What one end knows after a CSM with these options.
fn after_csm(options: &Options) -> Result<Connection, Fault> {
    let mut connection = Connection::new(MAX_MESSAGE_BYTES);
    let csm = Repr::on_stream(Code::CSM, Token::EMPTY, options.view(), &[]);
    connection.take_signal(&csm).map(|_| connection)
}

#[test]
fn a_peer_without_options_has_the_base_values() {
    let connection = after_csm(&Options::new()).expect("a valid CSM");
    let portion = connection.portion(128);
    assert_eq!((portion.whole, portion.bytes()), (1_024, 1_024));
    assert!(!portion.size.is_bert());
}

#[test]
fn large_messages_and_blocks_together_mean_bert() {
    let mut options = Options::new();
    options.push_uint(OptionNumber(2), 10_000);
    let large = after_csm(&options).expect("a valid CSM").portion(100);
    assert_eq!((large.whole, large.bytes()), (9_900, 1_024));
    options.push(OptionNumber(4), &[]);
    let bert = after_csm(&options).expect("a valid CSM").portion(100);
    assert_eq!((bert.bytes(), bert.size.is_bert()), (9 * 1_024, true));
    options.clear();
    options.push_uint(OptionNumber(2), 300);
    options.push(OptionNumber(4), &[]);
    let small = after_csm(&options).expect("a valid CSM").portion(100);
    assert_eq!((small.whole, small.bytes()), (200, 128));
}

#[test]
fn an_unknown_critical_option_or_a_long_limit_is_a_fault() {
    let mut options = Options::new();
    options.push(OptionNumber(3), &[]);
    let code = Code::CSM;
    let number = OptionNumber(3);
    assert_eq!(
        after_csm(&options).err(),
        Some(Fault::CriticalOption { code, number })
    );
    options.clear();
    options.push(OptionNumber(2), &[1; 5]);
    let (number, len, max) = (OptionNumber(2), 5, 4);
    assert_eq!(
        after_csm(&options).err(),
        Some(Fault::CsmOption { number, len, max })
    );
    options.clear();
    options.push(OptionNumber(100), &[1; 5]);
    assert!(after_csm(&options).is_ok(), "an elective option is ignored");
}

#[test]
fn what_is_not_a_message_is_a_fault() {
    let mut received = &hex("09 01")[..];
    let token = Fault::Message(MessageError::TokenLength { len: 9 });
    assert_eq!(Framer::new(100).next(&mut received), Err(token));
    let mut received = &hex("e0 00 00 02")[..];
    let too_large = Fault::TooLarge {
        bytes: 273,
        limit: 100,
    };
    assert_eq!(Framer::new(100).next(&mut received), Err(too_large));
    let code = Code::new(1, 1);
    assert_eq!(
        Repr::parse_stream(&hex("00 21")),
        Err(MessageError::ReservedClass { code })
    );
    assert_eq!(
        Repr::parse_stream(&hex("10 02 ff")),
        Err(MessageError::EmptyPayload)
    );
}

proptest! {
    #[test]
    fn every_message_is_read_as_it_was_written(
        code in any::<u8>().prop_filter("a class that a stream has", |code| !matches!(code >> 5, 1 | 3 | 6)),
        token in proptest::collection::vec(any::<u8>(), 0..=8),
        option in proptest::option::of((any::<u16>(), proptest::collection::vec(any::<u8>(), 0..300))),
        payload in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut options = Options::new();
        if let Some((number, value)) = &option {
            options.push(OptionNumber(*number), value);
        }
        let token = Token::new(&token).expect("at most 8 B");
        let repr = Repr::on_stream(Code::from_byte(code), token, options.view(), &payload);
        let bytes = emitted(&repr);
        prop_assert_eq!(message_len(&bytes, u32::MAX), Ok(Some(bytes.len())));
        prop_assert_eq!(Repr::parse_stream(&bytes), Ok(repr));
    }

    #[test]
    fn cuts_in_a_stream_do_not_change_its_messages(
        lengths in proptest::collection::vec(1usize..400, 1..6),
        cuts in proptest::collection::vec(1usize..50, 1..10),
    ) {
        let messages: Vec<Vec<u8>> = lengths.iter().map(|len| with_payload(&vec![5; *len])).collect();
        let stream = messages.concat();
        let (mut framer, mut read, mut rest) = (Framer::new(1_000), Vec::new(), &stream[..]);
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let (mut piece, after) = rest.split_at((*cuts.next().expect("endless")).min(rest.len()));
            rest = after;
            while let Some(message) = framer.next(&mut piece).expect("well-formed") {
                read.push(message.to_vec());
            }
        }
        prop_assert_eq!(read, messages);
        prop_assert_eq!(framer.held(), 0);
    }

    #[test]
    fn any_bytes_are_split_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let (mut framer, mut rest) = (Framer::new(64), &bytes[..]);
        while let Ok(Some(message)) = framer.next(&mut rest) {
            if let Ok(repr) = Repr::parse_stream(message) {
                prop_assert!(repr.payload.len() <= message.len());
            }
        }
        prop_assert!(framer.held() <= 64);
    }
}
