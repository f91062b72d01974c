//! Connections that are resumed, and messages that leave before the connect has ended.

use super::*;

fn resumed() -> Timing {
    Timing {
        start: Start::Resumed,
        ..timing()
    }
}

/// A device whose connection for the ticket is ready at 150 ms.
fn with_ticket(timing: Timing) -> Bench {
    let mut bench = connected(timing);
    bench.run_until(at(1_200));
    assert_eq!(
        bench.closed,
        Some(at(1_150)),
        "the first connection settles and is closed"
    );
    bench.report(Event::Closed);
    bench.run_until(at(2_200));
    bench
}

#[test]
fn nothing_is_measured_of_the_connection_before_a_resumed_one() {
    let mut bench = with_ticket(resumed());
    assert_eq!(bench.connects, [START, at(2_150)]);
    assert_eq!(bench.notes().connect_started, Some((at(2_150), at(2_150))));
    assert!(bench.sampler.is_before_connect(at(2_149)) && !bench.sampler.is_before_connect(at(2_150)));
    bench.report(Event::Established {
        start: Start::Resumed,
    });
    bench.report(READY);
    bench.run_until(at(3_500));
    assert_eq!(bench.sent, [(at(3_200), 0)]);
    assert_eq!(bench.notes().failure, None);
}

#[test]
fn a_connection_with_another_start_than_asked_is_not_a_sample() {
    let mut bench = with_ticket(resumed());
    bench.report(Event::Established { start: Start::Cold });
    bench.run_until(at(60_000));
    assert!(bench.finished && bench.sent.is_empty());
    assert_eq!(
        bench.notes().failure,
        Some(CutShort::OtherStart {
            asked: Start::Resumed,
            again: false,
            granted: Start::Cold,
        })
    );
}

#[test]
fn a_message_in_the_first_flight_is_sent_as_soon_as_possible() {
    let mut bench = with_ticket(Timing {
        start: Start::ZeroRtt,
        early: true,
        warm_up: false,
        ..timing()
    });
    bench.report(READY);
    bench.advance();
    assert_eq!(bench.sent, [(at(2_200), 0)]);
    bench.report(Event::Established {
        start: Start::ZeroRtt,
    });
    bench.report(Event::Acknowledged { message: 0 });
    bench.run_until(at(60_000));
    assert_eq!(bench.sent.len(), 1, "the message is the measured one");
    assert!(bench.finished && bench.notes().failure.is_none());
}

/// A device whose message may leave behind its request to connect, from 150 ms on.
fn ahead(timing: Timing) -> Bench {
    let mut bench = Bench::new(Timing {
        early: true,
        warm_up: false,
        ..timing
    });
    bench.run_until(at(150));
    bench.report(Event::MaySend);
    bench.advance();
    assert_eq!(bench.sent, [(at(150), 0)]);
    bench
}

#[test]
fn a_connect_ends_with_its_answer_although_a_message_has_left_before() {
    let mut bench = ahead(timing());
    bench.now = at(200);
    bench.report(READY);
    assert_eq!(bench.notes().ready, Some(at(200)));
    bench.report(Event::Acknowledged { message: 0 });
    bench.run_until(at(60_000));
    assert!(bench.finished && bench.notes().failure.is_none());
    assert_eq!((bench.sent.len(), bench.closed), (1, Some(at(1_200))));
}

#[test]
fn a_message_without_an_answer_does_not_close_the_connect_before_its_end() {
    for interval in [None, Some(Duration::from_secs(60))] {
        let mut bench = ahead(Timing {
            answered: false,
            interval,
            ..timing()
        });
        bench.run_until(at(5_000));
        assert_eq!(bench.closed, None, "CONNACK is not there");
        bench.report(READY);
        bench.run_until(at(60_000));
        assert_eq!(bench.notes().ready, Some(at(5_000)));
        assert!(bench.closed.is_some() && bench.finished && bench.notes().failure.is_none());
    }
}

#[test]
fn a_message_sent_ahead_fails_with_the_connect_that_is_refused() {
    let mut bench = ahead(timing());
    let reason = || "CONNACK 5 Not authorized".to_owned();
    bench.report(Event::Refused {
        message: 0,
        reason: reason(),
    });
    bench.report(Event::Rejected { reason: reason() });
    bench.report(Event::Closed);
    bench.run_until(at(60_000));
    assert_eq!(bench.notes().failure, Some(CutShort::Said(reason())));
    assert!(matches!(bench.notes().messages[0].end, Some((_, End::Refused))));
    assert!(bench.finished && bench.notes().ready.is_none());
}

#[test]
fn a_connection_that_is_made_again_may_send_ahead_too() {
    let mut bench = ahead(Timing {
        messages: 2,
        interval: Some(Duration::from_secs(60)),
        reconnects: true,
        ..timing()
    });
    bench.report(READY);
    bench.report(Event::Acknowledged { message: 0 });
    bench.report(Event::Closed);
    bench.run_until(at(60_160));
    assert_eq!(bench.connects, [START, at(60_150)]);
    bench.report(Event::MaySend);
    bench.advance();
    assert_eq!(bench.sent[1], (at(60_160), 1));
    bench.now = at(60_210);
    bench.report(READY);
    assert_eq!(bench.notes().reconnects[0].ready, Some(at(60_210)));
    assert_eq!(bench.notes().messages[1].intended, at(60_150));
}

#[test]
fn refused_early_data_is_not_a_sample() {
    let mut bench = with_ticket(Timing {
        start: Start::ZeroRtt,
        early: true,
        warm_up: false,
        ..timing()
    });
    bench.report(READY);
    bench.advance();
    assert!(!bench.sampler.has_started_otherwise() && bench.sent.len() == 1);
    bench.report(Event::Established {
        start: Start::Resumed,
    });
    bench.run_until(at(60_000));
    assert!(bench.finished && bench.notes().ready.is_some());
    assert!(bench.sampler.has_started_otherwise());
}

#[test]
fn a_server_that_closes_after_its_answer_as_asked_is_fine() {
    let mut bench = connected(Timing {
        warm_up: false,
        server_closes: true,
        ..timing()
    });
    bench.run_until(at(1_200));
    bench.report(Event::Acknowledged { message: 0 });
    bench.report(Event::Closed);
    bench.run_until(at(20_000));
    assert!(bench.finished && bench.notes().failure.is_none());
}
