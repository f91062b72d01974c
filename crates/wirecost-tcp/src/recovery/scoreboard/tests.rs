use super::*;

fn scoreboard(segments: u32) -> Scoreboard {
    let mut scoreboard = Scoreboard::new(u32::MAX - 150);
    for _ in 0..segments {
        scoreboard.push(Record {
            sequence: scoreboard.next(),
            len: 100,
            delivered: 0,
            order: 0,
            tags: Tags::default(),
            sent_micros: 0,
        });
    }
    scoreboard
}

fn sequence(segment: u32) -> u32 {
    (u32::MAX - 150).wrapping_add(segment * 100)
}

fn sack(scoreboard: &mut Scoreboard, index: usize) {
    scoreboard.retag(index, |record| record.tags.sacked = true);
}

fn lose(scoreboard: &mut Scoreboard, index: usize) {
    scoreboard.retag(index, |record| record.tags.mark_lost());
}

fn retransmit(scoreboard: &mut Scoreboard, index: usize) {
    scoreboard.retag(index, |record| record.tags.retransmitted = true);
}

#[test]
fn counts_what_the_network_holds() {
    let mut scoreboard = scoreboard(5);
    assert_eq!(scoreboard.in_flight(), 5);
    sack(&mut scoreboard, 2);
    assert_eq!(scoreboard.in_flight(), 4);
    lose(&mut scoreboard, 0);
    assert_eq!(scoreboard.in_flight(), 3);
    retransmit(&mut scoreboard, 0);
    assert_eq!((scoreboard.in_flight(), scoreboard.retransmitted()), (4, 1));
    lose(&mut scoreboard, 0);
    assert_eq!((scoreboard.in_flight(), scoreboard.lost()), (3, 1), "lost again");
    scoreboard.check();
}

#[test]
fn an_acknowledgment_takes_whole_segments_out() {
    let mut scoreboard = scoreboard(4);
    sack(&mut scoreboard, 1);
    assert_eq!(scoreboard.highest_sacked(), sequence(2));
    let taken = core::iter::from_fn(|| scoreboard.pop_acknowledged(sequence(2).wrapping_add(50))).count();
    assert_eq!((taken, scoreboard.sacked(), scoreboard.outstanding()), (2, 0, 2));
    assert_eq!(
        scoreboard.una(),
        sequence(2).wrapping_add(50),
        "half of a segment counts for nothing"
    );
    assert_eq!(scoreboard.highest_sacked(), scoreboard.una());
    assert_eq!(
        scoreboard.head().map(|head| (head.sequence, head.len)),
        Some((scoreboard.una(), 50))
    );
    scoreboard.check();
}

#[test]
fn the_lowest_loss_is_retransmitted_first() {
    let mut scoreboard = scoreboard(5);
    assert_eq!(scoreboard.next_lost(), None);
    lose(&mut scoreboard, 3);
    assert_eq!(scoreboard.next_lost(), Some(3));
    lose(&mut scoreboard, 1);
    assert_eq!(scoreboard.next_lost(), Some(1));
    retransmit(&mut scoreboard, 1);
    assert_eq!(scoreboard.next_lost(), Some(3));
    retransmit(&mut scoreboard, 3);
    assert_eq!(scoreboard.next_lost(), None);
    lose(&mut scoreboard, 1);
    assert_eq!(scoreboard.next_lost(), Some(1));
}

#[test]
fn finds_a_segment_by_any_of_its_bytes() {
    let scoreboard = scoreboard(3);
    assert_eq!(scoreboard.index_of(sequence(1)), Some(1));
    assert_eq!(scoreboard.index_of(sequence(2).wrapping_sub(1)), Some(1));
    assert_eq!(scoreboard.index_of(sequence(3)), None);
    assert_eq!(scoreboard.index_of(sequence(0).wrapping_sub(1)), None);
    assert_eq!(scoreboard.first_from(sequence(1).wrapping_sub(1)), 1);
}

#[test]
fn small_segments_are_joined_for_retransmission() {
    let mut scoreboard = scoreboard(4);
    sack(&mut scoreboard, 3);
    for index in 0..2 {
        lose(&mut scoreboard, index);
    }
    assert!(scoreboard.collapse_next(0, 250));
    assert!(!scoreboard.collapse_next(0, 250), "300 bytes do not fit");
    assert!(scoreboard.collapse_next(0, 300));
    assert!(
        !scoreboard.collapse_next(0, 1_000),
        "what has arrived is not sent again"
    );
    assert_eq!((scoreboard.outstanding(), scoreboard.lost()), (2, 1));
    scoreboard.check();
}

#[test]
fn an_empty_scoreboard_keeps_little_memory() {
    let mut scoreboard = scoreboard(1_000);
    while scoreboard.pop_acknowledged(sequence(1_000)).is_some() {}
    assert_eq!((scoreboard.outstanding(), scoreboard.records.capacity()), (0, 0));
    scoreboard.check();
}
