//! Loads of several folders.

use std::collections::BTreeMap;

use super::{MergeError, Order, copy_facts, places};
use crate::figures::Interval;
use crate::folder::RunFolder;
use crate::intervals::{Intervals, arrivals_at_the_end};
use crate::link_use::HopUse;
use crate::load::{Bottleneck, LinkFigures, Load, LoadFile, LoadSummary, PhaseFigures, ProcessUse, Worlds};
use crate::resume::Earlier;
use crate::store::{Heading, LoadStore};
use crate::warning::Warning;
use crate::{Environment, ResultsError, missing};

pub(super) fn merge(order: Order<'_>) -> Result<LoadSummary, MergeError> {
    let Order {
        sources,
        into,
        command,
        scenarios,
        ended,
    } = order;
    let mut files: Vec<LoadFile> = Vec::new();
    let mut first: Option<LoadSummary> = None;
    for source in sources {
        let summary: LoadSummary = source.read_json("summary.json")?;
        for load in &summary.loads {
            let mut file =
                LoadFile::read(source, &load.key)?.ok_or_else(|| without_file(source, &load.key))?;
            // Captures stay where they were recorded.
            file.load.capture = None;
            match files.iter_mut().find(|other| other.load.key == load.key) {
                Some(sum) => add(sum, file, source)?,
                None => files.push(file),
            }
        }
        first.get_or_insert(summary);
    }
    let places = places(&sources[0], scenarios)?;
    // In the order of the scenario, whichever folder was named first.
    files.sort_by_key(|file| places.get(&file.load.key).copied().unwrap_or(usize::MAX));
    let environment: Environment = sources[0].read_json("env.json")?;
    let heading = Heading {
        name: first
            .as_ref()
            .map(|summary| summary.name.clone())
            .unwrap_or_default(),
        command,
        seed: first.map_or(0, |summary| summary.seed),
    };
    let keys = keys(places, &files);
    copy_facts(sources, into)?;
    let mut store = LoadStore::open(into, heading, keys, Earlier::default(), &environment)?;
    for file in &files {
        store.put(file, &environment)?;
    }
    let thresholds = scenarios.judge_loads(&store.summary()?);
    Ok(store.finish(&environment, thresholds, ended)?)
}

/// The keys of all loads of the scenario, in order. A load that no folder holds makes the result incomplete.
fn keys(places: BTreeMap<String, usize>, files: &[LoadFile]) -> Vec<String> {
    let mut asked: Vec<(usize, String)> = places.into_iter().map(|(key, place)| (place, key)).collect();
    asked.sort_unstable();
    let mut keys: Vec<String> = asked.into_iter().map(|(_, key)| key).collect();
    for file in files {
        if !keys.contains(&file.load.key) {
            keys.push(file.load.key.clone());
        }
    }
    keys
}

fn without_file(folder: &RunFolder, key: &str) -> ResultsError {
    ResultsError::Format {
        path: folder.file("summary.json"),
        reason: format!("load {key} has no file in cells/"),
    }
}

/// Adds a load that ran at the same time.
fn add(sum: &mut LoadFile, other: LoadFile, folder: &RunFolder) -> Result<(), MergeError> {
    match (&sum.load.not_run, &other.load.not_run) {
        (Some(_), Some(_)) => return Ok(()),
        (None, None) => {}
        // The load was run on some of the machines only: the sum would be wrong.
        (Some(reason), None) | (None, Some(reason)) => {
            return Err(MergeError::NotRun {
                key: other.load.key,
                reason: reason.clone(),
            });
        }
    }
    let names = |load: &Load| -> Vec<String> { load.phases.iter().map(|phase| phase.name.clone()).collect() };
    if names(&sum.load) != names(&other.load) {
        return Err(MergeError::OtherPhases {
            key: other.load.key,
            folder: folder.path().to_owned(),
        });
    }
    let sent = [sum.sent_in_all(), other.sent_in_all()];
    sum.intervals = added(std::mem::take(&mut sum.intervals), other.intervals);
    // Where devices subscribe, each second has its own deliveries.
    if sum.load.subscribers == 0 {
        arrivals_at_the_end(&mut sum.intervals);
    }
    // The seconds of two machines do not begin at the same time, so usage cannot be added.
    sum.usage.clear();
    let phases = std::mem::take(&mut sum.load.phases);
    let both = (0..).zip(phases.into_iter().zip(other.load.phases.iter()));
    let phases = both.map(|(index, (phase, other))| frame(phase, other).counted(sum.phase(index)));
    let mut phases: Vec<PhaseFigures> = phases.collect();
    missing::note(&mut phases);
    add_load(&mut sum.load, other.load, sent);
    sum.load.phases = phases;
    sum.load.note_standings();
    Ok(())
}

/// All intervals by phase and second. Intervals of the same second are added.
fn added(some: Vec<Interval>, others: Vec<Interval>) -> Vec<Interval> {
    let sums: Intervals = some.into_iter().chain(others).collect();
    sums.into_list()
}

