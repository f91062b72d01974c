//! Our codec compared with coap-lite: each decodes the messages of the other, and both decode any bytes alike.

mod common;

use coap_lite::{CoapOption, MessageClass, MessageType, Packet};
use common::*;
use proptest::prelude::*;
use wirecost_coap::client::Request;
use wirecost_coap::message::{Repr, Type};
use wirecost_coap::option::{OptionNumber, Options};
use wirecost_coap::token::Token;

fn same_kind(ours: Type, theirs: MessageType) -> bool {
    matches!(
        (ours, theirs),
        (Type::Confirmable, MessageType::Confirmable)
            | (Type::NonConfirmable, MessageType::NonConfirmable)
            | (Type::Acknowledgement, MessageType::Acknowledgement)
            | (Type::Reset, MessageType::Reset)
    )
}

fn assert_same(ours: &Repr<'_>, theirs: &Packet) {
    assert!(same_kind(ours.kind, theirs.header.get_type()));
    assert_eq!(ours.code.byte(), u8::from(theirs.header.code));
    assert_eq!(ours.message_id, theirs.header.message_id);
    assert_eq!(ours.token.bytes(), theirs.get_token());
    assert_eq!(ours.payload, theirs.payload);
    let own: Vec<_> = ours
        .options
        .iter()
        .map(|o| (o.number.0, o.value.to_vec()))
        .collect();
    let mut other = Vec::new();
    for (number, values) in theirs.options() {
        other.extend(values.iter().map(|value| (*number, value.clone())));
    }
    assert_eq!(own, other);
}

#[test]
fn another_codec_decodes_our_messages_alike() {
    let mut pair = pair(Lossy::default());
    for request in [
        Request::put("/test", pattern(3000)),
        Request::get("/large"),
        Request::get("/separate"),
        Request::get("/.well-known/core"),
        Request::put_without_response("/test", pattern(16)),
    ] {
        pair.command(common::request(request));
    }
    pair.command(observe(1, "/obs"));
    pair.drive_for(std::time::Duration::from_secs(30));
    assert!(pair.sent.len() > 20);
    for sent in &pair.sent {
        let ours = Repr::parse(&sent.bytes).expect("we send messages");
        let theirs = Packet::from_bytes(&sent.bytes).expect("coap-lite reads what we send");
        assert_same(&ours, &theirs);
    }
}

#[test]
fn our_server_processes_requests_of_coap_lite() {
    let mut packet = Packet::new();
    packet.header.set_type(MessageType::Confirmable);
    packet.header.code = MessageClass::from(0x03);
    packet.header.message_id = 7;
    packet.set_token(vec![1, 2]);
    packet.add_option(CoapOption::UriPath, b"test".to_vec());
    packet.add_option(CoapOption::ContentFormat, vec![42]);
    packet.payload = pattern(100);
    let bytes = packet.to_bytes().expect("coap-lite writes its packets");
    let mut server = wirecost_coap::server::Server::new(server_config());
    let answers = answer_to(&mut server, &bytes, wirecost_proto::Instant::START);
    assert_eq!(answers, [hex("62 44 00 07 01 02")]);
    assert_eq!(server.content("/test"), Some(&pattern(100)[..]));
}

proptest! {
    #[test]
    fn both_codecs_decode_our_messages_alike(
        kind in 0u8..4, code in prop::sample::select(vec![1u8, 2, 3, 4, 0x44, 0x45, 0x5f, 0x84, 0xa0]),
        id in any::<u16>(), token in prop::collection::vec(any::<u8>(), 0..=8),
        options in prop::collection::vec((300u16..5000, prop::collection::vec(any::<u8>(), 0..300)), 0..6),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut encoded = Options::new();
        for (number, value) in &options {
            encoded.insert(OptionNumber(*number), value).unwrap();
        }
        let ours = Repr {
            kind: Type::from_bits(kind),
            code: wirecost_coap::code::Code::from_byte(code),
            message_id: id,
            token: Token::new(&token).unwrap(),
            options: encoded.view(),
            payload: &payload,
        };
        let mut bytes = Vec::new();
        ours.emit(&mut bytes);
        assert_same(&ours, &Packet::from_bytes(&bytes).unwrap());
    }

    #[test]
    fn what_we_accept_coap_lite_reads_the_same(bytes in prop::collection::vec(any::<u8>(), 4..60)) {
        let mut bytes = bytes;
        bytes[0] = 0x40 | bytes[0] & 0x32;
        if let (Ok(ours), Ok(theirs)) = (Repr::parse(&bytes), Packet::from_bytes(&bytes)) {
            assert_same(&ours, &theirs);
        }
    }
}
