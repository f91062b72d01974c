//! The connections of a part's devices: their states, and the devices that have work to do.
//!
//! ```text
//! down -> connecting -> up -> closing -> down
//!   ^         |          |
//!   `- wait --+----------'    if the phase reconnects its devices; with a back-off if the connection had no answer
//! ```

mod turns;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use wirecost_proto::{Instant, Rng};
use wirecost_scenario::options::load::Backoff;

use crate::earlier;
use turns::Turns;

/// The state of a device's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no connection.
    Down,
    /// The connection is being made.
    Connecting,
    /// The client may send.
    Up,
    /// The client has begun to close the connection.
    Closing,
}

/// The next step of a device's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// No change.
    Stay,
    /// Connect.
    Connect,
    /// Close with the protocol's own close.
    Close,
    /// Leave the session and make a new one: the server knows the device no more.
    Renew,
    /// Drop the connection at once.
    Abort {
        /// By RST if it is a stream.
        reset: bool,
    },
}

/// A timer of a device that has expired.
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
pub struct Connections {
    connections: Vec<Connection>,
    /// Devices that have work to do.
    awake: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    connect_timeout: Duration,
    turns: Turns,
    rng: Rng,
    /// The number of connections in each state.
    counts: [usize; 4],
    /// The number of devices that are about to connect.
    requested_connects: usize,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    state: State,
    request: NextStep,
    is_awake: bool,
    /// Whether an answer arrived on the connection.
    is_proven: bool,
    /// Whether the connection was lost in a phase that does not reconnect.
    is_missing: bool,
    /// Whether the device waits for its turn to reconnect.
    is_in_turn: bool,
    /// Whether the device may send one message before the connection is up.
    is_ahead: bool,
    /// Failed connects and connections lost before an answer, since the last connection with an answer.
    failures: u8,
    /// When the connect began, or the connection came up.
    since: Instant,
    timer: Option<Instant>,
}

/// How long a close may take before the connection is dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection that has lasted this long counts as successful even without an answer.
const OF_USE: Duration = Duration::from_secs(1);

impl Connections {
    /// Devices without connections. Each device's random numbers derive from `rng`.
    pub fn new(devices: usize, connect_timeout: Duration, rng: Rng) -> Self {
        let connection = Connection {
            state: State::Down,
            request: NextStep::Stay,
            is_awake: false,
            is_proven: false,
            is_missing: false,
            is_in_turn: false,
            is_ahead: false,
            failures: 0,
            since: Instant::START,
            timer: None,
        };
        Self {
            connections: vec![connection; devices],
            awake: VecDeque::new(),
            timers: BinaryHeap::new(),
            connect_timeout,
            turns: Turns::default(),
            rng,
            counts: [devices, 0, 0, 0],
            requested_connects: 0,
        }
    }

    /// Limits reconnects to one in each `gap`, or one second's worth at once.
    #[must_use]
    pub fn with_reconnect_gap(mut self, gap: Duration) -> Self {
        self.turns.gap = gap;
        self
    }

    /// The number of connections that are being made or about to be made.
    pub fn pending(&self) -> usize {
        self.count(State::Connecting) + self.requested_connects
    }

    /// Keeps a device down that waits to reconnect. The device does not count as missing.
    pub fn stay_down(&mut self, device: usize) {
        self.set_request(device, NextStep::Stay);
        let connection = &mut self.connections[device];
        (connection.timer, connection.is_in_turn, connection.is_missing) = (None, false, false);
    }

    /// The number of devices.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether there are no devices.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// The state of a device's connection.
    pub fn state(&self, device: usize) -> State {
        self.connections[device].state
    }

    /// Whether a device may send.
    pub fn is_up(&self, device: usize) -> bool {
        self.connections[device].state == State::Up
    }

    /// The number of connections in a state.
    pub fn count(&self, state: State) -> usize {
        self.counts[state as usize]
    }

    /// When a device's last connect began, or its connection came up.
    pub fn since(&self, device: usize) -> Instant {
        self.connections[device].since
    }