/// The fields of a phase that are not counts. A phase lasts as long as the longer one of two machines.
fn frame(phase: PhaseFigures, other: &PhaseFigures) -> PhaseFigures {
    PhaseFigures {
        begin_s: phase.begin_s.min(other.begin_s),
        duration_s: phase.duration_s.max(other.duration_s),
        warm_up_s: phase.warm_up_s.max(other.warm_up_s),
        measured_s: phase.measured_s.max(other.measured_s),
        asked_rate: phase.asked_rate.zip(other.asked_rate).map(|(one, two)| one + two),
        deliveries: phase.deliveries.or(other.deliveries),
        valid: phase.valid && other.valid,
        warnings: all_of(phase.warnings, &other.warnings),
        link: phase.link.map(|link| link.with(&other.link.unwrap_or_default())),
        hops: HopUse::sums(&phase.hops, &other.hops),
        // The phases of two machines do not coincide to the second: shares of them do not add up.
        target_cpu_share: None,
        ..phase
    }
}

/// The warnings of both, without duplicates.
fn all_of(mut warnings: Vec<Warning>, others: &[Warning]) -> Vec<Warning> {
    for warning in others {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    warnings
}

/// Adds the fields of the load as a whole; `sent` holds the messages that each of the two has sent.
fn add_load(sum: &mut Load, other: Load, sent: [u64; 2]) {
    sum.clients += other.clients;
    sum.subscribers += other.subscribers;
    sum.processes += other.processes;
    sum.loops += other.loops;
    sum.valid &= other.valid;
    sum.interrupted |= other.interrupted;
    sum.warnings = all_of(std::mem::take(&mut sum.warnings), &other.warnings);
    sum.aborted = sum.aborted.take().or(other.aborted);
    sum.generator = both(sum.generator.take(), other.generator, sent);
    sum.target_use = if sum.target == "builtin" {
        // Each generator has started its own target.
        both(sum.target_use.take(), other.target_use, sent)
    } else {
        // Both machines saw the same server: its time would count twice.
        sum.target_use.take().or(other.target_use)
    };
    match (&mut sum.agents, other.agents) {
        (Some(sum), Some(other)) => sum.add(*other),
        // One of the two machines was a generator itself.
        (agents, _) => *agents = None,
    }
    sum.worlds = sum.worlds.take().zip(other.worlds).map(|(one, other)| Worlds {
        count: one.count + other.count,
        shared: one.shared.or(other.shared),
    });
    sum.link = later(sum.link.take(), other.link);
    for hop in &mut sum.hops {
        let same = other.hops.iter().find(|other| other.hop == hop.hop);
        same.inspect(|same| hop.used.add(&same.used));
    }
    sum.bottleneck = worse(sum.bottleneck.take(), other.bottleneck);
}

/// The sum of two usages; `None` if only one was measured.
fn both(one: Option<ProcessUse>, other: Option<ProcessUse>, sent: [u64; 2]) -> Option<ProcessUse> {
    let (one, other) = one.zip(other)?;
    let messages: u64 = sent.iter().sum();
    // `cpu_s_per_million` covers only the part of the CPU time that belongs to messages.
    let of_messages = [&one, &other].map(|used| used.cpu_s_per_million.unwrap_or(0.0));
    let cpu_s: f64 = of_messages
        .iter()
        .zip(sent)
        .map(|(each, sent)| each * sent as f64)
        .sum();
    Some(ProcessUse {
        user_s: one.user_s + other.user_s,
        system_s: one.system_s + other.system_s,
        // They ran side by side.
        wall_s: one.wall_s.max(other.wall_s),
        cpu_share: one.cpu_share.zip(other.cpu_share).map(|(one, other)| one + other),
        busiest_thread_share: one
            .busiest_thread_share
            .zip(other.busiest_thread_share)
            .map(|(one, other)| one.max(other)),
        resident_bytes: one.resident_bytes + other.resident_bytes,
        processes: one.processes + other.processes,
        cpu_s_per_million: (messages > 0).then(|| cpu_s / messages as f64),
    })
}

/// The link with the larger lateness of two that were used at the same time.
fn later(one: Option<Box<LinkFigures>>, other: Option<Box<LinkFigures>>) -> Option<Box<LinkFigures>> {
    let links: Vec<Box<LinkFigures>> = one.into_iter().chain(other).collect();
    let dropped_packets = links.iter().map(|link| link.dropped_packets).sum();
    let mut later = links
        .into_iter()
        .max_by_key(|link| link.emulator.as_ref().map(|emulator| emulator.lateness_p99_ns))?;
    later.dropped_packets = dropped_packets;
    Some(later)
}

/// The bottleneck of two machines: the first that is not `none`.
fn worse(one: Option<Bottleneck>, other: Option<Bottleneck>) -> Option<Bottleneck> {
    let is_none = |bottleneck: &Bottleneck| bottleneck.who == "none";
    match (one, other) {
        (Some(one), Some(other)) => Some(if is_none(&one) { other } else { one }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_per_message_is_weighted_by_sent_messages() {
        let used = |seconds, per_million| ProcessUse {
            user_s: seconds,
            cpu_s_per_million: per_million,
            ..ProcessUse::default()
        };
        // Of the 9 s of the first one 8 s were for other phases.
        let sum = both(
            Some(used(9.0, Some(10.0))),
            Some(used(6.0, Some(20.0))),
            [100_000, 300_000],
        );
        let sum = sum.expect("both were measured");
        assert_eq!((sum.user_s, sum.cpu_s_per_million), (15.0, Some(17.5)));
        let nothing = both(Some(used(1.0, None)), Some(used(1.0, None)), [0, 0]);
        assert_eq!(nothing.expect("both were measured").cpu_s_per_million, None);
        assert_eq!(both(Some(used(1.0, None)), None, [1, 0]), None);
    }
}
