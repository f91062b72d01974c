//! Every order of closing, and resets.

use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{Instant, ResetReason};
use wirecost_wire::tcp::Flags;

use super::{DELAY, flags, pattern, trace};
use crate::harness::{CLIENT, ISS, Net, SERVER};
use crate::{Event, Segment, State};

fn opened() -> Net {
    let mut net = Net::linux(DELAY);
    net.run_for(Duration::from_secs(1));
    net
}

fn states(net: &Net) -> [Option<State>; 2] {
    net.ends.each_ref().map(|end| end.state())
}

#[test]
fn a_fin_rides_on_the_last_data_that_was_not_sent() {
    let mut net = Net::linux(DELAY);
    let connection = net.ends[CLIENT].connection();
    connection.write(&pattern(128), Instant::START);
    connection.shutdown(Instant::START);
    net.run_for(Duration::from_secs(1));
    let last = flags(&[Flags::FIN, Flags::PSH]);
    assert_eq!(trace(&net)[3], (CLIENT, last, 1, 1, 128));
    assert_eq!(states(&net), [Some(State::TimeWait), Some(State::Closed)]);
}

#[test]
fn both_may_close_at_once() {
    let mut net = opened();
    net.ends[CLIENT].closes = true;
    net.ends[SERVER].closes = true;
    net.run_for(DELAY / 2);
    assert_eq!(states(&net), [Some(State::FinWait1); 2]);
    net.run_for(DELAY);
    assert_eq!(states(&net), [Some(State::Closing); 2]);
    net.run_for(DELAY);
    assert_eq!(states(&net), [Some(State::TimeWait); 2]);
    net.run_for(Duration::from_secs(60));
    assert_eq!(states(&net), [Some(State::Closed); 2]);
}

#[test]
fn a_half_closed_connection_carries_data_the_other_way() {
    let mut net = opened();
    net.ends[SERVER].follows = false;
    net.ends[CLIENT].closes = true;
    net.run_for(Duration::from_secs(1));
    assert_eq!(states(&net), [Some(State::FinWait2), Some(State::CloseWait)]);
    net.write(SERVER, &pattern(5_000));
    net.run_for(Duration::from_secs(100));
    assert_eq!(net.ends[CLIENT].received, pattern(5_000));
    net.ends[SERVER].closes = true;
    net.run_for(Duration::from_secs(1));
    assert_eq!(states(&net), [Some(State::TimeWait), Some(State::Closed)]);
}

#[test]
fn a_repeated_fin_restarts_time_wait() {
    let mut net = opened();
    net.ends[CLIENT].closes = true;
    let last = net.sent.len() + 2;
    net.lost = [last].into();
    net.run_for(Duration::from_secs(59));
    let segments = trace(&net);
    assert_eq!(segments[last], (CLIENT, Flags::ACK, 2, 2, 0));
    assert_eq!(segments[last + 1], (SERVER, flags(&[Flags::FIN]), 1, 2, 0));
    assert_eq!(segments[last + 2], (CLIENT, Flags::ACK, 2, 2, 0));
    assert_eq!(states(&net), [Some(State::TimeWait), Some(State::Closed)]);
    net.run_for(Duration::from_secs(2));
    assert_eq!(states(&net)[CLIENT], Some(State::Closed));
}

#[test]
fn a_close_with_bytes_unread_resets() {
    let mut net = opened();
    net.ends[SERVER].reads = false;
    net.write(CLIENT, &pattern(10));
    net.run_for(Duration::from_secs(1));
    let now = net.now;
    net.ends[SERVER].connection().close(now);
    net.run_for(Duration::from_secs(1));
    let reset = trace(&net).pop().unwrap();
    assert_eq!(reset, (SERVER, flags(&[Flags::RST]), 1, 11, 0));
    assert_eq!(states(&net), [Some(State::Closed); 2]);
    assert_eq!(
        net.ends[CLIENT].events,
        [Event::Opened, Event::Reset(ResetReason::ByPeer)]
    );
}

