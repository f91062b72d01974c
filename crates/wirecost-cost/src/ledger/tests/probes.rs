//! Keep-alive and zero-window probes.

use super::bench::*;

const FROM_SERVER: Seg = Seg {
    direction: Down,
    ..ACK
};

#[test]
fn a_keep_alive_of_no_byte_or_one_is_a_probe() {
    for initial in [1_000, u32::MAX - 5] {
        Bench::established(initial, 9_000).expect(&[
            // Before any data.
            (Seg { seq: 0, ..ACK }, "connect probe: "),
            (Seg { len: 10, ..ACK }, "connect original: 10 application"),
            (
                Seg {
                    ack: 11,
                    ..FROM_SERVER
                },
                "connect acknowledgement: ",
            ),
            (Seg { seq: 10, ..ACK }, "connect probe: "),
            (
                Seg {
                    seq: 10,
                    len: 1,
                    ..ACK
                },
                "connect probe: 1 application probe",
            ),
            // Its answer is an acknowledgement.
            (
                Seg {
                    ack: 11,
                    ..FROM_SERVER
                },
                "connect acknowledgement: ",
            ),
        ]);
    }
}

#[test]
fn one_unacknowledged_byte_again_is_a_retransmission() {
    Bench::established(1_000, 9_000).expect(&[
        (Seg { len: 10, ..ACK }, "connect original: 10 application"),
        (
            Seg {
                seq: 10,
                len: 1,
                ..ACK
            },
            "connect retransmission: 1 application retransmission",
        ),
    ]);
}

#[test]
fn a_segment_of_one_byte_again_is_a_retransmission_though_acknowledged() {
    Bench::established(1_000, 9_000).expect(&[
        (Seg { len: 9, ..ACK }, "connect original: 9 application"),
        (
            Seg {
                seq: 10,
                len: 1,
                ..ACK
            },
            "connect original: 1 application",
        ),
        (
            Seg {
                ack: 11,
                ..FROM_SERVER
            },
            "connect acknowledgement: ",
        ),
        (
            Seg {
                seq: 10,
                len: 1,
                ..ACK
            },
            "connect retransmission: 1 application retransmission",
        ),
    ]);
}

#[test]
fn a_byte_into_a_zero_window_is_a_probe() {
    Bench::established(1_000, 9_000).expect(&[
        (Seg { len: 10, ..ACK }, "connect original: 10 application"),
        (
            Seg {
                ack: 11,
                window: 0,
                ..FROM_SERVER
            },
            "connect acknowledgement: ",
        ),
        // New, so that it is a byte of the message as well.
        (
            Seg {
                seq: 11,
                len: 1,
                ..ACK
            },
            "message probe: 1 application",
        ),
        (
            Seg {
                ack: 11,
                window: 0,
                ..FROM_SERVER
            },
            "connect acknowledgement: ",
        ),
        (
            Seg {
                seq: 11,
                len: 1,
                ..ACK
            },
            "message probe: 1 application probe",
        ),
        // The window opens.
        (
            Seg {
                ack: 11,
                window: 500,
                ..FROM_SERVER
            },
            "connect acknowledgement: ",
        ),
        (
            Seg {
                seq: 11,
                len: 100,
                ..ACK
            },
            "message retransmission: 1 application retransmission, 3 application, 96 payload",
        ),
    ]);
}

#[test]
fn a_probe_of_the_last_byte_acknowledged_needs_no_data_of_its_own() {
    Bench::established(1_000, 9_000).expect(&[
        (
            Seg { len: 14, ..ACK },
            "connect original: 10 application, 4 application of message",
        ),
        (
            Seg {
                ack: 11,
                window: 0,
                ..FROM_SERVER
            },
            "connect acknowledgement: ",
        ),
        (Seg { seq: 10, ..ACK }, "connect probe: "),
        // Between what is acknowledged and what was sent: an acknowledgement.
        (Seg { seq: 12, ..ACK }, "connect acknowledgement: "),
    ]);
}
