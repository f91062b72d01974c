//! TCP, segment by segment.

use wirecost_proto::Instant;

use super::bench::*;
use crate::{Arrivals, Content};

/// Initial sequence numbers: plain, and such that the first bytes wrap around.
const INITIALS: [(u32, u32); 3] = [(1_000, 9_000), (u32::MAX, u32::MAX - 2), (u32::MAX - 50, 0)];

/// Rows hold whatever the initial sequence numbers are.
fn expect_established(rows: &[(Seg, &str)]) {
    for (up, down) in INITIALS {
        Bench::established(up, down).expect(rows);
    }
}

#[test]
fn a_connection_is_attributed_from_syn_to_last_ack() {
    for (up, down) in INITIALS {
        Bench::new(up, down).expect(&[
            (SYN, "connect original: "),
            (SYN_ACK, "connect original: "),
            (ACK, "connect acknowledgement: "),
            (ACK.len(10), "connect original: 10 application"),
            (ACK.down().ack(11), "connect acknowledgement: "),
            (ACK.down().ack(11).len(4), "connect original: 4 application"),
            (
                ACK.seq(11).ack(5).len(100),
                "message original: 4 application, 96 payload",
            ),
            (
                ACK.down().seq(5).ack(111).len(4),
                "message acknowledgement: 4 application acknowledgement",
            ),
            (ACK.seq(111).ack(9), "message acknowledgement: "),
            (FIN_ACK.seq(111).ack(9).len(2), "close original: 2 application"),
            (ACK.down().seq(9).ack(114), "close acknowledgement: "),
            (FIN_ACK.down().seq(9).ack(114), "close original: "),
            (ACK.seq(114).ack(10), "close acknowledgement: "),
        ]);
    }
}

#[test]
fn a_resent_syn_syn_ack_or_fin_is_retransmission() {
    for (up, down) in INITIALS {
        Bench::new(up, down).expect(&[
            (SYN, "connect original: "),
            (SYN, "connect retransmission: "),
            (SYN_ACK, "connect original: "),
            (SYN_ACK, "connect retransmission: "),
            (FIN_ACK, "close original: "),
            (FIN_ACK, "close retransmission: "),
        ]);
    }
}

#[test]
fn exactly_the_resent_bytes_are_retransmission() {
    let data = ACK.seq(11).len(54);
    expect_established(&[
        (ACK.len(10), "connect original: 10 application"),
        (data, "message original: 4 application, 50 payload"),
        (
            data,
            "message retransmission: 4 application retransmission, 50 payload retransmission",
        ),
        // The first half again, within one layer.
        (
            ACK.seq(20).len(10),
            "message retransmission: 10 payload retransmission",
        ),
        // 14 bytes sent before and 26 new ones.
        (
            ACK.seq(51).len(40),
            "message retransmission: 14 payload retransmission, 26 payload",
        ),
        (ACK.seq(91).len(20), "message original: 20 payload"),
        // Everything again, from the connect phase on.
        (
            ACK.len(110),
            "connect retransmission: 10 application retransmission, \
             4 application retransmission of message, 96 payload retransmission of message",
        ),
    ]);
}

#[test]
fn resent_data_with_a_new_fin_leaves_the_fin_out() {
    expect_established(&[
        (ACK.len(10), "connect original: 10 application"),
        (
            FIN_ACK.len(10),
            "connect retransmission: 10 application retransmission",
        ),
        (FIN_ACK.seq(11), "close retransmission: "),
    ]);
}

#[test]
fn a_segment_of_two_phases_has_the_first() {
    expect_established(&[(
        ACK.len(20),
        "connect original: 10 application, 4 application of message, 6 payload of message",
    )]);
}

#[test]
fn a_pure_ack_has_the_phase_of_the_last_byte_acknowledged() {
    let from_server = ACK.down();
    expect_established(&[
        (
            ACK.len(112),
            "connect original: 10 application, 4 application of message, 96 payload of message, 2 application of close",
        ),
        (from_server.ack(1), "connect acknowledgement: "),
        (from_server.ack(11), "connect acknowledgement: "),
        (from_server.ack(12), "message acknowledgement: "),
        (from_server.ack(111), "message acknowledgement: "),
        // A duplicate waits for the next byte, here of the close; a wider window is told of what was acknowledged.
        (from_server.ack(111), "close acknowledgement: "),
        (from_server.ack(111).window(2_000), "message acknowledgement: "),
        (from_server.ack(113), "close acknowledgement: "),
    ]);
}

