//! The connections of a part's devices: who is connected, who is to be, and who has something to do.
//!
//! ```text
//! down -> connecting -> up -> closing -> down
//!   ^         |          |
//!   `- wait --+----------'    where the phase keeps its devices connected; a back-off where it was of no use to anybody
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use wirecost_proto::{Instant, Rng};

use super::options::Backoff;

/// Where a device's connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Down,
    /// It is being made.
    Connecting,
    /// The client may send.
    Up,
    /// The client has asked to close it.
    Closing,
}

/// What a device does about its connection when it is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Stay,
    /// Make one.
    Connect,
    /// Close it as the protocol does.
    Close,
    /// Leave it at once.
    Abort {
        /// By RST where it is a stream.
        reset: bool,
    },
}

/// A time of a device that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The connect has taken too long.
    Connect,
    /// The wait before the next connect is over.
    Backoff,
    /// The close has taken too long.
    Close,
}

/// The connections of a part's devices, by their index in the part.
#[derive(Debug)]
pub struct Fleet {
    links: Vec<Link>,
    /// Devices that have something to do.
    awake: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    connect_timeout: Duration,
    /// The least time from one connection that is made again to the next.
    reconnect_gap: Duration,
    /// When the next connection may be made again.
    next_reconnect: Instant,
    rng: Rng,
    /// How many connections are in each state.
    counts: [usize; 4],
    /// How many devices are about to connect.
    wishing: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    state: State,
    wish: Wish,
    is_awake: bool,
    /// Whether the connection was of use to anybody: something was answered on it.
    is_proven: bool,
    /// Whether it was lost when nobody made it again.
    is_missing: bool,
    /// Connects that have failed, and connections that were lost before they were of use, since the last one that was.
    failures: u8,
    /// When the connect began, or the connection came up.
    since: Instant,
    timer: Option<Instant>,
}

/// How long a close may take before the connection is left without it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection that has lasted so long was of use, also where nothing is answered on it.
const OF_USE: Duration = Duration::from_secs(1);

impl Fleet {
    /// So many devices without connections. What is random follows from `rng`, device by device.
    pub fn new(devices: usize, connect_timeout: Duration, rng: Rng) -> Self {
        let link = Link {
            state: State::Down,
            wish: Wish::Stay,
            is_awake: false,
            is_proven: false,
            is_missing: false,
            failures: 0,
            since: Instant::START,
            timer: None,
        };
        Self {
            links: vec![link; devices],
            awake: VecDeque::new(),
            timers: BinaryHeap::new(),
            connect_timeout,
            reconnect_gap: Duration::ZERO,
            next_reconnect: Instant::START,
            rng,
            counts: [devices, 0, 0, 0],
            wishing: 0,
        }
    }

    /// The same, with no more connections made again than one in each `gap`.
    #[must_use]
    pub fn with_reconnect_gap(self, gap: Duration) -> Self {
        Self {
            reconnect_gap: gap,
            ..self
        }
    }

    /// How many connections are being made, or about to be.
    pub fn pending(&self) -> usize {
        self.count(State::Connecting) + self.wishing
    }

    /// A device that waits before it connects again does not.
    pub fn stay_down(&mut self, device: usize) {
        self.set_wish(device, Wish::Stay);
        self.links[device].timer = None;
    }

    /// How many devices there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Where a device's connection stands.
    pub fn state(&self, device: usize) -> State {
        self.links[device].state
    }

    /// Whether a device may send.
    pub fn is_up(&self, device: usize) -> bool {
        self.links[device].state == State::Up
    }

    /// How many connections are in a state.
    pub fn count(&self, state: State) -> usize {
        self.counts[state as usize]
    }

    /// When a device's last connect began, or its connection came up.
    pub fn since(&self, device: usize) -> Instant {
        self.links[device].since
    }

    /// The device is to be asked what it does next.
    pub fn wake(&mut self, device: usize) {
        let link = &mut self.links[device];
        if !std::mem::replace(&mut link.is_awake, true) {
            self.awake.push_back(device as u32);
        }
    }

