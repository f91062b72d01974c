//! Who asks for what, what is known of it, and whose turn it is to have a cell simulated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::asked::{Asked, Job};
use super::super::cache::{Cache, MOST_WANTED};
use super::super::state::State;
use super::{LONGEST, NOBODY, Seen};
use crate::commands::choose::question::Found as Outcome;

/// The most who ask at the same time; the one who was silent for longest makes room for another.
pub(super) const CLIENTS: usize = 32;
/// How long a question is worked on after somebody has asked for it or was answered.
const INTEREST: Duration = Duration::from_secs(4);
/// The most cells of a job for one who asks alone: with all ways of a stack in one, the last stack of a question keeps one thread busy
/// while the others have nothing left.
const MOST_OF_A_JOB: usize = 3;
/// The longest time from one picture of an answer to the next.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Who asks, what is known and what is simulated.
#[derive(Default)]
pub(super) struct Turns {
    cells: Cache,
    clients: Vec<Client>,
    running: Vec<Running>,
    /// The number of the client whose turn it is.
    turn: usize,
}

/// Somebody who asks.
struct Client {
    name: String,
    asked: Arc<Asked>,
    /// Why cells of the question have no figures.
    failed: BTreeMap<String, Arc<str>>,
    /// When the last request came or was answered.
    at: Instant,
    /// When the last picture of the question's answer was made, and how long that took.
    drawn: Option<(Instant, Duration)>,
}

/// A job that a thread works on.
struct Running {
    /// The cells that are not done.
    keys: Vec<String>,
    began: Instant,
    stopped: Arc<AtomicBool>,
}

impl Client {
    fn new(name: &str, asked: &Arc<Asked>) -> Self {
        Self {
            name: name.to_owned(),
            asked: Arc::clone(asked),
            failed: BTreeMap::new(),
            at: Instant::now(),
            drawn: None,
        }
    }

    /// Whether somebody still waits for its question.
    fn waits(&self) -> bool {
        self.at.elapsed() < INTEREST
    }

    /// The cells whose figures it waits for or shows.
    fn wanted(&self) -> impl Iterator<Item = &String> {
        self.asked.keys().filter(|key| !self.failed.contains_key(*key))
    }

    /// Asks this question from now on.
    fn ask(&mut self, asked: &Arc<Asked>) {
        self.at = Instant::now();
        if Arc::ptr_eq(&self.asked, asked) {
            return;
        }
        // A question that goes on keeps what could not be simulated; another one tries it again.
        let goes_on = self
            .asked
            .keys()
            .all(|before| asked.keys().any(|key| key == before));
        if !goes_on {
            self.failed.clear();
        }
        self.drawn = None;
        self.asked = Arc::clone(asked);
    }
}

impl Turns {
    /// Somebody asks this question from now on.
    pub(super) fn ask(&mut self, name: &str, asked: &Arc<Asked>) {
        match self.clients.iter_mut().find(|client| client.name == name) {
            Some(client) => client.ask(asked),
            None => self.enter(Client::new(name, asked)),
        }
        self.cells.touch(asked.keys());
    }

    fn enter(&mut self, client: Client) {
        if self.clients.len() >= CLIENTS {
            let clients = self.clients.iter().enumerate();
            let silent = clients.min_by_key(|(_, client)| client.at);
            let silent = silent.map_or(0, |(place, _)| place);
            self.clients.remove(silent);
        }
        self.clients.push(client);
    }

    /// The client of this name, as long as it asks this question.
    fn client(&self, name: &str, asked: &Arc<Asked>) -> Option<&Client> {
        let client = self.clients.iter().find(|client| client.name == name);
        client.filter(|client| Arc::ptr_eq(&client.asked, asked))
    }

    /// The question of a state that somebody asks already, best of all the one of this name: to make it again would take longer than to
    /// answer it.
    pub(super) fn asked(&self, name: &str, state: &State) -> Option<Arc<Asked>> {
        let clients = self.clients.iter().filter(|client| client.asked.state == *state);
        let client = clients.max_by_key(|client| client.name == name);
        client.map(|client| Arc::clone(&client.asked))
    }