    /// Marks a device as having work to do.
    pub fn wake(&mut self, device: usize) {
        let connection = &mut self.connections[device];
        if !std::mem::replace(&mut connection.is_awake, true) {
            self.awake.push_back(device as u32);
        }
    }

    /// The next device that has work to do.
    pub fn next_awake(&mut self) -> Option<usize> {
        let device = self.awake.pop_front()? as usize;
        self.connections[device].is_awake = false;
        Some(device)
    }

    /// Sets the next step of a device's connection and wakes the device.
    pub fn request(&mut self, device: usize, request: NextStep) {
        self.set_request(device, request);
        self.wake(device);
    }

    fn set_request(&mut self, device: usize, request: NextStep) -> NextStep {
        let before = std::mem::replace(&mut self.connections[device].request, request);
        self.requested_connects += usize::from(request == NextStep::Connect);
        self.requested_connects -= usize::from(before == NextStep::Connect);
        before
    }

    /// Drops a device's connection. This cancels a connect that has not begun.
    pub fn abort(&mut self, device: usize, reset: bool) {
        if self.connections[device].request != NextStep::Connect {
            self.request(device, NextStep::Abort { reset });
        }
    }

    /// Takes the next step of a device's connection and updates the state.
    pub fn take_request(&mut self, device: usize, now: Instant) -> NextStep {
        let request = self.set_request(device, NextStep::Stay);
        match request {
            NextStep::Stay => {}
            NextStep::Connect => {
                let connection = &mut self.connections[device];
                (connection.since, connection.is_proven) = (now, false);
                (connection.is_missing, connection.is_in_turn) = (false, false);
                self.go(device, State::Connecting, Some(now + self.connect_timeout));
            }
            NextStep::Close => self.go(device, State::Closing, Some(now + CLOSE_TIMEOUT)),
            // The caller reports the end of the connection. A connection that the device ends itself has not failed.
            NextStep::Renew | NextStep::Abort { .. } => self.connections[device].is_proven = true,
        }
        request
    }

    /// The client may send one message behind its request to connect.
    pub fn let_ahead(&mut self, device: usize) {
        let connection = &mut self.connections[device];
        connection.is_ahead = connection.state == State::Connecting;
    }

    /// The client has sent a message. Before its connection is up, it sends no other.
    pub fn end_ahead(&mut self, device: usize) {
        self.connections[device].is_ahead = false;
    }

    /// Whether a device may send: its connection is up, or one message may go ahead.
    pub fn may_send(&self, device: usize) -> bool {
        self.is_up(device) || self.connections[device].is_ahead
    }

    /// The client may send.
    pub fn came_up(&mut self, device: usize, now: Instant) {
        self.connections[device].since = now;
        self.go(device, State::Up, None);
    }

    /// An answer arrived on a device's connection.
    pub fn prove(&mut self, device: usize) {
        self.connections[device].is_proven = true;
    }

    /// The device has lost its connection in a phase that does not reconnect.
    pub fn miss(&mut self, device: usize) {
        let connection = &mut self.connections[device];
        let comes_back =
            connection.timer.is_some() || connection.is_in_turn || connection.request != NextStep::Stay;
        connection.is_missing = connection.state == State::Down && !comes_back;
    }

    /// Whether a device lost its connection in a phase that did not reconnect. Clears the mark.
    pub fn take_missing(&mut self, device: usize) -> bool {
        std::mem::take(&mut self.connections[device].is_missing)
    }

    /// The device has lost its connection: the next wait is the one after a failure.
    pub fn was_lost(&mut self, device: usize) {
        let failures = &mut self.connections[device].failures;
        *failures = (*failures).max(1);
    }

