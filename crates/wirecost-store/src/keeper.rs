//! Readings on their way into a database: kept up to a bound, inserted in a window, sent again after a lost connection, and set aside
//! if the database never takes them.
//!
//! The keeper has no IO and no clock. Its user gives it readings, the events of a [`Client`](crate::client::Client) and the
//! time, carries out its commands, writes down what is set aside, and acknowledges the deliveries that are settled.
//!
//! ```text
//!                 no room
//! receive --------------------------------> left to the broker, or lost (QoS 0)
//!    |
//!    v        next            acknowledged
//! waiting ------------> in flight --------> stored ---------> settled
//!    ^  connection ends, |      |                                ^
//!    |  no room          |      | refused, or given up           |
//!    +-------------------+      +---------> aside --set_aside----+
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::{Content, Instant, PeerText};

use crate::command::{Command, Event, Key, Refusal, Verdict};

#[cfg(test)]
mod tests;

/// Inserts without an answer, at most.
pub const WINDOW: usize = 64;
/// How long a database that takes nothing gets before the next insert.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a reading is inserted alone without success before it is set aside.
const ATTEMPTS: u8 = 5;
/// The number of a sweep. No reading has it.
const SWEEP: u64 = u64::MAX;
/// Memory that a reading takes besides its sender and its payload, in bytes.
const READING_BYTES: usize = 120;

/// The settings of a keeper.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The most memory that readings take which are not stored yet, in bytes.
    pub held_bytes: usize,
    /// Whether the broker keeps a delivery without acknowledgement.
    pub broker_keeps: bool,
    /// How long an insert may wait for its answer.
    pub timeout: Duration,
    /// The statement that deletes old rows, and how often it runs.
    pub sweep: Option<(Arc<str>, Duration)>,
}

/// What has become of the readings. Received is the sum of stored, refused, set aside, lost and held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Readings that were given to the keeper, without those that it left to the broker.
    pub received: u64,
    /// Readings that the database has acknowledged.
    pub stored: u64,
    /// Readings that the database has refused for good, and that were set aside.
    pub refused: u64,
    /// Readings that were set aside because the keeper gave them up: without an answer, or too large to be held.
    pub set_aside: u64,
    /// Readings that found no room, and that no broker keeps.
    pub lost: u64,
    /// Inserts that were sent again, because the connection ended before their answer. The database may have two such rows.
    pub resent: u64,
    /// Readings that the broker delivered again and that were not held, so that the database may have them already.
    pub redelivered: u64,
}

/// A reading that arrives.
#[derive(Clone, Debug)]
pub struct Arrival<'a> {
    /// The column `sender`.
    pub sender: &'a str,
    /// The column `payload`.
    pub payload: Content,
    /// The number by which its delivery is acknowledged; `None` if no broker keeps it.
    pub delivery: Option<u64>,
    /// Whether the broker has delivered it before.
    pub is_redelivered: bool,
}

/// What the keeper does with a reading that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It is held.
    Kept,
    /// There is no room. The broker keeps it.
    Left,
    /// There is no room, and nobody keeps it.
    Lost,
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
    /// The database takes nothing now, in these words: the reading is kept.
    Later(PeerText),
    /// The database refuses to delete old rows, in these words.
    NotSwept(PeerText),
}

#[derive(Clone, Debug)]
struct Reading {
    key: Key,
    payload: Content,
    received: Instant,
    delivery: Option<u64>,
    /// Whether it was in flight when a connection ended. It is inserted alone then, so that the next end is known to be its own.
    is_suspect: bool,
    /// How often it was inserted alone without success.
    attempts: u8,
}

impl Reading {
    fn held_bytes(&self) -> usize {
        self.payload.len() + self.key.sender.len() + READING_BYTES
    }
}

/// A reading that the database does not take.
#[derive(Clone, Debug)]
pub struct Aside {
    reading: Reading,
    is_refused: bool,
    why: PeerText,
}

impl Aside {
    /// The columns `sender` and `number`.
    pub const fn key(&self) -> &Key {
        &self.reading.key
    }

    /// The payload as it arrived.
    pub fn payload(&self) -> &[u8] {
        self.reading.payload.bytes()
    }

    /// Why it is not stored.
    pub const fn why(&self) -> &PeerText {
        &self.why
    }
}

