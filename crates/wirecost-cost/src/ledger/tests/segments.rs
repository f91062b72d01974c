//! TCP, segment by segment.

use super::bench::*;
use crate::Content;

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
            (Seg { len: 10, ..ACK }, "connect original: 10 application"),
            (
                Seg {
                    direction: Down,
                    ack: 11,
                    ..ACK
                },
                "connect acknowledgement: ",
            ),
            (
                Seg {
                    direction: Down,
                    ack: 11,
                    len: 4,
                    ..ACK
                },
                "connect original: 4 application",
            ),
            (
                Seg {
                    seq: 11,
                    ack: 5,
                    len: 100,
                    ..ACK
                },
                "message original: 4 application, 96 payload",
            ),
            (
                Seg {
                    direction: Down,
                    seq: 5,
                    ack: 111,
                    len: 4,
                    ..ACK
                },
                "message acknowledgement: 4 application acknowledgement",
            ),
            (
                Seg {
                    seq: 111,
                    ack: 9,
                    ..ACK
                },
                "message acknowledgement: ",
            ),
            (
                Seg {
                    seq: 111,
                    ack: 9,
                    len: 2,
                    ..FIN_ACK
                },
                "close original: 2 application",
            ),
            (
                Seg {
                    direction: Down,
                    seq: 9,
                    ack: 114,
                    ..ACK
                },
                "close acknowledgement: ",
            ),
            (
                Seg {
                    direction: Down,
                    seq: 9,
                    ack: 114,
                    ..FIN_ACK
                },
                "close original: ",
            ),
            (
                Seg {
                    seq: 114,
                    ack: 10,
                    ..ACK
                },
                "close acknowledgement: ",
            ),
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
    let data = Seg {
        seq: 11,
        len: 54,
        ..ACK
    };
    expect_established(&[
        (Seg { len: 10, ..ACK }, "connect original: 10 application"),
        (data, "message original: 4 application, 50 payload"),
        (
            data,
            "message retransmission: 4 application retransmission, 50 payload retransmission",
        ),
        // The first half again, within one layer.
        (
            Seg {
                seq: 20,
                len: 10,
                ..ACK
            },
            "message retransmission: 10 payload retransmission",
        ),
        // 14 bytes sent before and 26 new ones.
        (
            Seg {
                seq: 51,
                len: 40,
                ..ACK
            },
            "message retransmission: 14 payload retransmission, 26 payload",
        ),
        (
            Seg {
                seq: 91,
                len: 20,
                ..ACK
            },
            "message original: 20 payload",
        ),
        // Everything again, from the connect phase on.
        (
            Seg { len: 110, ..ACK },
            "connect retransmission: 10 application retransmission, \
             4 application retransmission of message, 96 payload retransmission of message",
        ),
    ]);
}

#[test]
fn resent_data_with_a_new_fin_leaves_the_fin_out() {
    expect_established(&[
        (Seg { len: 10, ..ACK }, "connect original: 10 application"),
        (
            Seg { len: 10, ..FIN_ACK },
            "connect retransmission: 10 application retransmission",
        ),
        (Seg { seq: 11, ..FIN_ACK }, "close retransmission: "),
    ]);
}

#[test]
fn a_segment_of_two_phases_has_the_first() {
    expect_established(&[(
        Seg { len: 20, ..ACK },
        "connect original: 10 application, 4 application of message, 6 payload of message",
    )]);
}

#[test]
fn a_pure_ack_has_the_phase_of_the_last_byte_acknowledged() {
    let from_server = Seg {
        direction: Down,
        ..ACK
    };
    expect_established(&[
        (
            Seg { len: 112, ..ACK },
            "connect original: 10 application, 4 application of message, 96 payload of message, 2 application of close",
        ),
        (
            Seg {
                ack: 1,
                ..from_server
            },
            "connect acknowledgement: ",
        ),
        (
            Seg {
                ack: 11,
                ..from_server
            },
            "connect acknowledgement: ",
        ),
        (
            Seg {
                ack: 12,
                ..from_server
            },
            "message acknowledgement: ",
        ),
        (
            Seg {
                ack: 111,
                ..from_server
            },
            "message acknowledgement: ",
        ),
        // A duplicate stays an acknowledgement.
        (
            Seg {
                ack: 111,
                ..from_server
            },
            "message acknowledgement: ",
        ),
        (
            Seg {
                ack: 113,
                ..from_server
            },
            "close acknowledgement: ",
        ),
    ]);
}

