use core::time::Duration;

use super::super::tests::{MSS, at, block, ms, opened, sequence_of};
use super::super::{Ack, Range};
use super::*;
use crate::Config;
use crate::recovery::congestion::window::NO_THRESHOLD;
use wirecost_wire::tcp::SackBlocks;

/// Two segments sent at 0 after a handshake of 20 ms; their probe is due.
fn probing(has_new_data: bool) -> (Recovery, Instant) {
    let mut recovery = opened(&Config::linux(1_460), Duration::from_millis(20));
    for segment in 0..2 {
        recovery.sent(sequence_of(segment), MSS, at(0));
    }
    let now = recovery.next_timeout().unwrap();
    assert_eq!(recovery.handle_timeout(has_new_data, now), Timeout::Transmit);
    (recovery, now)
}

fn ack(segment: u32) -> Ack {
    Ack {
        acknowledgment: sequence_of(segment),
        window_bytes: 1 << 20,
        ..Ack::default()
    }
}

#[test]
fn a_probe_leaves_after_two_round_trips() {
    let (_, now) = probing(false);
    // 40.002 ms and 2 ms are 11 jiffies, and the wheel's one.
    assert_eq!(now, at(ms(48)));
}

#[test]
fn a_probe_is_new_data_where_there_is_some() {
    let (recovery, _) = probing(true);
    assert!(recovery.may_send_new() && recovery.is_probing());
    let (mut recovery, now) = probing(false);
    let last = Range {
        sequence: sequence_of(1),
        len: MSS,
    };
    assert_eq!(recovery.next_retransmission(), Some(last));
    recovery.sent(last.sequence, last.len, now);
    assert_eq!(recovery.next_retransmission(), None);
    assert_eq!(recovery.in_flight(), 2, "a probe does not count");
}

#[test]
fn a_probe_leaves_out_what_was_acknowledged_of_its_segment() {
    let mut recovery = opened(&Config::linux(1_460), Duration::from_millis(20));
    for segment in 0..2 {
        recovery.sent(sequence_of(segment), MSS, at(0));
    }
    let half = Ack {
        acknowledgment: sequence_of(1).wrapping_add(MSS / 2),
        window_bytes: 1 << 20,
        ..Ack::default()
    };
    recovery.handle_ack(&half, at(ms(20)));
    let due = recovery.next_timeout().unwrap();
    assert_eq!(recovery.handle_timeout(false, due), Timeout::Transmit);
    assert!(recovery.is_probing());
    let rest = Range {
        sequence: half.acknowledgment,
        len: MSS - MSS / 2,
    };
    assert_eq!(recovery.next_retransmission(), Some(rest));
}

#[test]
fn a_probe_that_mends_a_loss_reduces_the_window() {
    let (mut recovery, now) = probing(false);
    recovery.sent(sequence_of(1), MSS, now);
    recovery.sent(sequence_of(2), MSS, now);
    recovery.handle_ack(&ack(3), now + Duration::from_millis(20));
    // RFC 8985, section 7.4.2.
    assert_eq!(
        (recovery.congestion_window(), recovery.slow_start_threshold()),
        (7, 7)
    );
}

#[test]
fn a_probe_that_was_not_needed_reduces_nothing() {
    let (mut recovery, now) = probing(false);
    recovery.sent(sequence_of(1), MSS, now);
    recovery.handle_ack(&ack(2), now + Duration::from_millis(1));
    let duplicate = Ack {
        sack: SackBlocks::new(&[block(1, 2)]),
        ..ack(2)
    };
    recovery.handle_ack(&duplicate, now + Duration::from_millis(20));
    assert_eq!(recovery.probe, TailProbe::Idle);
    assert_eq!(recovery.slow_start_threshold(), NO_THRESHOLD);
}

#[test]
fn only_one_probe_is_out() {
    let (mut recovery, now) = probing(false);
    recovery.sent(sequence_of(1), MSS, now);
    assert!(recovery.schedule_loss_probe(false, now));
    let due = recovery.next_timeout().unwrap();
    assert_eq!(recovery.handle_timeout(false, due), Timeout::Early);
    assert_eq!(recovery.next_retransmission(), None);
    assert!(recovery.next_timeout().unwrap() > due, "the time-out waits");
}

#[test]
fn nothing_is_probed_without_selective_acknowledgments() {
    let config = Config {
        selective_acknowledgments: false,
        ..Config::linux(1_460)
    };
    let mut recovery = opened(&config, Duration::from_millis(20));
    recovery.sent(sequence_of(0), MSS, at(0));
    recovery.sent(sequence_of(1), MSS, at(0));
    // The time-out of 220.001 ms: 56 jiffies and one.
    assert_eq!(recovery.next_timeout(), Some(at(ms(228))));
}
