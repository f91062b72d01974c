//! Block-wise transfers (RFC 7959) in both directions, with and without loss.

mod common;

use std::time::Duration;

use common::*;
use wirecost_coap::client::{Client, Config, Event, Failure, Request};
use wirecost_coap::code::{Code, Method};
use wirecost_coap::message::Repr;
use wirecost_coap::option::{OptionNumber, content_format};
use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Buffer, Cause, Direction, Endpoint, Input, Instant, Output};

fn blocks(pair: &CoapPair, number: OptionNumber, direction: Direction) -> Vec<(u32, bool, usize)> {
    let block = |sent: &&wirecost_proto::pair::Sent| {
        let repr = Repr::parse(&sent.bytes).ok()?;
        let value = repr.options.uint(number)?;
        let block = wirecost_coap::block::Block::from_value(value);
        Some((block.number, block.more, block.size.bytes()))
    };
    sent(pair, direction).iter().filter_map(block).collect()
}

#[test]
fn a_put_above_the_block_size_takes_a_round_trip_per_block() {
    let mut pair = pair(Lossy::default());
    let body = pattern(10_000);
    let response = exchange(&mut pair, Request::put("/test", body.clone()));
    assert_eq!((response.code, response.transmissions), (Code::CHANGED, 10));
    assert_eq!(pair.server.content("/test"), Some(&body[..]));
    assert_eq!(processed_bodies(&pair), [10_000]);
    let up = blocks(&pair, OptionNumber::BLOCK1, Direction::Up);
    let expected: Vec<_> = (0..10).map(|number| (number, number < 9, 1024)).collect();
    assert_eq!(up, expected);
    // RFC 7959 section 2.3: M is set in 2.31, which asks for more, and not in the final response.
    assert_eq!(blocks(&pair, OptionNumber::BLOCK1, Direction::Down), expected);
    let at = pair.client_events.last().expect("there is a response").0;
    assert_eq!(at, Instant::START + DELAY * 20);
}

#[test]
fn a_body_of_exactly_one_block_is_one_datagram() {
    for (len, datagrams) in [(1024, 1), (1025, 2), (2048, 2)] {
        let mut pair = pair(Lossy::default());
        let response = exchange(&mut pair, Request::put("/test", pattern(len)));
        assert_eq!(
            (response.code, response.transmissions),
            (Code::CHANGED, datagrams),
            "{len} B"
        );
    }
}

/// A server may match blocks by all their options, so the last one must not be the only one with No-Response.
#[test]
fn non_confirmable_blocks_omit_no_response_and_are_answered() {
    let mut pair = pair(Lossy::default());
    let response = exchange(&mut pair, Request::put_without_response("/test", pattern(2500)));
    assert_eq!((response.code, response.transmissions), (Code::CHANGED, 3));
    let block = [">NON 0.03", "<NON 2.31"];
    assert_eq!(
        flow_of(&pair),
        [block, block, [">NON 0.03", "<NON 2.04"]].concat()
    );
    assert_eq!(processed_bodies(&pair), [2500]);
    let no_response = |sent: &&wirecost_proto::pair::Sent| {
        Repr::parse(&sent.bytes).is_ok_and(|repr| repr.options.no_response().is_some())
    };
    assert!(!sent(&pair, Direction::Up).iter().any(no_response));
}

#[test]
fn a_last_non_confirmable_block_needs_no_answer() {
    let mut pair = pair(Lossy {
        up: vec![2],
        ..Lossy::default()
    });
    pair.command(request(Request::put_without_response("/test", pattern(2500))));
    pair.drive_for(Duration::from_secs(300));
    let events: Vec<_> = pair.client_events.iter().map(|(_, event)| event).collect();
    assert_eq!(events, [&Event::Sent { message: 1 }]);
    assert_eq!(sent(&pair, Direction::Up).len(), 3);
}

