//! What is rejected or ignored: malformed, unexpected and unknown messages (RFC 7252 sections 4.2, 4.3 and 5.4.1).

mod common;

use common::*;
use wirecost_coap::client::{Client, Command, Request};
use wirecost_coap::code::Code;
use wirecost_coap::server::Server;
use wirecost_proto::pair::FIRST_FLOW;
use wirecost_proto::{Endpoint, Input, Instant};

#[test]
fn a_reset_ends_the_request() {
    let mut client = Client::new(client_config());
    open(&mut client);
    let command = Input::Command(request(Request::put("/test", pattern(8))));
    client.handle_input(command, Instant::START).unwrap();
    let sent = drain(&mut client, 0);
    let reset = [0x70, 0x00, sent[0][2], sent[0][3]];
    let received = Input::Received {
        flow: FIRST_FLOW,
        bytes: &reset,
    };
    client.handle_input(received, Instant::from_millis(1)).unwrap();
    assert_eq!(client.pending(), 0);
}

#[test]
fn a_malformed_con_is_rejected_and_a_malformed_non_ignored() {
    let mut server = Server::new(server_config());
    let mut client = Client::new(client_config());
    open(&mut client);
    for (datagram, answer) in [
        ("49 01 12 34", Some("70 00 12 34")),
        ("40 01 12 35 ff", Some("70 00 12 35")),
        ("40 21 12 36", Some("70 00 12 36")),
        ("40 00 12 37 00", Some("70 00 12 37")),
        ("59 01 12 38", None),
        ("80 01 12 39", None),
        ("40 01", None),
        ("60 01 12 3a", None),
    ] {
        let expected: Vec<_> = answer.into_iter().map(hex).collect();
        assert_eq!(
            answer_to(&mut server, &hex(datagram), Instant::START),
            expected,
            "{datagram}"
        );
        assert_eq!(
            answer_to(&mut client, &hex(datagram), Instant::START),
            expected,
            "{datagram}"
        );
    }
    assert_eq!((server.stats().malformed, server.stats().rejected), (8, 4));
    assert_eq!((client.stats().malformed, client.stats().rejected), (8, 4));
}

#[test]
fn an_unexpected_confirmable_response_is_rejected() {
    let mut client = Client::new(client_config());
    open(&mut client);
    let now = Instant::START;
    assert_eq!(
        answer_to(&mut client, &hex("41 45 00 01 aa ff 68"), now),
        [hex("70 00 00 01")]
    );
    assert_eq!(
        answer_to(&mut client, &hex("41 45 00 01 aa ff 68"), now),
        [hex("70 00 00 01")]
    );
    assert!(answer_to(&mut client, &hex("51 45 00 02 aa ff 68"), now).is_empty());
    assert_eq!(client.stats().rejected, 1);
}

#[test]
fn a_rejected_request_does_not_change_the_answer_to_a_response() {
    let mut client = Client::new(client_config());
    open(&mut client);
    let mut answers = |datagram| answer_to(&mut client, &hex(datagram), Instant::START);
    assert_eq!(answers("41 45 00 01 aa ff 68"), [hex("70 00 00 01")]);
    assert_eq!(answers("40 01 00 02"), [hex("70 00 00 02")]);
    assert_eq!(answers("41 45 00 01 aa ff 68"), [hex("70 00 00 01")]);
}

#[test]
fn a_closed_client_answers_nothing() {
    let mut client = Client::new(client_config());
    open(&mut client);
    client
        .handle_input(Input::Command(Command::Close), Instant::START)
        .unwrap();
    drain(&mut client, 0);
    assert!(answer_to(&mut client, &hex("40 00 00 01"), Instant::START).is_empty());
    assert_eq!(client.stats().unmatched, 1);
}

#[test]
fn a_piggybacked_response_must_match_message_id_and_token() {
    let mut client = Client::new(client_config());
    open(&mut client);
    let command = Input::Command(request(Request::get("/test")));
    client.handle_input(command, Instant::START).unwrap();
    let sent = drain(&mut client, 0).remove(0);
    let mut ack = vec![0x62, 0x45, sent[2], sent[3], sent[4] ^ 1, sent[5]];
    answer_to(&mut client, &ack, Instant::START);
    assert_eq!(client.pending(), 1);
    ack[4] ^= 1;
    answer_to(&mut client, &ack, Instant::START);
    assert_eq!(client.pending(), 0);
}

#[test]
fn an_unknown_critical_option_is_answered_4_02_or_ignored() {
    let mut server = Server::new(server_config());
    let now = Instant::START;
    // Option 2049 after Uri-Path "test".
    let con = hex("40 01 00 01 b4 74 65 73 74 e0 06 e9");
    let mut non = con.clone();
    non[0] = 0x50;
    assert_eq!(code_of(&answer_to(&mut server, &con, now)[0]), Code::BAD_OPTION);
    assert!(answer_to(&mut server, &non, now).is_empty());
    // Option 2050 is elective.
    let elective = hex("40 01 00 02 b4 74 65 73 74 e0 06 ea");
    assert_eq!(code_of(&answer_to(&mut server, &elective, now)[0]), Code::CONTENT);
}
