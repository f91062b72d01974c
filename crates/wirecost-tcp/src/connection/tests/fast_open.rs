//! Data in the SYN (RFC 7413).

use core::time::Duration;

use wirecost_proto::Rng;
use wirecost_wire::tcp::Flags;

use super::{ACK, DELAY, flags, pattern, trace};
use crate::config::FastOpen;
use crate::fast_open::Cookie;
use crate::harness::{CLIENT, Faults, ISS, Net, SERVER};
use crate::{Config, ConnectionStart, Event, State};

/// A cookie of 8 bytes.
fn cookie(byte: u8) -> Option<Cookie> {
    Cookie::read(&[byte; 8])
}

/// A client with this cookie, and a server whose cookie for it is `cookie(7)`.
fn net(own: Option<Cookie>) -> Net {
    between(Config::larmo, [own, cookie(7)].map(open), (Faults::NONE, 0))
}

const fn open(cookie: Option<Cookie>) -> Option<FastOpen> {
    Some(FastOpen { cookie })
}

/// Two ends of a preset over a path with these faults.
fn between(preset: fn(u16) -> Config, fast_open: [Option<FastOpen>; 2], faults: (Faults, u64)) -> Net {
    let [client, server] = fast_open;
    let starts = [(ISS[CLIENT], client), (ISS[SERVER], server)];
    let starts = starts.map(|(sequence, fast_open)| ConnectionStart {
        fast_open,
        ..sequence.into()
    });
    Net::starting([preset(1460), preset(1460)], starts, DELAY, faults)
}

#[test]
fn the_syn_carries_the_first_write_and_is_acknowledged_with_it() {
    let mut net = net(cookie(7));
    net.write(CLIENT, &pattern(25));
    net.run_for(Duration::from_secs(1));
    let expected = [
        (CLIENT, Flags::SYN, 0, 0, 25),
        (SERVER, flags(&[Flags::SYN]), 0, 26, 0),
        (CLIENT, ACK, 26, 1, 0),
    ];
    assert_eq!(trace(&net), expected);
    assert_eq!(net.ends[SERVER].received, pattern(25));
    assert_eq!(net.ends[CLIENT].events, [Event::Opened]);
    let states = [CLIENT, SERVER].map(|end| net.ends[end].state());
    assert_eq!(states, [Some(State::Established); 2]);
    // 8 bytes of cookie behind 2 bytes of option, padded.
    let syn = &net.sent[0].segment;
    assert_eq!((syn.header_bytes(), syn.fast_open), (20 + 4 + 12, cookie(7)));
    assert_eq!(net.sent[1].segment.fast_open, None);
}

#[test]
fn the_syn_waits_for_a_write() {
    let mut net = net(cookie(7));
    net.run_for(Duration::from_secs(5));
    assert!(net.sent.is_empty());
    assert_eq!(net.ends[CLIENT].events, [Event::Opened]);
}

#[test]
fn the_answer_does_not_wait_for_the_end_of_the_handshake() {
    let mut net = net(cookie(7));
    net.write(CLIENT, &pattern(25));
    net.ends[SERVER].unwritten = pattern(4);
    net.run_for(Duration::from_secs(1));
    let push = flags(&[Flags::PSH]);
    let expected = [
        (CLIENT, Flags::SYN, 0, 0, 25),
        (SERVER, flags(&[Flags::SYN]), 0, 26, 0),
        (SERVER, push, 1, 26, 4),
        (CLIENT, ACK, 26, 1, 0),
    ];
    assert_eq!(trace(&net)[..4], expected);
    assert_eq!(net.sent[2].at.saturating_since(net.sent[0].at), DELAY);
    assert_eq!(net.ends[CLIENT].received, pattern(4));
}

#[test]
fn data_under_a_wrong_cookie_is_sent_again_and_a_cookie_granted() {
    let mut net = net(cookie(9));
    net.write(CLIENT, &pattern(25));
    net.run_for(Duration::from_secs(1));
    let expected = [
        (CLIENT, Flags::SYN, 0, 0, 25),
        (SERVER, flags(&[Flags::SYN]), 0, 1, 0),
        (CLIENT, flags(&[Flags::PSH]), 1, 1, 25),
    ];
    assert_eq!(trace(&net)[..3], expected);
    assert_eq!(net.ends[SERVER].received, pattern(25));
    assert_eq!(net.ends[CLIENT].connection().cookie(), cookie(7));
}