    /// A device that is to be asked.
    pub fn next_awake(&mut self) -> Option<usize> {
        let device = self.awake.pop_front()? as usize;
        self.links[device].is_awake = false;
        Some(device)
    }

    /// The device is to do something about its connection, and is woken for it.
    pub fn wish(&mut self, device: usize, wish: Wish) {
        self.set_wish(device, wish);
        self.wake(device);
    }

    fn set_wish(&mut self, device: usize, wish: Wish) -> Wish {
        let before = std::mem::replace(&mut self.links[device].wish, wish);
        self.wishing += usize::from(wish == Wish::Connect);
        self.wishing -= usize::from(before == Wish::Connect);
        before
    }

    /// Leaves what is left of a connection; a device that is about to connect does so by that.
    pub fn abort(&mut self, device: usize, reset: bool) {
        if self.links[device].wish != Wish::Connect {
            self.wish(device, Wish::Abort { reset });
        }
    }

    /// Takes what the device does about its connection: its state is what follows from that.
    pub fn take_wish(&mut self, device: usize, now: Instant) -> Wish {
        let wish = self.set_wish(device, Wish::Stay);
        match wish {
            Wish::Stay => {}
            Wish::Connect => {
                let link = &mut self.links[device];
                (link.since, link.is_proven, link.is_missing) = (now, false, false);
                self.go(device, State::Connecting, Some(now + self.connect_timeout));
            }
            Wish::Close => self.go(device, State::Closing, Some(now + CLOSE_TIMEOUT)),
            // Whoever leaves the connection says that it has ended; what the device ends itself has not failed.
            Wish::Abort { .. } => self.links[device].is_proven = true,
        }
        wish
    }

    /// The client may send.
    pub fn came_up(&mut self, device: usize, now: Instant) {
        self.links[device].since = now;
        self.go(device, State::Up, None);
    }

    /// Something was answered on a device's connection.
    pub fn prove(&mut self, device: usize) {
        self.links[device].is_proven = true;
    }

    /// The device has lost its connection, and nobody makes it again for now.
    pub fn miss(&mut self, device: usize) {
        let link = &mut self.links[device];
        link.is_missing = link.state == State::Down && link.timer.is_none() && link.wish == Wish::Stay;
    }

    /// Whether a device has lost its connection when nobody made it again; told once.
    pub fn take_missing(&mut self, device: usize) -> bool {
        std::mem::take(&mut self.links[device].is_missing)
    }

    /// The device has lost its connection: its first wait is that after a failure.
    pub fn was_lost(&mut self, device: usize) {
        let failures = &mut self.links[device].failures;
        *failures = (*failures).max(1);
    }

    /// The connection is gone, or did not come about; returns what it was.
    pub fn went_down(&mut self, device: usize, now: Instant) -> State {
        let link = &mut self.links[device];
        let before = link.state;
        if before == State::Down {
            return before;
        }
        let of_use = match before {
            State::Connecting | State::Down => false,
            State::Up => link.is_proven || now >= link.since + OF_USE,
            State::Closing => true,
        };
        link.failures = if of_use {
            0
        } else {
            link.failures.saturating_add(1)
        };
        self.go(device, State::Down, None);
        before
    }

    /// Connects again: at once where the last connection was of use, else after a wait that grows.
    pub fn connect_again(&mut self, device: usize, backoff: &Backoff, now: Instant) {
        let turn = self.next_reconnect.max(now);
        self.next_reconnect = turn + self.reconnect_gap;
        let at = turn.max(now + self.wait(device, backoff));
        if at <= now {
            return self.wish(device, Wish::Connect);
        }
        self.go(device, State::Down, Some(at));
    }

    /// How long a device waits after so many failures.
    fn wait(&self, device: usize, backoff: &Backoff) -> Duration {
        let failures = self.links[device].failures;
        if failures == 0 {
            return Duration::ZERO;
        }
        let doubled = backoff.first.saturating_mul(1 << u32::from(failures - 1).min(30));
        let longest = doubled.min(backoff.max);
        if !backoff.full_jitter {
            return longest;
        }
        let drawn = self.rng.host(device as u64).at(u64::from(failures));
        let share = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
        longest.mul_f64(share).max(Duration::from_nanos(1))
    }

