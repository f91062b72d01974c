//! Round trips, forgeries and limits of sessions.

mod vectors;

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::option::OscoreOption;
use super::*;
use crate::code::{Code, Method};
use crate::layout::{Layout, TAG_BYTES};
use crate::message::{Repr, Type};
use crate::option::{OptionNumber, Options};
use crate::token::Token;

fn parameters() -> Parameters {
    Parameters {
        master_secret: vec![7; 16],
        master_salt: vec![8; 8],
        id_context: None,
        sender_id: vec![0, 1],
        recipient_id: vec![1],
    }
}

fn sessions() -> (Session, Session) {
    let session = |parameters| Session::new(Context::new(parameters).expect("ids that fit"));
    (session(&parameters()), session(&parameters().of_peer()))
}

fn message<'a>(code: Code, options: &'a Options, payload: &'a [u8]) -> Repr<'a> {
    Repr {
        kind: Type::Confirmable,
        code,
        message_id: 7,
        token: Token::from_number(0x0102, 2),
        options: options.view(),
        payload,
    }
}

fn options(list: &[(OptionNumber, &[u8])]) -> Options {
    let mut options = Options::new();
    for (number, value) in list {
        options.insert(*number, value).expect("a value that fits");
    }
    options
}

fn protected(session: &mut Session, request: &Repr<'_>) -> (Binding, Vec<u8>) {
    let mut out = Vec::new();
    let (binding, layout) = session
        .protect_request(request, None, &mut out)
        .expect("a number is left");
    assert_eq!(layout.len(), out.len());
    (binding, out)
}

fn option_of<'a>(outer: &Repr<'a>) -> OscoreOption<'a> {
    let option = outer.options.first(OptionNumber::OSCORE);
    OscoreOption::parse(option.expect("an OSCORE option").value).expect("well-formed")
}

/// Opens a datagram as the server does.
fn open(server: &Session, datagram: &[u8]) -> Result<Vec<u8>, Refusal> {
    let outer = Repr::parse(datagram)?;
    let option = outer.options.first(OptionNumber::OSCORE);
    let option = OscoreOption::parse(option.map_or(&[], |option| option.value))?;
    if !server.owns(&option) {
        return Err(Refusal::ContextNotFound);
    }
    let mut plaintext = Vec::new();
    server.open_request(&option, &outer, &mut plaintext)?;
    inner_message(&plaintext, &outer)?;
    Ok(plaintext)
}

#[test]
fn options_are_inner_or_outer_or_both() {
    let all = options(&[
        (OptionNumber::URI_HOST, b"host"),
        (OptionNumber::OBSERVE, &[]),
        (OptionNumber::URI_PORT, &[0x16, 0x33]),
        (OptionNumber::URI_PATH, b"test"),
        (OptionNumber::CONTENT_FORMAT, &[42]),
        (OptionNumber::HOP_LIMIT, &[3]),
        (OptionNumber::BLOCK1, &[0x0e]),
        (OptionNumber::NO_RESPONSE, &[26]),
        (OptionNumber::REQUEST_TAG, &[1]),
        (OptionNumber(65_000), b"unknown"),
    ]);
    let (mut client, server) = sessions();
    let (_, datagram) = protected(&mut client, &message(Code::GET, &all, b"body"));
    let outer = Repr::parse(&datagram).expect("a message");
    // RFC 8613 section 4.2: FETCH where there is Observe.
    assert_eq!(outer.code, Code::FETCH);
    let numbers = |repr: &Repr<'_>| {
        repr.options
            .iter()
            .map(|option| option.number.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&outer), [3, 6, 7, 9, 16, 258]);
    let plaintext = open(&server, &datagram).expect("authentic");
    let inner = inner_message(&plaintext, &outer).expect("a message");
    assert_eq!(numbers(&inner), [6, 11, 12, 27, 258, 292, 65_000]);
    assert_eq!((inner.code, inner.payload), (Code::GET, &b"body"[..]));
}