#[test]
fn data_that_nobody_is_left_to_read_is_reset() {
    let mut net = opened();
    net.ends[SERVER].follows = false;
    let now = net.now;
    net.ends[CLIENT].connection().close(now);
    net.run_for(Duration::from_secs(1));
    assert_eq!(states(&net), [Some(State::FinWait2), Some(State::CloseWait)]);
    net.write(SERVER, &pattern(10));
    net.run_for(Duration::from_secs(1));
    assert_eq!(trace(&net).pop().unwrap(), (CLIENT, Flags::RST, 2, 0, 0));
    assert_eq!(states(&net), [Some(State::Closed); 2]);
}

#[test]
fn an_end_that_was_let_go_of_does_not_wait_for_ever() {
    let mut net = opened();
    net.ends[SERVER].follows = false;
    let now = net.now;
    net.ends[CLIENT].connection().close(now);
    net.run_for(Duration::from_secs(59));
    assert_eq!(states(&net)[CLIENT], Some(State::FinWait2));
    net.run_for(Duration::from_secs(2));
    assert_eq!(states(&net)[CLIENT], Some(State::Closed));
}

#[test]
fn an_abort_tells_the_peer() {
    let mut net = opened();
    let now = net.now;
    net.ends[CLIENT].connection().abort(now);
    net.run_for(Duration::from_secs(1));
    assert_eq!(states(&net), [Some(State::Closed); 2]);
    assert_eq!(
        net.ends[SERVER].events,
        [Event::Opened, Event::Reset(ResetReason::ByPeer)]
    );
}

#[test]
fn a_reset_counts_only_with_the_exact_sequence_number() {
    let mut net = opened();
    let now = net.now;
    let next = ISS[SERVER].wrapping_add(1);
    let reset = |sequence| Segment {
        sequence,
        flags: Flags::RST,
        ..Segment::default()
    };
    let client = net.ends[CLIENT].connection();
    client.handle_segment(&reset(next.wrapping_sub(1)), &[], now);
    assert_eq!(client.poll_transmit(&mut Vec::new(), now), None);
    // RFC 5961, section 3.2: within the window it is challenged, once in a while.
    client.handle_segment(&reset(next.wrapping_add(1)), &[], now);
    let challenge = client.poll_transmit(&mut Vec::new(), now).unwrap().segment;
    assert_eq!((challenge.flags, challenge.acknowledgment), (Flags::ACK, next));
    client.handle_segment(&reset(next.wrapping_add(1)), &[], now);
    assert_eq!(client.poll_transmit(&mut Vec::new(), now), None);
    client.handle_segment(&reset(next), &[], now);
    assert_eq!(client.state(), State::Closed);
    assert_eq!(client.poll_event(), Some(Event::Reset(ResetReason::ByPeer)));
}

#[test]
fn what_had_arrived_is_readable_after_the_end() {
    let mut net = opened();
    net.ends[CLIENT].reads = false;
    net.write(SERVER, &pattern(1_000));
    net.ends[CLIENT].closes = true;
    net.run_for(Duration::from_secs(1));
    assert_eq!(states(&net)[CLIENT], Some(State::TimeWait));
    let mut read = Vec::new();
    let now = net.now;
    assert_eq!(net.ends[CLIENT].connection().available(), 1_000);
    assert_eq!(net.ends[CLIENT].connection().read(&mut read, 600, now), 600);
    assert_eq!(net.ends[CLIENT].connection().read(&mut read, 600, now), 400);
    assert_eq!(read, pattern(1_000));
}

#[test]
fn a_fin_beyond_a_gap_is_reset_by_an_end_that_was_let_go_of() {
    let mut net = opened();
    let now = net.now;
    net.ends[CLIENT].connection().close(now);
    net.settle(CLIENT);
    net.lost = [net.sent.len()].into();
    net.write(SERVER, &pattern(5));
    net.ends[SERVER].closes = true;
    net.settle(SERVER);
    net.run_for(DELAY + DELAY / 2);
    assert_eq!(trace(&net).pop(), Some((CLIENT, Flags::RST, 1, 0, 0)));
    assert_eq!(states(&net)[CLIENT], Some(State::Closed));
}
