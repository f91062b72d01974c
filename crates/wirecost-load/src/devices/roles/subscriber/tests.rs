//! Subscribers: what they ask for and what they count.

use std::time::Duration;

use wirecost_stack::message::Requests;
use wirecost_stack::pool::{PayloadSource, PoolConfig};

use super::*;
use crate::devices::tracker::{Rules, Span};

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    subscribers: Subscribers,
    pool: MessagePool,
    tracker: MessageTracker,
    now: Instant,
}

impl Bench {
    /// One subscriber, the second device of its part.
    fn new(stamped: bool) -> Self {
        Self::answered(stamped, true)
    }

    fn answered(stamped: bool, answered: bool) -> Self {
        Self::on("mqtt-qos1", stamped, answered, None)
    }

    fn on(stack: &str, stamped: bool, answered: bool, poll: Option<Duration>) -> Self {
        let stack = stack.parse().expect("a stack");
        let subscription = Subscription::new(
            stack,
            "t/#".trim_end_matches(if poll.is_some() { "/#" } else { "" }),
            None,
            1,
        )
        .expect("a subscription");
        let reception = Reception {
            stamped,
            senders: 2,
            mark: 0,
            tells_others: false,
            will_bytes: None,
            clock_start_ns: 1_000,
            clock_error_ns: 0,
            poll,
        };
        let rules = Rules {
            answered,
            timeout: SECOND,
            session: false,
            connects: true,
        };
        let pool = PoolConfig {
            stack,
            resource: "t".parse().expect("a pattern"),
            authority: "server".into(),
            requests: Requests::default(),
            retain: false,
            topics: None,
            user_properties: std::sync::Arc::default(),
            recorded: None,
            payload: PayloadSource::random(16, 1),
            utc_offset_ns: 0,
            seed: 1,
            mark: 0,
        };
        Self {
            subscribers: Subscribers::new(1, vec![Arc::new(subscription)], reception),
            pool: MessagePool::new(pool).expect("a pool"),
            tracker: MessageTracker::new(rules, 2),
            now: Instant::START + SECOND,
        }
    }

    fn next(&mut self, device: usize) -> Option<Command> {
        self.subscribers
            .next(device, &self.pool, &mut self.tracker, self.now)
    }

    fn report(&mut self, event: Event) {
        self.subscribers.event(1, &event, &mut self.tracker, self.now);
    }

    fn receive(&mut self, message: u32, intended: Instant, retained: bool) {
        self.report(Event::Received(Arrival {
            stamp: Some(Stamp {
                device: 1,
                message,
                intended_ns: 1_000 + intended.as_nanos(),
            }),
            payload_bytes: 32,
            duplicate: true,
            retained,
        }));
    }

    fn deliveries(&mut self) -> Deliveries {
        self.tracker.now(self.now).deliveries
    }
}

#[test]
fn a_subscriber_subscribes_again_unless_the_session_lives_on() {
    let mut bench = Bench::new(true);
    assert_eq!(bench.next(1), None);
    for (session_present, asks) in [(false, true), (true, false), (false, true)] {
        bench.report(Event::Ready { session_present });
        let asked = bench.next(1);
        assert_eq!(matches!(asked, Some(Command::Subscribe(_))), asks);
        assert_eq!(bench.next(1), None, "once");
        assert_eq!(bench.subscribers.are_ready(), !asks);
        if asks {
            bench.report(Event::Subscribed);
        }
        assert!(bench.subscribers.are_ready());
        bench.report(Event::Closed);
    }
    assert_eq!(bench.next(0), None, "senders have no subscriptions");
}

#[test]
fn a_subscriber_that_may_send_ahead_subscribes_once() {
    let mut bench = Bench::new(true);
    for _ in 0..2 {
        bench.report(Event::MaySend);
        assert!(matches!(bench.next(1), Some(Command::Subscribe(_))));
        bench.report(Event::Ready {
            session_present: false,
        });
        assert_eq!(bench.next(1), None, "once");
        assert!(bench.subscribers.are_asking());
        bench.report(Event::Subscribed);
        assert!(bench.subscribers.are_ready());
        bench.report(Event::Closed);
    }
}