#[test]
fn a_client_without_a_cookie_asks_for_one() {
    let mut net = net(None);
    net.write(CLIENT, &pattern(25));
    net.run_for(Duration::from_secs(1));
    assert_eq!(net.sent[0].bytes, 0);
    assert_eq!(net.sent[0].segment.fast_open, Some(Cookie::REQUEST));
    assert_eq!(net.ends[CLIENT].connection().cookie(), cookie(7));
    assert_eq!(net.ends[SERVER].received, pattern(25));
}

#[test]
fn a_server_without_fast_open_gets_the_data_after_the_handshake() {
    let mut net = between(Config::linux, [open(cookie(7)), None], (Faults::NONE, 0));
    net.write(CLIENT, &pattern(2_000));
    net.run_for(Duration::from_secs(1));
    assert_eq!(net.ends[SERVER].received, pattern(2_000));
    assert_eq!(net.ends[CLIENT].connection().cookie(), None);
}

#[test]
fn a_lost_syn_is_sent_again_without_data_and_cookie() {
    let mut net = net(cookie(7));
    net.lost = [0].into();
    net.write(CLIENT, &pattern(25));
    net.run_for(Duration::from_secs(3));
    let again = &net.sent[1];
    assert_eq!((again.bytes, again.segment.fast_open), (0, None));
    assert_eq!(net.ends[SERVER].received, pattern(25));
}

#[test]
fn a_lost_syn_ack_is_sent_again_and_the_data_taken_once() {
    let mut net = net(cookie(7));
    net.lost = [1].into();
    net.write(CLIENT, &pattern(25));
    net.run_for(Duration::from_secs(5));
    assert_eq!(net.ends[SERVER].received, pattern(25));
    assert_eq!(
        net.ends[SERVER]
            .events
            .iter()
            .filter(|event| **event == Event::Opened)
            .count(),
        1
    );
    let states = [CLIENT, SERVER].map(|end| net.ends[end].state());
    assert_eq!(states, [Some(State::Established); 2]);
}

#[test]
fn data_longer_than_a_segment_goes_on_after_the_syn() {
    for preset in [Config::linux, Config::larmo] {
        let mut net = between(preset, [cookie(7), cookie(7)].map(open), (Faults::NONE, 0));
        net.ends[CLIENT].closes = true;
        net.write(CLIENT, &pattern(10_000));
        net.run_for(Duration::from_secs(5));
        assert_eq!(net.sent[0].bytes, 1_420);
        assert_eq!(net.ends[SERVER].received, pattern(10_000));
        assert_eq!(net.ends[SERVER].state(), Some(State::Closed));
    }
}

#[test]
fn every_byte_arrives_once_over_a_path_with_loss_and_disorder() {
    let mut rng = Rng::new(5);
    for seed in 0..60 {
        let faults = Faults {
            loss: 0.2,
            duplication: 0.1,
            disorder: Duration::from_millis(40),
        };
        let own = [cookie(7), cookie(9), None][seed as usize % 3];
        let mut net = between(Config::linux, [own, cookie(7)].map(open), (faults, seed));
        let len = rng.next_below(6_000) as usize + 1;
        net.ends[SERVER].unwritten = pattern(300);
        net.ends[CLIENT].closes = true;
        net.write(CLIENT, &pattern(len));
        net.run_for(Duration::from_secs(400));
        assert_eq!(net.ends[SERVER].received, pattern(len), "seed {seed}");
        assert_eq!(net.ends[CLIENT].received, pattern(300), "seed {seed}");
    }
}

#[test]
fn a_server_that_is_never_acknowledged_gives_up() {
    let mut net = net(cookie(7));
    net.lost = (1..1_000).collect();
    net.write(CLIENT, &pattern(25));
    net.run_for(Duration::from_secs(300));
    let syn_acks = net.sent.iter().filter(|sent| sent.from == SERVER);
    assert!(syn_acks.clone().all(|sent| sent.segment.has(Flags::SYN)));
    assert_eq!(syn_acks.count(), 1 + 5);
    assert_eq!(net.ends[SERVER].state(), Some(State::Closed));
}