#[test]
fn a_lost_non_confirmable_block_is_sent_again_under_a_new_id() {
    for path in [(vec![1], vec![]), (vec![], vec![1])] {
        let mut pair = pair(Lossy {
            up: path.0,
            down: path.1,
            ..Lossy::default()
        });
        pair.command(request(Request::put_without_response("/test", pattern(2500))));
        pair.drive_for(Duration::from_secs(30));
        assert_eq!(processed_bodies(&pair), [2500]);
        let up = sent(&pair, Direction::Up);
        assert_eq!(up.len(), 4);
        assert_ne!(up[1].bytes[2..4], up[2].bytes[2..4]);
        assert_eq!(up[2].spans[0].cause, Cause::Retransmission);
    }
}

#[test]
fn a_large_representation_comes_in_blocks() {
    let mut pair = pair(Lossy::default());
    let response = exchange(&mut pair, Request::get("/large"));
    assert_eq!(
        response.payload,
        pair.server.content("/large").expect("it is there")
    );
    assert_eq!(response.payload.len(), 1280);
    let down = blocks(&pair, OptionNumber::BLOCK2, Direction::Down);
    assert_eq!(down, [(0, true, 1024), (1, false, 1024)]);
}

#[test]
fn the_smaller_block_size_wins_in_both_directions() {
    for (client_size, server_size) in [(64, 1024), (1024, 64), (1024, 16)] {
        let (mut client, mut server) = (client_config(), server_config());
        client.block_size = client_size;
        server.block_size = server_size;
        let smaller = client_size.min(server_size);
        let mut pair = pair_with(Lossy::default(), client, server);
        let body = pattern(3000);
        let response = exchange(&mut pair, Request::put("/large-update", body.clone()));
        assert_eq!(response.code, Code::CHANGED);
        assert_eq!(pair.server.content("/large-update"), Some(&body[..]));
        let up = blocks(&pair, OptionNumber::BLOCK1, Direction::Up);
        assert_eq!(
            up.last().map(|(_, more, size)| (*more, *size)),
            Some((false, smaller))
        );
        let small_block = wirecost_coap::block::BlockSize::at_most(client_size).szx();
        let get = Request {
            options: vec![(OptionNumber::BLOCK2, vec![small_block])],
            ..Request::get("/large-update")
        };
        assert_eq!(exchange(&mut pair, get).payload, body);
        let down = blocks(&pair, OptionNumber::BLOCK2, Direction::Down);
        assert!(down.iter().all(|(_, _, size)| *size == smaller));
    }
}

#[test]
fn a_post_with_large_content_and_large_response() {
    let mut pair = pair(Lossy::default());
    let body: Vec<u8> = b"plugtest".iter().cycle().take(3000).copied().collect();
    let post = Request {
        method: Method::Post,
        content_format: Some(content_format::TEXT_PLAIN),
        ..Request::put("/large-post", body.clone())
    };
    let response = exchange(&mut pair, post);
    assert_eq!(response.code, Code::CHANGED);
    assert_eq!(response.payload, body.to_ascii_uppercase());
    assert_eq!(processed_bodies(&pair), [3000]);
}

#[test]
fn transfers_over_a_lossy_path_are_processed_once() {
    for seed in 0..30 {
        // At 20 % a round trip fails with 36 %: 5 attempts would give up once in 165 blocks.
        let (share, max_retransmit) = if seed % 2 == 0 { (0.1, 4) } else { (0.2, 8) };
        let mut config = client_config();
        config.parameters.max_retransmit = max_retransmit;
        let mut pair = pair_with(Lossy::share(share, seed), config, server_config());
        let body = pattern(6000);
        pair.command(request(Request::put("/large-update", body.clone())));
        pair.drive_for(Duration::from_secs(2000));
        assert_eq!(responses(&pair).len(), 1, "seed {seed}: {:?}", pair.client_events);
        assert_eq!(processed_bodies(&pair), [6000], "seed {seed}");
        pair.command(request(Request::get("/large-update")));
        pair.drive_for(Duration::from_secs(2000));
        assert_eq!(responses(&pair)[1].payload, body, "seed {seed}");
        assert_eq!(
            processed_bodies(&pair).len(),
            1 + 6,
            "seed {seed}: a GET per block"
        );
    }
}

