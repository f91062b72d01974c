//! Client and server on a stream (RFC 8323).

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{CoapPair, Lossy, client_config, notifications, observe, request, responses, server_config};
use wirecost_coap::client::{Cancellation, Client, Command, Config, Event, Request, RequestTemplate};
use wirecost_coap::code::Code;
use wirecost_coap::server::{self, Server};
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::{FIRST_FLOW, Pair};
use wirecost_proto::{Buffer, Cause, Direction, Endpoint, FlowId, Input, Instant, Layer, Output, Phase};

fn pair_with(client: Config, server: server::Config) -> CoapPair {
    let client = Client::new(client.on_stream());
    let server = Server::new(server.on_stream());
    let mut pair = Pair::new(Transport::Stream, client, server, Lossy::default());
    pair.open();
    pair
}

fn pair() -> CoapPair {
    pair_with(client_config(), server_config())
}

fn settle(pair: &mut CoapPair) {
    pair.drive_for(Duration::from_secs(5));
}

/// The bytes of one direction, one message each.
fn sent(pair: &CoapPair, direction: Direction) -> Vec<Vec<u8>> {
    let of_direction = pair.sent.iter().filter(|sent| sent.direction == direction);
    of_direction.map(|sent| sent.bytes.clone()).collect()
}

#[test]
fn both_sides_begin_with_a_csm() {
    let mut pair = pair();
    settle(&mut pair);
    let csm = [0x50, 0xe1, 0x23, 0x10, 0, 0, 0x20];
    assert_eq!(sent(&pair, Direction::Up), [csm]);
    assert_eq!(sent(&pair, Direction::Down), [csm]);
    let span = pair.sent[0].spans[0];
    let expected = (7, Layer::Application, Phase::Connect, Cause::Original);
    assert_eq!((span.len, span.layer, span.phase, span.cause), expected);
}

#[test]
fn a_put_costs_its_options_and_4_more_bytes() {
    let mut pair = pair();
    settle(&mut pair);
    pair.command(request(Request::put("/test", vec![7; 128])));
    settle(&mut pair);
    assert_eq!(responses(&pair)[0].code, Code::CHANGED);
    assert_eq!(pair.server.content("/test"), Some(&[7; 128][..]));
    // Len and TKL 2 with an extended length, code 1, token 2, Uri-Path 5, Content-Format 2, marker 1.
    assert_eq!(sent(&pair, Direction::Up)[1].len(), 13 + 128);
    // Len and TKL, code, token.
    assert_eq!(sent(&pair, Direction::Down)[1].len(), 4);
    let answer = pair.sent.last().expect("a response").spans[0];
    assert_eq!(
        (answer.phase, answer.cause),
        (Phase::Message, Cause::Acknowledgement)
    );
}

#[test]
fn a_request_does_not_wait_for_the_servers_csm_below_1152_bytes() {
    let mut pair = pair();
    let begin = pair.now;
    pair.command(request(Request::put("/test", vec![7; 100])));
    settle(&mut pair);
    let up = pair.sent.iter().filter(|sent| sent.direction == Direction::Up);
    let up: Vec<_> = up.map(|sent| sent.at).collect();
    assert_eq!(up, [begin; 2], "the CSM and the request");
    assert_eq!(responses(&pair).len(), 1);
}

#[test]
fn a_large_request_waits_for_the_limit_and_goes_whole() {
    let mut pair = pair();
    let begin = pair.now;
    pair.command(request(Request::put("/large-create", vec![7; 200_000])));
    settle(&mut pair);
    let up = pair
        .sent
        .iter()
        .filter(|sent| sent.direction == Direction::Up && sent.bytes.len() > 100);
    let up: Vec<_> = up.map(|sent| (sent.at > begin, sent.bytes.len())).collect();
    assert_eq!(up.len(), 1, "one message: {up:?}");
    assert!(up[0].0 && up[0].1 > 200_000);
}

