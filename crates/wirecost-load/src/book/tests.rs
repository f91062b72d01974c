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
        let mut book = MessageTracker::new(rules, 1);
        let now = Instant::START;
        book.begin(0, now, Span::default());
        book.connected(now, now);
        let interval = book.now(now);
        assert_eq!(interval.connects.established, 1);
        assert_eq!(interval.connect_time.is_some(), connects);
    }
}

#[test]
fn subscribers_are_to_receive_what_was_sent_and_nothing_else() {
    let rules = Rules {
        answered: true,
        timeout: Duration::from_secs(1),
        session: false,
        connects: true,
    };
    let mut book = MessageTracker::new(rules, 2);
    let now = Instant::START;
    book.begin(0, now, Span::default());
    book.expect_deliveries(Matching::Each([3, 0].into()));
    (0..4).for_each(|_| book.offer(0, now, now, true));
    book.offer(1, now, now, true);
    let of_other = book.give(1, now).expect("a message").message;
    book.handed_out(1, of_other, now);
    book.sent(1, now);
    // One is sent, one has not left the loop, one is held by the protocol, and one waits.
    let [sent, leaving, _held] = [(); 3].map(|()| book.give(0, now).expect("a message").message);
    book.handed_out(0, sent, now);
    book.sent(0, now);
    book.handed_out(0, leaving, now);
    book.lost(0, "the connection was lost");
    book.abandon_all();
    let interval = book.now(now);
    assert_eq!((interval.sent, interval.deliveries.expected), (2, 3));
    assert_eq!(interval.awaited, 1, "what the other device sends is nobody's");
    assert!(interval.outcomes.add_up());
}

#[test]
fn what_nobody_has_room_for_fails_and_is_counted() {
    let rules = Rules {
        answered: true,
        timeout: Duration::from_secs(1),
        session: false,
        connects: true,
    };
    let mut book = MessageTracker {
        most_outstanding: 100,
        ..MessageTracker::new(rules, 1)
    };
    let now = Instant::START;
    book.begin(0, now, Span::default());
    (0..250).for_each(|_| book.offer(0, now, now, false));
    assert_eq!(book.outstanding(), 100);
    let interval = book.now(now);
    assert_eq!((interval.outcomes.offered, interval.outcomes.failed), (250, 150));
    assert_eq!(interval.reasons.get(TOO_MANY), Some(&150));
    book.abandon_all();
    assert!(book.now(now).outcomes.add_up());
}