#[test]
fn a_body_above_the_limit_is_refused_with_the_limit() {
    let mut config = server_config();
    config.max_body_bytes = 2000;
    let mut client = client_config();
    client.announces_size = true;
    let mut pair = pair_with(Lossy::default(), client, config);
    let response = exchange(&mut pair, Request::put("/test", pattern(5000)));
    assert_eq!(response.code, Code::REQUEST_ENTITY_TOO_LARGE);
    assert_eq!(response.options.view().uint(OptionNumber::SIZE1), Some(2000));
    assert_eq!(response.transmissions, 1, "Size1 tells before the blocks do");
    assert!(processed_bodies(&pair).is_empty());
}

#[test]
fn a_forgotten_body_is_started_over() {
    let mut config = server_config();
    config.max_assemblies_per_peer = 1;
    let mut client = client_config();
    client.parameters.nstart = 2;
    let mut pair = pair_with(Lossy::default(), client, config);
    // Two uploads of one peer replace each other until one of them starts over alone.
    pair.command(request(Request::put("/test", pattern(2000))));
    pair.command(request(Request::put("/large-update", pattern(4000))));
    pair.drive_for(Duration::from_secs(60));
    let codes: Vec<_> = responses(&pair).iter().map(|response| response.code).collect();
    assert_eq!(codes, [Code::CHANGED; 2]);
}

#[test]
fn a_download_restarts_when_the_representation_changes() {
    let mut client = client_config();
    client.parameters.nstart = 2;
    client.block_size = 2000;
    let mut pair = pair_with(Lossy::default(), client, server_config());
    pair.command(request(Request::get("/large-update")));
    pair.command(request(Request::put("/large-update", vec![7; 1500])));
    pair.drive_for(Duration::from_secs(60));
    let get = responses(&pair)
        .into_iter()
        .find(|response| response.code == Code::CONTENT);
    assert_eq!(get.map(|response| response.payload), Some(vec![7; 1500]));
}

#[test]
fn a_body_that_changes_every_time_fails() {
    let mut config = server_config();
    config.observe_interval = DELAY;
    let mut client = client_config();
    client.parameters.nstart = 2;
    let mut pair = pair_with(Lossy::default(), client, config);
    pair.command(observe(7, "/obs-large"));
    pair.drive_for(Duration::from_secs(1));
    let failure = Failure::BodyChanged;
    let failed = |event: &Event| matches!(event, Event::Failed { failure: why, .. } if *why == failure);
    assert!(pair.client_events.iter().any(|(_, event)| failed(event)));
}

#[test]
fn an_unfinished_body_expires() {
    let mut pair = pair(Lossy {
        up: (1..6).collect(),
        ..Lossy::default()
    });
    pair.command(request(Request::put("/test", pattern(2000))));
    pair.drive_for(Duration::from_secs(400));
    assert!(matches!(
        pair.client_events[..],
        [(_, Event::Sent { .. }), (_, Event::TimedOut { .. })]
    ));
    assert!(processed_bodies(&pair).is_empty());
    let response = exchange(&mut pair, Request::put("/test", pattern(1500)));
    assert_eq!(response.code, Code::CHANGED);
    assert_eq!(processed_bodies(&pair), [1500]);
}

#[test]
fn a_block_after_the_end_and_a_reserved_size_are_bad_requests() {
    for value in [0x7e, 0x07] {
        let get = Request {
            options: vec![(OptionNumber::BLOCK2, vec![value])],
            ..Request::get("/large")
        };
        assert_eq!(ask(get).code, Code::BAD_REQUEST, "{value:#x}");
    }
}

#[test]
fn size2_is_sent_on_request() {
    let get = Request {
        options: vec![(OptionNumber::SIZE2, vec![]), (OptionNumber::BLOCK2, vec![0x02])],
        ..Request::get("/large")
    };
    let mut pair = pair(Lossy::default());
    assert_eq!(exchange(&mut pair, get).payload.len(), 1280);
    let first = sent(&pair, Direction::Down)[0];
    let repr = Repr::parse(&first.bytes).expect("we send messages");
    assert_eq!(repr.options.uint(OptionNumber::SIZE2), Some(1280));
}

