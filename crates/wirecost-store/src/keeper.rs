//! Readings on their way into a database: kept up to a bound, inserted in a window, and sent again after a lost connection.
//!
//! The keeper has no IO and no clock. Its user gives it readings, the events of a [`Client`](crate::client::Client) and the
//! time, and carries out its commands.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::{Content, Instant, PeerText};

use crate::command::{Command, Event, Key};

/// Inserts without an answer, at most.
const WINDOW: usize = 64;
/// How long a database that is full gets before the next insert.
const FULL_PAUSE: Duration = Duration::from_secs(1);
/// The number of a sweep. No reading has it.
const SWEEP: u64 = u64::MAX;
/// Memory that a reading takes besides its sender and its payload, in bytes.
const READING_BYTES: usize = 104;

/// The settings of a keeper.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The most memory that readings take which are not stored yet, in bytes.
    pub held_bytes: usize,
    /// How long an insert may wait for its answer.
    pub timeout: Duration,
    /// The statement that deletes old rows, and how often it runs.
    pub sweep: Option<(Arc<str>, Duration)>,
}

/// What has become of the readings. Received is the sum of stored, refused, lost and held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Readings that were given to the keeper.
    pub received: u64,
    /// Readings that the database has acknowledged.
    pub stored: u64,
    /// Readings that the database has refused.
    pub refused: u64,
    /// Readings that found no room.
    pub lost: u64,
    /// Inserts that were sent again, because the connection ended before their answer. The database may have two such rows.
    pub resent: u64,
}

/// What an event means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The database has acknowledged a reading.
    Stored {
        /// Its sender.
        sender: Arc<str>,
        /// The time since the keeper received it.
        after: Duration,
    },
    /// The database accepts inserts.
    Open,
    /// There is no connection, for this reason.
    Absent(String),
    /// The database has no room: the reading is kept.
    Full(PeerText),
    /// The database refuses a reading, in these words.
    Refused(PeerText),
    /// The database refuses to delete old rows, in these words.
    NotSwept(PeerText),
}

#[derive(Clone, Debug)]
struct Reading {
    key: Key,
    content: Content,
    received: Instant,
}

impl Reading {
    fn held_bytes(&self) -> usize {
        self.content.len() + self.key.sender.len() + READING_BYTES
    }
}

/// The readings that are not stored yet.
#[derive(Debug)]
pub struct Keeper {
    settings: Settings,
    waiting: VecDeque<Reading>,
    /// By message number and time of the insert, the oldest first.
    in_flight: VecDeque<(u64, Instant, Reading)>,
    held_bytes: usize,
    messages: u64,
    is_open: bool,
    /// When the next insert may leave.
    paused_until: Instant,
    sweep_at: Instant,
    counts: Counts,
}