    /// The question that the one of this name asks.
    pub(super) fn asked_by(&self, name: &str) -> Option<Arc<Asked>> {
        let client = self.clients.iter().find(|client| client.name == name);
        client.map(|client| Arc::clone(&client.asked))
    }

    /// Whether nothing is known of a cell that a client asks for, and nobody simulates it.
    fn is_open(&self, client: &Client, key: &str) -> bool {
        !client.failed.contains_key(key) && !self.cells.has(key) && !self.is_running(key)
    }

    fn is_running(&self, key: &str) -> bool {
        let mut keys = self.running.iter().flat_map(|running| &running.keys);
        keys.any(|other| other == key)
    }

    fn has_open(&self, client: &Client) -> bool {
        client.waits() && client.asked.keys().any(|key| self.is_open(client, key))
    }

    /// How many cells of a question are simulated or could not be, and how many there are; `None` where it is asked no more.
    pub(super) fn progress(&self, name: &str, asked: &Arc<Asked>) -> Option<(usize, usize)> {
        let client = self.client(name, asked)?;
        let is_known = |key: &&String| client.failed.contains_key(*key) || self.cells.has(key);
        Some((asked.keys().filter(is_known).count(), asked.keys().count()))
    }

    /// What is known of a question; nothing where it is asked no more.
    pub(super) fn seen(&self, name: &str, asked: &Arc<Asked>) -> Seen {
        let Some((client, (done, of))) = self.client(name, asked).zip(self.progress(name, asked)) else {
            return Seen::default();
        };
        let find = |key: &String| match (client.failed.get(key), self.cells.get(key)) {
            (Some(why), _) => Some(Err(Arc::clone(why))),
            (None, found) => found.map(|cell| Ok(Arc::clone(cell))),
        };
        let (ranked, further) = asked.comparisons.split_at(asked.ranked);
        let outcomes = ranked
            .iter()
            .map(|comparison| comparison.keys.iter().filter_map(find));
        let outcomes: Vec<Vec<Outcome>> = outcomes.map(Iterator::collect).collect();
        let all = ranked.iter().map(|comparison| comparison.keys.len());
        let failed = outcomes
            .iter()
            .flatten()
            .filter_map(|outcome| outcome.as_ref().err());
        let further = further.iter().flat_map(|comparison| &comparison.keys);
        Seen {
            done,
            of,
            is_ranked: outcomes.iter().map(Vec::len).sum::<usize>() == all.sum::<usize>(),
            failed: failed.cloned().collect(),
            known: outcomes
                .into_iter()
                .map(|outcomes| outcomes.into_iter().flatten().collect())
                .collect(),
            further: further
                .filter_map(|key| Some((key.clone(), find(key)?)))
                .collect(),
            before: self.before(client),
            is_due: done == of || self.may_draw(client),
        }
    }

    /// How many questions have their turn before the next cell of a client: none where one of its cells is being simulated.
    fn before(&self, client: &Client) -> usize {
        if client.asked.keys().any(|key| self.is_running(key)) || !self.has_open(client) {
            return 0;
        }
        let others = self.order().map(|place| &self.clients[place]);
        let before = others.take_while(|other| other.name != client.name);
        before
            .filter(|other| other.name != NOBODY && self.has_open(other))
            .count()
    }

    /// Whether another picture may be made for a client. Where many wait, pictures take the time of simulations: each makes the next one
    /// after a pause that grows with their number.
    fn may_draw(&self, client: &Client) -> bool {
        let waiting = self.clients.iter().filter(|client| client.waits()).count();
        let pause = |took: Duration| took * (4 + 2 * waiting as u32);
        client
            .drawn
            .is_none_or(|(at, took)| at.elapsed() >= pause(took).min(LONGEST_PAUSE))
    }

    /// Somebody was answered, with a picture if it took this long to make one.
    pub(super) fn answered(&mut self, name: &str, took: Option<Duration>) {
        if let Some(client) = self.clients.iter_mut().find(|client| client.name == name) {
            client.at = Instant::now();
            client.drawn = took.map(|took| (client.at, took)).or(client.drawn);
        }
    }

