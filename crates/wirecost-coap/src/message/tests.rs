use alloc::string::ToString;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::option::{OptionNumber, Options};
use crate::testing::hex;

#[test]
fn messages_read_and_write_as_hex() {
    let table = [
        // CON GET /test, token 1a2b
        (
            "42 01 12 34 1a 2b b4 74 65 73 74",
            Type::Confirmable,
            Code::GET,
            2,
            "",
        ),
        // NON PUT /test, Content-Format 42, No-Response 26, "hi"
        (
            "51 03 00 01 aa b4 74 65 73 74 11 2a d1 e9 1a ff 68 69",
            Type::NonConfirmable,
            Code::PUT,
            1,
            "hi",
        ),
        // ACK 2.04
        ("62 44 12 34 1a 2b", Type::Acknowledgement, Code::CHANGED, 2, ""),
        // ping, empty ACK, RST
        ("40 00 00 07", Type::Confirmable, Code::EMPTY, 0, ""),
        ("60 00 00 07", Type::Acknowledgement, Code::EMPTY, 0, ""),
        ("70 00 00 07", Type::Reset, Code::EMPTY, 0, ""),
    ];
    for (text, kind, code, token_len, payload) in table {
        let bytes = hex(text);
        let repr = Repr::parse(&bytes).expect(text);
        assert_eq!((repr.kind, repr.code), (kind, code), "{text}");
        assert_eq!(repr.token.bytes().len(), token_len, "{text}");
        assert_eq!(repr.payload, payload.as_bytes(), "{text}");
        let mut emitted = Vec::new();
        repr.emit(&mut emitted);
        assert_eq!(emitted, bytes, "{text}");
    }
}

#[test]
fn format_errors_say_what_was_found_and_expected() {
    for (text, error) in [
        ("40 01 00", "datagram must have at least 4 B, got 3 B"),
        ("80 01 00 01", "version must be 1, got 2"),
        ("49 01 00 01", "token length must be 0 to 8, got 9"),
        ("42 01 00 01 aa", "token must have 2 B, got 1 B"),
        (
            "40 01 00 01 ff",
            "payload marker must precede a payload, got the end of the datagram",
        ),
        (
            "40 01 00 01 f0",
            "option header must have nibbles of 0 to 14, got 0xf0",
        ),
        ("40 01 00 01 b4 74", "option must have 4 more bytes, got 1"),
        ("40 01 00 01 d0", "option must have 1 more bytes, got 0"),
        (
            "40 01 00 01 e0 ff ff e0 ff ff",
            "option number must be at most 65535, got 65804",
        ),
        ("40 00 00 01 ff", "empty message must have 4 B, got 5 B"),
        ("41 00 00 01 aa", "empty message must have 4 B, got 5 B"),
        ("40 21 00 01", "code must have class 0, 2, 4 or 5, got 1.01"),
        (
            "60 01 00 01",
            "message of type Acknowledgement must not carry code 0.01",
        ),
        (
            "50 00 00 01",
            "message of type NonConfirmable must not carry code 0.00",
        ),
        ("70 45 00 01", "message of type Reset must not carry code 2.05"),
    ] {
        assert_eq!(Repr::parse(&hex(text)).unwrap_err().to_string(), error, "{text}");
    }
}

#[test]
fn only_con_messages_of_version_1_are_rejected_with_an_rst() {
    for (text, answer) in [
        ("49 01 12 34", Some(0x1234)),
        ("59 01 12 34", None),
        ("69 01 12 34", None),
        ("89 01 12 34", None),
        ("49 01 12", None),
        ("", None),
    ] {
        assert_eq!(View::new(&hex(text)).rejectable(), answer, "{text}");
    }
}

proptest! {
    #[test]
    fn any_message_survives_the_encoding(
        kind in 0u8..2, id in any::<u16>(), token in prop::collection::vec(any::<u8>(), 0..=8),
        numbers in prop::collection::vec((500u16..4000, prop::collection::vec(any::<u8>(), 0..30)), 0..6),
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut options = Options::new();
        for (number, value) in &numbers {
            options.insert(OptionNumber(*number), value).unwrap();
        }
        let repr = Repr {
            kind: Type::from_bits(kind),
            code: Code::PUT,
            message_id: id,
            token: Token::new(&token).unwrap(),
            options: options.view(),
            payload: &payload,
        };
        let mut bytes = Vec::new();
        repr.emit(&mut bytes);
        prop_assert_eq!(Repr::parse(&bytes), Ok(repr));
    }

    #[test]
    fn parsed_messages_are_emitted_and_parse_to_the_same(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let view = View::new(&bytes);
        let _ = (view.version(), view.kind(), view.code(), view.message_id(), view.token_len());
        if let Ok(repr) = Repr::parse(&bytes) {
            let mut emitted = Vec::new();
            repr.emit(&mut emitted);
            prop_assert_eq!(Repr::parse(&emitted), Ok(repr));
        }
    }
}
