//! Connections that are made again, and messages that are sent again.

use super::*;

/// Five messages every 100 ms, which leave from 2.2 s on, on connections that are made again.
fn reconnecting() -> Timing {
    Timing {
        messages: 5,
        interval: Some(Duration::from_millis(100)),
        reconnects: true,
        ..timing()
    }
}

/// A device of [`reconnecting`] with an answer to its first measured message.
fn with_one_answer(timing: Timing) -> Bench {
    let mut bench = connected(timing);
    bench.run_until(at(1_200));
    bench.report(Event::Acknowledged { message: 0 });
    bench.run_until(at(2_250));
    bench.report(Event::Acknowledged { message: 1 });
    bench
}

#[test]
fn a_lost_connection_is_made_again_when_the_next_is_due() {
    let mut bench = with_one_answer(reconnecting());
    bench.report(Event::Closed);
    bench.run_until(at(2_299));
    assert_eq!(bench.connects, [START]);
    bench.run_until(at(2_340));
    assert_eq!(bench.connects, [START, at(2_300)]);
    bench.report(READY);
    bench.run_until(at(2_350));
    assert_eq!(bench.sent.last(), Some(&(at(2_340), 2)), "at once");
    let notes = bench.notes();
    assert_eq!(notes.ready, Some(at(150)), "of the first connect");
    let again = Reconnect {
        intended: at(2_300),
        started: at(2_300),
        ready: Some(at(2_340)),
    };
    assert_eq!(notes.reconnects, [again]);
    let mark = notes.messages[2];
    assert_eq!((mark.intended, mark.connection), (at(2_300), 1));
    bench.run_until(at(2_700));
    (2..=5).for_each(|message| bench.report(Event::Acknowledged { message }));
    bench.run_until(at(10_000));
    assert!(bench.finished && bench.closed.is_some());
    assert_eq!(bench.notes().failure, None);
}

#[test]
fn a_message_lost_with_its_connection_is_not_sent_again() {
    let mut bench = connected(reconnecting());
    bench.run_until(at(1_200));
    bench.report(Event::Acknowledged { message: 0 });
    bench.run_until(at(2_250));
    bench.report(Event::Lost {
        reason: "reset".into(),
    });
    bench.run_until(at(2_310));
    bench.report(READY);
    bench.run_until(at(2_320));
    assert!(matches!(bench.notes().messages[1].end, Some((_, End::Unknown))));
    assert_eq!(bench.sent.last(), Some(&(at(2_310), 2)));
}

#[test]
fn without_an_interval_a_connection_is_made_after_a_settle() {
    let mut bench = connected(Timing {
        messages: 2,
        interval: None,
        ..reconnecting()
    });
    bench.run_until(at(1_200));
    bench.report(Event::Acknowledged { message: 0 });
    bench.report(Event::Closed);
    bench.run_until(at(2_250));
    assert_eq!(bench.connects, [START, at(2_200)]);
    bench.report(READY);
    bench.run_until(at(2_260));
    assert_eq!(bench.sent.last(), Some(&(at(2_250), 1)));
}

#[test]
fn a_connection_is_not_made_again_for_no_message() {
    let mut bench = with_one_answer(Timing {
        messages: 1,
        ..reconnecting()
    });
    bench.report(Event::Closed);
    bench.run_until(at(10_000));
    assert_eq!(bench.connects, [START]);
    assert!(bench.finished && bench.notes().failure.is_none());
}

#[test]
fn a_connect_that_fails_again_ends_the_sample() {
    let mut bench = with_one_answer(reconnecting());
    bench.report(Event::Closed);
    bench.run_until(at(60_000));
    assert_eq!(bench.connects.len(), 2);
    assert_eq!(
        bench.notes().failure,
        Some(CutShort::NotConnected(timing().connect_timeout))
    );
    assert!(bench.finished && bench.sent.len() == 2);
}

/// A device with three messages, one a minute, whose address translator forgets it after 30 s.
fn behind_nat() -> Timing {
    Timing {
        messages: 3,
        interval: Some(Duration::from_secs(60)),
        warm_up: false,
        reconnects: true,
        forgotten_after: Some(Duration::from_secs(30)),
        ..timing()
    }
}