#[test]
fn deliveries_are_counted_by_number_and_timed_by_stamp() {
    let mut bench = Bench::new(true);
    bench.report(Event::Ready {
        session_present: false,
    });
    let intended = bench.now;
    bench.now += Duration::from_millis(5);
    for number in [0, 1, 3, 2, 3] {
        bench.receive(number, intended, false);
    }
    let expected = Deliveries {
        arrived: 5,
        duplicates: 1,
        out_of_order: 1,
        ..Deliveries::default()
    };
    assert_eq!(bench.deliveries(), expected);
    let delays = bench
        .tracker
        .now(bench.now)
        .one_way_delay
        .clone()
        .expect("delays");
    assert_eq!(delays.len(), 5);
    assert!(
        (4_990_000..=5_010_000).contains(&delays.min()),
        "{}",
        delays.min()
    );
}

#[test]
fn messages_of_another_run_are_in_no_other_count() {
    const MARK: u32 = 0x1234_5678;
    let mut bench = Bench::new(true);
    bench.subscribers.reception.mark = MARK;
    bench.subscribers.reception.tells_others = true;
    bench.subscribers.reception.will_bytes = Some(4);
    bench.report(Event::Ready {
        session_present: false,
    });
    let intended_ns = 1_000 + bench.now.as_nanos();
    let stamp = |device, message| Stamp {
        device,
        message,
        intended_ns,
    };
    let arrival = |stamp| {
        Event::Received(Arrival {
            stamp,
            payload_bytes: 32,
            duplicate: false,
            retained: false,
        })
    };
    // Of this run, of one with another mark, of one without a mark, and of a program that stamps nothing.
    for stamp in [
        Some(stamp(1, 0).marked(MARK)),
        Some(stamp(1, 0).marked(0x8765_4321)),
        Some(stamp(1, 1)),
        None,
    ] {
        bench.report(arrival(stamp));
    }
    // A will of one of its devices.
    bench.report(Event::Received(Arrival {
        stamp: None,
        payload_bytes: 4,
        duplicate: false,
        retained: false,
    }));
    let expected = Deliveries {
        arrived: 2,
        of_others: 3,
        ..Deliveries::default()
    };
    assert_eq!(bench.deliveries(), expected);
}

#[test]
fn messages_from_the_servers_store_are_counted_apart() {
    let mut bench = Bench::new(true);
    let before = bench.now;
    bench.now += Duration::from_millis(100);
    bench.report(Event::Ready {
        session_present: true,
    });
    bench.receive(0, before, false);
    bench.receive(1, before, true);
    bench.receive(2, bench.now, false);
    let deliveries = bench.deliveries();
    assert_eq!((deliveries.arrived, deliveries.replayed), (3, 2));
    let delays = bench.tracker.now(bench.now).one_way_delay.clone();
    assert_eq!(delays.map(|delays| delays.len()), Some(1));
}

#[test]
fn unanswered_messages_after_the_offer_are_behind() {
    for (answered, behind) in [(false, 3), (true, 0)] {
        let mut bench = Bench::answered(true, answered);
        let begins = bench.now;
        let span = Span {
            warm_up: Duration::ZERO,
            offered: Some(SECOND),
        };
        bench.tracker.begin(0, begins, span);
        let sent_again = [0, 1, 2, 3, 4, 4];
        for (number, millis) in sent_again
            .into_iter()
            .zip([20, 1_020, 1_021, 1_500, 9_000, 9_000])
        {
            bench.now = begins + Duration::from_millis(millis);
            bench.receive(number, begins, false);
        }
        let received = bench.tracker.take();
        let counts = received.map(|interval| [interval.deliveries.arrived, interval.deliveries_behind]);
        let sum = counts.reduce(|sum, more| [sum[0] + more[0], sum[1] + more[1]]);
        assert_eq!(sum, Some([6, behind]));
    }
}