    /// The connection has ended, or the connect has failed. Returns the state before.
    pub fn went_down(&mut self, device: usize, now: Instant) -> State {
        let connection = &mut self.connections[device];
        let before = connection.state;
        if before == State::Down {
            return before;
        }
        // A server that accepts and closes at once would reset the back-off each time, and so be asked without a pause.
        let of_use = match before {
            State::Connecting | State::Down => false,
            State::Up => connection.is_proven || now >= connection.since + OF_USE,
            State::Closing => true,
        };
        connection.failures = if of_use {
            0
        } else {
            connection.failures.saturating_add(1)
        };
        self.go(device, State::Down, None);
        before
    }

    /// Reconnects when it is the device's turn: at once after a successful connection, or else after a growing wait.
    pub fn connect_again(&mut self, device: usize, backoff: &Backoff, now: Instant) {
        let wait = self.wait(device, backoff);
        if !wait.is_zero() {
            self.go(device, State::Down, Some(now + wait));
        } else if self.takes_turn(device, now) {
            self.request(device, NextStep::Connect);
        }
    }

    /// Whether a device may reconnect now. If not, it waits behind the others.
    fn takes_turn(&mut self, device: usize, now: Instant) -> bool {
        let is_free = self.turns.take(now);
        if !is_free {
            self.connections[device].is_in_turn = true;
            self.turns.waiting.push_back(device as u32);
        }
        is_free
    }

    /// The next device whose turn has come.
    fn next_in_turn(&mut self, now: Instant) -> Option<usize> {
        while let Some(device) = self.turns.waiting.front().copied() {
            let is_in_turn = self.connections[device as usize].is_in_turn;
            // A device that has left the queue by itself takes no turn from those behind it.
            if is_in_turn && !self.turns.take_next(now) {
                return None;
            }
            self.turns.waiting.pop_front();
            if is_in_turn {
                self.connections[device as usize].is_in_turn = false;
                return Some(device as usize);
            }
        }
        None
    }

    /// How long a device waits after its failures.
    fn wait(&self, device: usize, backoff: &Backoff) -> Duration {
        let failures = self.connections[device].failures;
        if failures == 0 {
            return Duration::ZERO;
        }
        // Bounded, because a shift by the width of the number panics.
        let doubled = backoff.first.saturating_mul(1 << u32::from(failures - 1).min(30));
        let longest = doubled.min(backoff.max);
        if !backoff.full_jitter {
            return longest;
        }
        // By device and failure, so that the wait is the same however the devices are divided among parts.
        let drawn = self.rng.host(device as u64).at(u64::from(failures));
        // 53 bits are what a float holds: more would round up to one.
        let share = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
        // Never zero, which is the wait of a device that has not failed.
        longest.mul_f64(share).max(Duration::from_nanos(1))
    }

    /// The next expired timer.
    pub fn next_timer(&mut self, now: Instant) -> Option<(usize, Timer)> {
        if let Some(device) = self.next_in_turn(now) {
            return Some((device, Timer::Backoff));
        }
        while let Some(Reverse((at, device))) = self.timers.peek().copied() {
            let device = device as usize;
            // A timer that was moved or cancelled leaves its old entry in the heap: taking it out would need a search.
            let is_set = self.connections[device].timer == Some(at);
            if is_set && at > now {
                return None;
            }
            self.timers.pop();
            if !is_set {
                continue;
            }
            self.connections[device].timer = None;
            let timer = match self.connections[device].state {
                State::Connecting => Timer::Connect,
                State::Closing => Timer::Close,
                State::Down | State::Up => Timer::Backoff,
            };
            if timer != Timer::Backoff || self.takes_turn(device, now) {
                return Some((device, timer));
            }
        }
        None
    }

    /// When the next timer expires.
    pub fn next_deadline(&self) -> Option<Instant> {
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        earlier(timer, self.turns.next_deadline())
    }

    fn go(&mut self, device: usize, state: State, timer: Option<Instant>) {
        let connection = &mut self.connections[device];
        self.counts[connection.state as usize] -= 1;
        self.counts[state as usize] += 1;
        connection.state = state;
        connection.is_ahead = false;
        connection.timer = timer;
        if let Some(at) = timer {
            self.timers.push(Reverse((at, device as u32)));
        }
    }
}

#[cfg(test)]
mod tests;
