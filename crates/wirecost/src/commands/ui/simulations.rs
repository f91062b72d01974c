//! The simulations behind the page: what is known, who asks for what, and the threads that simulate the rest.
//!
//! A cell is known by its key, which says all that its figures depend on, so that another device, battery, tariff or requirement needs
//! no simulation. Who asks has one question; another one takes its place, and what nobody waits for any more is stopped. The threads
//! take the stacks of the questions in the order of their rows, of one who asks after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wirecost_lab::compare::simulated::{CellResult, SimulationError, simulate};

use super::asked::{Asked, Job};
use super::cache::Cache;
use crate::commands::choose::question::{Found as Outcome, Simulated};

/// The most who ask at the same time; the one who was silent for longest makes room for another.
const CLIENTS: usize = 32;
/// The name of nobody: what is simulated before somebody asks for it.
pub(super) const NOBODY: &str = "";
/// The longest simulation of a stack.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a question is worked on after somebody has asked for it.
const INTEREST: Duration = Duration::from_secs(4);
/// How long an answer waits for what is cached or simulated at once.
const AT_ONCE: Duration = Duration::from_millis(250);
/// How long an answer waits for anything that is new.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is known of a question.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The cells of each comparison of its rankings that are known, in their order.
    pub(super) known: Vec<Vec<Arc<Simulated>>>,
    /// Whether that is all of them.
    pub(super) is_ranked: bool,
    /// What is known of its further cells.
    pub(super) further: BTreeMap<String, Outcome>,
    /// Why cells could not be simulated, each reason once.
    pub(super) failed: BTreeSet<Arc<str>>,
    /// The cells that were simulated or could not be.
    pub(super) done: usize,
    /// All cells.
    pub(super) of: usize,
}

/// Somebody who asks.
struct Client {
    name: String,
    asked: Arc<Asked>,
    /// What is known of the question; the cache may drop it meanwhile.
    known: BTreeMap<String, Outcome>,
    /// When the last request came.
    at: Instant,
}

/// The simulations.
#[derive(Default)]
pub(super) struct Simulations {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    cache: Cache,
    clients: Vec<Client>,
    running: BTreeSet<String>,
    /// Whose turn it is.
    turn: usize,
}

impl Client {
    /// Whether somebody still waits for its question.
    fn waits(&self) -> bool {
        self.at.elapsed() < INTEREST
    }

    fn seen(&self) -> Seen {
        let mut seen = Seen {
            of: self.asked.keys().count(),
            ..Seen::default()
        };
        let (ranked, further) = self.asked.comparisons.split_at(self.asked.ranked);
        for comparison in ranked {
            let mut known = Vec::new();
            for key in &comparison.keys {
                match self.known.get(key) {
                    Some(Ok(simulated)) => known.push(Arc::clone(simulated)),
                    Some(Err(why)) => drop(seen.failed.insert(Arc::clone(why))),
                    None => continue,
                }
                seen.done += 1;
            }
            seen.known.push(known);
        }
        let keys = ranked.iter().map(|comparison| comparison.keys.len());
        seen.is_ranked = seen.done == keys.sum::<usize>();
        for key in further.iter().flat_map(|comparison| &comparison.keys) {
            if let Some(outcome) = self.known.get(key) {
                seen.further.insert(key.clone(), outcome.clone());
                seen.done += 1;
            }
        }
        seen
    }
}

