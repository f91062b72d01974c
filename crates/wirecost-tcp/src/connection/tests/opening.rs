//! SYNs that are lost, refused or cross.

use core::time::Duration;

use alloc::vec::Vec;

use proto::ResetReason;
use wirecost_proto as proto;
use wirecost_proto::Instant;
use wirecost_wire::tcp::Flags;

use super::{DELAY, flags, pattern, trace};
use crate::harness::{CLIENT, Faults, ISS, Net, SERVER};
use crate::{Config, Connection, ConnectionStart, Event, Granularity, Segment, State};

fn seconds(net: &Net, from: usize) -> Vec<u64> {
    let own = net.sent.iter().filter(|sent| sent.from == from);
    own.map(|sent| (sent.at.as_nanos() + 500_000_000) / 1_000_000_000)
        .collect()
}

#[test]
fn syn_retries_are_linear_first_and_exponential_then() {
    let mut net = Net::linux(DELAY);
    net.lost = (0..100).collect();
    net.run(Instant::START + Duration::from_secs(300));
    // 16 s and 32 s end with the next 2.048 s of the wheel.
    assert_eq!(seconds(&net, CLIENT), [0, 1, 2, 3, 4, 5, 7, 11, 19, 36, 70]);
    assert_eq!(net.ends[CLIENT].events, [Event::Reset(ResetReason::TimedOut)]);
    assert_eq!(net.ends[CLIENT].state(), Some(State::Closed));
}

#[test]
fn a_syn_ack_is_sent_again_with_doubled_time_outs() {
    let mut config = Config::linux(1460);
    config.granularity = Granularity::Exact;
    let mut net = Net::new([config.clone(), config], DELAY, Faults::NONE, 0);
    net.lost = (1..100).collect();
    net.run(Instant::START + Duration::from_secs(300));
    assert_eq!(seconds(&net, SERVER)[..6], [0, 1, 3, 7, 15, 31]);
    assert_eq!(net.ends[SERVER].events, [Event::Reset(ResetReason::TimedOut)]);
}

#[test]
fn a_lost_last_acknowledgment_is_made_good_by_data() {
    let mut net = Net::linux(DELAY);
    net.lost = [2].into();
    net.run_for(Duration::from_millis(100));
    net.write(CLIENT, &pattern(10));
    net.run_for(Duration::from_millis(200));
    assert_eq!(net.ends[SERVER].received, pattern(10));
    assert_eq!(net.ends[SERVER].state(), Some(State::Established));
}

#[test]
fn a_repeated_syn_ack_is_answered() {
    let mut net = Net::linux(DELAY);
    net.lost = [2].into();
    net.run_for(Duration::from_secs(2));
    let expected = [
        (SERVER, flags(&[Flags::SYN]), 0, 1, 0),
        (CLIENT, Flags::ACK, 1, 1, 0),
        (SERVER, flags(&[Flags::SYN]), 0, 1, 0),
        (CLIENT, Flags::ACK, 1, 1, 0),
    ];
    assert_eq!(trace(&net)[1..], expected);
    assert_eq!(net.ends[SERVER].events, [Event::Opened]);
}

#[test]
fn a_reset_refuses_a_syn_only_if_it_acknowledges_it() {
    let now = Instant::START;
    let mut client = Connection::connect(Config::linux(1460), 100, now);
    let syn = client.poll_transmit(&mut Vec::new(), now).unwrap().segment;
    let stray = Segment {
        flags: Flags::RST | Flags::ACK,
        acknowledgment: 100,
        ..Segment::default()
    };
    client.handle_segment(&stray, &[], now);
    assert_eq!(client.state(), State::SynSent);
    client.handle_segment(&syn.reset(0).unwrap(), &[], now);
    assert_eq!(client.poll_event(), Some(Event::Reset(ResetReason::Refused)));
    assert_eq!(client.state(), State::Closed);
}

