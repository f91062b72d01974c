//! The results folder of loads. Each load is written to disk as soon as it is measured. All other files are derived
//! from the files of the loads, again after each load, so that the folder can be read and resumed at any time.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use wirecost_stats::hgrm::Hgrm;
use wirecost_stats::{Histogram, hlog};

use super::figures::Interval;
use super::metrics::{Format, Metrics};
use crate::columns::Row as _;
use crate::curves::CurveKind;
use crate::journal::{self, Entry};
use crate::load::{Load, LoadFile, LoadSummary, PhaseFigures};
use crate::over_runs;
use crate::rate_search::RateSearch;
use crate::resume::Earlier;
use crate::seconds::SecondRow;
use crate::summary::SCHEMA;
use crate::threshold::Threshold;
use crate::time::{from_rfc3339, rfc3339};
use crate::usage::UsageRow;
use crate::{Environment, ResultsError, RunFolder};

/// The sub-folder of CPU profiles.
const PROFILE: &str = "profile";
/// The kind of a summary of loads. The summary of a comparison has none.
pub const KIND: &str = crate::load::KIND;

/// The facts of a run of loads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// The scenario's name; of a command line, the command's.
    pub name: String,
    /// The command that repeats the run.
    pub command: String,
    /// Seed of every random decision.
    pub seed: u64,
}

/// The loads of a results folder.
#[derive(Debug)]
pub struct LoadStore<'a> {
    folder: &'a RunFolder,
    heading: Heading,
    /// Keys of all loads of the run, in order.
    keys: Vec<String>,
    /// Keys of the finished loads.
    finished: BTreeSet<String>,
    /// Keys of the loads whose generator failed. A later run runs them again.
    failed: BTreeSet<String>,
    /// The searches for the highest rate.
    searches: Vec<RateSearch>,
    /// What was derived from the loads that are there, in order: it takes longer to read a load back than all else here.
    derived: Vec<Derived>,
}

/// What is derived from the file of a load.
#[derive(Debug)]
struct Derived {
    load: Load,
    metrics: Metrics,
    seconds: Vec<SecondRow>,
    usage: Vec<UsageRow>,
    server: Option<(String, String)>,
    source_addresses: Vec<String>,
}

