//! Two ends and everything between connect and TIME-WAIT.

use alloc::vec::Vec;
use core::time::Duration;

use wirecost_wire::tcp::Flags;

use crate::harness::{CLIENT, ISS, Net, SERVER};
use crate::{Event, State};

mod any_segment;
mod closing;
mod fast_open;
mod keep_alive;
mod opening;
mod silence;
mod transfer;

const DELAY: Duration = Duration::from_millis(12);

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

/// The segments so far: who sent it, flags, relative sequence and acknowledgment numbers, bytes.
fn trace(net: &Net) -> Vec<(usize, Flags, u32, u32, u32)> {
    let relative = |from: usize, number: u32| number.wrapping_sub(ISS[from]);
    net.sent
        .iter()
        .map(|sent| {
            let acknowledgment = if sent.segment.has(Flags::ACK) {
                relative(1 - sent.from, sent.segment.acknowledgment)
            } else {
                0
            };
            (
                sent.from,
                sent.segment.flags,
                relative(sent.from, sent.segment.sequence),
                acknowledgment,
                sent.bytes,
            )
        })
        .collect()
}

const ACK: Flags = Flags::ACK;

fn flags(flags: &[Flags]) -> Flags {
    flags.iter().fold(ACK, |all, flag| all | *flag)
}

#[test]
fn opens_with_three_segments() {
    let mut net = Net::linux(DELAY);
    net.run_for(Duration::from_secs(2));
    let expected = [
        (CLIENT, Flags::SYN, 0, 0, 0),
        (SERVER, flags(&[Flags::SYN]), 0, 1, 0),
        (CLIENT, ACK, 1, 1, 0),
    ];
    assert_eq!(trace(&net), expected);
    assert_eq!(net.ends[CLIENT].events, [Event::Opened]);
    assert_eq!(net.ends[SERVER].events, [Event::Opened]);
    let syn = &net.sent[0].segment;
    assert_eq!(
        (syn.maximum_segment_size, syn.window_scale, syn.window),
        (Some(1460), Some(7), 64_240)
    );
    let syn_ack = &net.sent[1].segment;
    assert_eq!((syn_ack.window_scale, syn_ack.window), (Some(7), 65_160));
    assert_eq!(
        syn_ack.timestamps.map(|stamps| stamps.echo),
        syn.timestamps.map(|stamps| stamps.value)
    );
}

#[test]
fn a_message_and_its_answer_and_a_close_by_the_client() {
    let mut net = Net::linux(DELAY);
    net.run_for(Duration::from_secs(1));
    net.write(CLIENT, &pattern(128));
    net.run_for(Duration::from_secs(1));
    net.write(SERVER, &pattern(4));
    net.run_for(Duration::from_secs(1));
    net.ends[CLIENT].closes = true;
    net.run_for(Duration::from_secs(1));
    let push = flags(&[Flags::PSH]);
    let fin = flags(&[Flags::FIN]);
    let expected = [
        (CLIENT, push, 1, 1, 128),
        (SERVER, ACK, 1, 129, 0),
        (SERVER, push, 1, 129, 4),
        (CLIENT, ACK, 129, 5, 0),
        (CLIENT, fin, 129, 5, 0),
        (SERVER, fin, 5, 130, 0),
        (CLIENT, ACK, 130, 6, 0),
    ];
    assert_eq!(trace(&net)[3..], expected);
    assert_eq!(net.ends[SERVER].received, pattern(128));
    assert_eq!(net.ends[CLIENT].received, pattern(4));
    assert_eq!(net.ends[CLIENT].state(), Some(State::TimeWait));
    assert_eq!(net.ends[SERVER].state(), Some(State::Closed));
    net.run_for(Duration::from_secs(60));
    assert_eq!(net.ends[CLIENT].state(), Some(State::Closed));
}