    /// The next device whose time has come.
    pub fn next_timer(&mut self, now: Instant) -> Option<(usize, Timer)> {
        while let Some(Reverse((at, device))) = self.timers.peek().copied() {
            let device = device as usize;
            let is_set = self.links[device].timer == Some(at);
            if is_set && at > now {
                return None;
            }
            self.timers.pop();
            if is_set {
                self.links[device].timer = None;
                return Some((
                    device,
                    match self.links[device].state {
                        State::Connecting => Timer::Connect,
                        State::Closing => Timer::Close,
                        State::Down | State::Up => Timer::Backoff,
                    },
                ));
            }
        }
        None
    }

    /// When the next device's time comes.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }

    fn go(&mut self, device: usize, state: State, timer: Option<Instant>) {
        let link = &mut self.links[device];
        self.counts[link.state as usize] -= 1;
        self.counts[state as usize] += 1;
        link.state = state;
        link.timer = timer;
        if let Some(at) = timer {
            self.timers.push(Reverse((at, device as u32)));
        }
    }
}

#[cfg(test)]
mod tests {
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
        fleet.wish(1, Wish::Connect);
        assert_eq!(fleet.take_wish(1, Instant::START), Wish::Connect);
        assert_eq!(fleet.count(State::Connecting), 1);
        let late = Instant::START + SECOND * 10;
        assert_eq!(fleet.next_timer(Instant::START + SECOND * 9), None);
        assert_eq!(fleet.next_timer(late), Some((1, Timer::Connect)));
        assert_eq!(fleet.next_timer(late), None);
    }

    #[test]
    fn a_connection_in_time_leaves_no_timer() {
        let mut fleet = fleet();
        fleet.wish(1, Wish::Connect);
        fleet.take_wish(1, Instant::START);
        fleet.came_up(1, Instant::START);
        assert_eq!(fleet.next_timer(Instant::START + SECOND * 99), None);
        assert_eq!(fleet.next_deadline(), None);
    }

    /// A device connects, is connected for so long, and loses its connection; returns how long it waits then.
    fn lose(fleet: &mut Fleet, device: usize, lasted: Duration, is_proven: bool) -> Duration {
        fleet.wish(device, Wish::Connect);
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
            fleet.wish(0, Wish::Connect);
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
        for wish in [Wish::Abort { reset: true }, Wish::Close] {
            fleet.wish(0, Wish::Connect);
            fleet.take_wish(0, Instant::START);
            fleet.came_up(0, Instant::START);
            fleet.wish(0, wish);
            fleet.take_wish(0, Instant::START);
            fleet.went_down(0, Instant::START);
            assert_eq!(fleet.wait(0, &BACKOFF), Duration::ZERO, "{wish:?}");
        }
    }

    #[test]
    fn connections_are_made_again_no_faster_than_asked() {
        let mut fleet = fleet().with_reconnect_gap(SECOND * 3);
        for device in 0..3 {
            lose(&mut fleet, device, Duration::ZERO, device != 1);
        }
        while fleet.next_awake().is_some() {}
        let now = Instant::START + SECOND;
        (0..3).for_each(|device| fleet.connect_again(device, &BACKOFF, now));
        let mut due = |at| fleet.next_timer(now + at).map(|(device, _)| device);
        assert_eq!(due(Duration::ZERO), None, "the first one has its turn at once");
        assert_eq!(
            [due(SECOND * 3), due(SECOND * 5), due(SECOND * 6)],
            [Some(1), None, Some(2)]
        );
        assert_eq!((fleet.next_awake(), fleet.next_awake()), (Some(0), None));
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
        fleet.wish(0, Wish::Connect);
        fleet.take_wish(0, Instant::START);
        assert!(!fleet.take_missing(0), "it is being made");
    }

    #[test]
    fn jitter_is_the_devices_own_and_stays_below_the_wait() {
        let mut fleet = fleet();
        for device in 0..3 {
            fleet.wish(device, Wish::Connect);
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
}
