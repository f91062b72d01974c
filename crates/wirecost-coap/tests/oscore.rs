//! Whole exchanges with OSCORE: messages, datagrams and refusals.

mod common;

use std::time::Duration;

use common::*;
use wirecost_coap::client::{Cancellation, Command, Config, Event, Failure, NO_RESPONSE_AT_ALL, Request};
use wirecost_coap::code::{Code, Method};
use wirecost_coap::message::Repr;
use wirecost_coap::option::OptionNumber;
use wirecost_coap::oscore::{Context, PartialIv, ProtectError, Role};
use wirecost_coap::server::{self, Server};
use wirecost_proto::pair::Sent;
use wirecost_proto::{Direction, Instant, Layer};

const SECRET: &[u8] = b"a secret of tests";

fn context(role: Role) -> Context {
    Context::lab(SECRET, role, 1).expect("ids that fit")
}

fn client() -> Config {
    client_config().with_oscore(context(Role::Client))
}

fn server_that(required: bool) -> server::Config {
    server_config().with_oscore([context(Role::Server)], required)
}

fn protected(path: Lossy) -> CoapPair {
    pair_with(path, client(), server_that(true))
}

/// Bytes of a datagram by layer: security, application, payload.
fn layers(sent: &Sent) -> [u32; 3] {
    [Layer::Security, Layer::Application, Layer::Payload].map(|layer| {
        let spans = sent.spans.iter().filter(|span| span.layer == layer);
        spans.map(|span| span.len).sum()
    })
}

fn up(pair: &CoapPair) -> Vec<&Sent> {
    sent(pair, Direction::Up)
}