/// The event of a client for one response to its request. `options` is the encoded rest of the response.
fn reported(what: Request, code: u8, options: &[u8]) -> Vec<Event> {
    let mut client = Client::new(client_config());
    open(&mut client);
    client
        .handle_input(Input::Command(request(what)), Instant::START)
        .expect("a request");
    let sent = drain(&mut client, 0).remove(0);
    let mut bytes = vec![0x62, code, sent[2], sent[3], sent[4], sent[5]];
    bytes.extend(options);
    let (flow, bytes) = (FIRST_FLOW, &bytes);
    client
        .handle_input(Input::Received { flow, bytes }, Instant::START)
        .expect("no datagram ends a client");
    let (mut out, mut events) = (Buffer::new(), Vec::new());
    loop {
        out.clear();
        match client.poll_output(&mut out) {
            Output::Event(event) => events.push(event),
            Output::Timeout(_) => return events,
            _ => {}
        }
    }
}

fn failed(failure: Failure) -> Vec<Event> {
    vec![Event::Failed { message: 1, failure }]
}

#[test]
fn a_continue_is_not_a_response() {
    // RFC 7959 section 2.9.1: 2.31 asks for the next block.
    let refused = failed(Failure::UnexpectedContinue);
    assert_eq!(reported(Request::get("/test"), 0x5f, &[]), refused);
    assert_eq!(reported(Request::put("/test", pattern(10)), 0x5f, &[]), refused);
    // To a first block of several, without Block1.
    assert_eq!(reported(Request::put("/test", pattern(2000)), 0x5f, &[]), refused);
}

#[test]
fn a_response_with_a_reserved_block_size_is_refused() {
    // RFC 7959 section 2.2; Block2 is option 23, Block1 option 27.
    let refused = failed(Failure::ReservedBlockSize);
    for (code, number) in [(0x45, 23), (0x44, 27)] {
        for value in [0x07, 0x0f, 0x17] {
            let options = [0xd1, number - 13, value];
            assert_eq!(reported(Request::get("/test"), code, &options), refused);
            assert_eq!(
                reported(Request::put("/test", pattern(2000)), code, &options),
                refused
            );
        }
    }
}

/// A server that always has one more block.
#[test]
fn an_endless_body_fails_at_the_clients_limit() {
    let limit = 64 << 10;
    let mut client = Client::new(Config {
        max_body_bytes: limit,
        ..client_config()
    });
    open(&mut client);
    client
        .handle_input(Input::Command(request(Request::get("/test"))), Instant::START)
        .expect("a request");
    let mut asked = drain(&mut client, 0);
    for number in 0..200_u32 {
        let Some(get) = asked.pop() else {
            assert_eq!(
                number as usize,
                limit / 1024 + 1,
                "no block is asked for beyond the limit"
            );
            assert_eq!(client.pending(), 0);
            return;
        };
        let block = [number >> 12, number >> 4, number << 4 | 0b1110].map(|byte| byte as u8);
        let mut bytes = vec![0x62, 0x45, get[2], get[3], get[4], get[5], 0xd3, 10];
        bytes.extend(block);
        bytes.push(0xff);
        bytes.extend(pattern(1024));
        asked = answer_to(&mut client, &bytes, Instant::START);
    }
    panic!("the client goes on asking");
}

/// RFC 7959 section 2.2: a block has a number of 20 bits.
#[test]
fn a_body_of_more_blocks_than_can_be_numbered_is_not_sent() {
    const MOST: usize = 16 << 20;
    for (len, is_sent) in [(MOST, true), (MOST + 1, false)] {
        let config = Config {
            block_size: 16,
            ..client_config()
        };
        let mut pair = pair_with(Lossy::default(), config, server_config());
        pair.command(request(Request::put("/test", vec![0; len])));
        pair.drive_for(Duration::from_millis(10));
        assert_eq!(!sent(&pair, Direction::Up).is_empty(), is_sent, "{len} B");
        let failed = pair.client_events.iter().any(|(_, event)| {
            matches!(
                event,
                Event::Failed {
                    failure: Failure::Unprotectable(_),
                    ..
                }
            )
        });
        assert_eq!(failed, !is_sent, "{:?}", pair.client_events);
    }
}
