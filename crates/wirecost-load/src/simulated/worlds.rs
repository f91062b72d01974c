//! Loads whose devices share nothing: they run in several worlds, on all CPUs, and the counts add up.
//!
//! The number of worlds follows from the load alone, so that every machine gets the same figures. A world takes memory while it
//! runs only.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use wirecost_proto::units::counted;
use wirecost_results::intervals::{Intervals, arrivals_at_the_end};
use wirecost_results::shard::Shard;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_sim::Tap;

use super::{Simulated, simulate_world};
use crate::devices::part::PartError;
use crate::parts::outcome::{LoadOutcome, PhaseTimes};
use crate::watch::Watcher;

/// How often the load looks whether it was interrupted, while only other threads work.
const LOOK: Duration = Duration::from_millis(200);

/// One world of several: its number, from 0, and how many there are, those of other shards of the load included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) number: u32,
    pub(super) of: u32,
}

impl Place {
    /// The world `number` of `of` that this process simulates.
    pub(super) fn from_options(options: &LoadOptions, [number, of]: [u32; 2]) -> Self {
        let [shard, shards] = options.shard.map_or([0, 1], Shard::place);
        Self {
            number: shard * of + number,
            of: shards * of,
        }
    }
}

/// Simulates a load in so many worlds, on so many threads. `tap` sees the packets of the first one, which `watcher` follows.
pub(super) fn simulate<T: Tap + 'static>(
    options: &LoadOptions,
    [of, threads]: [u32; 2],
    watcher: &mut dyn Watcher,
    interrupted: &dyn Fn() -> bool,
    tap: T,
) -> Result<Simulated<T>, PartError> {
    watcher.note(&format!(
        "{of} worlds of devices that share nothing, on {}; progress is of the first world",
        counted(threads.into(), "CPU"),
    ));
    let (next, stop) = (AtomicU32::new(1), AtomicBool::new(false));
    let (done, worlds) = channel();
    thread::scope(|scope| {
        let begin_worker = || {
            let (done, next, stop) = (done.clone(), &next, &stop);
            scope.spawn(move || work(options, of, (next, stop), &done));
        };
        let is_stopped = || {
            if interrupted() {
                stop.store(true, Ordering::Relaxed);
            }
            stop.load(Ordering::Relaxed)
        };
        // This thread simulates the first world, since only it may call the watcher.
        (1..threads).for_each(|_| begin_worker());
        let place = Place::from_options(options, [0, of]);
        let first = simulate_world(options, place, watcher, &is_stopped, None, tap);
        // This thread only adds from here on.
        begin_worker();
        // `sum` ends when every sender has gone.
        drop(done);
        let sum = first.and_then(|first| sum(first, &worlds, &is_stopped));
        // An error of one world must end the others, which the scope would otherwise wait for.
        stop.store(true, Ordering::Relaxed);
        sum
    })
}

/// A world with its number.
type World = (u32, Result<Simulated<()>, PartError>);

/// Simulates one world after the other until none is left.
fn work(options: &LoadOptions, of: u32, (next, stop): (&AtomicU32, &AtomicBool), done: &Sender<World>) {
    let is_stopped = || stop.load(Ordering::Relaxed);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= of || is_stopped() {
            return;
        }
        let place = Place::from_options(options, [number, of]);
        let world = simulate_world(options, place, &mut (), &is_stopped, None, ());
        // A load that has failed needs no further world.
        drop(done.send((number, world)));
    }
}