impl<'a> LoadStore<'a> {
    /// Opens the store of a run of the loads with these keys. From now on the folder can be read.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(
        folder: &'a RunFolder,
        heading: Heading,
        keys: Vec<String>,
        earlier: Earlier,
        environment: &Environment,
    ) -> Result<Self, ResultsError> {
        let mut store = Self {
            folder,
            heading,
            keys,
            finished: earlier.finished,
            failed: BTreeSet::new(),
            searches: Vec::new(),
            derived: Vec::new(),
        };
        // An earlier run may have had more loads: its files must not stay beside those of this one.
        folder.clear_distributions()?;
        // Written as interrupted from the start: so is what a killed run leaves.
        store.assemble(environment, true, Vec::new())?;
        Ok(store)
    }

    /// Indexes of the loads that are not finished.
    pub fn missing(&self) -> Vec<usize> {
        let keys = self.keys.iter().enumerate();
        keys.filter(|(_, key)| !self.finished.contains(*key))
            .map(|(index, _)| index)
            .collect()
    }

    /// Adds a load that the run needs, and returns it if it is finished.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn add(&mut self, key: &str) -> Result<Option<LoadFile>, ResultsError> {
        if !self.keys.iter().any(|known| known == key) {
            self.keys.push(key.to_owned());
        }
        match self.finished.contains(key) {
            true => LoadFile::read(self.folder, key),
            false => Ok(None),
        }
    }

    /// Sets the searches for the highest rate. A run with an incomplete search was interrupted.
    pub fn set_searches(&mut self, searches: Vec<RateSearch>) {
        self.searches = searches;
    }

    /// Stores a load: first its file, then its line of the journal, then all derived files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn put(&mut self, file: &LoadFile, environment: &Environment) -> Result<(), ResultsError> {
        let index = self.keys.iter().position(|key| *key == file.load.key);
        let entry = Entry::of_load(index.unwrap_or_default(), &file.load);
        let is_of = |derived: &Derived| derived.load.key == file.load.key;
        // It was run again, on --resume: its earlier figures would stand in the tables as well.
        if self.derived.iter().any(is_of) {
            self.forget()?;
        }
        file.write(self.folder)?;
        // Behind the file: a journal that names a load whose file is cut off would make --resume skip it.
        journal::append(self.folder, &entry)?;
        if entry.is_finished() {
            self.finished.insert(file.load.key.clone());
        } else if entry.has_failed() {
            self.failed.insert(file.load.key.clone());
        }
        self.assemble(environment, true, Vec::new()).map(drop)
    }

    /// The summary as it is on disk now.
    ///
    /// # Errors
    /// It cannot be read back.
    pub fn summary(&self) -> Result<LoadSummary, ResultsError> {
        self.folder.read_json("summary.json")
    }

    /// Writes the end of the run to the journal, and all derived files of all loads.
    ///
    /// # Errors
    /// A load cannot be read back, or a file cannot be written.
    pub fn finish(
        &mut self,
        environment: &Environment,
        thresholds: Vec<Threshold>,
        ended: SystemTime,
    ) -> Result<LoadSummary, ResultsError> {
        let has_ended = |key: &String| self.finished.contains(key) || self.failed.contains(key);
        let is_whole = self.searches.iter().all(|search| search.complete);
        let interrupted = !is_whole || !self.keys.iter().all(has_ended);
        let summary = self.assemble(environment, interrupted, thresholds)?;
        let at = rfc3339(ended);
        journal::append(self.folder, &Entry::Ended { at, interrupted })?;
        Ok(summary)
    }

    /// Drops what was derived, whose files have the numbers of loads in their names.
    fn forget(&mut self) -> Result<(), ResultsError> {
        self.derived.clear();
        self.folder.clear_distributions()
    }

    /// Derives what is missing from the loads that are there. A load has its place among them as its number.
    fn derive(&mut self) -> Result<(), ResultsError> {
        let mut place = 0;
        for key in self.keys.clone() {
            if self
                .derived
                .get(place)
                .is_some_and(|derived| derived.load.key == key)
            {
                place += 1;
                continue;
            }
            let Some(file) = LoadFile::read(self.folder, &key)? else {
                continue;
            };
            if place < self.derived.len() {
                // It has ended after loads behind it, whose numbers and files move.
                self.forget()?;
                return self.derive();
            }
            distributions(self.folder, place, &file)?;
            self.derived.push(Derived::from_folder(self.folder, place, file)?);
            place += 1;
        }
        Ok(())
    }

    fn assemble(
        &mut self,
        environment: &Environment,
        interrupted: bool,
        thresholds: Vec<Threshold>,
    ) -> Result<LoadSummary, ResultsError> {
        self.derive()?;
        let mut environment = environment.clone();
        let mut metrics = Metrics::default();
        let all = &self.derived;
        for derived in all {
            derived.add_to(&mut environment);
            metrics.append(&derived.metrics);
        }
        let loads: Vec<Load> = all.iter().map(|derived| derived.load.clone()).collect();
        let seconds: Vec<SecondRow> = all.iter().flat_map(|derived| derived.seconds.clone()).collect();
        let usage: Vec<UsageRow> = all.iter().flat_map(|derived| derived.usage.clone()).collect();
        let Heading { name, command, seed } = self.heading.clone();
        let summary = LoadSummary {
            schema: SCHEMA,
            kind: KIND.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            command,
            name,
            seed,
            interrupted,
            repeats: over_runs::all(&loads),
            loads,
            thresholds,
            searches: self.searches.clone(),
        };
        self.folder
            .write("intervals.csv", SecondRow::file(&seconds).as_bytes())?;
        self.folder
            .write_derived("usage.csv", UsageRow::file(&usage).as_bytes())?;
        let text = metrics.text(Format::OpenMetrics);
        self.folder.write_derived("metrics.om", text.as_bytes())?;
        self.folder.write_environment(environment)?;
        // Last: who finds a summary finds what it names.
        self.folder.write_json("summary.json", &summary)?;
        Ok(summary)
    }
}