#[test]
fn a_reset_is_close_and_moves_no_sequence_number() {
    expect_established(&[
        (Seg { seq: 5_000, ..RST }, "close original: "),
        (Seg { len: 10, ..ACK }, "connect original: 10 application"),
        // Its text is not of the stream (RFC 9293 section 3.5.2).
        (
            Seg {
                seq: 11,
                len: 3,
                ..RST
            },
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
            Seg {
                direction: Down,
                seq: 0_u32.wrapping_sub(9_000),
                ack: 1,
                ..RST
            },
            "close original: ",
        ),
        // Another initial sequence number.
        (Seg { seq: 70_000, ..SYN }, "connect original: "),
        (
            Seg {
                seq: 70_001,
                len: 10,
                ..ACK
            },
            "connect original: 10 application",
        ),
    ]);
}

#[test]
fn a_second_connection_continues_the_stream_after_what_the_first_sent() {
    let mut bench = Bench::established(1_000, 9_000);
    bench.expect(&[
        (Seg { len: 10, ..ACK }, "connect original: 10 application"),
        (Seg { seq: 11, ..FIN_ACK }, "close original: "),
        (Seg { seq: 70_000, ..SYN }, "connect original: "),
        (
            Seg {
                seq: 70_001,
                len: 100,
                ..ACK
            },
            "message original: 4 application, 96 payload",
        ),
        (
            Seg {
                seq: 70_001,
                len: 4,
                ..ACK
            },
            "message retransmission: 4 application retransmission",
        ),
    ]);
}

#[test]
fn data_on_a_syn_has_its_own_phase() {
    Bench::new(1_000, 9_000).expect(&[
        (Seg { len: 10, ..SYN }, "connect original: 10 application"),
        (SYN, "connect retransmission: "),
        (
            Seg { len: 14, ..ACK },
            "connect retransmission: 10 application retransmission, 4 application of message",
        ),
    ]);
}

#[test]
fn bytes_that_nobody_described_are_counted() {
    expect_established(&[
        (
            Seg { len: 112, ..ACK },
            "connect original: 10 application, 4 application of message, 96 payload of message, 2 application of close",
        ),
        (
            Seg {
                seq: 113,
                len: 7,
                ..ACK
            },
            "message original: 7 application (7 unattributed)",
        ),
        (
            Seg {
                seq: 120,
                len: 7,
                ..ACK
            },
            "message original: 7 application (7 unattributed)",
        ),
        (
            Seg {
                seq: 120,
                len: 7,
                ..ACK
            },
            "message retransmission: 7 application retransmission (7 unattributed)",
        ),
        // A byte before the stream's first.
        (
            Seg {
                seq: 0,
                len: 2,
                ..ACK
            },
            "connect retransmission: 1 application retransmission, 1 application of message (1 unattributed)",
        ),
    ]);
}

#[test]
fn a_capture_may_start_within_a_connection() {
    Bench::new(1_000, 9_000).expect(&[
        (
            Seg {
                seq: 501,
                len: 10,
                ..ACK
            },
            "connect original: 10 application",
        ),
        (
            Seg {
                seq: 501,
                len: 10,
                ..ACK
            },
            "connect retransmission: 10 application retransmission",
        ),
        (
            Seg {
                seq: 511,
                len: 4,
                ..ACK
            },
            "message original: 4 application",
        ),
    ]);
}

#[test]
fn content_says_where_it_stands_in_the_stream() {
    let mut bench = Bench::established(u32::MAX, 0);
    let (verdict, _) = bench.send(Seg {
        seq: 11,
        len: 100,
        ..ACK
    });
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
    let (verdict, _) = bench.send(Seg {
        seq: 61,
        len: 52,
        ..ACK
    });
    assert_eq!(verdict.payload_bytes_original, 0);
    assert_eq!(bench.send(ACK).0.content, Content::None);
}
