//! The steps of a sample: when each begins, and what ends it.

use super::*;

#[test]
fn each_step_of_a_sample_is_followed_by_a_settle() {
    let mut bench = connected(timing());
    assert_eq!(bench.connects, [START]);
    bench.run_until(at(1_200));
    assert_eq!(bench.sent, [(at(1_150), 0)], "1 s after the connect");
    bench.report(Event::Acknowledged { message: 0 });
    bench.run_until(at(2_300));
    assert_eq!(
        bench.sent.last(),
        Some(&(at(2_200), 1)),
        "1 s after the acknowledgement"
    );
    bench.report(Event::Acknowledged { message: 1 });
    bench.run_until(at(10_000));
    assert_eq!(bench.closed, Some(at(3_300)));
    assert!(bench.finished);
    assert_eq!(bench.notes().done, Some(at(4_300)));
}

#[test]
fn a_step_settles_only_when_the_link_has_been_quiet() {
    let mut bench = connected(timing());
    bench.link_busy_until = at(800);
    bench.run_until(at(5_000));
    assert_eq!(bench.sent.first(), Some(&(at(1_800), 0)));
    assert_eq!(bench.notes().messages[0].intended, at(1_800));
}

#[test]
fn response_time_counts_from_the_intended_time() {
    let mut bench = connected(timing());
    bench.advance();
    bench.now = at(1_163);
    bench.advance();
    let mark = bench.notes().messages[0];
    assert_eq!((mark.intended, mark.actual), (at(1_150), at(1_163)));
}

#[test]
fn a_message_without_answers_is_over_when_it_is_sent() {
    let mut bench = connected(Timing {
        answered: false,
        ..timing()
    });
    bench.run_until(at(20_000));
    assert_eq!(bench.sent, [(at(1_150), 0), (at(2_150), 1)]);
    assert!(bench.notes().messages.iter().all(|mark| mark.end.is_none()));
    assert!(bench.finished);
}

#[test]
fn a_message_without_an_answer_is_given_up_after_twice_the_time_out() {
    let mut bench = connected(timing());
    bench.run_until(at(200_000));
    let ends: Vec<End> = bench
        .notes()
        .messages
        .iter()
        .filter_map(|mark| mark.end)
        .map(|(_, end)| end)
        .collect();
    assert_eq!(ends, [End::Unknown, End::Unknown]);
    assert_eq!(bench.sent[1].0, at(1_150 + 60_000 + 1_000));
    assert!(bench.finished);
}

#[test]
fn a_message_that_was_given_up_is_not_refused_by_the_close() {
    let mut bench = connected(timing());
    bench.run_until(at(130_000));
    assert!(bench.closed.is_some());
    bench.report(Event::Refused {
        message: 1,
        reason: "the flow ended".into(),
    });
    assert_eq!(bench.notes().failure, None);
    assert!(matches!(bench.notes().messages[1].end, Some((_, End::Unknown))));
}

#[test]
fn a_connection_that_takes_no_bytes_is_left_after_the_time_out() {
    let mut bench = connected(timing());
    bench.run_until(at(1_200));
    bench.congested = true;
    bench.link_busy_until = at(90_000);
    bench.run_until(at(119_000));
    assert_eq!(bench.sent.len(), 1);
    assert!(
        !bench.finished && bench.notes().failure.is_none(),
        "the link moved at 90 s"
    );
    bench.run_until(at(200_000));
    assert!(bench.finished && bench.closed.is_none());
    assert_eq!(bench.notes().failure, Some(CutShort::NoRoom(timing().timeout)));
}

#[test]
fn commands_wait_until_the_connection_takes_bytes_again() {
    let mut bench = connected(Timing {
        answered: false,
        ..timing()
    });
    bench.congested = true;
    bench.run_until(at(1_300));
    assert!(bench.sent.is_empty());
    bench.congested = false;
    bench.advance();
    assert_eq!(bench.sent, [(at(1_300), 0)]);
    assert_eq!(
        bench.notes().messages[0].intended,
        at(1_150),
        "waiting is part of the response time"
    );
}

#[test]
fn a_connection_that_never_comes_ends_the_sample() {
    let mut bench = Bench::new(timing());
    bench.run_until(at(60_000));
    assert!(bench.finished && bench.sent.is_empty());
    assert_eq!(
        bench.notes().failure,
        Some(CutShort::NotConnected(timing().connect_timeout))
    );
}

#[test]
fn a_lost_connection_leaves_the_rest_of_the_messages_unsent() {
    let mut bench = connected(timing());
    bench.run_until(at(1_200));
    bench.report(Event::Lost {
        reason: "reset".into(),
    });
    bench.run_until(at(60_000));
    assert_eq!(bench.notes().messages.len(), 1);
    assert!(matches!(bench.notes().messages[0].end, Some((_, End::Unknown))));
    assert!(bench.finished && bench.closed.is_none());
}

#[test]
fn with_an_interval_messages_leave_at_their_times() {
    let interval = Some(Duration::from_millis(100));
    let mut bench = connected(Timing {
        messages: 3,
        interval,
        ..timing()
    });
    bench.run_until(at(1_200));
    bench.report(Event::Acknowledged { message: 0 });
    bench.run_until(at(2_600));
    assert_eq!(bench.sent[1..], [(at(2_200), 1), (at(2_300), 2), (at(2_400), 3)]);
    for message in [2, 1, 3] {
        bench.report(Event::Acknowledged { message });
    }
    bench.run_until(at(10_000));
    assert!(
        bench
            .notes()
            .messages
            .iter()
            .all(|mark| matches!(mark.end, Some((_, End::Acknowledged))))
    );
    assert_eq!(bench.closed, Some(at(3_600)), "1 s after the last answer");
}

#[test]
fn in_a_life_nothing_settles_between_the_connect_and_the_close() {
    for settle in [SETTLE / 10, SETTLE, SETTLE * 3] {
        let mut bench = connected(Timing {
            messages: 2,
            interval: Some(Duration::from_secs(60)),
            warm_up: false,
            settle,
            ..timing()
        });
        bench.link_busy_until = at(150);
        bench.run_until(at(150));
        assert_eq!(bench.sent, [(at(150), 0)], "once the client may send");
        bench.report(Event::Acknowledged { message: 0 });
        bench.run_until(at(60_200));
        assert_eq!(bench.sent[1..], [(at(60_150), 1)]);
        bench.report(Event::Acknowledged { message: 1 });
        bench.run_until(at(90_000));
        assert_eq!(bench.closed, Some(at(60_200)), "once the last answer is there");
        assert!(bench.finished);
        assert_eq!(bench.notes().done, Some(at(60_200) + settle));
    }
}

#[test]
fn a_server_that_closes_after_our_close_is_not_a_failure() {
    let mut bench = connected(Timing {
        answered: false,
        ..timing()
    });
    bench.run_until(at(3_200));
    assert!(bench.closed.is_some());
    bench.report(Event::Closed);
    bench.run_until(at(20_000));
    assert_eq!(bench.notes().failure, None);
}
