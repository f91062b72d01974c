//! What acknowledgments tell of segments out of order.

use super::*;

fn told(host: &Host) -> Vec<(u32, u32)> {
    host.receiver
        .sack_blocks()
        .iter()
        .map(|block| (block.left, block.right))
        .collect()
}

/// Segments of 500 bytes, by their place in the stream, from 5001 on as in the examples of RFC 2018, section 4.
fn arrives(host: &mut Host, place: u32) {
    host.arrives(1 + 500 * place, 500, false);
}

#[test]
fn the_run_that_grew_last_comes_first() {
    let mut host = Host::linux();
    // RFC 2018, section 4, case 3: the second, fourth, sixth and eighth segments are lost.
    arrives(&mut host, 0);
    for place in [2, 4, 6] {
        arrives(&mut host, place);
    }
    assert_eq!(told(&host), [(3001, 3501), (2001, 2501), (1001, 1501)]);
    // The fourth arrives: its block joins its neighbours and comes first.
    arrives(&mut host, 3);
    assert_eq!(told(&host), [(1001, 2501), (3001, 3501)]);
    // The second arrives: what it joins is acknowledged.
    arrives(&mut host, 1);
    assert_eq!(host.receiver.next_expected(), 2501);
    assert_eq!(told(&host), [(3001, 3501)]);
}

#[test]
fn three_blocks_fit_beside_timestamps_and_four_without() {
    let mut host = Host::linux();
    for place in [2, 4, 6, 8] {
        arrives(&mut host, place);
    }
    assert_eq!(told(&host).len(), 3);
    host.receiver.terms.timestamps = false;
    assert_eq!(told(&host).len(), 4);
}

#[test]
fn nothing_is_told_to_a_peer_that_did_not_offer() {
    let mut host = Host::new(&ReceiveConfig::linux(), false);
    arrives(&mut host, 2);
    assert_eq!(told(&host), []);
}

#[test]
fn a_duplicate_is_told_once() {
    let mut host = Host::linux();
    arrives(&mut host, 0);
    arrives(&mut host, 2);
    host.receiver.ack_sent(host.now);
    // RFC 2883, section 4.1.1: a segment that is acknowledged already.
    arrives(&mut host, 0);
    assert_eq!(told(&host), [(1, 501), (1001, 1501)]);
    host.receiver.ack_sent(host.now);
    assert_eq!(told(&host), [(1001, 1501)]);
}

#[test]
fn a_duplicate_beyond_a_gap_is_told_with_its_run_behind_it() {
    let mut host = Host::linux();
    arrives(&mut host, 0);
    arrives(&mut host, 2);
    arrives(&mut host, 3);
    // RFC 2883, section 4.1.2.
    arrives(&mut host, 2);
    assert_eq!(told(&host), [(1001, 1501), (1001, 2001)]);
}

#[test]
fn the_part_that_came_before_is_told() {
    let mut host = Host::linux();
    arrives(&mut host, 0);
    // RFC 2883, section 4.2.1: two segments in one, the first of which is known.
    host.arrives(1, 1000, false);
    assert_eq!(told(&host), [(1, 501)]);
    assert_eq!(host.receiver.next_expected(), 1001);
}

#[test]
fn a_segment_that_fills_a_gap_and_more_tells_what_was_held() {
    let mut host = Host::linux();
    arrives(&mut host, 1);
    host.arrives(1, 1000, false);
    assert_eq!(told(&host), [(501, 1001)]);
}

#[test]
fn segments_around_a_gap_are_acknowledged_at_once() {
    let mut host = Host::linux();
    host.quick_segments();
    host.receiver.ack_sent(host.now);
    let next = host.receiver.next_expected();
    for place in 1..=3 {
        host.arrives(next + place * 64, 64, false);
        assert!(host.acknowledges());
    }
    host.arrives(next, 64, false);
    assert!(host.acknowledges());
    assert_eq!(host.receiver.next_expected(), next + 256);
}

#[test]
fn duplicate_acknowledgments_are_delayed_from_the_fourth_on() {
    let mut host = Host::linux();
    host.quick_segments();
    host.receiver.ack_sent(host.now);
    let next = host.receiver.next_expected();
    // The receiver's own estimate: 10 ms.
    host.receiver.note_echo(1, 11, 600);
    for place in 1..=5 {
        host.arrives(next + place * 64, 64, false);
        assert_eq!(host.acknowledges(), place <= 3);
    }
    assert_eq!(host.waits(), Some(Duration::from_micros(500)));
}

#[test]
fn a_third_run_is_told_although_acknowledgments_are_held_back() {
    let mut host = Host::linux();
    host.quick_segments();
    host.receiver.ack_sent(host.now);
    host.receiver.note_echo(1, 11, 600);
    let next = host.receiver.next_expected();
    for (place, at_once) in [(1, true), (3, true), (4, true), (5, false), (7, true)] {
        host.arrives(next + place * 64, 64, false);
        assert_eq!(host.acknowledges(), at_once, "segment {place}");
    }
    assert_eq!(told(&host).len(), 3);
}