#[test]
fn an_acknowledgment_of_nothing_sent_is_reset() {
    let now = Instant::START;
    let mut client = Connection::connect(Config::linux(1460), 100, now);
    client.poll_transmit(&mut Vec::new(), now);
    let wrong = Segment {
        flags: Flags::SYN | Flags::ACK,
        acknowledgment: 102,
        ..Segment::default()
    };
    client.handle_segment(&wrong, &[], now);
    let reset = client.poll_transmit(&mut Vec::new(), now).unwrap().segment;
    assert_eq!((reset.flags, reset.sequence), (Flags::RST, 102));
    assert_eq!(client.state(), State::SynSent);
}

/// RFC 9293, figure 8.
#[test]
fn both_may_open_at_once() {
    let now = Instant::START;
    let mut payload = Vec::new();
    let mut ends = [10, 20].map(|sequence| Connection::connect(Config::linux(1460), sequence, now));
    let syns = ends
        .each_mut()
        .map(|end| end.poll_transmit(&mut payload, now).unwrap().segment);
    ends[0].handle_segment(&syns[1], &[], now);
    ends[1].handle_segment(&syns[0], &[], now);
    assert_eq!(ends.each_ref().map(Connection::state), [State::SynReceived; 2]);
    let syn_acks = ends
        .each_mut()
        .map(|end| end.poll_transmit(&mut payload, now).unwrap().segment);
    ends[0].handle_segment(&syn_acks[1], &[], now);
    ends[1].handle_segment(&syn_acks[0], &[], now);
    assert_eq!(ends.each_ref().map(Connection::state), [State::Established; 2]);
}

#[test]
fn a_peer_without_options_is_met_without_them() {
    let mut net = Net::new([Config::larmo(536), Config::linux(1460)], DELAY, Faults::NONE, 0);
    net.run_for(Duration::from_secs(1));
    let syn_ack = &net.sent[1].segment;
    assert_eq!(
        (syn_ack.timestamps, syn_ack.window_scale, syn_ack.sack_permitted),
        (None, None, false)
    );
    net.write(SERVER, &pattern(2_000));
    net.run_for(Duration::from_secs(5));
    assert!(net.sent.iter().all(|sent| sent.bytes <= 536));
    assert_eq!(net.ends[CLIENT].received, pattern(2_000));
}

#[test]
fn a_syn_that_comes_again_is_answered_beside_the_timer() {
    let mut net = Net::linux(DELAY);
    // Both SYN-ACKs of the first second: the one to the SYN, and the timer's.
    net.lost = [1, 3].into();
    net.run_for(Duration::from_millis(1_080));
    let from: Vec<_> = trace(&net).iter().map(|segment| (segment.0, segment.1)).collect();
    let (syn, syn_ack) = ((CLIENT, Flags::SYN), (SERVER, flags(&[Flags::SYN])));
    assert_eq!(from, [syn, syn_ack, syn, syn_ack, syn_ack, (CLIENT, Flags::ACK)]);
    assert_eq!(net.ends[SERVER].state(), Some(State::Established));
}

#[test]
fn the_phase_of_the_clock_moves_what_timers_do_and_nothing_else() {
    let at = |phase_ms| {
        let starts = ISS.map(|sequence| ConnectionStart {
            clock_phase: Duration::from_millis(phase_ms),
            ..sequence.into()
        });
        let configs = [Config::linux(1460), Config::linux(1460)];
        let mut net = Net::starting(configs, starts, DELAY, (Faults::NONE, 0));
        net.lost = [0].into();
        net.run_for(Duration::from_secs(2));
        let millis = |index: usize| net.sent[index].at.as_nanos() / 1_000_000;
        [millis(0), millis(1), millis(2) - millis(1), millis(3) - millis(2)]
    };
    // 251 jiffies of 4 ms after the SYN at 1 ms the wheel's bucket of 32 ms ends: 1,024 ms of the host's clock.
    assert_eq!(at(0), [1, 1_024, 12, 12]);
    assert_eq!(at(10), [1, 1_014, 12, 12]);
    assert_eq!(at(31), [1, 1_025, 12, 12]);
}
