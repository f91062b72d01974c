use super::*;

const NOW: Instant = Instant::START;

fn keeper(held_bytes: usize) -> Keeper {
    Keeper::new(Settings {
        held_bytes,
        broker_keeps: true,
        timeout: Duration::from_secs(30),
        sweep: None,
    })
}

/// Takes a reading of one byte; its delivery has this number.
fn receive(keeper: &mut Keeper, delivery: Option<u64>) -> Receipt {
    let arrival = Arrival {
        sender: "t",
        payload: Content::from(b"1".as_slice()),
        delivery,
        is_redelivered: false,
    };
    keeper.receive(arrival, NOW)
}

/// What a reading of [`receive`] takes.
const BYTES: usize = READING_BYTES + 2;

/// The message numbers of the inserts that may leave, and the numbers of their readings.
fn inserts(keeper: &mut Keeper, now: Instant) -> Vec<(u64, u64)> {
    let commands = std::iter::from_fn(|| keeper.next(now));
    let numbers = commands.map(|command| match command {
        Command::Insert { message, key, .. } => (message, key.expect("a key").number),
        other => panic!("{other:?}"),
    });
    numbers.collect()
}

fn settled(keeper: &mut Keeper) -> Vec<u64> {
    std::iter::from_fn(|| keeper.next_settled()).collect()
}

fn refused(message: u64, verdict: Verdict) -> Event {
    let words = PeerText::new("no");
    Event::Refused {
        message,
        refusal: Refusal { words, verdict },
    }
}

/// Received is the sum of what became of the readings.
fn check_sum(keeper: &Keeper) {
    let counts = keeper.counts();
    let ended = counts.stored + counts.refused + counts.set_aside + counts.lost;
    assert_eq!(counts.received, ended + keeper.held() as u64, "{counts:?}");
}

#[test]
fn what_was_not_answered_is_sent_again_in_its_order_under_its_number() {
    let mut keeper = keeper(10_000);
    for delivery in 0..4 {
        receive(&mut keeper, Some(delivery));
    }
    keeper.event(Event::Opened, NOW);
    assert_eq!(inserts(&mut keeper, NOW), [(0, 0), (1, 1), (2, 2), (3, 3)]);
    let later = NOW + Duration::from_millis(7);
    let stored = Notice::Stored {
        sender: "t".into(),
        after: Duration::from_millis(7),
    };
    assert_eq!(
        keeper.event(Event::Acknowledged { message: 0 }, later),
        Some(stored)
    );
    assert_eq!(settled(&mut keeper), [0], "after the commit, and no other");
    keeper.event(Event::Discarded { message: 1 }, NOW);
    keeper.event(Event::Closed, NOW);
    assert_eq!(inserts(&mut keeper, NOW), []);
    keeper.event(Event::Opened, NOW);
    // One of them may have ended the connection: each is alone.
    for (message, number) in [(4, 1), (5, 2), (6, 3)] {
        assert_eq!(inserts(&mut keeper, NOW), [(message, number)]);
        keeper.event(Event::Acknowledged { message }, NOW);
    }
    assert_eq!(settled(&mut keeper), [1, 2, 3]);
    let counts = keeper.counts();
    assert_eq!((counts.stored, counts.resent, keeper.held()), (4, 3, 0));
}

#[test]
fn what_finds_no_room_is_left_to_the_broker_or_lost_if_none_keeps_it() {
    let mut keeper = keeper(3 * BYTES);
    let receipts: Vec<Receipt> = [Some(0), None, Some(1), Some(2), None]
        .map(|delivery| receive(&mut keeper, delivery))
        .into();
    use Receipt::{Kept, Left, Lost};
    assert_eq!(receipts, [Kept, Kept, Kept, Left, Lost]);
    assert_eq!((keeper.counts().received, keeper.counts().lost), (4, 1));
    assert!(!keeper.has_room());
    keeper.event(Event::Opened, NOW);
    inserts(&mut keeper, NOW);
    for message in 0..2 {
        keeper.event(Event::Acknowledged { message }, NOW);
    }
    assert!(keeper.has_room());
    assert_eq!(settled(&mut keeper), [0]);
    check_sum(&keeper);
}

#[test]
fn a_reading_that_never_finds_room_is_set_aside() {
    let mut keeper = keeper(BYTES - 1);
    assert_eq!(receive(&mut keeper, Some(7)), Receipt::Kept);
    assert_eq!(
        receive(&mut keeper, Some(8)),
        Receipt::Left,
        "one at a time is held"
    );
    assert!(settled(&mut keeper).is_empty(), "it is not written down yet");
    let aside = keeper.to_set_aside().expect("a reading");
    assert_eq!(aside.why().as_str(), "it takes 122 B, and --max-held is 121 B");
    keeper.set_aside();
    assert_eq!(settled(&mut keeper), [7]);
    assert_eq!(keeper.counts().set_aside, 1);
    check_sum(&keeper);
}

