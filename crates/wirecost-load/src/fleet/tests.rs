use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn fleet() -> Fleet {
    Fleet::new(3, SECOND * 10, Rng::new(5))
}

const BACKOFF: Backoff = Backoff {
    first: SECOND,
    max: Duration::from_secs(5),
    full_jitter: false,
};

#[test]
fn a_device_is_woken_once_however_often_it_is_called() {
    let mut fleet = fleet();
    fleet.wake(2);
    fleet.wake(0);
    fleet.wake(2);
    assert_eq!(
        [fleet.next_awake(), fleet.next_awake(), fleet.next_awake()],
        [Some(2), Some(0), None]
    );
}

#[test]
fn a_connect_that_takes_too_long_is_told_once() {
    let mut fleet = fleet();
    fleet.wish(1, NextStep::Connect);
    assert_eq!(fleet.take_wish(1, Instant::START), NextStep::Connect);
    assert_eq!(fleet.count(State::Connecting), 1);
    let late = Instant::START + SECOND * 10;
    assert_eq!(fleet.next_timer(Instant::START + SECOND * 9), None);
    assert_eq!(fleet.next_timer(late), Some((1, Timer::Connect)));
    assert_eq!(fleet.next_timer(late), None);
}

#[test]
fn a_connection_in_time_leaves_no_timer() {
    let mut fleet = fleet();
    fleet.wish(1, NextStep::Connect);
    fleet.take_wish(1, Instant::START);
    fleet.came_up(1, Instant::START);
    assert_eq!(fleet.next_timer(Instant::START + SECOND * 99), None);
    assert_eq!(fleet.next_deadline(), None);
}

/// A device connects, is connected for so long, and loses its connection; returns how long it waits then.
fn lose(fleet: &mut Fleet, device: usize, lasted: Duration, is_proven: bool) -> Duration {
    fleet.wish(device, NextStep::Connect);
    fleet.take_wish(device, Instant::START);
    fleet.came_up(device, Instant::START + SECOND);
    if is_proven {
        fleet.prove(device);
    }
    fleet.went_down(device, Instant::START + SECOND + lasted);
    fleet.wait(device, &BACKOFF)
}

#[test]
fn waits_double_up_to_the_longest_and_the_first_is_none() {
    let mut fleet = fleet();
    let mut waits = Vec::new();
    for _ in 0..5 {
        waits.push(fleet.wait(0, &BACKOFF).as_secs());
        fleet.wish(0, NextStep::Connect);
        fleet.take_wish(0, Instant::START);
        fleet.went_down(0, Instant::START);
    }
    assert_eq!(waits, [0, 1, 2, 4, 5]);
    assert_eq!(lose(&mut fleet, 0, Duration::ZERO, true), Duration::ZERO);
}

#[test]
fn whoever_accepts_and_leaves_is_waited_for_longer_and_longer() {
    let mut fleet = fleet();
    let short = Duration::from_millis(999);
    let waits = [(); 4].map(|()| lose(&mut fleet, 0, short, false).as_secs());
    assert_eq!(waits, [1, 2, 4, 5]);
    assert_eq!(
        lose(&mut fleet, 0, SECOND, false),
        Duration::ZERO,
        "it has lasted"
    );
    assert_eq!(lose(&mut fleet, 0, short, false), SECOND);
    assert_eq!(lose(&mut fleet, 0, short, true), Duration::ZERO, "it answered");
    assert_eq!(
        lose(&mut fleet, 0, short, false),
        SECOND,
        "each connection for itself"
    );
}

#[test]
fn what_a_device_ends_itself_has_not_failed() {
    let mut fleet = fleet();
    for wish in [NextStep::Abort { reset: true }, NextStep::Close] {
        fleet.wish(0, NextStep::Connect);
        fleet.take_wish(0, Instant::START);
        fleet.came_up(0, Instant::START);
        fleet.wish(0, wish);
        fleet.take_wish(0, Instant::START);
        fleet.went_down(0, Instant::START);
        assert_eq!(fleet.wait(0, &BACKOFF), Duration::ZERO, "{wish:?}");
    }
}

