//! Runs loads one after the other and writes each to disk as soon as it has figures, so that an interrupted run can
//! continue.

use std::time::SystemTime;

use wirecost_live::provenance::Before;
use wirecost_proto::units::counted;
use wirecost_results::journal::{self, Entry};
use wirecost_results::link_text::LinkShown;
use wirecost_results::load::{Load, LoadFile, LoadSummary};
use wirecost_results::rate_search::{RateSearch, RateTrial};
use wirecost_results::resume::Earlier;
use wirecost_results::shard::Shard;
use wirecost_results::store::{Heading, LoadStore};
use wirecost_results::threshold::Threshold;
use wirecost_results::{ResultsError, RunFolder};
use wirecost_scenario::find_max::FindMax;
use wirecost_scenario::identity::{self, Run};
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::thresholds::times_of;

use crate::schedule::search;

/// The loads of a run, and their results folder.
#[derive(Debug)]
pub struct Sweep<'a> {
    /// The loads, in order.
    pub loads: &'a [LoadOptions],
    /// The part of the loads to run; `None` runs all.
    pub shard: Option<Shard>,
    /// The heading of the run.
    pub heading: Heading,
    /// The results folder.
    pub folder: &'a RunFolder,
    /// The results of an earlier run in the folder.
    pub earlier: Earlier,
    /// The state of the machine before the run.
    pub before: &'a Before,
}

/// The results of a sweep on disk.
#[derive(Debug)]
pub struct Measured<'a, E> {
    store: LoadStore<'a>,
    before: &'a Before,
    /// Why the sweep ended early.
    pub failure: Option<E>,
    /// The last figures, if the disk had no room for them.
    pub unkept: Option<Unkept>,
}

/// Figures that could not be written.
#[derive(Debug)]
pub struct Unkept {
    /// The load.
    pub load: Box<Load>,
    /// The cause.
    pub error: ResultsError,
}

/// Runs one load, given its position and the number of loads, from 1. Returns `None` if the load was interrupted before
/// it began.
pub type RunOne<'r, E> = dyn FnMut(&LoadOptions, [usize; 2]) -> Result<Option<LoadFile>, E> + 'r;

impl<'a> Sweep<'a> {
    /// Runs the missing loads with `run_one`. Stops after a load that was interrupted, that failed, that a threshold
    /// ended, or whose figures cannot be written.
    ///
    /// # Errors
    /// A file cannot be written before the first load.
    pub fn run<E>(self, run_one: &mut RunOne<'_, E>) -> Result<Measured<'a, E>, ResultsError> {
        let mut runs = identity::runs(self.loads);
        let of_all = runs.len() as u64;
        // By key, not by place: a shard keeps its loads when others are added to the file.
        runs.retain(|run| self.shard.is_none_or(|shard| shard.holds(&run.key)));
        let keys: Vec<String> = runs.iter().map(|run| run.key.clone()).collect();
        let environment = self.before.environment();
        let planned = Entry::Planned {
            cells: keys.len() as u64,
            of_all,
        };
        journal::append(self.folder, &planned)?;
        let mut store = LoadStore::open(self.folder, self.heading, keys, self.earlier, &environment)?;
        let missing = store.missing();
        let mut ended = None;
        for (place, index) in (1..).zip(&missing) {
            let run = &runs[*index];
            let result = run_one(&run.options, [place, missing.len()]);
            if let Err(end) = keep(&mut store, self.before, run, result) {
                ended = Some(end);
                break;
            }
        }
        Ok(Measured::from_store(store, self.before, ended))
    }

    /// Searches the highest rate of each load. Runs the loads of the searches that are missing with `run_one`, and tells
    /// `watch` of each load. Stops as [`Sweep::run`] does.
    ///
    /// # Errors
    /// A file cannot be written before the first load, or an earlier load cannot be read.
    pub fn find_max<E>(
        self,
        find_max: &FindMax,
        run_one: &mut RunOne<'_, E>,
        watch: &mut dyn FnMut(&RateSearch, &RateTrial),
    ) -> Result<Measured<'a, E>, ResultsError> {
        let is_ours = |run: &Run| self.shard.is_none_or(|shard| shard.holds(&run.key));
        let environment = self.before.environment();
        let mut store = LoadStore::open(self.folder, self.heading, Vec::new(), self.earlier, &environment)?;
        let (mut ended, mut ran) = (None, 0);
        let mut searches: Vec<RateSearch> = Vec::new();
        for run in identity::runs(self.loads).into_iter().filter(is_ours) {
            let base = &run.options;
            let mut search = search_of(find_max, &run);
            let input = search::Input {
                goal: search.goal,
                first: FindMax::rate(base).unwrap_or_default(),
                least: find_max.lowest_rate(base),
            };
            while let Some(next) = input.next(&search.trials).filter(|_| ended.is_none()) {
                let options = FindMax::load_at(base, next.rate, next.repeat);
                let key = identity::key(&options);
                let load = match store.add(&key)? {
                    // A resumed search judges the kept loads again, and so goes the same way to where it stopped.
                    Some(file) => Ok(file.load),
                    None => {
                        ran += 1;
                        let result = run_one(&options, [ran, 0]);
                        let run = Run {
                            key,
                            options: options.clone(),
                            of: None,
                        };
                        keep(&mut store, self.before, &run, result)
                    }
                };
                match load {
                    Ok(load) => {
                        let trial = find_max.judge(&options, next.rate, &load);
                        watch(&search, &trial);
                        search.trials.push(trial);
                    }
                    Err(end) => ended = Some(end),
                }
            }
            searches.push(search.concluded(ended.is_none()));
        }
        store.set_searches(searches);
        Ok(Measured::from_store(store, self.before, ended))
    }
}