    /// The clients from the one whose turn it is.
    fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let (turn, count) = (self.turn, self.clients.len());
        (0..count).map(move |step| (turn + step) % count)
    }

    /// The next job, of the one who asks whose turn it is; of nobody, where nobody else needs one and no other of its jobs runs.
    pub(super) fn next(&mut self) -> Option<Job> {
        let open = self.order().filter(|place| self.has_open(&self.clients[*place]));
        let (nobody, others): (Vec<usize>, Vec<usize>) =
            open.partition(|place| self.clients[*place].name == NOBODY);
        let nobody = nobody.into_iter().find(|place| {
            let mut keys = self.clients[*place].asked.keys();
            !keys.any(|key| self.is_running(key))
        });
        // Where others wait, nobody waits for more than a cell of each of them.
        let most = if others.len() > 1 { 1 } else { MOST_OF_A_JOB };
        let place = others.first().copied().or(nobody)?;
        let client = &self.clients[place];
        let job = Asked::next(&client.asked, most, |key| self.is_open(client, key))?;
        self.turn = place + 1;
        self.running.push(Running {
            keys: job.keys.clone(),
            began: Instant::now(),
            stopped: Arc::clone(&job.stopped),
        });
        Some(job)
    }

    /// Stops the jobs for which nobody waits any more, and those that take too long.
    pub(super) fn stop_unwanted(&self) {
        for running in &self.running {
            if running.began.elapsed() > LONGEST || !self.is_wanted(&running.keys) {
                running.stopped.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Whether somebody waits for one of these cells.
    fn is_wanted(&self, keys: &[String]) -> bool {
        let waiting = self.clients.iter().filter(|client| client.waits());
        let mut wanted = waiting.flat_map(Client::wanted);
        wanted.any(|key| keys.contains(key))
    }

    /// What came of a cell.
    pub(super) fn put(&mut self, key: &str, outcome: Outcome) {
        for running in &mut self.running {
            running.keys.retain(|other| other != key);
        }
        match outcome {
            Ok(simulated) => self.cells.put(key, simulated),
            // A failure may be that of a busy machine: whoever asks next tries again.
            Err(why) => {
                let asked = |client: &&mut Client| client.asked.keys().any(|own| own == key);
                for client in self.clients.iter_mut().filter(asked) {
                    client.failed.insert(key.to_owned(), Arc::clone(&why));
                }
            }
        }
        self.bound();
    }

    /// Keeps what is kept within its bounds: where what is wanted is too much, the one who needs most of it gets no answer.
    fn bound(&mut self) {
        if !self.cells.is_large() {
            return;
        }
        let waiting = self.clients.iter().filter(|client| client.waits());
        let wanted: BTreeSet<String> = waiting.flat_map(Client::wanted).cloned().collect();
        if !self.cells.trim(|key| wanted.contains(key)) {
            return;
        }
        let cells = &self.cells;
        let bytes = |client: &Client| client.wanted().map(|key| cells.bytes(key)).sum::<usize>();
        let largest = self
            .clients
            .iter_mut()
            .max_by_key(|client| (client.waits(), bytes(client)));
        if let Some(client) = largest {
            let why = format!(
                "the questions of this page need more than {} MB together, and this one has most of it: ask less, or ask it later or on the command line",
                MOST_WANTED >> 20
            );
            let why: Arc<str> = why.into();
            let keys = client.asked.keys().cloned();
            client.failed = keys.map(|key| (key, Arc::clone(&why))).collect();
        }
    }

    /// A job has ended; why its other cells have no figures, or nothing where they are to be simulated again for who asks for them.
    pub(super) fn end(&mut self, job: &Job, why: Option<&Arc<str>>) {
        let place = self
            .running
            .iter()
            .position(|running| Arc::ptr_eq(&running.stopped, &job.stopped));
        let left = place.map(|place| self.running.swap_remove(place).keys);
        for key in left.into_iter().flatten() {
            if let Some(why) = why {
                self.put(&key, Err(Arc::clone(why)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