/// How many devices are told to connect until a time, looked at every millisecond.
fn told_until(fleet: &mut Fleet, from: Instant, until: Instant) -> usize {
    let mut told = 0;
    let mut now = from;
    while now <= until {
        while fleet.next_timer(now).is_some() {
            told += 1;
        }
        now += Duration::from_millis(1);
    }
    told
}

#[test]
fn connections_are_made_again_no_faster_than_asked() {
    // At once, or when the back-off of all is over.
    for wait in [Duration::ZERO, SECOND] {
        let mut fleet = Fleet::new(30, SECOND * 10, Rng::new(5)).with_reconnect_gap(SECOND / 10);
        for device in 0..30 {
            assert_eq!(lose(&mut fleet, device, Duration::ZERO, wait.is_zero()), wait);
        }
        while fleet.next_awake().is_some() {}
        let now = Instant::START + SECOND;
        (0..30).for_each(|device| fleet.connect_again(device, &BACKOFF, now));
        let at_once = std::iter::from_fn(|| fleet.next_awake()).count();
        let begin = now + wait;
        let first = at_once + told_until(&mut fleet, now, begin);
        assert_eq!(first, 10, "what a second has");
        let second = told_until(&mut fleet, begin, begin + SECOND - Duration::from_millis(1));
        assert!((9..=10).contains(&second), "{second} in the second after that");
        let third = told_until(&mut fleet, begin + SECOND, begin + SECOND * 2);
        assert_eq!(first + second + third, 30);
    }
}

#[test]
fn who_stays_down_takes_no_turn_and_is_not_missing() {
    let mut fleet = fleet().with_reconnect_gap(SECOND * 2);
    for device in 0..3 {
        lose(&mut fleet, device, SECOND, false);
    }
    fleet.miss(0);
    fleet.stay_down(0);
    assert!(!fleet.take_missing(0));
    let now = Instant::START + SECOND;
    (0..3).for_each(|device| fleet.connect_again(device, &BACKOFF, now));
    assert_eq!(fleet.next_timer(now), None, "the first one had the turn");
    let next = fleet.next_deadline().expect("somebody waits");
    assert!(now + SECOND <= next && next <= now + SECOND + Duration::from_millis(1));
    fleet.stay_down(1);
    assert_eq!(fleet.next_timer(next), Some((2, Timer::Backoff)));
    assert_eq!((fleet.next_timer(next), fleet.next_deadline()), (None, None));
}

#[test]
fn a_connection_that_nobody_makes_again_is_missing_until_somebody_does() {
    let mut fleet = fleet();
    lose(&mut fleet, 0, SECOND, false);
    lose(&mut fleet, 1, SECOND, false);
    fleet.connect_again(1, &BACKOFF, Instant::START);
    fleet.miss(0);
    fleet.miss(1);
    assert_eq!(
        [0, 0, 1].map(|device| fleet.take_missing(device)),
        [true, false, false]
    );
    fleet.miss(0);
    fleet.wish(0, NextStep::Connect);
    fleet.take_wish(0, Instant::START);
    assert!(!fleet.take_missing(0), "it is being made");
}

#[test]
fn jitter_is_the_devices_own_and_stays_below_the_wait() {
    let mut fleet = fleet();
    for device in 0..3 {
        fleet.wish(device, NextStep::Connect);
        fleet.take_wish(device, Instant::START);
        fleet.went_down(device, Instant::START);
    }
    let jittered = Backoff {
        full_jitter: true,
        ..BACKOFF
    };
    let waits = [0, 1, 2].map(|device| fleet.wait(device, &jittered));
    assert!(waits.iter().all(|wait| !wait.is_zero() && *wait <= SECOND));
    assert!(waits[0] != waits[1] && waits[1] != waits[2]);
    assert_eq!(waits, [0, 1, 2].map(|device| fleet.wait(device, &jittered)));
}