#[test]
fn a_reset_is_close_and_moves_no_sequence_number() {
    expect_established(&[
        (RST.seq(5_000), "close original: "),
        (ACK.len(10), "connect original: 10 application"),
        // Its text is not of the stream (RFC 9293 section 3.5.3).
        (
            RST.seq(11).len(3),
            "close original: 3 application of message (3 unattributed)",
        ),
    ]);
}

#[test]
fn a_refused_connection_can_be_tried_again_on_the_same_ports() {
    let mut bench = Bench::new(1_000, 9_000);
    bench.expect(&[
        (SYN, "connect original: "),
        (
            RST.down().seq(0_u32.wrapping_sub(9_000)).ack(1),
            "close original: ",
        ),
        // Another initial sequence number.
        (SYN.seq(70_000), "connect original: "),
        (ACK.seq(70_001).len(10), "connect original: 10 application"),
    ]);
}

#[test]
fn a_second_connection_continues_the_stream_of_the_first() {
    let mut bench = Bench::established(1_000, 9_000);
    bench.expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (FIN_ACK.seq(11), "close original: "),
        (SYN.seq(70_000), "connect original: "),
        (
            ACK.seq(70_001).len(100),
            "message original: 4 application, 96 payload",
        ),
        (
            ACK.seq(70_001).len(4),
            "message retransmission: 4 application retransmission",
        ),
    ]);
}

#[test]
fn data_on_a_syn_has_its_own_phase() {
    Bench::new(1_000, 9_000).expect(&[
        (SYN.len(10), "connect original: 10 application"),
        (SYN, "connect retransmission: "),
        (
            ACK.len(14),
            "connect retransmission: 10 application retransmission, 4 application of message",
        ),
    ]);
}

#[test]
fn undescribed_bytes_are_counted() {
    expect_established(&[
        (
            ACK.len(112),
            "connect original: 10 application, 4 application of message, 96 payload of message, 2 application of close",
        ),
        (
            ACK.seq(113).len(7),
            "message original: 7 application (7 unattributed)",
        ),
        (
            ACK.seq(120).len(7),
            "message original: 7 application (7 unattributed)",
        ),
        (
            ACK.seq(120).len(7),
            "message retransmission: 7 application retransmission (7 unattributed)",
        ),
        // A byte before the stream's first.
        (
            ACK.seq(0).len(2),
            "connect retransmission: 1 application retransmission, 1 application of message (1 unattributed)",
        ),
    ]);
}

#[test]
fn a_capture_may_start_within_a_connection() {
    Bench::new(1_000, 9_000).expect(&[
        (ACK.seq(501).len(10), "connect original: 10 application"),
        (
            ACK.seq(501).len(10),
            "connect retransmission: 10 application retransmission",
        ),
        (ACK.seq(511).len(4), "message original: 4 application"),
    ]);
}

#[test]
fn content_has_its_offsets_in_the_stream() {
    let mut bench = Bench::established(u32::MAX, 0);
    let (verdict, _) = bench.send(ACK.seq(11).len(100));
    let (start, end) = (10, 110);
    assert_eq!(
        verdict.content,
        Content::Stream {
            flow: FLOW,
            start,
            end
        }
    );
    assert_eq!(verdict.payload_bytes_original, 96);
    assert_eq!(verdict.wire_bytes, 140);
    let (verdict, _) = bench.send(ACK.seq(61).len(52));
    assert_eq!(verdict.payload_bytes_original, 0);
    assert_eq!(bench.send(ACK).0.content, Content::None);
}

#[test]
fn a_message_has_arrived_when_its_lost_segment_was_sent_again() {
    let mut bench = Bench::established(u32::MAX - 20, 9_000);
    let mut arrivals = Arrivals::new();
    let rows = [
        (ACK.len(10), Some(5)),
        (ACK.seq(11).len(50), None),
        (ACK.seq(61).len(50), Some(7)),
        (ACK.seq(11).len(50), Some(90)),
        (ACK.seq(11).len(50), Some(95)),
    ];
    for (seg, delivered_at) in rows {
        let (verdict, _) = bench.send(seg);
        if let Some(at) = delivered_at {
            arrivals.delivered(Up, &verdict, Instant::from_millis(at));
        }
    }
    let arrival = |bytes| arrivals.of_stream(FLOW, Up, bytes);
    assert_eq!(arrival(0..10), Some(Instant::from_millis(5)));
    assert_eq!(arrival(10..110), Some(Instant::from_millis(90)));
    assert_eq!(arrival(10..111), None);
}
