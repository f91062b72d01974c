use core::time::Duration;

use super::super::tests::{MSS, at, ms, opened, sequence_of};
use super::super::{Ack, Recovery, Timeout};
use super::*;
use crate::Config;

/// Ten segments sent at 0, after a handshake of 25 ms.
fn sent() -> Recovery {
    let mut recovery = opened(&Config::linux(1_460), Duration::from_millis(25));
    for segment in 0..10 {
        recovery.sent(sequence_of(segment), MSS, at(0));
    }
    recovery
}

/// Takes what is due until the time-out has come, and lets the probe go.
fn time_out(recovery: &mut Recovery) -> Instant {
    loop {
        let now = recovery.next_timeout().unwrap();
        let is_probe = recovery.timer.is_some_and(|timer| timer.is_loss_probe());
        assert_eq!(recovery.handle_timeout(false, now), Timeout::Transmit);
        while let Some(range) = recovery.next_retransmission() {
            recovery.sent(range.sequence, range.len, now);
        }
        if !is_probe {
            return now;
        }
    }
}

fn ack(segment: u32) -> Ack {
    Ack {
        acknowledgment: sequence_of(segment),
        window_bytes: 1 << 20,
        ..Ack::default()
    }
}

#[test]
fn a_time_out_leaves_one_segment_and_seven_tenths() {
    let mut recovery = sent();
    let threshold = Duration::from_millis(25 + 200);
    let now = time_out(&mut recovery);
    assert!(now > Instant::START + threshold);
    // RFC 5681, section 3.1: a window of one segment; RFC 9438, section 4.6: 10 x 717 / 1,024.
    assert_eq!(
        (recovery.congestion_window(), recovery.slow_start_threshold()),
        (1, 7)
    );
    assert_eq!((recovery.scoreboard.lost(), recovery.in_flight()), (10, 1));
    assert!(!recovery.may_send_new());
}

#[test]
fn the_window_grows_from_one_after_a_time_out() {
    let mut recovery = sent();
    let now = time_out(&mut recovery) + Duration::from_millis(25);
    recovery.handle_ack(&ack(1), now);
    assert_eq!(recovery.congestion_window(), 2);
    let again = core::iter::from_fn(|| {
        let range = recovery.next_retransmission()?;
        recovery.sent(range.sequence, range.len, now);
        Some(range.sequence)
    });
    assert_eq!(
        again.collect::<alloc::vec::Vec<_>>(),
        [sequence_of(1), sequence_of(2)]
    );
}

#[test]
fn a_second_time_out_reduces_no_further_and_waits_twice_as_long() {
    let mut recovery = sent();
    time_out(&mut recovery);
    let first = recovery.backed_off_rto();
    time_out(&mut recovery);
    assert_eq!(recovery.slow_start_threshold(), 7);
    assert_eq!(recovery.backed_off_rto(), 2 * first);
}

#[test]
fn a_measured_round_trip_ends_the_backing_off() {
    let mut recovery = sent();
    let now = time_out(&mut recovery);
    let echo = milliseconds(now);
    let now = now + Duration::from_millis(25);
    recovery.handle_ack(
        &Ack {
            echo: Some(echo),
            ..ack(1)
        },
        now,
    );
    assert!(recovery.backed_off_rto() < Duration::from_millis(300));
}

#[test]
fn the_timer_stops_when_everything_is_acknowledged() {
    let mut recovery = sent();
    recovery.handle_ack(&ack(9), at(ms(25)));
    assert!(recovery.next_timeout().is_some());
    recovery.handle_ack(&ack(10), at(ms(26)));
    assert_eq!(recovery.next_timeout(), None);
    assert_eq!(recovery.handle_timeout(false, at(ms(10_000))), Timeout::Early);
}

#[test]
fn what_was_sent_within_a_round_trip_is_not_taken_for_lost() {
    let mut recovery = sent();
    recovery.handle_ack(&ack(1), at(ms(25)));
    let now = recovery.next_timeout().unwrap() - Duration::from_millis(10);
    recovery.sent(sequence_of(10), MSS, now);
    recovery.set_rto_timer(0, now);
    recovery.handle_timeout(false, recovery.next_timeout().unwrap());
    // RFC 8985, section 6.3.
    assert_eq!(
        (recovery.scoreboard.outstanding(), recovery.scoreboard.lost()),
        (10, 9)
    );
}

#[test]
fn an_orphan_gives_up_sooner() {
    let mut recovery = sent();
    recovery.orphan();
    let mut now = Instant::START;
    while let Some(due) = recovery.next_timeout() {
        now = due;
        recovery.handle_timeout(false, now);
        while let Some(range) = recovery.next_retransmission() {
            recovery.sent(range.sequence, range.len, now);
        }
    }
    // Linux: `tcp_orphan_retries`: 102.2 s, at the time-out that follows.
    assert!(now > at(ms(102_200)) && now < at(ms(240_000)), "{now}");
}