#[test]
fn outer_codes_reveal_only_whether_the_resource_is_observed() {
    let (plain, observed) = (Options::new(), options(&[(OptionNumber::OBSERVE, &[5])]));
    let (mut client, mut server) = sessions();
    for method in Method::ALL {
        let (binding, datagram) = protected(&mut client, &message(method.code(), &plain, b""));
        assert_eq!(Repr::parse(&datagram).expect("a message").code, Code::POST);
        for (options, code) in [(&plain, Code::CHANGED), (&observed, Code::CONTENT)] {
            let response = message(Code::NOT_FOUND, options, b"");
            let mut out = Vec::new();
            let layout = server.protect_response(binding, ResponseNonce::Own, &response, &mut out);
            assert_eq!(layout.map(|layout| layout.len()), Ok(out.len()));
            let outer = Repr::parse(&out).expect("a message");
            assert_eq!(outer.code, code);
            let mut plaintext = Vec::new();
            let option = option_of(&outer);
            client
                .open_response(binding, &option, &outer, &mut plaintext)
                .expect("authentic");
            let inner = inner_message(&plaintext, &outer).expect("a message");
            // RFC 8613 section 4.1.3.5.2: inside, a notification's Observe is empty.
            assert!(inner.options.iter().all(|option| option.value.is_empty()));
            assert_eq!(inner.code, Code::NOT_FOUND);
        }
    }
}

#[test]
fn every_flipped_bit_of_a_protected_message_is_detected() {
    let options = options(&[(OptionNumber::URI_PATH, b"test")]);
    let (mut client, server) = sessions();
    let request = message(Code::PUT, &options, b"payload");
    let (_, datagram) = protected(&mut client, &request);
    open(&server, &datagram).expect("authentic as it was sent");
    let outer = Repr::parse(&datagram).expect("a message");
    let layout = Layout::visible(&outer, datagram.len());
    // The value of the OSCORE option, and everything after the payload marker.
    let value = layout.head as usize + 1..(layout.head + layout.option) as usize;
    let ciphertext = datagram.len() - outer.payload.len()..datagram.len();
    for at in value.chain(ciphertext) {
        for bit in 0..8 {
            let mut forged = datagram.clone();
            forged[at] ^= 1 << bit;
            let refusal = open(&server, &forged).expect_err("a forgery");
            let code = refusal.code();
            assert!(
                [Code::BAD_REQUEST, Code::UNAUTHORIZED, Code::BAD_OPTION].contains(&code),
                "byte {at}, bit {bit}: {refusal}"
            );
        }
    }
}

#[test]
fn a_response_belongs_to_one_request_only() {
    let options = Options::new();
    let (mut client, mut server) = sessions();
    let (one, _) = protected(&mut client, &message(Code::GET, &options, b""));
    let (other, _) = protected(&mut client, &message(Code::GET, &options, b""));
    for nonce in [ResponseNonce::OfRequest, ResponseNonce::Own] {
        let mut out = Vec::new();
        let response = message(Code::CONTENT, &options, b"for one");
        server
            .protect_response(one, nonce, &response, &mut out)
            .expect("a number is left");
        let outer = Repr::parse(&out).expect("a message");
        let open = |binding| client.open_response(binding, &option_of(&outer), &outer, &mut Vec::new());
        assert!(open(one).is_ok());
        assert_eq!(open(other), Err(Refusal::DecryptionFailed));
    }
}

#[test]
fn a_key_is_not_used_after_its_last_number() {
    let options = Options::new();
    let request = message(Code::GET, &options, b"");
    let context = Context::new(&parameters()).expect("ids that fit");
    let mut client = Session::new(context.starting_at(PartialIv::MAX));
    let (binding, datagram) = protected(&mut client, &request);
    assert_eq!(binding.partial_iv, PartialIv::MAX);
    assert!(open(&sessions().1, &datagram).is_ok());
    let mut out = Vec::new();
    let exhausted = client.protect_request(&request, None, &mut out);
    assert_eq!(exhausted, Err(ProtectError::SequenceExhausted));
}