#[test]
fn without_stamps_only_marks_show_duplicates() {
    let mut bench = Bench::new(false);
    bench.report(Event::Ready {
        session_present: false,
    });
    bench.receive(0, bench.now, false);
    let deliveries = bench.deliveries();
    assert_eq!((deliveries.arrived, deliveries.duplicates), (1, 1));
    assert!(bench.tracker.now(bench.now).one_way_delay.is_none());
}

#[test]
fn a_stamp_of_another_run_does_not_count() {
    let reception = Bench::new(true).subscribers.reception;
    let stamp = |device, intended_ns| Stamp {
        device,
        message: 0,
        intended_ns,
    };
    let now = Instant::from_nanos(50);
    for (device, intended_ns, known) in [
        (1, 1_000, true),
        (1, 1_050, true),
        (2, 1_010, false),
        (0, 999, false),
        (0, 1_051, false),
    ] {
        assert_eq!(reception.is_of_this_run(&stamp(device, intended_ns), now), known);
    }
}

#[test]
fn a_subscriber_polls_at_its_interval_with_one_request_at_a_time() {
    let interval = Duration::from_millis(500);
    let mut bench = Bench::on("http1", true, true, Some(interval));
    let page = |next_key, stamps: &[u64]| {
        let arrival = |intended_ns: &u64| Arrival {
            stamp: Some(Stamp {
                device: 0,
                message: *intended_ns as u32,
                intended_ns: *intended_ns,
            }),
            payload_bytes: 16,
            duplicate: false,
            retained: false,
        };
        Event::Polled(Polled {
            arrivals: stamps.iter().map(arrival).collect(),
            next_key,
        })
    };
    let ready = || Event::Ready {
        session_present: false,
    };
    assert_eq!(bench.next(1), None, "it is not connected");
    bench.report(ready());
    assert!(bench.subscribers.are_asking() && bench.next(1).is_some());
    assert_eq!(bench.next(1), None, "one request at a time");
    bench.report(page(1, &[1_000]));
    assert!(bench.subscribers.are_ready());
    let began = bench.now;
    assert_eq!(bench.next(1), None, "the interval is not over");
    bench.now = began + interval;
    let mut woken = Vec::new();
    assert_eq!(
        bench.subscribers.wake_due(bench.now, |device| woken.push(device)),
        None
    );
    assert_eq!(woken, [1]);
    assert!(bench.next(1).is_some());
    // The answer takes longer than the interval: the next request is due at once.
    bench.now += interval * 2;
    bench.report(page(1, &[]));
    assert_eq!(bench.subscribers.wake_due(bench.now, |_| ()), None);
    assert!(bench.next(1).is_some());
    // The connection breaks: the subscriber goes on from its key, and what is older than the connection is from the store.
    bench.report(Event::Closed);
    bench.now += interval;
    let before = bench.now.as_nanos();
    bench.now += interval;
    bench.report(ready());
    assert!(format!("{:?}", bench.next(1)).contains("next_key=1"));
    bench.now += interval;
    bench.report(page(3, &[before + 1_000, bench.now.as_nanos() + 1_000]));
    let mut deliveries = Deliveries::default();
    for interval in bench.tracker.take() {
        deliveries += interval.deliveries;
    }
    assert_eq!((deliveries.arrived, deliveries.replayed), (3, 2));
    assert_eq!((deliveries.polls, deliveries.empty_polls), (4, 1));
    bench.report(Event::SubscriptionRefused {
        reason: "404 Not Found".into(),
    });
    assert_eq!(bench.next(1), None);
    assert_eq!(bench.deliveries().subscriptions_refused, 1);
}