/// Adds the other worlds to the first, in their order, so that every sum is the same on any number of threads.
fn sum<T>(
    mut sum: Simulated<T>,
    worlds: &Receiver<World>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Simulated<T>, PartError> {
    let mut early = BTreeMap::new();
    let mut next = 1;
    loop {
        match worlds.recv_timeout(LOOK) {
            Ok((number, world)) => {
                early.insert(number, world?);
            }
            Err(RecvTimeoutError::Timeout) => {
                is_stopped();
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Some(world) = early.remove(&next) {
            add(&mut sum, world);
            next += 1;
        }
    }
    arrivals_at_the_end(&mut sum.outcome.intervals);
    // Of an interrupted load, some worlds have not begun.
    sum.outcome.interrupted |= is_stopped();
    Ok(sum)
}

/// Adds another world to `sum`.
fn add<T>(sum: &mut Simulated<T>, other: Simulated<()>) {
    add_outcome(&mut sum.outcome, other.outcome);
    for (sum, other) in sum.counters.iter_mut().zip(other.counters) {
        sum.up += other.up;
        sum.down += other.down;
    }
}

/// Adds the outcome of another world to `sum`.
fn add_outcome(sum: &mut LoadOutcome, other: LoadOutcome) {
    let intervals = std::mem::take(&mut sum.intervals).into_iter();
    sum.intervals = intervals
        .chain(other.intervals)
        .collect::<Intervals>()
        .into_list();
    let mut others = other.phases.into_iter();
    for (phase, other) in sum.phases.iter_mut().zip(&mut others) {
        add_phase(phase, other);
    }
    sum.phases.extend(others);
    sum.interrupted |= other.interrupted;
    sum.failure = sum.failure.take().or(other.failure);
    // Devices of another world could connect.
    sum.no_connection = sum.no_connection.take().filter(|_| other.no_connection.is_some());
    sum.socket_error = sum.socket_error.take().or(other.socket_error);
    sum.keys.add(other.keys);
    sum.parts_without_keys += other.parts_without_keys;
}

/// Adds a phase of another world, which may have taken longer.
fn add_phase(phase: &mut PhaseTimes, other: PhaseTimes) {
    phase.from = phase.from.min(other.from);
    phase.measured_from = phase.measured_from.min(other.measured_from);
    phase.begin = phase.begin.min(other.begin);
    phase.took = phase.took.max(other.took);
    phase.measured = phase.measured.max(other.measured);
    let links = std::mem::take(&mut phase.links).into_iter().zip(&other.links);
    phase.links = links.map(|(one, other)| one.with(other)).collect();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wirecost_link::LinkConfig;
    use wirecost_results::figures::Interval;
    use wirecost_results::summary::Outcomes;
    use wirecost_scenario::options::load::{Arrivals, LoadEngine, LoadTarget, Offer, Phase, Who};
    use wirecost_stack::target::Target;

    use super::*;
    use crate::devices::worlds::{devices_at_once, plan};

    fn load(stack: &str, clients: u32) -> LoadOptions {
        let offer = Offer {
            arrivals: Arrivals::Open {
                rate: 0.5,
                per_client: true,
                poisson: false,
            },
            duration: Some(Duration::from_secs(20)),
            count: None,
            warm_up: Duration::ZERO,
            ramp: Duration::ZERO,
            spread: None,
        };
        let connect = Phase::Connect {
            who: Who::All,
            rate: None,
        };
        let mut link = LinkConfig::default();
        (link.up.delay, link.down.delay) = (Duration::from_millis(30), Duration::from_millis(20));
        LoadOptions {
            engine: LoadEngine::Sim,
            clients,
            link: Some(link),
            phases: vec![connect, Phase::Publish(offer), Phase::Close { rate: None }],
            ..LoadOptions::new(
                stack.parse().expect("a stack"),
                LoadTarget::Started(Target::Builtin),
            )
        }
    }

    /// All of their figures.
    fn text(intervals: &[Interval]) -> String {
        serde_json::to_string(intervals).expect("numbers")
    }

    fn counts(intervals: &[Interval]) -> Vec<(u32, u64, Outcomes)> {
        let counts = |interval: &Interval| (interval.second, interval.sent, interval.outcomes);
        intervals.iter().map(counts).collect()
    }

    #[test]
    fn worlds_that_share_nothing_add_up_to_one() {
        for stack in ["coap-con", "udp", "http1", "coap-con+dtls1.2-psk"] {
            let options = load(stack, 50);
            let run = |of| {
                simulate(&options, of, &mut (), &|| false, ())
                    .expect("figures")
                    .outcome
            };
            let (one, three, on_one) = (run([1, 1]), run([3, 2]), run([3, 1]));
            assert_eq!(counts(&three.intervals), counts(&one.intervals), "{stack}");
            let whole = |outcome: &LoadOutcome| text(&outcome.intervals);
            assert_eq!(whole(&three), whole(&on_one), "{stack}: threads change no figure");
            assert_eq!(whole(&three), whole(&one), "{stack}: worlds change no figure");
            let sent = |outcome: &LoadOutcome| -> u64 {
                outcome.intervals.iter().map(|interval| interval.sent).sum()
            };
            assert_eq!(sent(&one), 500, "{stack}");
            let packets = |outcome: &LoadOutcome| outcome.phases[0].links[0].up.packets;
            assert_eq!(packets(&three), packets(&one), "{stack}");
        }
    }

    #[test]
    fn the_shards_of_a_load_add_up_to_it_and_draw_numbers_of_their_own() {
        const SHARDS: u32 = 3;
        let run = |options: &LoadOptions, worlds| {
            let ended = simulate(options, [worlds, 2], &mut (), &|| false, ());
            ended.expect("figures").outcome
        };
        let shard = |options: &LoadOptions, index| {
            let shard = LoadOptions {
                shard: Shard::new(index, SHARDS),
                ..options.clone()
            };
            run(&shard, 2)
        };
        let per_second = |outcome: &LoadOutcome| -> Vec<u64> {
            outcome.intervals.iter().map(|interval| interval.sent).collect()
        };
        let whole = load("coap-con", 50);
        let mut sum = shard(&whole, 1);
        (2..=SHARDS).for_each(|index| add_outcome(&mut sum, shard(&whole, index)));
        arrivals_at_the_end(&mut sum.intervals);
        let [sum, whole] = [sum, run(&whole, 1)].map(|outcome| text(&outcome.intervals));
        assert_eq!(sum, whole);

        let mut random = load("coap-con", 60);
        if let Some(Phase::Publish(Offer { arrivals, .. })) = random.phases.get_mut(1) {
            *arrivals = Arrivals::Open {
                rate: 0.5,
                per_client: true,
                poisson: true,
            };
        }
        let shards: Vec<Vec<u64>> = (1..=SHARDS)
            .map(|index| per_second(&shard(&random, index)))
            .collect();
        assert!(
            shards[0] != shards[1] && shards[1] != shards[2] && shards[0] != shards[2],
            "no two draw the same numbers: {shards:?}"
        );
        // A Poisson count of 200, eight standard deviations wide.
        let sent = shards.iter().map(|shard| shard.iter().sum::<u64>());
        assert!(sent.clone().all(|sent| sent.abs_diff(200) < 113), "{shards:?}");
    }

    #[test]
    fn an_interruption_ends_all_worlds() {
        let options = load("coap-con", 50);
        let outcome = simulate(&options, [5, 2], &mut (), &|| true, ())
            .expect("an end")
            .outcome;
        assert!(outcome.interrupted);
    }

    #[test]
    fn a_load_says_what_its_devices_share() {
        let worlds = |change: fn(&mut LoadOptions)| {
            let mut options = load("coap-con", 10_000_000);
            change(&mut options);
            plan(&options, false).map(|worlds| (worlds.count, worlds.shared.unwrap_or_default()))
        };
        let one = |shared: &str| Some((1, shared.to_owned()));
        assert_eq!(worlds(|_| {}), Some((200, String::new())));
        assert_eq!(worlds(|load| load.clients = 50_000), None);
        assert_eq!(worlds(|load| load.engine = LoadEngine::Live), None);
        assert_eq!(
            worlds(|load| load.stack = "mqtt-qos1".parse().expect("a stack")),
            one("a broker")
        );
        assert_eq!(worlds(|load| load.capture = true), one("a capture"));
        let lossy = |load: &mut LoadOptions| {
            if let Some(link) = &mut load.link {
                link.up.duplicate = "1%".parse().expect("a probability");
            }
        };
        assert_eq!(worlds(lossy), one("a link"));
    }

    #[test]
    fn only_worlds_that_run_are_in_memory() {
        let options = load("coap-con", 10_000_000);
        let at_once = |ends_early, cpus| devices_at_once(&options, ends_early, cpus);
        assert_eq!([2, 300].map(|cpus| at_once(false, cpus)), [100_000, 10_000_000]);
        assert_eq!(at_once(true, 2), 10_000_000, "its devices are one world");
    }
}