#[test]
fn a_message_whose_options_reveal_the_path_is_not_sent() {
    let options = options(&[(OptionNumber::PROXY_URI, b"coap://host/secret")]);
    let request = message(Code::GET, &options, b"");
    let result = sessions().0.protect_request(&request, None, &mut Vec::new());
    assert_eq!(result, Err(ProtectError::ProxyUri));
}

#[test]
fn invalid_ids_and_id_contexts_are_refused() {
    let new = |change: fn(&mut Parameters)| {
        let mut parameters = parameters();
        change(&mut parameters);
        Context::new(&parameters).err()
    };
    assert_eq!(
        new(|p| p.sender_id = vec![0; 8]),
        Some(ContextError::IdTooLong { len: 8 })
    );
    assert_eq!(
        new(|p| p.sender_id.clone_from(&p.recipient_id)),
        Some(ContextError::SameId)
    );
    assert_eq!(
        new(|p| p.id_context = Some(vec![0; 241])),
        Some(ContextError::IdContextTooLong { len: 241 })
    );
    assert_eq!(new(|p| p.id_context = Some(vec![0; 240])), None);
}

#[test]
fn measured_devices_have_own_keys_and_ids_of_one_length() {
    let lab = |role, device| Context::lab(&[1; 16], role, device).expect("ids that fit");
    for device in [0, 1, 255, 65_535] {
        let (client, server) = (lab(Role::Client, device), lab(Role::Server, device));
        assert_eq!(client.sender_id(), device.to_be_bytes());
        assert_eq!(client.sender_id(), server.recipient_id());
        assert_eq!(client.sender().key, server.recipient().key);
        assert_ne!(client.sender().key, lab(Role::Client, 7).sender().key);
        let shown = alloc::format!("{client:?} {:?}", parameters());
        assert!(!shown.contains("key") && !shown.contains("secret"), "{shown}");
    }
}

proptest! {
    #[test]
        fn every_request_and_response_is_opened_as_it_was_sent(
        payload in proptest::collection::vec(any::<u8>(), 0..300),
        path in "[a-z]{0,20}",
        context in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..30)),
        sequence in 0..1u64 << 40,
    ) {
        let parameters = Parameters { id_context: context, ..parameters() };
        let first = PartialIv::new(sequence).expect("40 bits");
        let context = |parameters: &Parameters| Context::new(parameters).expect("ids that fit");
        let mut client = Session::new(context(&parameters).starting_at(first));
        let mut server = Session::new(context(&parameters.of_peer()).starting_at(first));
        let options = options(&[(OptionNumber::URI_PATH, path.as_bytes())]);
        let request = message(Code::PUT, &options, &payload);
        let (binding, datagram) = protected(&mut client, &request);
        let outer = Repr::parse(&datagram).expect("a message");
        let plaintext = open(&server, &datagram).expect("authentic");
        prop_assert_eq!(inner_message(&plaintext, &outer), Ok(request));
        prop_assert_eq!(outer.payload.len(), plaintext.len() + TAG_BYTES);

        let mut out = Vec::new();
        let response = Repr { code: Code::CONTENT, ..request };
        server.protect_response(binding, ResponseNonce::Own, &response, &mut out).expect("a number is left");
        let (outer, mut plaintext) = (Repr::parse(&out).expect("a message"), Vec::new());
        client.open_response(binding, &option_of(&outer), &outer, &mut plaintext).expect("authentic");
        prop_assert_eq!(inner_message(&plaintext, &outer), Ok(response));
    }

    #[test]
        fn random_bytes_are_never_opened(
        datagram in proptest::collection::vec(any::<u8>(), 0..60),
        value in proptest::collection::vec(any::<u8>(), 0..12),
    ) {
        let (_, server) = sessions();
        prop_assert!(open(&server, &datagram).is_err());
        let options = options(&[(OptionNumber::OSCORE, &value)]);
        let mut out = Vec::new();
        message(Code::POST, &options, &datagram).emit(&mut out);
        prop_assert!(open(&server, &out).is_err());
    }
}
