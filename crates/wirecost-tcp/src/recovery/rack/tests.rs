use super::*;
use crate::recovery::clock::TickClock;
use crate::timers::Granularity;

const RTT: u64 = 20_000;

/// Segments of 100 bytes sent every `gap` microseconds from 0, and RACK after `arrived` of them arrived a round trip later.
fn sent(segments: u32, gap: u64) -> Scoreboard {
    let mut scoreboard = Scoreboard::new(0);
    for segment in 0..segments {
        scoreboard.push(Record {
            sequence: segment * 100,
            len: 100,
            delivered: 0,
            order: segment,
            tags: Tags::default(),
            sent_micros: u64::from(segment) * gap,
        });
    }
    scoreboard
}

fn min_rtt() -> MinRtt {
    let mut min_rtt = MinRtt::default();
    min_rtt.measure(RTT, 0, &TickClock::new(Granularity::Exact));
    min_rtt
}

fn arrive(rack: &mut Rack, scoreboard: &mut Scoreboard, index: usize, now_micros: u64) {
    let record = *scoreboard.get(index).unwrap();
    rack.advance(&record, now_micros, &min_rtt());
    scoreboard.retag(index, |record| record.tags.sacked = true);
}

fn detect(
    rack: &Rack,
    scoreboard: &mut Scoreboard,
    now_micros: u64,
    is_recovering: bool,
) -> (u32, Option<u64>) {
    let evidence = Evidence {
        now_micros,
        min_rtt: &min_rtt(),
        srtt_eighths: 8 * RTT,
        is_recovering,
    };
    rack.detect(scoreboard, &evidence)
}

#[test]
fn a_quarter_of_the_round_trip_is_waited_for_what_was_overtaken() {
    let (mut rack, mut scoreboard) = (Rack::new(), sent(3, 0));
    arrive(&mut rack, &mut scoreboard, 1, RTT);
    // RFC 8985, section 6.2, step 4: min_RTT / 4.
    assert_eq!(detect(&rack, &mut scoreboard, RTT, false), (0, Some(RTT / 4)));
    assert_eq!(detect(&rack, &mut scoreboard, RTT + RTT / 4, false), (1, None));
    assert!(scoreboard.get(0).unwrap().tags.lost && !scoreboard.get(2).unwrap().tags.lost);
}

#[test]
fn nothing_is_waited_for_after_three_or_in_a_recovery() {
    let (mut rack, mut scoreboard) = (Rack::new(), sent(4, 0));
    arrive(&mut rack, &mut scoreboard, 1, RTT);
    assert_eq!(detect(&rack, &mut scoreboard.clone(), RTT, true), (1, None));
    arrive(&mut rack, &mut scoreboard, 2, RTT);
    assert_eq!(detect(&rack, &mut scoreboard, RTT, false).0, 0);
    arrive(&mut rack, &mut scoreboard, 3, RTT);
    assert_eq!(detect(&rack, &mut scoreboard, RTT, false), (1, None));
}

#[test]
fn seen_reordering_is_waited_for_even_in_a_recovery() {
    let (mut rack, mut scoreboard) = (Rack::new(), sent(4, 0));
    rack.note_reordering(0, 300, 100);
    arrive(&mut rack, &mut scoreboard, 3, RTT);
    assert_eq!(detect(&rack, &mut scoreboard, RTT, true), (0, Some(RTT / 4)));
}

#[test]
fn what_was_sent_later_is_not_overtaken() {
    let (mut rack, mut scoreboard) = (Rack::new(), sent(3, 1_000));
    arrive(&mut rack, &mut scoreboard, 0, RTT);
    assert_eq!(detect(&rack, &mut scoreboard, 10 * RTT, true), (0, None));
}

#[test]
fn a_retransmission_is_lost_when_a_later_segment_arrives() {
    let (mut rack, mut scoreboard) = (Rack::new(), sent(3, 0));
    scoreboard.retag(0, |record| {
        record.tags.mark_lost();
        record.tags.retransmitted = true;
        record.tags.ever_retransmitted = true;
        record.sent_micros = RTT;
        record.order = 3;
    });
    scoreboard.push(Record {
        sequence: 300,
        len: 100,
        delivered: 0,
        order: 4,
        tags: Tags::default(),
        sent_micros: RTT,
    });
    arrive(&mut rack, &mut scoreboard, 2, RTT + 10);
    assert_eq!(
        detect(&rack, &mut scoreboard, RTT + 10, true).0,
        1,
        "the second segment, not the retransmission"
    );
    arrive(&mut rack, &mut scoreboard, 3, 2 * RTT);
    assert_eq!(detect(&rack, &mut scoreboard, 2 * RTT, true).0, 1);
    assert!(!scoreboard.get(0).unwrap().tags.retransmitted);
}

#[test]
fn only_a_possible_round_trip_of_a_retransmission_counts() {
    let (mut rack, scoreboard) = (Rack::new(), sent(1, 0));
    let mut record = *scoreboard.get(0).unwrap();
    record.tags.ever_retransmitted = true;
    // RFC 8985, section 6.2, step 2: less than the least round trip answers the first transmission.
    rack.advance(&record, RTT - 1, &min_rtt());
    assert!(!rack.has_advanced);
    rack.advance(&record, RTT, &min_rtt());
    assert!(rack.has_advanced);
}

#[test]
fn dsacks_widen_the_reordering_window_once_a_round_trip() {
    let mut rack = Rack::new();
    rack.note_duplicate();
    rack.adapt_window(1, 10);
    assert_eq!(rack.window.steps, 1, "no reordering was seen");
    rack.note_reordering(0, 100, 100);
    rack.note_duplicate();
    rack.adapt_window(1, 10);
    rack.note_duplicate();
    rack.adapt_window(9, 12);
    assert_eq!(rack.window.steps, 2, "not before a round trip has passed");
    rack.note_duplicate();
    rack.adapt_window(10, 20);
    assert_eq!(rack.window.steps, 3);
    for _ in 0..PERSIST {
        rack.recovery_ended(false);
    }
    rack.adapt_window(21, 30);
    assert_eq!(rack.window.steps, 1);
}

#[test]
fn strong_reordering_raises_the_duplicate_threshold() {
    let mut rack = Rack::new();
    rack.note_reordering(0, 300, 100);
    assert_eq!(rack.reordering, 3);
    rack.note_reordering(0, 750, 100);
    assert_eq!(rack.reordering, 8);
    rack.note_reordering(0, 1_000_000, 100);
    assert_eq!(rack.reordering, 300);
    let mut rack = Rack::new();
    rack.note_reordering(100, 100, 100);
    assert!(!rack.is_reordering_seen);
}