/// A search without loads.
fn search_of(find_max: &FindMax, run: &Run) -> RateSearch {
    let base = &run.options;
    let clients = counted(base.clients.into(), "client");
    let link = base
        .link
        .as_ref()
        .map_or(String::new(), |link| format!(", {}", LinkShown(*link)));
    let number = run
        .of
        .as_ref()
        .map_or(String::new(), |of| format!(", search {} of {}", of.run, of.runs));
    RateSearch {
        name: format!("{} → {}, {clients}{link}{number}", base.stack, base.target),
        run_of: run.of.clone(),
        bound: find_max.text().to_owned(),
        metric: times_of(base).name().to_owned(),
        goal: FindMax::goal(base),
        ..RateSearch::default()
    }
}

/// Why no more loads are run.
enum Ended<E> {
    /// The load was interrupted, or a threshold ended it.
    Stopped,
    Failed(E),
    Unkept(Unkept),
}

/// Stores a load that was run. An error ends the run.
fn keep<E>(
    store: &mut LoadStore<'_>,
    before: &Before,
    run: &Run,
    result: Result<Option<LoadFile>, E>,
) -> Result<Load, Ended<E>> {
    let mut file = result.map_err(Ended::Failed)?.ok_or(Ended::Stopped)?;
    file.load.key.clone_from(&run.key);
    file.load.run_of.clone_from(&run.of);
    if let Err(error) = store.put(&file, &before.environment()) {
        let load = Box::new(file.load);
        // The figures are passed on: they took the time of a load, and can still be printed.
        return Err(Ended::Unkept(Unkept { load, error }));
    }
    match file.is_complete() {
        true => Ok(file.load),
        false => Err(Ended::Stopped),
    }
}

impl<'a, E> Measured<'a, E> {
    fn from_store(store: LoadStore<'a>, before: &'a Before, ended: Option<Ended<E>>) -> Self {
        let (failure, unkept) = match ended {
            Some(Ended::Failed(error)) => (Some(error), None),
            Some(Ended::Unkept(unkept)) => (None, Some(unkept)),
            Some(Ended::Stopped) | None => (None, None),
        };
        Self {
            store,
            before,
            failure,
            unkept,
        }
    }

    /// The summary on disk without thresholds, as input for judging these.
    ///
    /// # Errors
    /// The summary cannot be read back.
    pub fn summary(&self) -> Result<LoadSummary, ResultsError> {
        self.store.summary()
    }

    /// Writes all loads, whichever run measured them, and the judged thresholds.
    ///
    /// # Errors
    /// A load cannot be read back, or a file cannot be written.
    pub fn write(&mut self, thresholds: Vec<Threshold>) -> Result<LoadSummary, ResultsError> {
        self.store
            .finish(&self.before.environment(), thresholds, SystemTime::now())
    }
}

