//! The test vectors of RFC 8613, appendix C.

use alloc::vec::Vec;

use crate::layout::Layout;
use crate::message::Repr;
use crate::oscore::nonce::Aad;
use crate::oscore::option::OscoreOption;
use crate::oscore::{Binding, Context, Parameters, PartialIv, ResponseNonce, Session, inner_message};
use crate::testing::digits;

/// One of the derivations C.1 to C.3: its input, and the result at the client.
struct Derivation {
    salt: &'static str,
    id_context: Option<&'static str>,
    sender_id: &'static str,
    sender_key: &'static str,
    recipient_key: &'static str,
    common_iv: &'static str,
    /// With Partial IV 0.
    sender_nonce: &'static str,
    recipient_nonce: &'static str,
}

const C1: Derivation = Derivation {
    salt: "9e7ca92223786340",
    id_context: None,
    sender_id: "",
    sender_key: "f0910ed7295e6ad4b54fc793154302ff",
    recipient_key: "ffb14e093c94c9cac9471648b4f98710",
    common_iv: "4622d4dd6d944168eefb54987c",
    sender_nonce: "4622d4dd6d944168eefb54987c",
    recipient_nonce: "4722d4dd6d944169eefb54987c",
};

const C2: Derivation = Derivation {
    salt: "",
    id_context: None,
    sender_id: "00",
    sender_key: "321b26943253c7ffb6003b0b64d74041",
    recipient_key: "e57b5635815177cd679ab4bcec9d7dda",
    common_iv: "be35ae297d2dace910c52e99f9",
    sender_nonce: "bf35ae297d2dace910c52e99f9",
    recipient_nonce: "bf35ae297d2dace810c52e99f9",
};

const C3: Derivation = Derivation {
    salt: "9e7ca92223786340",
    id_context: Some("37cbf3210017a2d3"),
    sender_id: "",
    sender_key: "af2a1300a5e95788b356336eeecd2b92",
    recipient_key: "e39a0c7c77b43f03b4b39ab9a268699f",
    common_iv: "2ca58fb85ff1b81c0b7181b85e",
    sender_nonce: "2ca58fb85ff1b81c0b7181b85e",
    recipient_nonce: "2da58fb85ff1b81d0b7181b85e",
};

impl Derivation {
    fn parameters(&self) -> Parameters {
        Parameters {
            master_secret: digits("0102030405060708090a0b0c0d0e0f10"),
            master_salt: digits(self.salt),
            id_context: self.id_context.map(digits),
            sender_id: digits(self.sender_id),
            recipient_id: digits("01"),
        }
    }

    fn client(&self) -> Context {
        Context::new(&self.parameters()).expect("ids that fit")
    }

    fn server(&self) -> Context {
        Context::new(&self.parameters().of_peer()).expect("ids that fit")
    }
}

fn piv(number: u64) -> PartialIv {
    PartialIv::new(number).expect("40 bits")
}

#[test]
fn c1_to_c3_keys_and_nonces_are_derived() {
    for derivation in [C1, C2, C3] {
        let (client, server) = (derivation.client(), derivation.server());
        let key = |text| digits(text);
        assert_eq!(client.sender().key[..], key(derivation.sender_key));
        assert_eq!(client.recipient().key[..], key(derivation.recipient_key));
        assert_eq!(server.sender().key, client.recipient().key);
        assert_eq!(server.recipient().key, client.sender().key);
        // With an empty id and Partial IV 0, the nonce is the Common IV.
        let common_iv = client.nonce(&crate::oscore::context::Id::EMPTY, piv(0));
        assert_eq!(common_iv[..], key(derivation.common_iv));
        for context in [&client, &server] {
            let (sender, recipient) = (derivation.sender_nonce, derivation.recipient_nonce);
            let is_client = context.sender_id() == client.sender_id();
            let (own, other) = if is_client {
                (sender, recipient)
            } else {
                (recipient, sender)
            };
            assert_eq!(context.nonce(&context.sender().id, piv(0))[..], key(own));
            assert_eq!(context.nonce(&context.recipient().id, piv(0))[..], key(other));
        }
    }
}