#[test]
fn a_put_and_its_response_are_protected_byte_by_byte() {
    let mut pair = protected(Lossy::default());
    let response = exchange(&mut pair, Request::put("/test", pattern(128)));
    assert_eq!(response.code, Code::CHANGED);
    assert_eq!(pair.server.content("/test"), Some(&pattern(128)[..]));
    assert_eq!(flow_of(&pair), [">CON 0.02", "<ACK 2.04"]);
    // Option header, flags, Partial IV and kid of 2 B: 5; tag: 8. Header 4, token 2, marker 1; inner code 1, Uri-Path
    // 5, Content-Format 2, marker 1.
    assert_eq!(layers(&pair.sent[0]), [5 + 8, 7 + 9, 128]);
    // Option header only, because the response uses the request's nonce; header 4, token 2, marker 1, inner code 1.
    assert_eq!(layers(&pair.sent[1]), [1 + 8, 7 + 1, 0]);
    assert!(!pair.sent[0].bytes.windows(4).any(|bytes| bytes == b"test"));
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn contents_of_every_size_use_inner_blocks() {
    for size in [0, 1, 1_024, 1_025, 10_000] {
        let mut pair = protected(Lossy::default());
        let put = exchange(&mut pair, Request::put("/test", pattern(size)));
        assert_eq!(put.code, Code::CHANGED);
        assert_eq!(processed_bodies(&pair), [size as u64]);
        let blocks = size.div_ceil(1_024).max(1);
        assert_eq!(up(&pair).len(), blocks);
        let payload: u32 = up(&pair).iter().map(|sent| layers(sent)[2]).sum();
        assert_eq!(payload as usize, size);
        let got = exchange(&mut pair, Request::get("/test"));
        assert_eq!((got.code, got.payload), (Code::CONTENT, pattern(size)));
        let visible = |sent: &Sent| {
            let repr = Repr::parse(&sent.bytes).expect("we send messages");
            repr.options
                .iter()
                .map(|option| option.number)
                .collect::<Vec<_>>()
        };
        assert!(
            pair.sent
                .iter()
                .all(|sent| visible(sent) == [OptionNumber::OSCORE])
        );
    }
}

#[test]
fn a_retransmission_has_the_same_bytes() {
    let lossy = Lossy {
        up: vec![0, 1],
        down: vec![0],
        ..Lossy::default()
    };
    let mut pair = protected(lossy);
    pair.command(request(Request::put("/test", pattern(50))));
    pair.drive_for(Duration::from_secs(60));
    assert_eq!(responses(&pair).len(), 1);
    let datagrams = up(&pair);
    assert_eq!(datagrams.len(), 4);
    assert!(datagrams.iter().all(|sent| sent.bytes == datagrams[0].bytes));
    assert_eq!(processed_bodies(&pair), [50]);
    let server = pair.server.stats();
    assert_eq!((server.duplicates, server.replayed, server.unverified), (1, 0, 0));
}

#[test]
fn every_message_arrives_over_a_path_with_loss_and_duplicates() {
    for seed in 0..20 {
        let path = Lossy {
            duplicate: true,
            ..Lossy::share(0.2, seed)
        };
        let mut pair = protected(path);
        for size in [10, 3_000] {
            pair.client_events.clear();
            pair.command(request(Request::put("/test", pattern(size))));
            pair.drive_for(Duration::from_secs(600));
            let stored = pair.server.content("/test").map(<[u8]>::len);
            match responses(&pair).first() {
                Some(response) => assert_eq!((response.code, stored), (Code::CHANGED, Some(size))),
                None => assert!(matches!(pair.client_events[0].1, Event::TimedOut { .. })),
            }
        }
        assert_eq!(pair.server.stats().replayed, 0, "seed {seed}");
        assert_eq!(pair.unconsumed(), 0);
    }
}

#[test]
fn no_response_is_an_inner_and_an_outer_option() {
    let mut pair = protected(Lossy::default());
    pair.command(request(Request::put_without_response("/test", pattern(20))));
    pair.drive_for(Duration::from_secs(300));
    assert_eq!(flow_of(&pair), [">NON 0.02"]);
    let outer = Repr::parse(&pair.sent[0].bytes).expect("a message");
    assert_eq!(outer.options.no_response(), Some(NO_RESPONSE_AT_ALL));
    assert_eq!(pair.server.stats().suppressed, 1);
    // Outer and inner No-Response: 3 B each (delta of two bytes); the outer one counts from OSCORE's number.
    assert_eq!(layers(&pair.sent[0]), [5 + 8, 7 + 3 + 9 + 3, 20]);
}

#[test]
fn repeated_non_confirmable_blocks_get_new_sequence_numbers() {
    let mut pair = protected(Lossy {
        up: vec![0],
        down: vec![0],
        ..Lossy::default()
    });
    pair.command(request(Request::put_without_response("/test", pattern(3_000))));
    pair.drive_for(Duration::from_secs(300));
    assert_eq!(processed_bodies(&pair), [3_000]);
    let distinct: std::collections::BTreeSet<_> = up(&pair).iter().map(|sent| &sent.bytes).collect();
    assert_eq!(distinct.len(), up(&pair).len());
    assert_eq!(pair.server.stats().replayed, 0);
}

#[test]
fn errors_of_resources_are_protected_too() {
    let mut pair = protected(Lossy::default());
    for (request, code) in [
        (Request::get("/nowhere"), Code::NOT_FOUND),
        (
            Request::new(Method::Delete, "/separate"),
            Code::METHOD_NOT_ALLOWED,
        ),
    ] {
        assert_eq!(exchange(&mut pair, request).code, code);
        let last = pair.sent.last().expect("a response");
        let outer = Repr::parse(&last.bytes).expect("a message");
        assert_eq!(outer.code, Code::CHANGED);
    }
}

#[test]
fn a_separate_response_is_protected() {
    let mut pair = protected(Lossy::default());
    let response = exchange(&mut pair, Request::get("/separate"));
    assert_eq!(response.code, Code::CONTENT);
    assert_eq!(
        flow_of(&pair),
        [">CON 0.02", "<ACK 0.00", "<CON 2.04", ">ACK 0.00"]
    );
    assert_eq!(pair.unconsumed(), 0);
}

#[test]
fn notifications_come_in_the_order_of_their_partial_ivs() {
    for (path, duplicate) in [("/obs", true), ("/obs-large", false), ("/obs-non", true)] {
        let mut pair = protected(Lossy {
            duplicate,
            ..Lossy::default()
        });
        pair.command(observe(9, path));
        pair.drive_for(Duration::from_secs(23));
        assert_eq!(notifications(&pair).len(), 4, "{path}");
        assert_eq!(pair.client.stats().stale, 0);
        let (message, how) = (9, Cancellation::Deregister);
        pair.command(Command::CancelObserve { message, how });
        pair.drive_for(Duration::from_secs(20));
        assert_eq!(pair.server.observers(), 0);
        assert_eq!(notifications(&pair).len(), 4);
        assert_eq!(pair.unconsumed(), 0);
    }
}

#[test]
fn a_replayed_request_is_refused_and_one_in_the_window_taken() {
    let mut pair = protected(Lossy::default());
    for _ in 0..3 {
        exchange(&mut pair, Request::put("/test", pattern(5)));
    }
    let first = up(&pair)[0].bytes.clone();
    let mut other = Server::new(server_that(true));
    let answer = |server: &mut Server, bytes: &[u8], seconds: u64| {
        let answers = answer_to(server, bytes, Instant::from_millis(seconds * 1_000));
        answers.first().map(|answer| code_of(answer))
    };
    // Out of order, but each number once: 2, 0, 1. An outer 2.04 shows that the request was opened.
    for at in [2, 0, 1] {
        let bytes = up(&pair)[at].bytes.clone();
        assert_eq!(answer(&mut other, &bytes, 1), Some(Code::CHANGED));
    }
    // After EXCHANGE_LIFETIME the message layer has forgotten the message.
    let replayed = answer_to(&mut other, &first, Instant::from_millis(300_000));
    let response = Repr::parse(&replayed[0]).expect("a message");
    assert_eq!(
        (response.code, response.payload),
        (Code::UNAUTHORIZED, &b"Replay detected"[..])
    );
    assert_eq!(other.stats().replayed, 1);
}

#[test]
fn unopened_requests_get_the_diagnostics_of_the_standard() {
    let mut pair = protected(Lossy::default());
    exchange(&mut pair, Request::put("/test", pattern(5)));
    let sent = up(&pair)[0].bytes.clone();
    let outer = Repr::parse(&sent).expect("a message");
    let with = |value: &[u8], payload: &[u8]| {
        let mut options = wirecost_coap::option::Options::new();
        options.insert(OptionNumber::OSCORE, value).expect("it fits");
        let mut bytes = Vec::new();
        let options = options.view();
        Repr {
            options,
            payload,
            ..outer
        }
        .emit(&mut bytes);
        bytes
    };
    let mut flipped = sent.clone();
    *flipped.last_mut().expect("a tag") ^= 1;
    for (bytes, code, text) in [
        (
            with(&[0xe9, 0, 0, 1], outer.payload),
            Code::BAD_OPTION,
            "Failed to decode COSE",
        ),
        (
            with(&[0x08, 0, 1], outer.payload),
            Code::BAD_OPTION,
            "Failed to decode COSE",
        ),
        (
            with(&[0x01, 0], outer.payload),
            Code::BAD_OPTION,
            "Failed to decode COSE",
        ),
        (
            with(&[0x09, 0, 0, 1], b"short"),
            Code::BAD_OPTION,
            "Failed to decode COSE",
        ),
        (
            with(&[0x09, 0, 0, 9], outer.payload),
            Code::UNAUTHORIZED,
            "Security context not found",
        ),
        (
            with(&[0x09, 5, 0, 1], outer.payload),
            Code::BAD_REQUEST,
            "Decryption failed",
        ),
        (flipped, Code::BAD_REQUEST, "Decryption failed"),
    ] {
        let mut server = Server::new(server_that(false));
        let answers = answer_to(&mut server, &bytes, Instant::START);
        let response = Repr::parse(&answers[0]).expect("a message");
        assert_eq!(response.code, code, "{bytes:02x?}");
        assert_eq!(response.payload, text.as_bytes());
        assert_eq!((server.stats().refused, server.stats().unverified), (1, 1));
        // The forgery does not block the message with the same id.
        let answers = answer_to(&mut server, &sent, Instant::START);
        assert_eq!(code_of(&answers[0]), Code::CHANGED);
        assert_eq!(server.content("/test"), Some(&pattern(5)[..]));
    }
}

#[test]
fn unprotected_requests_are_accepted_unless_oscore_is_required() {
    for (required, code) in [(false, Code::CHANGED), (true, Code::UNAUTHORIZED)] {
        let mut pair = pair_with(Lossy::default(), client_config(), server_that(required));
        let response = exchange(&mut pair, Request::put("/test", pattern(5)));
        assert_eq!(response.code, code);
    }
}

#[test]
fn a_server_without_contexts_does_not_support_oscore() {
    let mut pair = pair_with(Lossy::default(), client(), server_config());
    let response = exchange(&mut pair, Request::get("/test"));
    assert_eq!(response.code, Code::BAD_OPTION);
}

#[test]
fn a_server_of_another_secret_is_reported_by_its_code() {
    let stranger = Context::lab(b"another secret", Role::Server, 1).expect("ids that fit");
    let server = server_config().with_oscore([stranger], true);
    let mut pair = pair_with(Lossy::default(), client(), server);
    let response = exchange(&mut pair, Request::get("/test"));
    assert_eq!(response.code, Code::BAD_REQUEST);
    assert_eq!(response.payload, b"Decryption failed");
}

#[test]
fn an_unprotected_success_is_ignored() {
    let mut pair = protected(Lossy {
        down: (0..20).collect(),
        ..Lossy::default()
    });
    pair.command(request(Request::put("/test", pattern(5))));
    let outer = Repr::parse(&pair.sent[0].bytes).expect("a message");
    let mut forged = Vec::new();
    Repr {
        kind: wirecost_coap::message::Type::Acknowledgement,
        code: Code::CHANGED,
        options: Default::default(),
        payload: &[],
        ..outer
    }
    .emit(&mut forged);
    assert!(answer_to(&mut pair.client, &forged, Instant::START).is_empty());
    assert_eq!(pair.client.stats().unverified, 1);
    assert_eq!(pair.client.pending(), 1);
}

#[test]
fn a_client_stops_at_the_last_sequence_number() {
    let last = context(Role::Client).starting_at(PartialIv::MAX);
    let mut pair = pair_with(
        Lossy::default(),
        client_config().with_oscore(last),
        server_that(true),
    );
    exchange(&mut pair, Request::put("/test", pattern(5)));
    pair.command(request(Request::put("/test", pattern(5))));
    let failure = Failure::Unprotectable(ProtectError::SequenceExhausted);
    let event = Event::Failed { message: 1, failure };
    assert_eq!(pair.client_events.last().map(|(_, event)| event), Some(&event));
    assert_eq!(pair.client.pending(), 0);
}

#[test]
fn devices_of_one_server_have_different_contexts() {
    let contexts = (0..300).map(|device| Context::lab(SECRET, Role::Server, device).expect("ids that fit"));
    let server = server_config().with_oscore(contexts, true);
    for device in [0, 1, 255, 299] {
        let own = Context::lab(SECRET, Role::Client, device).expect("ids that fit");
        let mut pair = pair_with(Lossy::default(), client_config().with_oscore(own), server.clone());
        let response = exchange(&mut pair, Request::put("/test", pattern(5)));
        assert_eq!(response.code, Code::CHANGED, "device {device}");
        assert_eq!(pair.sent[0].bytes.len(), 5 + 8 + 7 + 9 + 5);
    }
}