impl Derived {
    fn from_folder(folder: &RunFolder, index: usize, file: LoadFile) -> Result<Self, ResultsError> {
        let mut metrics = Metrics::default();
        metrics.add(&file, index);
        let LoadFile {
            mut load,
            profile,
            intervals,
            usage,
            server,
            source_addresses,
            ..
        } = file;
        if let Some(folded) = profile {
            let name = format!("{PROFILE}/{index:03}.folded");
            folder.restore(&[PROFILE])?;
            folder.write_derived(&name, folded.as_bytes())?;
            load.profile = Some(name);
        }
        let seconds = intervals.iter();
        let usage = usage.into_iter().map(|row| UsageRow {
            load: index as u64,
            ..row
        });
        Ok(Self {
            metrics,
            seconds: seconds
                .map(|interval| SecondRow::from_interval(index as u64, interval))
                .collect(),
            usage: usage.collect(),
            server: server.map(|version| (load.target.clone(), version)),
            source_addresses,
            load,
        })
    }

    /// Adds the source addresses and the server of the load.
    fn add_to(&self, environment: &mut Environment) {
        environment.servers.extend(self.server.clone());
        for address in &self.source_addresses {
            if !environment.source_addresses.contains(address) {
                environment.source_addresses.push(address.clone());
            }
        }
    }
}

/// Writes the distributions of each phase and each kind of time, without warm-up: the whole phase as `.hgrm`, second by
/// second as `.hlog`.
fn distributions(folder: &RunFolder, load: usize, file: &LoadFile) -> Result<(), ResultsError> {
    let began = from_rfc3339(&file.load.started_at).and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let began_s = began.map_or(0.0, |since| since.as_secs_f64());
    for (phase, figures) in file.load.phases.iter().enumerate() {
        let start_s = began_s + figures.begin_s;
        let intervals: Vec<&Interval> = file
            .phase(phase as u32)
            .filter(|interval| !interval.warm_up)
            .collect();
        for kind in CurveKind::ALL {
            let rows: Vec<(f64, f64, &Histogram)> = intervals
                .iter()
                .filter_map(|interval| Some((interval, kind.times_in(interval)?)))
                .filter(|(_, histogram)| !histogram.is_empty())
                .map(|(interval, histogram)| {
                    let [begin, end] = measured_of(figures, kind, interval);
                    (begin, end - begin, histogram)
                })
                .collect();
            // A distribution without values would be a file that readers of HDR histograms refuse.
            if rows.is_empty() {
                continue;
            }
            let mut sum = Histogram::new();
            rows.iter().for_each(|(.., histogram)| sum.merge(histogram));
            folder.write_derived(&kind.file(load, phase), Hgrm(&sum).to_string().as_bytes())?;
            let log = hlog::text(start_s, kind.words(), rows);
            folder.write_derived(&kind.log_file(load, phase), log.as_bytes())?;
        }
    }
    Ok(())
}

/// The part of an interval in which times of a kind were measured, in seconds from the start of the phase. The warm-up
/// shortens its start. Its end is the end of the offer for times that count by the intended send, and the end of the
/// phase for times that count by their event. A later interval is whole.
fn measured_of(figures: &PhaseFigures, kind: CurveKind, interval: &Interval) -> [f64; 2] {
    let end = match kind {
        CurveKind::Connect | CurveKind::Delay => figures.duration_s,
        CurveKind::Response | CurveKind::Service | CurveKind::Lag => figures.warm_up_s + figures.measured_s,
    };
    let begin = f64::from(interval.second);
    let whole = [begin, begin + f64::from(interval.seconds())];
    let part = [whole[0].max(figures.warm_up_s), whole[1].min(end)];
    if part[0] < part[1] { part } else { whole }
}

#[cfg(test)]
pub(crate) mod tests;