#[test]
fn a_body_above_the_limit_is_sent_in_bert_blocks() {
    for (limit, messages) in [(10_000, 6), (1_152, 49)] {
        let server = server::Config {
            max_message_bytes: limit,
            ..server_config()
        };
        let mut pair = pair_with(client_config(), server);
        settle(&mut pair);
        pair.command(request(Request::put("/test", vec![7; 50_000])));
        settle(&mut pair);
        assert_eq!(responses(&pair)[0].code, Code::CHANGED, "{limit} B");
        assert_eq!(pair.server.content("/test").map(<[u8]>::len), Some(50_000));
        let up = sent(&pair, Direction::Up);
        assert_eq!(up.len() - 1, messages);
        assert!(up.iter().all(|message| message.len() <= limit as usize));
    }
}

#[test]
fn a_representation_above_the_limit_arrives_in_bert_blocks() {
    for (limit, messages) in [(3_000, 25), (1_152, 49)] {
        let client = Config {
            max_message_bytes: limit,
            ..client_config()
        };
        let mut pair = pair_with(client, server_config());
        settle(&mut pair);
        pair.command(request(Request::put("/test", vec![7; 50_000])));
        settle(&mut pair);
        let before = sent(&pair, Direction::Down).len();
        pair.command(request(Request::get("/test")));
        settle(&mut pair);
        assert_eq!(responses(&pair)[1].payload, vec![7; 50_000]);
        let down = sent(&pair, Direction::Down);
        assert_eq!(down.len() - before, messages);
        assert!(down.iter().all(|message| message.len() <= limit as usize));
    }
}

#[test]
fn responses_arrive_in_any_order() {
    let mut pair = pair();
    for (message, path) in [(1, "/separate"), (2, "/test")] {
        let template = Arc::new(RequestTemplate::new(Request::get(path)).expect("options"));
        pair.command(Command::Request { message, template });
    }
    settle(&mut pair);
    let order: Vec<u64> = responses(&pair).iter().map(|response| response.message).collect();
    assert_eq!(order, [2, 1]);
}

#[test]
fn a_ping_is_answered_by_a_pong_with_its_token() {
    let mut pair = pair();
    pair.command(Command::Ping { message: 9 });
    settle(&mut pair);
    let is_pong = |event: &Event| matches!(event, Event::Pong { message: 9, .. });
    assert!(pair.client_events.iter().any(|(_, event)| is_pong(event)));
    let (ping, pong) = (&sent(&pair, Direction::Up)[1], &sent(&pair, Direction::Down)[1]);
    assert_eq!((ping[0], ping[1], pong[1]), (2, 0xe2, 0xe3));
    assert_eq!(ping[2..], pong[2..]);
    assert_eq!(pair.sent.last().expect("pong").spans[0].phase, Phase::KeepAlive);
}

#[test]
fn an_observer_is_notified_until_it_deregisters() {
    let mut pair = pair();
    pair.command(observe(3, "/obs"));
    pair.drive_for(Duration::from_secs(16));
    assert_eq!(notifications(&pair).len(), 3);
    pair.command(Command::CancelObserve {
        message: 3,
        how: Cancellation::Forget,
    });
    pair.drive_for(Duration::from_secs(20));
    assert_eq!(notifications(&pair).len(), 3);
    assert_eq!(pair.server.observers(), 0);
}

#[test]
fn a_close_sends_a_release_and_both_ends_close() {
    let mut pair = pair();
    settle(&mut pair);
    pair.command(Command::Close);
    settle(&mut pair);
    assert_eq!(sent(&pair, Direction::Up)[1], [0x00, 0xe4]);
    assert_eq!(pair.sent.last().expect("release").spans[0].phase, Phase::Close);
    assert_eq!(
        sent(&pair, Direction::Down).len(),
        1,
        "the server only ends its side"
    );
}