impl Keeper {
    /// A keeper without readings.
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            in_flight: VecDeque::new(),
            held_bytes: 0,
            messages: 0,
            is_open: false,
            paused_until: Instant::START,
            sweep_at: Instant::START,
            counts: Counts {
                received: 0,
                stored: 0,
                refused: 0,
                lost: 0,
                resent: 0,
            },
        }
    }

    /// What has become of the readings.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Readings that are not stored yet.
    pub fn held(&self) -> usize {
        self.waiting.len() + self.in_flight.len()
    }

    /// Takes a reading. It is lost if there is no room; returns whether it was kept.
    pub fn receive(&mut self, sender: &str, content: Content, now: Instant) -> bool {
        let key = Key {
            sender: sender.into(),
            number: self.counts.received,
        };
        self.counts.received += 1;
        let reading = Reading {
            key,
            content,
            received: now,
        };
        let bytes = reading.held_bytes();
        if self.held_bytes + bytes > self.settings.held_bytes {
            self.counts.lost += 1;
            return false;
        }
        self.held_bytes += bytes;
        self.waiting.push_back(reading);
        true
    }

    /// Handles an event of the client.
    pub fn event(&mut self, event: Event, now: Instant) -> Option<Notice> {
        match event {
            Event::Opened => {
                self.is_open = true;
                self.sweep_at = now;
                Some(Notice::Open)
            }
            Event::Acknowledged { message } => {
                let reading = self.answered(message)?;
                self.counts.stored += 1;
                Some(Notice::Stored {
                    sender: reading.key.sender,
                    after: now.saturating_since(reading.received),
                })
            }
            Event::Refused {
                message: SWEEP,
                refusal,
            } => Some(Notice::NotSwept(refusal.words)),
            Event::Refused { message, refusal } => {
                let reading = self.answered(message)?;
                if refusal.is_full {
                    self.held_bytes += reading.held_bytes();
                    self.waiting.push_front(reading);
                    self.paused_until = now + FULL_PAUSE;
                    return Some(Notice::Full(refusal.words));
                }
                self.counts.refused += 1;
                Some(Notice::Refused(refusal.words))
            }
            Event::Discarded { .. } => {
                self.take_back();
                None
            }
            Event::Failed(failure) => Some(self.ended(failure.to_string())),
            Event::Closed => Some(self.ended("the server closed the connection".to_owned())),
            Event::Reset(reason) => Some(self.ended(reason.to_string())),
            Event::Sent { .. } => None,
        }
    }

    /// Handles the end of the connection, or of an attempt to make one.
    pub fn ended(&mut self, why: String) -> Notice {
        self.is_open = false;
        self.take_back();
        Notice::Absent(why)
    }

    /// The next command; `None` if there is nothing to do before [`Keeper::wakes`].
    pub fn next(&mut self, now: Instant) -> Option<Command> {
        if !self.is_open {
            return None;
        }
        if let Some((statement, every)) = &self.settings.sweep
            && self.sweep_at <= now
        {
            self.sweep_at = now + *every;
            return Some(Command::Execute {
                message: SWEEP,
                statement: Arc::clone(statement),
            });
        }
        if self.paused_until > now || self.in_flight.len() >= WINDOW {
            return None;
        }
        let reading = self.waiting.pop_front()?;
        let message = self.messages;
        self.messages += 1;
        let command = Command::Insert {
            message,
            key: Some(reading.key.clone()),
            content: reading.content.clone(),
        };
        self.in_flight.push_back((message, now, reading));
        Some(command)
    }

    /// When there is something to do without an event.
    pub fn wakes(&self) -> Option<Instant> {
        if !self.is_open {
            return None;
        }
        let sweep = self.settings.sweep.as_ref().map(|_| self.sweep_at);
        let paused = (!self.waiting.is_empty()).then_some(self.paused_until);
        let oldest = self
            .in_flight
            .front()
            .map(|(_, at, _)| *at + self.settings.timeout);
        let has_room = self.in_flight.len() < WINDOW;
        let paused = paused.filter(|_| has_room);
        [sweep, paused, oldest].into_iter().flatten().min()
    }

    /// Whether an insert has waited too long for its answer.
    pub fn is_stalled(&self, now: Instant) -> bool {
        let oldest = self.in_flight.front();
        oldest.is_some_and(|(_, at, _)| *at + self.settings.timeout <= now)
    }

    /// Removes the reading of an insert that is answered.
    fn answered(&mut self, message: u64) -> Option<Reading> {
        let at = self.in_flight.iter().position(|(sent, ..)| *sent == message)?;
        let (.., reading) = self.in_flight.remove(at)?;
        self.held_bytes -= reading.held_bytes();
        Some(reading)
    }

    /// Puts the readings in flight back to the front, in their order.
    fn take_back(&mut self) {
        self.counts.resent += self.in_flight.len() as u64;
        while let Some((.., reading)) = self.in_flight.pop_back() {
            self.waiting.push_front(reading);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Refusal;

    const NOW: Instant = Instant::START;

    fn keeper(held_bytes: usize) -> Keeper {
        Keeper::new(Settings {
            held_bytes,
            timeout: Duration::from_secs(30),
            sweep: None,
        })
    }

    fn inserts(keeper: &mut Keeper) -> Vec<(u64, u64)> {
        let commands = std::iter::from_fn(|| keeper.next(NOW));
        let numbers = commands.map(|command| match command {
            Command::Insert { message, key, .. } => (message, key.expect("a key").number),
            other => panic!("{other:?}"),
        });
        numbers.collect()
    }

    fn refused(message: u64, is_full: bool) -> Event {
        let words = PeerText::new("no");
        Event::Refused {
            message,
            refusal: Refusal { words, is_full },
        }
    }

    #[test]
    fn what_was_not_answered_is_sent_again_in_its_order_under_its_number() {
        let mut keeper = keeper(10_000);
        for _ in 0..4 {
            keeper.receive("t", Content::from(b"1".as_slice()), NOW);
        }
        keeper.event(Event::Opened, NOW);
        assert_eq!(inserts(&mut keeper), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        let later = NOW + Duration::from_millis(7);
        let stored = Notice::Stored {
            sender: "t".into(),
            after: Duration::from_millis(7),
        };
        assert_eq!(
            keeper.event(Event::Acknowledged { message: 0 }, later),
            Some(stored)
        );
        keeper.event(Event::Discarded { message: 1 }, NOW);
        keeper.event(Event::Closed, NOW);
        assert_eq!(inserts(&mut keeper), []);
        keeper.event(Event::Opened, NOW);
        assert_eq!(inserts(&mut keeper), [(4, 1), (5, 2), (6, 3)]);
        let counts = keeper.counts();
        assert_eq!((counts.stored, counts.resent, keeper.held()), (1, 3, 3));
    }

    #[test]
    fn outcomes_sum_where_the_bound_is_reached_and_the_database_is_full_or_refuses() {
        let mut keeper = keeper(3 * (READING_BYTES + 2));
        for _ in 0..5 {
            keeper.receive("t", Content::from(b"1".as_slice()), NOW);
        }
        keeper.event(Event::Opened, NOW);
        assert_eq!(inserts(&mut keeper).len(), 3);
        assert!(matches!(
            keeper.event(refused(0, true), NOW),
            Some(Notice::Full(_))
        ));
        assert!(matches!(
            keeper.event(refused(1, false), NOW),
            Some(Notice::Refused(_))
        ));
        keeper.event(Event::Acknowledged { message: 2 }, NOW);
        // The full database gets a second.
        assert_eq!(inserts(&mut keeper), []);
        assert_eq!(keeper.wakes(), Some(NOW + FULL_PAUSE));
        let Counts {
            received,
            stored,
            refused,
            lost,
            ..
        } = keeper.counts();
        assert_eq!((received, stored, refused, lost, keeper.held()), (5, 1, 1, 2, 1));
    }

    #[test]
    fn a_window_bounds_the_inserts_and_an_answer_that_does_not_come_is_noticed() {
        let mut keeper = keeper(1_000_000);
        for _ in 0..WINDOW + 1 {
            keeper.receive("t", Content::from(b"1".as_slice()), NOW);
        }
        keeper.event(Event::Opened, NOW);
        assert_eq!(inserts(&mut keeper).len(), WINDOW);
        let late = NOW + Duration::from_secs(30);
        assert_eq!(keeper.wakes(), Some(late));
        assert!(!keeper.is_stalled(NOW) && keeper.is_stalled(late));
    }
}