#[test]
fn c4_to_c6_requests_are_protected_and_opened() {
    for (derivation, plain, aad, protected) in [
        (
            C1,
            "44015d1f00003974396c6f63616c686f737483747631",
            "8368456e63727970743040488501810a40411440",
            "44025d1f00003974396c6f63616c686f7374620914ff612f1092f1776f1c1668b3825e",
        ),
        (
            C2,
            "440171c30000b932396c6f63616c686f737483747631",
            "8368456e63727970743040498501810a4100411440",
            "440271c30000b932396c6f63616c686f737463091400ff4ed339a5a379b0b8bc731fffb0",
        ),
        (
            C3,
            "44012f8eef9bbf7a396c6f63616c686f737483747631",
            "8368456e63727970743040488501810a40411440",
            "44022f8eef9bbf7a396c6f63616c686f73746b19140837cbf3210017a2d3ff72cd7273fd331ac45cffbe55c3",
        ),
    ] {
        let mut client = Session::new(derivation.client().starting_at(piv(20)));
        let (plain, protected) = (digits(plain), digits(protected));
        let request = Repr::parse(&plain).expect("a message");
        let mut out = Vec::new();
        let (binding, layout) = client
            .protect_request(&request, None, &mut out)
            .expect("a number is left");
        assert_eq!(out, protected);
        assert_eq!(layout.len(), protected.len());
        assert_eq!(binding.partial_iv, piv(20));
        assert_eq!(Aad::new(&binding.kid, binding.partial_iv).bytes(), digits(aad));

        let server = Session::new(derivation.server());
        let outer = Repr::parse(&protected).expect("a message");
        let value = outer.options.first(crate::option::OptionNumber::OSCORE);
        let option = OscoreOption::parse(value.expect("it is there").value).expect("an option");
        assert!(server.owns(&option));
        let mut plaintext = Vec::new();
        assert_eq!(server.open_request(&option, &outer, &mut plaintext), Ok(binding));
        let inner = inner_message(&plaintext, &outer).expect("a message");
        assert_eq!((inner.code, inner.payload), (request.code, request.payload));
        assert!(inner.options.uri_path().eq(["tv1"]));
        assert_eq!(Layout::protected(&outer, protected.len()), Some(layout));
    }
}

#[test]
fn c7_and_c8_responses_are_protected_and_opened() {
    let plain = digits("64455d1f00003974ff48656c6c6f20576f726c6421");
    let response = Repr::parse(&plain).expect("a message");
    let client = Session::new(C1.client());
    let (kid, partial_iv) = (C1.client().sender().id, piv(20));
    let binding = Binding { kid, partial_iv };
    for (nonce, protected, number) in [
        (
            ResponseNonce::OfRequest,
            "64445d1f0000397490ffdbaad1e9a7e7b2a813d3c31524378303cdafae119106",
            None,
        ),
        (
            ResponseNonce::Own,
            "64445d1f00003974920100ff4d4c13669384b67354b2b6175ff4b8658c666a6cf88e",
            Some(piv(0)),
        ),
    ] {
        let protected = digits(protected);
        let (mut server, mut out) = (Session::new(C1.server()), Vec::new());
        let layout = server
            .protect_response(binding, nonce, &response, &mut out)
            .expect("a number is left");
        assert_eq!(out, protected);
        assert_eq!((layout.payload, layout.tag), (12, 8));

        let outer = Repr::parse(&protected).expect("a message");
        let value = outer.options.first(crate::option::OptionNumber::OSCORE);
        let option = OscoreOption::parse(value.expect("it is there").value).expect("an option");
        let mut plaintext = Vec::new();
        let opened = client.open_response(binding, &option, &outer, &mut plaintext);
        assert_eq!(opened, Ok(number));
        assert_eq!(inner_message(&plaintext, &outer), Ok(response));
        assert_eq!(Layout::visible(&outer, protected.len()).decrypted(12), layout);
    }
}