/// The readings that are not stored yet.
#[derive(Debug)]
pub struct Keeper {
    settings: Settings,
    waiting: VecDeque<Reading>,
    /// By message number and time of the insert, the oldest first.
    in_flight: VecDeque<(u64, Instant, Reading)>,
    /// Readings to be set aside.
    aside: VecDeque<Aside>,
    /// Deliveries to be acknowledged.
    settled: VecDeque<u64>,
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
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            in_flight: VecDeque::new(),
            aside: VecDeque::new(),
            settled: VecDeque::new(),
            held_bytes: 0,
            messages: 0,
            is_open: false,
            paused_until: Instant::START,
            sweep_at: Instant::START,
            counts: Counts::default(),
        }
    }

    /// What has become of the readings.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Readings that are neither stored nor set aside yet.
    pub fn held(&self) -> usize {
        self.waiting.len() + self.in_flight.len() + self.aside.len()
    }

    /// Whether a subscription that was ended for want of room may go on: half of the room is free.
    pub const fn has_room(&self) -> bool {
        self.held_bytes <= self.settings.held_bytes / 2
    }

    /// Takes a reading, if there is room.
    pub fn receive(&mut self, arrival: Arrival<'_>, now: Instant) -> Receipt {
        let reading = Reading {
            key: Key {
                sender: arrival.sender.into(),
                number: self.counts.received,
            },
            payload: arrival.payload,
            received: now,
            delivery: arrival.delivery,
            is_suspect: false,
            attempts: 0,
        };
        let (bytes, most) = (reading.held_bytes(), self.settings.held_bytes);
        // It would find no room at any time.
        let is_too_large = bytes > most && self.aside.is_empty();
        if self.held_bytes + bytes > most && !is_too_large {
            if arrival.delivery.is_some() && self.settings.broker_keeps {
                return Receipt::Left;
            }
            self.settled.extend(arrival.delivery);
            self.counts.received += 1;
            self.counts.lost += 1;
            return Receipt::Lost;
        }
        self.counts.received += 1;
        self.counts.redelivered += u64::from(arrival.is_redelivered);
        self.held_bytes += bytes;
        if is_too_large {
            let why = PeerText::new(&format!("it takes {bytes} B, and --max-held is {most} B"));
            self.aside.push_back(Aside {
                reading,
                is_refused: false,
                why,
            });
        } else {
            self.waiting.push_back(reading);
        }
        Receipt::Kept
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
                self.release(&reading);
                Some(Notice::Stored {
                    sender: reading.key.sender,
                    after: now.saturating_since(reading.received),
                })
            }
            Event::Refused {
                message: SWEEP,
                refusal,
            } => Some(Notice::NotSwept(refusal.words)),
            Event::Refused { message, refusal } => self.refused(message, refusal, now),
            Event::Discarded { .. } => {
                self.take_back("the connection ended, or there was no answer in time");
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
        self.take_back(&why);
        Notice::Absent(why)
    }

    fn refused(&mut self, message: u64, refusal: Refusal, now: Instant) -> Option<Notice> {
        let mut reading = self.answered(message)?;
        reading.attempts += u8::from(refusal.verdict == Verdict::Unknown);
        if refusal.verdict == Verdict::Never || reading.attempts >= ATTEMPTS {
            self.aside.push_back(Aside {
                reading,
                is_refused: true,
                why: refusal.words,
            });
            return None;
        }
        self.waiting.push_front(reading);
        self.paused_until = now + PAUSE;
        Some(Notice::Later(refusal.words))
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
        if self.paused_until > now || !self.has_window() {
            return None;
        }
        let reading = self.waiting.pop_front()?;
        let message = self.messages;
        self.messages += 1;
        let command = Command::Insert {
            message,
            key: Some(reading.key.clone()),
            content: reading.payload.clone(),
        };
        self.in_flight.push_back((message, now, reading));
        Some(command)
    }

    /// Whether the first waiting reading may be inserted now. A suspect is in flight alone.
    fn has_window(&self) -> bool {
        let is_suspect = |reading: Option<&Reading>| reading.is_some_and(|reading| reading.is_suspect);
        let sent = self.in_flight.front().map(|(.., reading)| reading);
        match is_suspect(sent) || is_suspect(self.waiting.front()) {
            true => self.in_flight.is_empty(),
            false => self.in_flight.len() < WINDOW,
        }
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
        let paused = paused.filter(|_| self.has_window());
        [sweep, paused, oldest].into_iter().flatten().min()
    }

    /// Whether an insert has waited too long for its answer.
    pub fn is_stalled(&self, now: Instant) -> bool {
        let oldest = self.in_flight.front();
        oldest.is_some_and(|(_, at, _)| *at + self.settings.timeout <= now)
    }

    /// The next reading to write down, which is held until [`Keeper::set_aside`].
    pub fn to_set_aside(&self) -> Option<&Aside> {
        self.aside.front()
    }

    /// The reading of [`Keeper::to_set_aside`] is written down.
    pub fn set_aside(&mut self) {
        let Some(aside) = self.aside.pop_front() else {
            return;
        };
        match aside.is_refused {
            true => self.counts.refused += 1,
            false => self.counts.set_aside += 1,
        }
        self.release(&aside.reading);
    }

    /// The next delivery to acknowledge: its reading is stored or set aside.
    pub fn next_settled(&mut self) -> Option<u64> {
        self.settled.pop_front()
    }

    /// Takes the reading of an insert that is answered.
    fn answered(&mut self, message: u64) -> Option<Reading> {
        let at = self.in_flight.iter().position(|(sent, ..)| *sent == message)?;
        let (.., reading) = self.in_flight.remove(at)?;
        Some(reading)
    }

    /// Gives up the room of a reading that is settled.
    fn release(&mut self, reading: &Reading) {
        self.held_bytes -= reading.held_bytes();
        self.settled.extend(reading.delivery);
    }

    /// Puts the readings in flight back to the front, in their order. One that was alone has had an attempt.
    fn take_back(&mut self, why: &str) {
        self.counts.resent += self.in_flight.len() as u64;
        let was_alone = self.in_flight.len() == 1;
        while let Some((.., mut reading)) = self.in_flight.pop_back() {
            reading.is_suspect = true;
            reading.attempts += u8::from(was_alone);
            if reading.attempts < ATTEMPTS {
                self.waiting.push_front(reading);
                continue;
            }
            self.counts.resent -= 1;
            let why = PeerText::new(&format!(
                "given up after {ATTEMPTS} attempts, the last because {why}"
            ));
            self.aside.push_back(Aside {
                reading,
                is_refused: false,
                why,
            });
        }
    }
}
