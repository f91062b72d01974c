use super::*;

#[test]
fn a_connect_without_an_exchange_has_no_time() {
    for connects in [false, true] {
        let rules = Rules {
            answered: true,
            timeout: Duration::from_secs(1),
            session: false,
            connects,
        };
        let mut tracker = MessageTracker::new(rules, 1);
        let now = Instant::START;
        tracker.begin(0, now, Span::default());
        tracker.connected(now, now);
        let interval = tracker.now(now);
        assert_eq!(interval.connects.established, 1);
        assert_eq!(interval.connect_time.is_some(), connects);
    }
}

#[test]
fn only_sent_messages_have_expected_deliveries() {
    let rules = Rules {
        answered: true,
        timeout: Duration::from_secs(1),
        session: false,
        connects: true,
    };
    let mut tracker = MessageTracker::new(rules, 2);
    let now = Instant::START;
    tracker.begin(0, now, Span::default());
    tracker.expect_deliveries(Matching::Each([3, 0].into()));
    (0..4).for_each(|_| tracker.offer(0, now, now, true));
    tracker.offer(1, now, now, true);
    let of_other = tracker.give(1, now).expect("a message").message;
    tracker.handed_out(1, of_other, now);
    tracker.sent(1, now);
    // One message is sent, one has not left the loop, one is held by the protocol, and one waits.
    let [sent, leaving, _held] = [(); 3].map(|()| tracker.give(0, now).expect("a message").message);
    tracker.handed_out(0, sent, now);
    tracker.sent(0, now);
    tracker.handed_out(0, leaving, now);
    tracker.lost(0, "the connection was lost");
    tracker.abandon_all();
    let interval = tracker.now(now);
    assert_eq!((interval.sent, interval.deliveries.expected), (2, 3));
    assert_eq!(interval.awaited, 1, "what the other device sends is nobody's");
    assert!(interval.outcomes.add_up());
}

#[test]
fn a_message_beyond_the_limit_fails_and_is_counted() {
    let rules = Rules {
        answered: true,
        timeout: Duration::from_secs(1),
        session: false,
        connects: true,
    };
    let mut tracker = MessageTracker {
        most_outstanding: 100,
        ..MessageTracker::new(rules, 1)
    };
    let now = Instant::START;
    tracker.begin(0, now, Span::default());
    (0..250).for_each(|_| tracker.offer(0, now, now, false));
    assert_eq!(tracker.outstanding(), 100);
    let interval = tracker.now(now);
    assert_eq!((interval.outcomes.offered, interval.outcomes.failed), (250, 150));
    assert_eq!(interval.reasons.get(TOO_MANY), Some(&150));
    tracker.abandon_all();
    assert!(tracker.now(now).outcomes.add_up());
}