#[test]
fn a_refusal_of_the_reading_sets_it_aside_and_one_of_the_database_keeps_it() {
    let mut keeper = keeper(10_000);
    for delivery in 0..3 {
        receive(&mut keeper, Some(delivery));
    }
    keeper.event(Event::Opened, NOW);
    assert_eq!(inserts(&mut keeper, NOW).len(), 3);
    assert!(matches!(
        keeper.event(refused(0, Verdict::Later), NOW),
        Some(Notice::Later(_))
    ));
    assert_eq!(keeper.event(refused(1, Verdict::Never), NOW), None);
    keeper.event(Event::Acknowledged { message: 2 }, NOW);
    assert_eq!(settled(&mut keeper), [2]);
    keeper.set_aside();
    assert_eq!(settled(&mut keeper), [1]);
    // The database gets a second.
    assert_eq!(inserts(&mut keeper, NOW), []);
    assert_eq!(keeper.wakes(), Some(NOW + PAUSE));
    let mut now = NOW;
    for message in 3..100 {
        now += PAUSE;
        assert_eq!(inserts(&mut keeper, now), [(message, 0)]);
        keeper.event(refused(message, Verdict::Later), now);
    }
    let counts = keeper.counts();
    assert_eq!((counts.received, counts.stored, counts.refused), (3, 1, 1));
    check_sum(&keeper);
}

#[test]
fn a_refusal_that_does_not_say_what_it_is_about_is_tried_again_up_to_a_bound() {
    let mut keeper = keeper(10_000);
    receive(&mut keeper, Some(0));
    receive(&mut keeper, Some(1));
    keeper.event(Event::Opened, NOW);
    assert_eq!(inserts(&mut keeper, NOW), [(0, 0), (1, 1)]);
    keeper.event(Event::Acknowledged { message: 1 }, NOW);
    let mut now = NOW;
    keeper.event(refused(0, Verdict::Unknown), now);
    for message in 2..6 {
        assert!(keeper.to_set_aside().is_none());
        now += PAUSE;
        assert_eq!(inserts(&mut keeper, now), [(message, 0)]);
        keeper.event(refused(message, Verdict::Unknown), now);
    }
    assert_eq!(keeper.to_set_aside().map(|aside| aside.key().number), Some(0));
    keeper.set_aside();
    assert_eq!(settled(&mut keeper), [1, 0]);
    check_sum(&keeper);
}

/// A database that ends the connection without a word at reading 1: those around it are stored, it alone is set aside.
#[test]
fn a_reading_that_ends_every_connection_is_set_aside_and_those_behind_it_go_on() {
    let mut keeper = keeper(10_000);
    for delivery in 0..4 {
        receive(&mut keeper, Some(delivery));
    }
    let mut stored = Vec::new();
    for _connection in 0..20 {
        keeper.event(Event::Opened, NOW);
        'connection: loop {
            let sent = inserts(&mut keeper, NOW);
            if sent.is_empty() {
                break;
            }
            for (message, number) in sent {
                if number == 1 {
                    keeper.event(Event::Discarded { message }, NOW);
                    keeper.event(Event::Closed, NOW);
                    break 'connection;
                }
                keeper.event(Event::Acknowledged { message }, NOW);
                stored.push(number);
            }
        }
    }
    assert_eq!(stored, [0, 2, 3]);
    let aside = keeper.to_set_aside().expect("a reading");
    assert_eq!((aside.key().number, aside.payload()), (1, &b"1"[..]));
    keeper.set_aside();
    check_sum(&keeper);
    assert_eq!((keeper.counts().set_aside, keeper.held()), (1, 0));
}

/// Kills of the database do not count against a reading that was not alone each time.
#[test]
fn readings_outlast_any_number_of_ends_that_are_not_their_own() {
    let mut keeper = keeper(100_000);
    for delivery in 0..30 {
        receive(&mut keeper, Some(delivery));
    }
    for _kill in 0..30 {
        keeper.event(Event::Opened, NOW);
        // The database stores one, and dies with the next.
        for (message, _) in inserts(&mut keeper, NOW).into_iter().take(1) {
            keeper.event(Event::Acknowledged { message }, NOW);
        }
        inserts(&mut keeper, NOW);
        keeper.event(Event::Discarded { message: 0 }, NOW);
        keeper.event(Event::Closed, NOW);
    }
    assert!(keeper.to_set_aside().is_none());
    assert_eq!(keeper.counts().stored, 30);
}

#[test]
fn a_window_bounds_the_inserts_and_an_answer_that_does_not_come_is_noticed() {
    let mut keeper = keeper(1_000_000);
    for _ in 0..WINDOW + 1 {
        receive(&mut keeper, None);
    }
    keeper.event(Event::Opened, NOW);
    assert_eq!(inserts(&mut keeper, NOW).len(), WINDOW);
    let late = NOW + Duration::from_secs(30);
    assert_eq!(keeper.wakes(), Some(late));
    assert!(!keeper.is_stalled(NOW) && keeper.is_stalled(late));
}

#[test]
fn a_reading_that_was_delivered_before_is_counted() {
    let mut keeper = keeper(10_000);
    for is_redelivered in [true, false, true] {
        let arrival = Arrival {
            sender: "t",
            payload: Content::from(b"1".as_slice()),
            delivery: Some(0),
            is_redelivered,
        };
        keeper.receive(arrival, NOW);
    }
    assert_eq!(keeper.counts().redelivered, 2);
}
