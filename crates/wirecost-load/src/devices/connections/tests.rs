use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn connections() -> Connections {
    Connections::new(3, SECOND * 10, Rng::new(5))
}

const BACKOFF: Backoff = Backoff {
    first: SECOND,
    max: Duration::from_secs(5),
    full_jitter: false,
};

#[test]
fn a_device_is_woken_once_however_often_it_is_marked() {
    let mut connections = connections();
    connections.wake(2);
    connections.wake(0);
    connections.wake(2);
    assert_eq!(
        [
            connections.next_awake(),
            connections.next_awake(),
            connections.next_awake()
        ],
        [Some(2), Some(0), None]
    );
}

#[test]
fn a_connect_that_takes_too_long_is_reported_once() {
    let mut connections = connections();
    connections.request(1, NextStep::Connect);
    assert_eq!(connections.take_request(1, Instant::START), NextStep::Connect);
    assert_eq!(connections.count(State::Connecting), 1);
    let late = Instant::START + SECOND * 10;
    assert_eq!(connections.next_timer(Instant::START + SECOND * 9), None);
    assert_eq!(connections.next_timer(late), Some((1, Timer::Connect)));
    assert_eq!(connections.next_timer(late), None);
}

#[test]
fn a_connection_in_time_leaves_no_timer() {
    let mut connections = connections();
    connections.request(1, NextStep::Connect);
    connections.take_request(1, Instant::START);
    connections.came_up(1, Instant::START);
    assert_eq!(connections.next_timer(Instant::START + SECOND * 99), None);
    assert_eq!(connections.next_deadline(), None);
}

/// A device connects, stays connected for `lasted`, and loses its connection. Returns the wait that follows.
fn lose(connections: &mut Connections, device: usize, lasted: Duration, is_proven: bool) -> Duration {
    connections.request(device, NextStep::Connect);
    connections.take_request(device, Instant::START);
    connections.came_up(device, Instant::START + SECOND);
    if is_proven {
        connections.prove(device);
    }
    connections.went_down(device, Instant::START + SECOND + lasted);
    connections.wait(device, &BACKOFF)
}

#[test]
fn waits_double_up_to_the_longest_and_the_first_is_zero() {
    let mut connections = connections();
    let mut waits = Vec::new();
    for _ in 0..5 {
        waits.push(connections.wait(0, &BACKOFF).as_secs());
        connections.request(0, NextStep::Connect);
        connections.take_request(0, Instant::START);
        connections.went_down(0, Instant::START);
    }
    assert_eq!(waits, [0, 1, 2, 4, 5]);
    assert_eq!(lose(&mut connections, 0, Duration::ZERO, true), Duration::ZERO);
}

#[test]
fn waits_grow_for_a_server_that_accepts_and_closes() {
    let mut connections = connections();
    let short = Duration::from_millis(999);
    let waits = [(); 4].map(|()| lose(&mut connections, 0, short, false).as_secs());
    assert_eq!(waits, [1, 2, 4, 5]);
    assert_eq!(
        lose(&mut connections, 0, SECOND, false),
        Duration::ZERO,
        "it has lasted"
    );
    assert_eq!(lose(&mut connections, 0, short, false), SECOND);
    assert_eq!(
        lose(&mut connections, 0, short, true),
        Duration::ZERO,
        "it answered"
    );
    assert_eq!(
        lose(&mut connections, 0, short, false),
        SECOND,
        "each connection for itself"
    );
}

#[test]
fn a_connection_that_the_device_ends_has_not_failed() {
    let mut connections = connections();
    for request in [NextStep::Abort { reset: true }, NextStep::Close] {
        connections.request(0, NextStep::Connect);
        connections.take_request(0, Instant::START);
        connections.came_up(0, Instant::START);
        connections.request(0, request);
        connections.take_request(0, Instant::START);
        connections.went_down(0, Instant::START);
        assert_eq!(connections.wait(0, &BACKOFF), Duration::ZERO, "{request:?}");
    }
}

/// How many devices begin to connect between two times, checked every millisecond.
fn told_until(connections: &mut Connections, from: Instant, until: Instant) -> usize {
    let mut told = 0;
    let mut now = from;
    while now <= until {
        while connections.next_timer(now).is_some() {
            told += 1;
        }
        now += Duration::from_millis(1);
    }
    told
}

#[test]
fn reconnects_keep_to_the_limit() {
    // At once, or when the back-off of all devices is over.
    for wait in [Duration::ZERO, SECOND] {
        let mut connections = Connections::new(30, SECOND * 10, Rng::new(5)).with_reconnect_gap(SECOND / 10);
        for device in 0..30 {
            assert_eq!(
                lose(&mut connections, device, Duration::ZERO, wait.is_zero()),
                wait
            );
        }
        while connections.next_awake().is_some() {}
        let now = Instant::START + SECOND;
        (0..30).for_each(|device| connections.connect_again(device, &BACKOFF, now));
        let at_once = std::iter::from_fn(|| connections.next_awake()).count();
        let begin = now + wait;
        let first = at_once + told_until(&mut connections, now, begin);
        assert_eq!(first, 10, "what a second has");
        let second = told_until(&mut connections, begin, begin + SECOND - Duration::from_millis(1));
        assert!((9..=10).contains(&second), "{second} in the second after that");
        let third = told_until(&mut connections, begin + SECOND, begin + SECOND * 2);
        assert_eq!(first + second + third, 30);
    }
}

#[test]
fn a_device_that_stays_down_takes_no_turn_and_is_not_missing() {
    let mut connections = connections().with_reconnect_gap(SECOND * 2);
    for device in 0..3 {
        lose(&mut connections, device, SECOND, false);
    }
    connections.miss(0);
    connections.stay_down(0);
    assert!(!connections.take_missing(0));
    let now = Instant::START + SECOND;
    (0..3).for_each(|device| connections.connect_again(device, &BACKOFF, now));
    assert_eq!(connections.next_timer(now), None, "the first one had the turn");
    let next = connections.next_deadline().expect("somebody waits");
    assert!(now + SECOND <= next && next <= now + SECOND + Duration::from_millis(1));
    connections.stay_down(1);
    assert_eq!(connections.next_timer(next), Some((2, Timer::Backoff)));
    assert_eq!(
        (connections.next_timer(next), connections.next_deadline()),
        (None, None)
    );
}

#[test]
fn a_lost_connection_is_missing_until_it_is_made_again() {
    let mut connections = connections();
    lose(&mut connections, 0, SECOND, false);
    lose(&mut connections, 1, SECOND, false);
    connections.connect_again(1, &BACKOFF, Instant::START);
    connections.miss(0);
    connections.miss(1);
    assert_eq!(
        [0, 0, 1].map(|device| connections.take_missing(device)),
        [true, false, false]
    );
    connections.miss(0);
    connections.request(0, NextStep::Connect);
    connections.take_request(0, Instant::START);
    assert!(!connections.take_missing(0), "it is being made");
}

#[test]
fn jitter_is_per_device_and_stays_below_the_wait() {
    let mut connections = connections();
    for device in 0..3 {
        connections.request(device, NextStep::Connect);
        connections.take_request(device, Instant::START);
        connections.went_down(device, Instant::START);
    }
    let jittered = Backoff {
        full_jitter: true,
        ..BACKOFF
    };
    let waits = [0, 1, 2].map(|device| connections.wait(device, &jittered));
    assert!(waits.iter().all(|wait| !wait.is_zero() && *wait <= SECOND));
    assert!(waits[0] != waits[1] && waits[1] != waits[2]);
    assert_eq!(waits, [0, 1, 2].map(|device| connections.wait(device, &jittered)));
}
