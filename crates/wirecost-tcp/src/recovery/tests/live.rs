//! What lossy live captures showed.

use super::*;
use crate::recovery::congestion::window::NO_THRESHOLD;

const RTT: Duration = Duration::from_millis(20);

/// A sender with `segments` sent at 0.
fn sent(segments: u32) -> Recovery {
    let mut recovery = opened(&Config::linux(1_460), RTT);
    for segment in 0..segments {
        recovery.sent(sequence_of(segment), MSS, at(0));
    }
    recovery
}

fn ack(una: u32, blocks: &[(u32, u32)], echo: u32) -> Ack {
    let blocks: Vec<SackBlock> = blocks.iter().map(|(start, end)| block(*start, *end)).collect();
    Ack {
        acknowledgment: sequence_of(una),
        sack: SackBlocks::new(&blocks),
        echo: Some(echo),
        window_bytes: 1 << 20,
        ..Ack::default()
    }
}

/// Retransmits what may be; returns which segments.
fn retransmitted(recovery: &mut Recovery, now: Instant) -> Vec<u32> {
    let mut segments = Vec::new();
    while let Some(range) = recovery.next_retransmission() {
        segments.push(segment_of(range.sequence));
        recovery.sent(range.sequence, range.len, now);
    }
    segments
}

#[test]
fn blocks_of_one_acknowledgment_do_not_overtake_one_another() {
    let mut recovery = sent(7);
    recovery.handle_ack(&ack(0, &[(1, 2)], 0), at(ms(20)));
    // The newest block is first; four segments beyond two gaps are enough (RFC 6675, section 5).
    recovery.handle_ack(&ack(0, &[(4, 6), (1, 3)], 0), at(ms(20)));
    assert!(!recovery.rack.is_reordering_seen);
    assert_eq!(recovery.scoreboard.lost(), 2);
    assert_eq!(retransmitted(&mut recovery, at(ms(20))), [0, 3]);
}

#[test]
fn duplicates_of_every_retransmission_take_the_time_out_back() {
    let mut recovery = sent(2);
    recovery.handle_ack(&ack(1, &[], 0), at(ms(20)));
    // The probe and the time-out for the second segment, which has arrived: its acknowledgment is lost.
    let mut now = recovery.next_timeout().unwrap();
    assert_eq!(recovery.handle_timeout(false, now), Timeout::Transmit);
    assert_eq!(retransmitted(&mut recovery, now), [1]);
    now = recovery.next_timeout().unwrap();
    recovery.handle_timeout(false, now);
    assert_eq!(retransmitted(&mut recovery, now), [1]);
    assert_eq!(recovery.congestion_window(), 1);
    // Both arrive and find the segment there: two duplicates, the first with an acknowledgment of everything.
    let duplicate = Ack {
        echo: None,
        ..ack(2, &[(1, 2)], 0)
    };
    recovery.handle_ack(&duplicate, now + RTT);
    assert_eq!(recovery.slow_start_threshold(), 7);
    recovery.handle_ack(&duplicate, now + RTT);
    assert_eq!(
        (recovery.congestion_window(), recovery.slow_start_threshold()),
        (10, NO_THRESHOLD)
    );
}

#[test]
fn a_lost_syn_leaves_slow_start_alone() {
    let after = |retransmissions, is_spurious| {
        let mut recovery = Recovery::new(&Config::linux(1_460).into(), START, Instant::START);
        let opening = HandshakeResult {
            rtt: Some(RTT),
            retransmissions,
            is_spurious,
            has_sack: true,
            segment_bytes: MSS,
        };
        recovery.opened(&opening, Instant::START);
        (recovery.congestion_window(), recovery.slow_start_threshold())
    };
    assert_eq!(after(0, false), (10, NO_THRESHOLD));
    assert_eq!(after(1, false), (10, NO_THRESHOLD));
    assert_eq!(after(2, false), (1, NO_THRESHOLD));
    assert_eq!(after(2, true), (10, NO_THRESHOLD));
}

#[test]
fn small_segments_and_the_fin_are_retransmitted_as_one() {
    let mut recovery = opened(&Config::linux(1_460), RTT);
    recovery.sent(START, 132, at(0));
    recovery.sent(START.wrapping_add(132), 132, at(0));
    recovery.sent(START.wrapping_add(264), 1, at(0));
    // The probe sends the FIN alone, the time-out everything.
    for expected in [(264, 1), (0, 265)] {
        let now = recovery.next_timeout().unwrap();
        recovery.handle_timeout(false, now);
        let range = recovery.next_retransmission().unwrap();
        assert_eq!((range.sequence.wrapping_sub(START), range.len), expected);
        recovery.sent(range.sequence, range.len, now);
    }
}

#[test]
fn what_left_at_one_time_is_told_apart_by_its_order() {
    // New data and a retransmission leave at once: the acknowledgment of the former does not show the latter lost.
    let mut recovery = sent(4);
    let now = at(ms(20));
    recovery.sent(sequence_of(4), MSS, now);
    recovery.handle_ack(&ack(0, &[(1, 4)], 0), now);
    assert_eq!(retransmitted(&mut recovery, now), [0]);
    recovery.handle_ack(&ack(0, &[(1, 5)], 20), at(ms(40)));
    assert_eq!(retransmitted(&mut recovery, at(ms(40))), []);
    recovery.handle_ack(&ack(5, &[], 20), at(ms(40)));
    assert_eq!(recovery.next_timeout(), None);
}