#[cfg(test)]
mod tests {
    use wirecost_results::folder::LOAD_FOLDERS;
    use wirecost_results::journal;
    use wirecost_results::load::Load;
    use wirecost_scenario::options::load::LoadTarget;
    use wirecost_stack::target::Target;

    use super::*;

    fn loads() -> Vec<LoadOptions> {
        let of = |clients| LoadOptions {
            clients,
            ..LoadOptions::new(
                "mqtt-qos1".parse().expect("a stack"),
                LoadTarget::Started(Target::Builtin),
            )
        };
        [10, 20, 30, 40, 50].map(of).to_vec()
    }

    fn run(
        folder: &RunFolder,
        earlier: Earlier,
        shard: Option<Shard>,
        stop_at: u32,
    ) -> (LoadSummary, Vec<u32>, Option<String>) {
        let (before, loads) = (Before::look(), loads());
        let sweep = Sweep {
            loads: &loads,
            shard,
            heading: Heading::default(),
            folder,
            earlier,
            before: &before,
        };
        let mut ran = Vec::new();
        let measured = sweep.run(&mut |options, _| {
            ran.push(options.clients);
            if options.clients == 30 && stop_at == 30 {
                return Ok(None);
            }
            if options.clients == 40 && stop_at == 40 {
                return Err("the target has gone".to_owned());
            }
            Ok(Some(LoadFile {
                load: Load {
                    interrupted: options.clients == stop_at,
                    valid: true,
                    ..Load::default()
                },
                intervals: Vec::new(),
                usage: Vec::new(),
                traffic: None,
                profile: None,
                source_addresses: Vec::new(),
                server: None,
            }))
        });
        let mut measured = measured.expect("a sweep");
        let summary = measured.write(Vec::new()).expect("written");
        (summary, ran, measured.failure)
    }

    fn folder(dir: &tempfile::TempDir) -> RunFolder {
        let folder = RunFolder::create_with(&dir.path().join("run"), &LOAD_FOLDERS).expect("a folder");
        let scenario = folder.write("scenario.resolved.yaml", b"clients: [10, 20, 30, 40, 50]\n");
        scenario.expect("written");
        folder
    }

    #[test]
    fn a_sweep_that_was_interrupted_or_failed_can_continue() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = folder(&dir);
        let scenario = "clients: [10, 20, 30, 40, 50]\n";
        let earlier = || Earlier::open(&folder, scenario, false).expect("an earlier run");
        let (first, ran, _) = run(&folder, Earlier::default(), None, 20);
        assert_eq!((first.interrupted, ran), (true, vec![10, 20]));
        let (before, ran, failure) = run(&folder, earlier(), None, 30);
        assert_eq!((before.interrupted, ran, failure), (true, vec![20, 30], None));
        assert_eq!(before.loads.len(), 2, "what had not begun is no load");
        let (second, ran, failure) = run(&folder, earlier(), None, 40);
        assert_eq!((second.interrupted, ran), (true, vec![30, 40]));
        assert_eq!(failure.as_deref(), Some("the target has gone"));
        let (third, ran, failure) = run(&folder, earlier(), None, 0);
        assert_eq!((third.interrupted, ran, failure), (false, vec![40, 50], None));
        let (keys, expected): (Vec<String>, Vec<String>) = third
            .loads
            .iter()
            .zip(&loads())
            .map(|(load, options)| (load.key.clone(), identity::key(options)))
            .unzip();
        assert_eq!(keys, expected);
        assert!(journal::read(&folder).expect("a journal").len() >= 5);
    }

    #[test]
    fn shards_divide_the_loads() {
        let mut all = Vec::new();
        for index in 1..=2 {
            let dir = tempfile::tempdir().expect("a folder");
            let (summary, ran, _) = run(&folder(&dir), Earlier::default(), Shard::new(index, 2), 0);
            assert!(!summary.interrupted);
            all.extend(ran);
        }
        all.sort_unstable();
        assert_eq!(all, [10, 20, 30, 40, 50]);
    }
}
