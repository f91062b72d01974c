//! The first devices of a load, whose packets were kept while it ran.

use wirecost_account::{Cycle, Traffic, Way, replay};
use wirecost_cost::{DeviceEvent, ObservedPacket, Observer, What};
use wirecost_energy::Device;
use wirecost_proto::Instant;
use wirecost_results::load::{Load, LoadFile, LoadSummary};
use wirecost_results::traffic::LoadTraffic;
use wirecost_results::{ResultsError, RunFolder};

use super::lives::unknown_names;
use super::traffic::Source;
use crate::arguments::CostArguments;
use crate::exit::Failure;

/// Reads the loads of a results folder. A load without packets is left out, with a note.
///
/// # Errors
/// No load has packets, or the folder cannot be read.
pub fn read(
    arguments: &CostArguments,
    folder: &RunFolder,
    device: Option<&Device>,
) -> Result<Source, Failure> {
    let summary: LoadSummary = folder.read_json("summary.json")?;
    let mut source = Source::default();
    let mut lack = None;
    for load in &summary.loads {
        let file = LoadFile::read(folder, &load.key).map_err(|error: ResultsError| Failure::from(error))?;
        let Some(kept) = file.and_then(|file| file.traffic) else {
            let why = why_none(load);
            source
                .notes
                .push(format!("{} is left out: {}", label(load), why[0]));
            lack.get_or_insert((label(load), why));
            continue;
        };
        source
            .traffic
            .push(mean_device(arguments, load, &kept, device, &mut source.notes)?);
    }
    // One load with packets is an answer; without any, the first load's lack is the error, because its way out mends the others too.
    match lack.filter(|_| source.traffic.is_empty()) {
        Some((label, [why, hint])) => {
            Err(Failure::usage(format!("{}: {label}: {why}", arguments.source.display())).with_hint(hint))
        }
        None => Ok(source),
    }
}

/// Why a load has no packets of its devices, and what to do.
fn why_none(load: &Load) -> [&'static str; 2] {
    if load.not_run.is_some() {
        return ["it was not run", "run it again"];
    }
    if load.is_modelled() {
        return [
            "no packet of its first devices was kept",
            "run it again with this version, with devices that send",
        ];
    }
    if load.link.is_some() {
        return [
            "no packet of its first devices was kept",
            "run it again with this version, with an address for each device: without shared sockets, and at most 65,531 devices",
        ];
    }
    [
        "packets of single devices of a live load without a link cannot be told apart",
        "run it with --engine sim, or as root over an emulated link, e.g. with --rtt 40ms",
    ]
}

fn label(load: &Load) -> String {
    let payload = load
        .payload_bytes
        .map_or_else(String::new, |bytes| format!(" {bytes}B"));
    format!(
        "{} {}{payload} x {} {}",
        load.stack, load.start, load.clients, load.engine
    )
}

/// The traffic of the mean device of a load.
fn mean_device(
    arguments: &CostArguments,
    load: &Load,
    kept: &LoadTraffic,
    device: Option<&Device>,
    notes: &mut Vec<String>,
) -> Result<Traffic, Failure> {
    let shapes = replay::shapes(&kept.traffic).ok_or_else(|| unknown_names(&load.stack))?;
    let [began, ended] = [kept.began_ns, kept.ended_ns].map(Instant::from_nanos);
    let seconds = ended.saturating_since(began).as_secs_f64();
    let every = arguments.interval.map(|interval| interval.as_secs_f64());
    if seconds <= 0.0 {
        return Err(Failure::usage(format!(
            "{}: all packets of {} have the same time, so they have no rate",
            arguments.source.display(),
            label(load)
        ))
        .with_hint("run a load that lasts longer, e.g. --duration 10s"));
    }
    let lives = kept.traffic.devices.iter().map(|seen| {
        let (once, _) = Cycle::metered(device, every, |observer| {
            replay::tell_life(seen, &shapes, &mut Within { observer, ended });
            // With an interval the reading stands alone, and its tails end by themselves; without one the load's end cuts them.
            if every.is_none() {
                observer.end(ended);
            }
        });
        Cycle {
            every: every.unwrap_or(seconds),
            readings: once.usage.count(What::Publish),
            ..once
        }
    });
    let lives: Vec<Cycle> = lives.collect();
    note(load, kept, seconds, notes);
    Ok(Traffic {
        label: label(load),
        stack: Some(load.stack.clone()),
        way: match every {
            Some(_) => Way::Repeated,
            None => Way::Loaded,
        },
        interval: every.unwrap_or(seconds),
        keep_alive: None,
        cycles: vec![Cycle::mean(&lives, kept.observed as usize)],
        time: None,
        activity: None,
    })
}

fn note(load: &Load, kept: &LoadTraffic, seconds: f64, notes: &mut Vec<String>) {
    notes.push(format!(
        "{}: the mean of the first {} of {} devices over {seconds:.1} s, from the first phase to the end of the last{}",
        label(load),
        kept.observed,
        kept.of,
        if kept.cut_short {
            "; later packets were not kept"
        } else {
            ""
        }
    ));
    if load.subscribers > 0 {
        notes.push("devices that subscribe are not among them".to_owned());
    }
}

/// Tells an observer what happened until an instant: a packet that arrives after the load is no part of it.
struct Within<'a> {
    observer: &'a mut dyn Observer,
    ended: Instant,
}

impl Observer for Within<'_> {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        if packet.at <= self.ended {
            self.observer.packet(packet);
        }
    }

    fn lost(&mut self, packet: &ObservedPacket<'_>) {
        if packet.at <= self.ended {
            self.observer.lost(packet);
        }
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        if at <= self.ended {
            self.observer.event(at, event);
        }
    }
}
