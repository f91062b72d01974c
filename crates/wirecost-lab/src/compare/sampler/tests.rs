use std::time::Duration;

use wirecost_stack::Client;

use super::*;

const SETTLE: Duration = Duration::from_secs(1);
const START: Instant = Instant::from_millis(100);
const READY: Event = Event::Ready {
    session_present: false,
};

fn timing() -> Timing {
    Timing {
        at: START,
        settle: SETTLE,
        timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(10),
        messages: 1,
        interval: None,
        answered: true,
        start: Start::Cold,
        warm_up: true,
        early: false,
        server_closes: false,
        reconnects: false,
        forgotten_after: None,
    }
}

/// A device without protocol or link. The test injects the events, and time advances to the script's next wake-up.
struct Bench {
    sampler: Sampler,
    now: Instant,
    link_busy_until: Instant,
    congested: bool,
    sent: Vec<(Instant, u64)>,
    closed: Option<Instant>,
    connects: Vec<Instant>,
    left: Vec<Instant>,
    finished: bool,
}

impl Bench {
    fn new(timing: Timing) -> Self {
        Self {
            sampler: Sampler::new(timing),
            now: Instant::START,
            link_busy_until: Instant::START,
            congested: false,
            sent: Vec::new(),
            closed: None,
            connects: Vec::new(),
            left: Vec::new(),
            finished: false,
        }
    }

    fn script(&mut self) -> &mut dyn Script<Client> {
        &mut self.sampler
    }

    /// Carries out the script's steps until it waits. Returns its wake-up time.
    fn advance(&mut self) -> Option<Instant> {
        loop {
            let context = Context {
                now: self.now,
                link_busy_until: self.link_busy_until,
                cpu: Duration::ZERO,
                transmitted: 100 * self.sent.len() as u64,
                congested: self.congested,
            };
            match self.script().next(context) {
                Step::Connect => self.connects.push(self.now),
                Step::Command(Command::Send { message }) => {
                    self.sent.push((self.now, message));
                    let now = self.now;
                    self.script().flushed(now);
                }
                Step::Command(Command::Close) => self.closed = Some(self.now),
                Step::Command(other) => panic!("no sampler asks for {other:?}"),
                Step::Abort { reset } => {
                    assert!(!reset, "a sample ends in order");
                    self.left.push(self.now);
                    let reason = "left".to_owned();
                    self.report(Event::Lost { reason });
                }
                Step::Wait(at) if at == Some(self.now) => {}
                Step::Wait(at) => return at,
                Step::Finished => {
                    self.finished = true;
                    return None;
                }
            }
        }
    }

    /// Advances time to `deadline`, or to the end of the script.
    fn run_until(&mut self, deadline: Instant) {
        while let Some(at) = self.advance().filter(|at| *at <= deadline) {
            self.now = at;
        }
        if !self.finished {
            self.now = deadline;
        }
    }

    fn report(&mut self, event: Event) {
        let now = self.now;
        self.script().event(event, now);
    }

    fn notes(&self) -> &Notes {
        self.sampler.notes()
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A device that is connected at 150 ms.
fn connected(timing: Timing) -> Bench {
    let mut bench = Bench::new(timing);
    bench.run_until(at(150));
    bench.report(READY);
    bench
}

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
