//! Keep-alive and zero-window probes.

use wirecost_wire::tcp;

use super::bench::*;

const FROM_SERVER: Seg = ACK.down();

#[test]
fn a_keep_alive_of_no_byte_or_one_is_a_probe() {
    for initial in [1_000, u32::MAX - 5] {
        Bench::established(initial, 9_000).expect(&[
            // Before any data.
            (ACK.seq(0), "connect probe: "),
            (ACK.len(10), "connect original: 10 application"),
            (FROM_SERVER.ack(11), "connect acknowledgement: "),
            (ACK.seq(10), "connect probe: "),
            (ACK.seq(10).len(1), "connect probe: 1 application probe"),
            // Its answer is an acknowledgement.
            (FROM_SERVER.ack(11), "connect acknowledgement: "),
        ]);
    }
}

#[test]
fn an_acknowledgement_that_comes_late_takes_nothing_back() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (FROM_SERVER.ack(11), "connect acknowledgement: "),
        (FROM_SERVER.ack(5), "connect acknowledgement: "),
        (ACK.seq(10).len(1), "connect probe: 1 application probe"),
    ]);
}

#[test]
fn an_acknowledgement_beyond_the_sent_bytes_is_limited() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (FROM_SERVER.ack(90), "message acknowledgement: "),
        (ACK.seq(10).len(1), "connect probe: 1 application probe"),
    ]);
}

#[test]
fn a_reset_closes_no_window() {
    let reset_ack = Seg {
        flags: tcp::Flags::RST | tcp::Flags::ACK,
        ..FROM_SERVER
    };
    Bench::established(1_000, 9_000).expect(&[
        (reset_ack.window(0), "close original: "),
        (ACK.len(1), "connect original: 1 application"),
    ]);
}

#[test]
fn one_unacknowledged_byte_again_is_a_retransmission() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (
            ACK.seq(10).len(1),
            "connect retransmission: 1 application retransmission",
        ),
    ]);
}

#[test]
fn a_repeated_segment_of_one_byte_is_a_retransmission() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(9), "connect original: 9 application"),
        (ACK.seq(10).len(1), "connect original: 1 application"),
        (FROM_SERVER.ack(11), "connect acknowledgement: "),
        (
            ACK.seq(10).len(1),
            "connect retransmission: 1 application retransmission",
        ),
    ]);
}

#[test]
fn a_byte_into_a_zero_window_is_a_probe() {
    Bench::established(1_000, 9_000).expect(&[
        (ACK.len(10), "connect original: 10 application"),
        (FROM_SERVER.ack(11).window(0), "connect acknowledgement: "),
        // New, so that it is a byte of the message as well.
        (ACK.seq(11).len(1), "message probe: 1 application"),
        // It waits for that byte.
        (FROM_SERVER.ack(11).window(0), "message acknowledgement: "),
        (ACK.seq(11).len(1), "message probe: 1 application probe"),
        // The window opens.
        (FROM_SERVER.ack(11).window(500), "connect acknowledgement: "),
        (
            ACK.seq(11).len(100),
            "message retransmission: 1 application retransmission, 3 application, 96 payload",
        ),
    ]);
}

#[test]
fn a_probe_of_the_last_acknowledged_byte_has_no_data() {
    Bench::established(1_000, 9_000).expect(&[
        (
            ACK.len(14),
            "connect original: 10 application, 4 application of message",
        ),
        (FROM_SERVER.ack(11).window(0), "connect acknowledgement: "),
        (ACK.seq(10), "connect probe: "),
        // Between what is acknowledged and what was sent: an acknowledgement.
        (ACK.seq(12), "connect acknowledgement: "),
    ]);
}
