use super::*;

const ONE: Progress = Progress {
    delivered: 1,
    lost: 0,
    advances: false,
    in_flight: 0,
    ssthresh: 7,
};

#[test]
fn the_first_acknowledgment_lets_a_retransmission_go() {
    let mut reduction = Reduction::new(10);
    // 7 of 10 for one delivered: one may be sent, 8 in flight and this one.
    let progress = Progress { in_flight: 8, ..ONE };
    assert_eq!(reduction.window(&progress), Some(9));
}

#[test]
fn seven_segments_leave_for_ten_delivered() {
    let mut reduction = Reduction::new(10);
    let mut in_flight = 20;
    let mut sent = 0;
    for _ in 0..10 {
        in_flight -= 1;
        let cwnd = reduction.window(&Progress { in_flight, ..ONE }).unwrap();
        for _ in in_flight..cwnd {
            reduction.note_sent();
            sent += 1;
        }
        in_flight = in_flight.max(cwnd);
    }
    // RFC 6937, section 3: ssthresh / prior window of what is delivered.
    assert_eq!(sent, 7);
}

#[test]
fn below_the_threshold_what_is_delivered_may_be_sent() {
    let mut reduction = Reduction::new(10);
    reduction.note_sent();
    let progress = Progress {
        delivered: 2,
        in_flight: 3,
        ..ONE
    };
    assert_eq!(reduction.window(&progress), Some(5), "conservation");
    let progress = Progress {
        delivered: 2,
        in_flight: 3,
        advances: true,
        ..ONE
    };
    assert_eq!(
        reduction.window(&progress),
        Some(3 + 4),
        "3 unsent of 4, one more, up to the threshold"
    );
    let progress = Progress {
        in_flight: 3,
        advances: true,
        lost: 1,
        ..ONE
    };
    assert_eq!(reduction.window(&progress), Some(3 + 4), "4 unsent of 5");
}

#[test]
fn nothing_delivered_changes_nothing() {
    let progress = Progress { delivered: 0, ..ONE };
    assert_eq!(Reduction::new(10).window(&progress), None);
    assert_eq!(Reduction::default().window(&ONE), None);
}