/// The bytes that an endpoint sends after `input` on an open stream, and whether it closes the stream.
fn after<E: Endpoint>(mut endpoint: E, input: &[u8]) -> (Vec<u8>, bool, Vec<E::Event>) {
    let (flow, now) = (FlowId(0), Instant::START);
    let peer = ([192, 0, 2, 1], 5683).into();
    let (mut bytes, mut closed, mut events, mut consumed) = (Vec::new(), false, Vec::new(), 0);
    for input in [
        Input::Opened { flow, peer },
        Input::Received { flow, bytes: input },
    ] {
        assert!(endpoint.handle_input(input, now).is_ok());
        loop {
            let mut out = Buffer::new();
            match endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => bytes.extend_from_slice(out.bytes()),
                Output::Consumed { .. } => consumed += out.covered(),
                Output::Close { .. } => closed = true,
                Output::Event(event) => events.push(event),
                Output::Timeout(_) => break,
            }
        }
    }
    if closed {
        assert_eq!(consumed, input.len() as u64, "every byte is described");
    }
    (bytes.split_off(7), closed, events)
}

fn server() -> Server {
    Server::new(server_config().on_stream())
}

fn client() -> Client {
    Client::new(client_config().on_stream())
}

#[test]
fn an_endpoint_aborts_a_peer_that_breaks_the_rules() {
    for (input, reason) in [
        (&[0x00, 0x01][..], "first message must be a CSM (7.01), got 0.01"),
        (&[0x09, 0x01], "token length must be 0 to 8, got 9"),
        (&[0x10, 0xe1, 0x30], "option 3"),
        (&[0x00, 0xe1, 0x00, 0x21], "class"),
        (&[0xf0, 0xff, 0, 0, 0, 0xe1], "must have at most 1048576 B"),
    ] {
        for (bytes, closed) in [server_after(input), client_after(input)] {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(closed && text.contains(reason), "{input:02x?}: {text}");
            assert!(bytes.contains(&0xe5), "7.05 Abort");
        }
    }
}

fn server_after(input: &[u8]) -> (Vec<u8>, bool) {
    let (bytes, closed, _) = after(server(), input);
    (bytes, closed)
}

fn client_after(input: &[u8]) -> (Vec<u8>, bool) {
    let (bytes, closed, events) = after(client(), input);
    let faulted = |event: &Event| matches!(event, Event::Faulted(_));
    assert!(events.iter().any(faulted), "{events:?}");
    (bytes, closed)
}

#[test]
fn empty_messages_are_ignored_and_pings_answered() {
    let input = [0x00, 0x00, 0x00, 0xe1, 0x01, 0xe2, 0x42, 0x11, 0xe2, 0x43, 0x20];
    for (bytes, closed) in [server_after(&input), {
        let (bytes, closed, _) = after(client(), &input);
        (bytes, closed)
    }] {
        assert!(!closed);
        assert_eq!(bytes, [0x01, 0xe3, 0x42, 0x11, 0xe3, 0x43, 0x20]);
    }
}

#[test]
fn a_request_to_a_client_is_answered_5_01() {
    let (bytes, closed, _) = after(client(), &[0x00, 0xe1, 0x01, 0x01, 0x42]);
    assert!(!closed);
    assert_eq!(bytes, [0x01, 0xa1, 0x42]);
}

#[test]
fn an_abort_ends_the_client_with_its_diagnostic() {
    let (_, closed, events) = after(client(), &[0x00, 0xe1, 0x30, 0xe5, 0xff, b'n', b'o']);
    assert!(closed);
    let aborted = |event: &Event| matches!(event, Event::Aborted(text) if text.as_str() == "no");
    assert!(events.iter().any(aborted), "{events:?}");
}

#[test]
fn a_released_client_closes_after_its_last_response() {
    let mut pair = pair();
    pair.command(request(Request::get("/test")));
    let release = Input::Received {
        flow: FIRST_FLOW,
        bytes: &[0x00, 0xe1, 0x00, 0xe4],
    };
    let now = pair.now;
    pair.client.handle_input(release, now).expect("no end");
    // The pair did not deliver these bytes, so it must not see that they were consumed.
    while !matches!(pair.client.poll_output(&mut Buffer::new()), Output::Timeout(_)) {}
    pair.command(request(Request::get("/test")));
    settle(&mut pair);
    assert_eq!(responses(&pair).len(), 1, "no request follows the Release");
    let events: Vec<&Event> = pair.client_events.iter().map(|(_, event)| event).collect();
    assert!(events.contains(&&Event::PeerClosed), "{events:?}");
}
