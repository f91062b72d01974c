//! Two ends, and a path that loses, repeats and reorders.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_tcp::{Config, Connection, Segment};

use super::end::End;
use super::{START, config, initial_sequence, start};
use crate::script::Script;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// More events than one connection has.
const MOST_TURNS: usize = 100_000;

/// Longer than two ends need to close: retransmissions, FIN-WAIT-2, TIME-WAIT.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A script of what both applications do, and of what happens to each packet.
pub fn pair(bytes: &[u8]) -> bool {
    let mut script = Script::new(bytes);
    let Some(mut pair) = Pair::new(&mut script) else {
        return false;
    };
    let mut is_understood = true;
    while let Some(step) = script.byte() {
        is_understood = pair.step(step, &mut script).is_some();
    }
    pair.finish();
    is_understood
}

struct Pair<'a> {
    ends: [Option<End>; 2],
    accepts: (Config, Duration),
    initial: [u32; 2],
    now: Instant,
    fates: Script<'a>,
    delay: Duration,
    flying: BTreeMap<(Instant, u64), (usize, Segment, Vec<u8>)>,
    flights: u64,
    /// Whether an application has dropped bytes: it aborted, or closed with unread bytes.
    drops: bool,
}

impl<'a> Pair<'a> {
    fn new(script: &mut Script<'a>) -> Option<Self> {
        let (connects, accepts) = (config(script)?, config(script)?);
        let initial = [initial_sequence(script)?, initial_sequence(script)?];
        let delay = Duration::from_millis(u64::from(script.byte()?) + 1);
        let fates = usize::from(script.u16()?);
        let connection = Connection::connect(connects.0, start(initial[CLIENT], connects.1), START);
        let mut pair = Self {
            ends: [Some(End::new(connection, initial[CLIENT], START)), None],
            accepts,
            initial,
            now: START,
            fates: Script::new(script.take(fates)),
            delay,
            flying: BTreeMap::new(),
            flights: 0,
            drops: false,
        };
        pair.send();
        Some(pair)
    }

    /// Carries out a step of one of the ends.
    fn step(&mut self, step: u8, script: &mut Script<'_>) -> Option<()> {
        let index = usize::from(step >> 7);
        let (now, first) = (self.now, self.first_of_peer(index));
        let Some(end) = &mut self.ends[index] else {
            self.turn();
            return Some(());
        };
        match step % 16 {
            0..=2 => end.write(u64::from(script.u16()?), now),
            3 => end.write(u64::from(script.byte()?), now),
            4 => end.read(usize::from(script.u16()?), first, now),
            5 => end.connection.shutdown(now),
            6 if step & 0x70 == 0 => {
                self.drops = true;
                end.connection.abort(now);
            }
            6 if step & 0x70 == 0x10 => {
                self.drops = true;
                end.connection.close(now);
            }
            7..=9 => end.read(usize::MAX, first, now),
            10..=12 => {
                for _ in 0..script.byte()? {
                    self.turn();
                }
            }
            _ => {
                self.turn();
            }
        }
        self.settle(index);
        Some(())
    }

    /// The sequence number of the first byte that the peer of `index` sends.
    const fn first_of_peer(&self, index: usize) -> u32 {
        self.initial[1 - index].wrapping_add(1)
    }

    fn settle(&mut self, index: usize) {
        if let Some(end) = &mut self.ends[index] {
            end.settle(self.now);
        }
        self.send();
    }

    /// Sends the segments of both ends.
    fn send(&mut self) {
        for index in [CLIENT, SERVER] {
            while let Some((segment, payload)) =
                self.ends[index].as_mut().and_then(|end| end.sent.pop_front())
            {
                self.fly(1 - index, segment, payload);
            }
        }
    }

    fn fly(&mut self, to: usize, segment: Segment, payload: Vec<u8>) {
        let (copies, late) = match self.fates.byte().unwrap_or(0) {
            0x80..=0xaf => (0, 0),
            0xb0..=0xcf => (2, 0),
            0xd0..=0xef => (1, u64::from(self.fates.byte().unwrap_or(0))),
            0xf0..=0xff => (2, u64::from(self.fates.u16().unwrap_or(0))),
            _ => (1, 0),
        };
        for copy in 0..copies {
            let at = self.now + self.delay + Duration::from_millis(late * copy.max(copies - 1).max(1));
            self.flights += 1;
            self.flying
                .insert((at, self.flights), (to, segment, payload.clone()));
        }
    }

    /// Handles the next arrival or time-out; returns whether there was one.
    fn turn(&mut self) -> bool {
        let timeouts = self
            .ends
            .each_ref()
            .map(|end| end.as_ref()?.connection.next_timeout());
        let timeout = timeouts.into_iter().flatten().min();
        let arrival = self.flying.keys().next().map(|key| key.0);
        let Some(at) = timeout.into_iter().chain(arrival).min() else {
            return false;
        };
        self.now = self.now.max(at);
        if arrival == Some(at) {
            self.arrive();
        } else {
            let is_due = |timeout: &Option<Instant>| timeout.is_some_and(|timeout| timeout <= at);
            let due = usize::from(!is_due(&timeouts[CLIENT]));
            if let Some(end) = &mut self.ends[due] {
                end.wake(self.now);
            }
        }
        self.send();
        true
    }

    fn arrive(&mut self) {
        let Some((_, (to, segment, payload))) = self.flying.pop_first() else {
            return;
        };
        if let Some(end) = &mut self.ends[to] {
            return end.receive(&segment, &payload, self.now);
        }
        let initial = self.initial[SERVER];
        let (config, phase) = self.accepts.clone();
        let start = start(initial, phase);
        let connection = Connection::accept(config, &segment, &payload, start, self.now);
        self.ends[SERVER] = Some(End::new(connection, initial, self.now));
    }

    /// Both applications read everything and close: both ends come to their end, with every byte or with a reset.
    fn finish(mut self) {
        let started = self.now;
        for is_last in [false, true] {
            let mut turns = 0;
            loop {
                self.read_and_close(is_last);
                if !self.turn() {
                    break;
                }
                turns += 1;
                assert!(
                    turns < MOST_TURNS,
                    "never over: {:?} {:?}",
                    self.connection(CLIENT),
                    self.connection(SERVER)
                );
            }
        }
        assert!(self.now.saturating_since(started) < LONGEST, "{:?}", self.now);
        for end in self.ends.iter().flatten() {
            assert!(end.is_over(), "left alone: {:?}", end.connection);
        }
        self.check_streams();
    }

    fn connection(&self, index: usize) -> Option<&Connection> {
        Some(&self.ends[index].as_ref()?.connection)
    }

    fn read_and_close(&mut self, is_last: bool) {
        for index in [CLIENT, SERVER] {
            let (now, first) = (self.now, self.first_of_peer(index));
            let Some(end) = &mut self.ends[index] else {
                continue;
            };
            if end.connection.available() > 0 {
                end.read(usize::MAX, first, now);
            }
            if is_last {
                end.connection.close(now);
            } else {
                end.connection.shutdown(now);
            }
            self.settle(index);
        }
    }

    /// Checks that every byte was read once, unless an end gave up.
    fn check_streams(&self) {
        let [Some(client), Some(server)] = &self.ends else {
            return;
        };
        assert!(client.received <= server.written && server.received <= client.written);
        if !self.drops && !client.was_reset() && !server.was_reset() {
            assert_eq!(
                (client.received, server.received),
                (server.written, client.written)
            );
        }
    }
}