impl State {
    /// Somebody asks this question from now on.
    fn ask(&mut self, name: &str, asked: &Arc<Asked>) {
        let place = match self.clients.iter().position(|client| client.name == name) {
            Some(place) => place,
            None => {
                if self.clients.len() >= CLIENTS {
                    let silent = self
                        .clients
                        .iter()
                        .enumerate()
                        .min_by_key(|(_, client)| client.at);
                    let silent = silent.map_or(0, |(place, _)| place);
                    self.clients.remove(silent);
                }
                self.clients.push(Client {
                    name: name.to_owned(),
                    asked: Arc::clone(asked),
                    known: BTreeMap::new(),
                    at: Instant::now(),
                });
                self.clients.len() - 1
            }
        };
        // What a page that has gone knew would be kept beside the cache, once for each of them.
        for (other, silent) in self.clients.iter_mut().enumerate() {
            if other != place && !silent.waits() {
                silent.known.clear();
            }
        }
        let client = &mut self.clients[place];
        client.at = Instant::now();
        // A question that goes on keeps what could not be simulated; another one tries it again.
        let goes_on = || {
            client
                .asked
                .keys()
                .all(|before| asked.keys().any(|key| key == before))
        };
        if !client.asked.keys().eq(asked.keys()) && !goes_on() {
            client.known.clear();
        }
        client.asked = Arc::clone(asked);
        for key in asked.keys() {
            if !client.known.contains_key(key)
                && let Some(outcome) = self.cache.get(key)
            {
                client.known.insert(key.clone(), outcome);
            }
        }
    }

    /// The next job, of the one who asks whose turn it is; of nobody, where nobody else needs one and no other of its jobs runs.
    fn next(&mut self) -> Option<Job> {
        let count = self.clients.len();
        let turns = (0..count).map(|step| (self.turn + step) % count);
        let (nobody, others): (Vec<usize>, Vec<usize>) =
            turns.partition(|place| self.clients[*place].name == NOBODY);
        let nobody = nobody.into_iter().filter(|place| {
            let mut keys = self.clients[*place].asked.keys();
            !keys.any(|key| self.running.contains(key))
        });
        let mut places = others.into_iter().chain(nobody);
        let (place, job) = places.find_map(|place| Some((place, self.job_of(place)?)))?;
        self.turn = place + 1;
        self.running.extend(job.keys.iter().cloned());
        Some(job)
    }

    fn job_of(&self, place: usize) -> Option<Job> {
        let client = self.clients.get(place).filter(|client| client.waits())?;
        let is_open = |key: &String| !client.known.contains_key(key) && !self.running.contains(key);
        Asked::next(&client.asked, is_open)
    }

    /// Whether somebody waits for one of these cells.
    fn is_wanted(&self, keys: &[String]) -> bool {
        let wants = |client: &Client, key: &String| {
            !client.known.contains_key(key) && client.asked.keys().any(|own| own == key)
        };
        let waiting = self.clients.iter().filter(|client| client.waits());
        waiting
            .into_iter()
            .any(|client| keys.iter().any(|key| wants(client, key)))
    }

    fn put(&mut self, key: &str, outcome: Outcome) {
        for client in &mut self.clients {
            if client.asked.keys().any(|own| own == key) {
                client.known.insert(key.to_owned(), outcome.clone());
            }
        }
        self.running.remove(key);
        // A failure may be that of a busy machine: whoever asks next tries again.
        if outcome.is_ok() {
            self.cache.put(key, outcome);
        }
    }
}