#[test]
fn a_device_that_its_server_knows_no_more_connects_before_it_sends() {
    let mut bench = connected(behind_nat());
    bench.run_until(at(1_200));
    bench.report(Event::Acknowledged { message: 0 });
    bench.link_busy_until = at(1_200);
    bench.run_until(at(60_200));
    assert_eq!(bench.left, [at(60_150)]);
    assert_eq!(bench.connects, [START, at(60_150)]);
    assert_eq!(bench.sent.len(), 1, "not before the new session");
    bench.report(READY);
    bench.run_until(at(60_300));
    assert_eq!(bench.sent.last(), Some(&(at(60_200), 1)));
    assert_eq!(bench.notes().messages[1].intended, at(60_150));
}

#[test]
fn a_device_whose_link_was_not_silent_keeps_its_session() {
    for (busy, is_left) in [(30_149, true), (30_151, false)] {
        let mut bench = connected(behind_nat());
        bench.run_until(at(1_200));
        bench.report(Event::Acknowledged { message: 0 });
        bench.link_busy_until = at(busy);
        bench.run_until(at(60_200));
        assert_eq!(!bench.left.is_empty(), is_left, "busy until {busy} ms");
    }
}

#[test]
fn a_device_that_may_not_reconnect_sends_into_the_void() {
    let mut bench = connected(Timing {
        reconnects: false,
        ..behind_nat()
    });
    bench.run_until(at(61_200));
    assert_eq!((bench.left.len(), bench.sent.len()), (0, 2));
}

#[test]
fn a_request_that_met_the_servers_close_is_sent_again_at_once() {
    let mut bench = connected(reconnecting());
    bench.run_until(at(1_200));
    bench.report(Event::Acknowledged { message: 0 });
    bench.run_until(at(2_310));
    let sent = bench.sent.len() as u64;
    (0..sent - 1).for_each(|message| bench.report(Event::Acknowledged { message }));
    let last = sent - 1;
    bench.report(Event::Unanswered { message: last });
    bench.report(Event::Closed);
    bench.run_until(at(2_320));
    assert_eq!(
        bench.connects,
        [START, at(2_310)],
        "before the next message is due"
    );
    bench.report(READY);
    bench.run_until(at(2_330));
    assert_eq!(bench.sent.last(), Some(&(at(2_320), last)));
    bench.report(Event::Acknowledged { message: last });
    let mark = bench.notes().messages[last as usize];
    assert_eq!((mark.intended, mark.connection), (at(2_300), 1));
    bench.run_until(at(2_450));
    assert_eq!(
        bench.sent.last(),
        Some(&(at(2_400), last + 1)),
        "the next at its time"
    );
}

#[test]
fn the_last_request_is_sent_again_too() {
    let mut bench = connected(Timing {
        messages: 1,
        reconnects: true,
        ..timing()
    });
    bench.run_until(at(1_200));
    bench.report(Event::Acknowledged { message: 0 });
    bench.run_until(at(2_300));
    bench.report(Event::Unanswered { message: 1 });
    bench.report(Event::Closed);
    bench.run_until(at(2_310));
    bench.report(READY);
    bench.run_until(at(2_320));
    assert_eq!(bench.sent.last(), Some(&(at(2_310), 1)));
    bench.report(Event::Acknowledged { message: 1 });
    bench.run_until(at(60_000));
    assert!(bench.finished && bench.notes().failure.is_none());
    let ends = bench.notes().messages.iter().filter_map(|mark| mark.end);
    assert!(ends.into_iter().all(|(_, end)| end == End::Acknowledged));
}

#[test]
fn a_request_is_not_sent_again_where_no_connection_is_made_again() {
    let mut bench = connected(Timing {
        reconnects: false,
        ..reconnecting()
    });
    bench.run_until(at(1_200));
    bench.report(Event::Unanswered { message: 0 });
    bench.report(Event::Closed);
    bench.run_until(at(60_000));
    let ends: Vec<End> = bench
        .notes()
        .messages
        .iter()
        .filter_map(|mark| mark.end)
        .map(|(_, end)| end)
        .collect();
    assert_eq!((ends, bench.sent.len()), (vec![End::Unknown], 1));
}
