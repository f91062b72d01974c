//! Whole exchanges behind a handshake of EDHOC (RFC 9528), whose last message comes with the first request (RFC 9668).

mod common;

use std::time::Duration;

use common::*;
use wirecost_coap::client::{Event, Request};
use wirecost_coap::code::Code;
use wirecost_coap::edhoc::{Failure, Lab, Transfer, message_name};
use wirecost_coap::message::Repr;
use wirecost_coap::{describe, server};
use wirecost_proto::pair::Sent;
use wirecost_proto::{Buffer, Direction, Layer, Phase};

fn lab(secret: &[u8]) -> Lab {
    Lab::new(secret).expect("keys")
}

fn server_of(secret: &[u8]) -> server::Config {
    server::Config {
        edhoc: Some(lab(secret).server(1)),
        requires_oscore: true,
        ..server_config()
    }
}

fn agreeing(path: Lossy, transfer: Transfer) -> CoapPair {
    let client = client_config().with_edhoc(lab(b"run").initiator(transfer, b"one"));
    pair_with(path, client, server_of(b"run"))
}

fn message_of(sent: &Sent) -> Option<(&'static str, usize)> {
    message_name(&Repr::parse(&sent.bytes).expect("we send messages"))
}

/// Bytes of a datagram in a phase by layer: security, application, payload.
fn layers(sent: &Sent, phase: Phase) -> [u32; 3] {
    [Layer::Security, Layer::Application, Layer::Payload].map(|layer| {
        let spans = sent
            .spans
            .iter()
            .filter(|span| span.layer == layer && span.phase == phase);
        spans.map(|span| span.len).sum()
    })
}

#[test]
fn a_put_follows_the_handshake_byte_by_byte() {
    let mut pair = agreeing(Lossy::default(), Transfer::ByReference);
    let response = exchange(&mut pair, Request::put("/test", pattern(128)));
    assert_eq!(response.code, Code::CHANGED);
    assert_eq!(
        flow_of(&pair),
        [">CON 0.02", "<ACK 2.04", ">CON 0.02", "<ACK 2.04"]
    );
    let named: Vec<_> = pair.sent.iter().map(message_of).collect();
    let expected = [
        Some(("EDHOC message_1", 37)),
        Some(("EDHOC message_2", 47)),
        Some(("EDHOC message_3", 19)),
        None,
    ];
    assert_eq!(named, expected);
    // Header 4, token 2, Uri-Path 12 and 6, Content-Format 2, marker 1; `true` and message_1.
    assert_eq!(layers(&pair.sent[0], Phase::Connect), [38, 27, 0]);
    // Header 4, token 2, Content-Format 2, marker 1.
    assert_eq!(layers(&pair.sent[1], Phase::Connect), [47, 9, 0]);
    // The request of a given context has as many bytes: option 5, tag 8; application 16. The EDHOC option is one more.
    assert_eq!(layers(&pair.sent[2], Phase::Connect), [19, 0, 0]);
    assert_eq!(layers(&pair.sent[2], Phase::Message), [5 + 8, 16 + 1, 128]);
    assert_eq!(layers(&pair.sent[3], Phase::Message), [9, 8, 0]);
    assert_eq!(pair.unconsumed(), 0);
    // The next request has a context only.
    exchange(&mut pair, Request::put("/test", pattern(128)));
    assert_eq!(layers(&pair.sent[4], Phase::Message), [5 + 8, 16, 128]);
}

#[test]
fn an_observer_without_keys_sees_the_same_runs() {
    for transfer in [Transfer::ByReference, Transfer::ByValue] {
        let mut pair = agreeing(Lossy::default(), transfer);
        exchange(&mut pair, Request::put("/test", pattern(16)));
        for sent in &pair.sent {
            let mut seen = Buffer::new();
            describe(&sent.bytes, &mut seen);
            let connect = |spans: &[wirecost_proto::Span]| -> u32 {
                let spans = spans.iter().filter(|span| span.phase == Phase::Connect);
                spans.map(|span| span.len).sum()
            };
            assert_eq!(
                connect(seen.spans()),
                connect(&sent.spans),
                "{:?}",
                message_of(sent)
            );
        }
    }
}

#[test]
fn whole_credentials_travel_by_value() {
    let mut pair = agreeing(Lossy::default(), Transfer::ByValue);
    exchange(&mut pair, Request::put("/test", pattern(16)));
    let lengths: Vec<_> = pair
        .sent
        .iter()
        .filter_map(message_of)
        .map(|(_, length)| length)
        .collect();
    assert_eq!(lengths, [37, 47 + 96, 19 + 108 + 1]);
}

/// Each datagram of the handshake may be lost once.
#[test]
fn what_is_lost_is_repeated() {
    for (direction, number) in [
        (Direction::Up, 0),
        (Direction::Down, 0),
        (Direction::Up, 1),
        (Direction::Down, 1),
    ] {
        let numbers = |of| if of == direction { vec![number] } else { Vec::new() };
        let lost = Lossy {
            up: numbers(Direction::Up),
            down: numbers(Direction::Down),
            ..Lossy::default()
        };
        let mut pair = agreeing(lost, Transfer::ByReference);
        let response = exchange(&mut pair, Request::put("/test", pattern(16)));
        assert_eq!(response.code, Code::CHANGED, "{direction:?} {number}");
        assert_eq!(processed_bodies(&pair), [16], "{direction:?} {number}");
    }
}

#[test]
fn a_server_with_other_keys_is_refused() {
    let client = client_config().with_edhoc(lab(b"run").initiator(Transfer::ByReference, b"one"));
    let mut pair = pair_with(Lossy::default(), client, server_of(b"another run"));
    pair.drive_for(Duration::from_secs(5));
    let failed = pair.client_events.iter().find_map(|(_, event)| match event {
        Event::NotAgreed(failure) => Some(*failure),
        _ => None,
    });
    assert_eq!(failed, Some(Failure::NotAuthentic { message: "message_2" }));
}