impl Simulations {
    /// Starts this many threads that simulate what is asked for.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn start(self: &Arc<Self>, threads: usize) -> std::io::Result<()> {
        for _ in 0..threads.max(1) {
            let own = Arc::clone(self);
            thread::Builder::new()
                .name("simulations".to_owned())
                .spawn(move || own.work())?;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The question with the cells beyond its ranking that somebody already asks for.
    pub(super) fn going_on(&self, name: &str, asked: &Asked) -> Asked {
        let state = self.state();
        let client = state.clients.iter().find(|client| client.name == name);
        client.map_or_else(
            || asked.with(Vec::new()),
            |client| asked.with_those_of(&client.asked),
        )
    }

    /// What is known of a question of somebody, as soon as that is more than `done` cells, and all that is there at once.
    pub(super) fn ask(&self, name: &str, asked: &Arc<Asked>, done: usize) -> Seen {
        let began = Instant::now();
        let mut state = self.state();
        state.ask(name, asked);
        self.changed.notify_all();
        loop {
            let client = state.clients.iter().find(|client| client.name == name);
            // Another question of the same name: this one is not waited for.
            let Some(client) = client.filter(|client| Arc::ptr_eq(&client.asked, asked)) else {
                return Seen::default();
            };
            let seen = client.seen();
            let least = if seen.done > done { AT_ONCE } else { PATIENCE };
            let left = least.saturating_sub(began.elapsed());
            if seen.done == seen.of || left.is_zero() {
                return seen;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Simulates one job after the other, for ever.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.next() {
                drop(state);
                self.simulate(&job);
                state = self.state();
                continue;
            }
            let waited = self.changed.wait_timeout(state, PATIENCE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Simulates the cells of a job, unless nobody waits for them any more.
    fn simulate(&self, job: &Job) {
        let began = Instant::now();
        let Some(comparison) = job.asked.comparisons.get(job.comparison) else {
            return;
        };
        let is_late = || began.elapsed() > LONGEST;
        let stop = || is_late() || !self.state().is_wanted(&job.keys);
        let mut take = |result: CellResult| {
            let key = &comparison.keys[result.index];
            let simulated = Simulated {
                cell: result.cell,
                traffic: result.traffic,
            };
            self.state().put(key, Ok(Arc::new(simulated)));
            self.changed.notify_all();
        };
        // A defect of a simulation must not end the thread of all others.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            simulate(
                &comparison.options,
                &comparison.plan,
                &job.cells,
                1,
                &mut take,
                &stop,
            )
        }));
        let mut state = self.state();
        let left: Vec<&String> = job
            .keys
            .iter()
            .filter(|key| state.running.contains(*key))
            .collect();
        let why = why(ended.ok(), is_late());
        for key in left {
            match &why {
                Some(why) => state.put(key, Err(Arc::clone(why))),
                None => drop(state.running.remove(key)),
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Why cells of a job have no figures; `None` if nobody waited for them.
fn why(ended: Option<Result<(), SimulationError>>, is_late: bool) -> Option<Arc<str>> {
    match ended {
        None => Some("a simulation failed, which is a defect of wirecost".into()),
        Some(Err(error)) => Some(error.to_string().into()),
        Some(Ok(())) if is_late => {
            let seconds = LONGEST.as_secs();
            Some(
                format!("a stack takes more than {seconds} s to simulate: ask it on the command line").into(),
            )
        }
        Some(Ok(())) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::{self, State as Link};
    use super::*;

    fn asked(more: &str) -> Arc<Asked> {
        let query = format!("v=1&every=1h&count=1&{more}");
        let link = Link::read(&state::pairs(&query)).expect("a state");
        Arc::new(Asked::new(link.arguments().expect("arguments")).expect("a question"))
    }

    #[test]
    fn those_who_ask_are_served_in_turns_whoever_asked_first_or_for_more() {
        let (long, short) = (
            asked("size=1B&stacks=udp,coap-non,coap-con"),
            asked("size=2B&stacks=udp"),
        );
        let begun = asked("size=3B&stacks=udp");
        let mut state = State::default();
        state.ask(NOBODY, &begun);
        state.ask("long", &long);
        state.ask("short", &short);
        let jobs = std::iter::from_fn(|| state.next()).map(|job| job.asked);
        let jobs: Vec<Arc<Asked>> = jobs.collect();
        let expected = [&long, &short, &long, &long, &begun];
        let is_expected = jobs
            .iter()
            .zip(expected)
            .all(|(job, asked)| Arc::ptr_eq(job, asked));
        assert!(jobs.len() == 5 && is_expected);
    }

    #[test]
    fn another_question_stops_what_nobody_else_waits_for() {
        let (first, other) = (asked("size=1B&stacks=udp"), asked("size=2B&stacks=udp"));
        let mut state = State::default();
        state.ask("a", &first);
        state.ask("b", &first);
        let job = state.next().expect("a job");
        state.ask("a", &other);
        assert!(state.is_wanted(&job.keys));
        state.ask("b", &other);
        assert!(!state.is_wanted(&job.keys));
    }

    #[test]
    fn the_one_who_was_silent_for_longest_makes_room_for_another() {
        let question = asked("stacks=udp");
        let mut state = State::default();
        for number in 0..=CLIENTS {
            state.ask(&number.to_string(), &question);
        }
        let names = state.clients.iter().map(|client| client.name.as_str());
        assert_eq!(names.clone().count(), CLIENTS);
        assert!(!names.clone().any(|name| name == "0") && names.clone().any(|name| name == "1"));
    }
}
