//! From devices to the figures of cells.

use std::time::Duration;

use wirecost_link::Counters;
use wirecost_proto::{BothWays, Direction, Instant};
use wirecost_results::link::{achieved, link_of};
use wirecost_results::summary::{Cell, Cpu, CpuSide, Link};
use wirecost_results::warning::Warning;
use wirecost_results::{AllIn, CellTimes, SampleRow};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{self, DeviceLinks, Plan, PlannedCell, identity};
use wirecost_scenario::selector::to_stored;
use wirecost_stats::Histogram;

use super::analysis::DeviceMeasurement;
use super::known;
use super::outcome::{Outcome, messages, outcomes};
use super::readings;
use super::sampler::Mark;
use super::sections::{
    connect_section, connects, delays, durations, first_message_round_trips, first_message_time,
    message_section, nanos_between, quiet_section,
};
use super::verdict::{self, Evidence};

/// The input of all cells, apart from their devices.
pub struct Context<'a> {
    /// The options.
    pub options: &'a Options,
    /// Cells and devices.
    pub plan: &'a Plan,
    /// The links, with their counters.
    pub links: &'a DeviceLinks,
    /// The round-trip times of each link's check.
    pub checks: &'a [Vec<Duration>],
    /// Packets that the machine dropped.
    pub dropped_packets: u64,
    /// The median of the emulator's lateness.
    pub lateness: Duration,
    /// CPU time of a foreign server over the whole run.
    pub foreign_cpu: Option<Duration>,
}

/// The cells of a run in the order of its plan, and one row per finished device.
pub fn cells(context: &Context<'_>, devices: &[DeviceMeasurement]) -> (Vec<Cell>, Vec<SampleRow>) {
    let mut by_cell: Vec<Vec<&DeviceMeasurement>> = vec![Vec::new(); context.plan.cells.len()];
    // A device that was interrupted has sent part of its messages: its bytes would lower the mean.
    for device in devices.iter().filter(|device| device.report.finished) {
        by_cell[device.cell].push(device);
    }
    for devices in &mut by_cell {
        // Live devices end in any order, and the rows of `samples.csv` must not depend on it.
        devices.sort_by_key(|device| device.sample);
    }
    let planned = context.plan.cells.iter().zip(&by_cell).enumerate();
    let cells = planned
        .map(|(index, (planned, devices))| live_cell(context, index, planned, devices))
        .collect();
    let rows = by_cell.iter().enumerate().flat_map(|(index, devices)| {
        let planned = &context.plan.cells[index];
        devices
            .iter()
            .map(move |device| row(index, planned, device, context.options.timeout))
    });
    (cells, rows.collect())
}

/// The input of one cell, apart from its devices.
pub struct Source<'a> {
    /// The options.
    pub options: &'a Options,
    /// The cell.
    pub planned: &'a PlannedCell,
    /// `live` or `sim`.
    pub engine: &'static str,
    /// The names of the servers.
    pub target: String,
    /// The decisions of the devices' links, up and down.
    pub counters: BothWays<Counters>,
    /// The round-trip times of the link's check.
    pub round_trips: &'a [Duration],
    /// Packets that the machine dropped.
    pub dropped_packets: u64,
    /// The median of the emulator's lateness; zero in virtual time.
    pub lateness: Duration,
    /// Computes the CPU time of devices.
    pub cpu: &'a dyn Fn(&[&DeviceMeasurement]) -> Cpu,
}

fn live_cell(
    context: &Context<'_>,
    index: usize,
    planned: &PlannedCell,
    devices: &[&DeviceMeasurement],
) -> Cell {
    let counters = BothWays::from_fn(|direction| counters_of(context, index, direction));
    let source = Source {
        options: context.options,
        planned,
        engine: "live",
        target: context.options.target_name(),
        counters,
        round_trips: context.checks.get(planned.link).map_or(&[], Vec::as_slice),
        dropped_packets: context.dropped_packets,
        lateness: context.lateness,
        cpu: &|devices| cpu(context, planned, devices),
    };
    cell(&source, devices)
}

/// The figures of one cell.
pub fn cell(source: &Source<'_>, devices: &[&DeviceMeasurement]) -> Cell {
    let Source { options, planned, .. } = *source;
    let link = &options.links[planned.link];
    let not_run = planned.not_run.clone().or_else(|| start_refused(devices));
    // A start that the server refuses is a cell without figures: those of the cold start that came instead are another cell's.
    let devices = if not_run.is_some() { &[][..] } else { devices };
    let counters = &source.counters;
    let achieved = achieved(source.round_trips, link, counters);
    let outcomes = outcomes(planned, devices, planned.schedule.messages, options.timeout);
    let evidence = Evidence {
        link,
        counters,
        achieved: &achieved,
        outcomes: &outcomes,
        devices,
        dropped_packets: source.dropped_packets,
        lateness: source.lateness,
        ipv6: options.ipv6,
        is_emulated: !planned.sees_one_end,
        is_behind_offload: options.sending.offload,
    };
    let warnings = match &not_run {
        Some(_) => Vec::new(),
        None => warnings(source, &evidence),
    };
    let as_asked = started_as_asked(devices);
    let devices = as_asked.as_slice();
    let measured = !devices.is_empty();
    let enough = verdict::enough_devices(link, counters);
    let cell = Cell {
        stack: planned.stack.to_string(),
        start: planned.start.to_string(),
        payload_bytes: planned.payload.len() as u64,
        readings: readings::carried(options, planned, source.engine),
        engine: source.engine.into(),
        target: source.target.clone(),
        key: identity::key(options, planned, source.engine),
        labels: to_stored(&plan::labels_of_cell(options, planned, source.engine)),
        messages_per_connection: planned.schedule.messages,
        interval_ns: planned.schedule.interval.map(|every| every.as_nanos() as u64),
        keep_alive_s: planned.schedule.keep_alive.map(u64::from),
        agreement: None,
        valid: not_run.is_none() && warnings.iter().all(|warning| !warning.invalidates),
        warnings,
        not_run,
        link: Link {
            path: options.path().map(|path| path.name().to_owned()),
            // Over a real path nothing is emulated that could be achieved.
            ..link_of(link, (measured && !planned.sees_one_end).then_some(achieved))
        },
        connect: (measured && planned.stack.has_connect(planned.start))
            .then(|| connect_section(devices, enough)),
        // Round trips are exact and common to all devices only without losses (rule 3 of ARCHITECTURE.md).
        first_message_round_trips: first_message_round_trips(devices).filter(|_| enough == 0),
        first_message_time_ns: first_message_time(devices, enough),
        early_message: devices
            .first()
            .is_some_and(|device| device.report.script.timing().measures_early_data()),
        message: measured.then(|| message_section(planned, devices, enough, options.timeout)),
        keep_alive: quiet_section(devices, enough, |device| &device.keep_alive),
        close: quiet_section(devices, enough, |device| &device.close),
        delivery: None,
        all_in: None,
        frames: None,
        program: None,
        cpu: (source.cpu)(devices),
        outcomes,
    };
    Cell {
        all_in: AllIn::from_cell(&cell),
        ..cell
    }
}

/// The times that a cell counts, from which its figures are computed too.
pub fn times(planned: &PlannedCell, devices: &[&DeviceMeasurement], timeout: Duration) -> CellTimes {
    if planned.not_run.is_some() || start_refused(devices).is_some() {
        return CellTimes::default();
    }
    // A device whose handshake was not resumed measured another question.
    let devices = &started_as_asked(devices);
    let histogram = |nanos: Vec<Vec<u64>>| {
        let mut times = Histogram::new();
        nanos.iter().flatten().for_each(|nanos| times.record(*nanos));
        times.pack();
        Some(times).filter(|times| !times.is_empty())
    };
    let connects = || connects(devices, |(intended, _)| intended);
    CellTimes {
        response: histogram(durations(planned, devices, timeout, |mark| mark.intended)),
        service: histogram(durations(planned, devices, timeout, |mark| mark.actual)),
        connect: planned
            .stack
            .has_connect(planned.start)
            .then(connects)
            .and_then(histogram),
        delay: histogram(delays(devices)),
    }
}

/// The reasons to look before trusting the figures of a cell that was run.
fn warnings(source: &Source<'_>, evidence: &Evidence<'_>) -> Vec<Warning> {
    let known = known::warnings(source.planned, evidence.link)
        .filter(|_| source.engine == "sim" && evidence.link.cell.is_none());
    verdict::warnings(evidence).into_iter().chain(known).collect()
}

/// The devices that started as configured. Other devices count in the outcomes, and in nothing else.
fn started_as_asked<'d>(devices: &[&'d DeviceMeasurement]) -> Vec<&'d DeviceMeasurement> {
    let is_as_asked = |device: &&DeviceMeasurement| !device.report.script.has_started_otherwise();
    devices.iter().copied().filter(is_as_asked).collect()
}

/// Why no connection of a cell started as configured, if none did. Such a cell is not run, and never counts as
/// something else.
fn start_refused(devices: &[&DeviceMeasurement]) -> Option<String> {
    let refusal = |device: &&DeviceMeasurement| {
        let script = &device.report.script;
        let granted = script.notes().start?;
        let asked = script.timing().start;
        script
            .has_started_otherwise()
            .then(|| format!("the server does not start connections {asked}: it granted {granted}"))
    };
    let refusals: Option<Vec<String>> = devices.iter().map(refusal).collect();
    refusals?.into_iter().next()
}

fn counters_of(context: &Context<'_>, cell: usize, direction: Direction) -> Counters {
    let mut sum = Counters::default();
    for (host, device) in context.plan.devices.iter().enumerate() {
        if device.cell == cell
            && let Some(link) = context.links.link_of(host as u32)
        {
            sum += *link.counters(direction);
        }
    }
    sum
}

fn cpu(context: &Context<'_>, planned: &PlannedCell, devices: &[&DeviceMeasurement]) -> Cpu {
    if devices.is_empty() {
        return Cpu {
            reason: Some("no device finished".into()),
            ..Cpu::default()
        };
    }
    let n = devices.len() as f64;
    let mean = |of: &dyn Fn(&DeviceMeasurement) -> Duration| {
        devices
            .iter()
            .map(|device| of(device).as_nanos() as f64)
            .sum::<f64>()
            / n
    };
    let client = CpuSide {
        device_ns: mean(&|device| {
            // The CPU time of getting a ticket belongs to no figure.
            let before = device.report.script.notes().cpu_before_connect;
            device.report.cpu.saturating_sub(before)
        }),
        connect_ns: Some(mean(&connect_cpu)),
        message_ns: Some(mean(&message_cpu) / planned.schedule.messages as f64),
    };
    const PER_DEVICE: &str = "a server's CPU is measured per device, not per message";
    let (server, reason) = match server_cpu(context) {
        Ok(None) => (Some(mean(&|device| device.server_cpu)), PER_DEVICE),
        Ok(Some(cpu)) => (Some(cpu.as_nanos() as f64 / n), PER_DEVICE),
        Err(reason) => (None, reason),
    };
    let server = server.map(|device_ns| CpuSide {
        device_ns,
        connect_ns: None,
        message_ns: None,
    });
    Cpu {
        client: Some(client),
        server,
        reason: Some(reason.to_owned()),
    }
}

/// The source of a server's CPU time: each device's own share for built-in servers, or the whole process's time if one
/// cell had a foreign server to itself.
fn server_cpu(context: &Context<'_>) -> Result<Option<Duration>, &'static str> {
    let running = context
        .plan
        .cells
        .iter()
        .filter(|cell| cell.not_run.is_none())
        .count();
    if context.options.running.is_some() {
        return Err("the CPU of a server that wirecost has not started is not measured");
    }
    match (context.options.target.is_builtin(), running) {
        (true, _) => Ok(None),
        (false, 1) => context
            .foreign_cpu
            .map(Some)
            .ok_or("the server could no longer be asked"),
        // The kernel counts CPU time by process, and the process serves all cells at once.
        (false, _) => Err("a foreign server's CPU cannot be told apart while cells overlap"),
    }
}

/// CPU time from the start of the connect until the first message was sent. For a message in the first flight, until it
/// was handed over.
fn connect_cpu(device: &DeviceMeasurement) -> Duration {
    let notes = device.report.script.notes();
    let first = notes.messages.first().map(|mark| mark.cpu);
    first.map_or(Duration::ZERO, |first| {
        first.saturating_sub(notes.cpu_before_connect)
    })
}

/// CPU time between the first measured message and the end of its last settle.
fn message_cpu(device: &DeviceMeasurement) -> Duration {
    let notes = device.report.script.notes();
    let first = device.report.script.timing().first_measured();
    let before = notes.messages.get(first).map(|mark| mark.cpu);
    before.map_or(Duration::ZERO, |before| {
        notes.cpu_after_messages.saturating_sub(before)
    })
}

/// The row of one device in `samples.csv`.
pub fn row(index: usize, planned: &PlannedCell, device: &DeviceMeasurement, timeout: Duration) -> SampleRow {
    let notes = device.report.script.notes();
    let answered = planned.stack.is_answered();
    let first = messages(device).next();
    let since = |of: fn(&Mark) -> Instant| {
        let message = first.as_ref()?;
        Some(nanos_between(of(message.mark), message.response(answered)?))
    };
    let started = notes.connect_started.map(|(_, started)| started);
    let empty = BothWays::default();
    let traffic = first.as_ref().map_or(&empty, |message| message.traffic);
    SampleRow {
        cell: index as u64,
        stack: planned.stack.to_string(),
        start: planned.start.to_string(),
        payload_bytes: planned.payload.len() as u64,
        sample: u64::from(device.sample),
        started_ns: started.map_or(0, Instant::as_nanos),
        outcome: Outcome::from_planned(planned, first.as_ref(), timeout)
            .name()
            .to_owned(),
        connect_ns: notes
            .connect_started
            .zip(notes.ready)
            // A stack without a connect is ready at once; zero would look like a fast connect.
            .filter(|_| planned.stack.has_connect(planned.start))
            .map(|((intended, _), ready)| nanos_between(intended, ready)),
        response_time_ns: since(|mark| mark.intended),
        service_time_ns: since(|mark| mark.actual),
        one_way_delay_ns: first
            .as_ref()
            .and_then(|message| Some(nanos_between(message.mark.actual, message.arrival?))),
        connect_up_bytes: device.connect.up.wire_bytes(),
        connect_down_bytes: device.connect.down.wire_bytes(),
        message_up_bytes: traffic.up.wire_bytes(),
        message_down_bytes: traffic.down.wire_bytes(),
        message_up_packets: traffic.up.packets(),
        message_down_packets: traffic.down.packets(),
        close_up_bytes: device.close.up.wire_bytes(),
        close_down_bytes: device.close.down.wire_bytes(),
        client_cpu_ns: Some(device.report.cpu.as_nanos() as u64),
    }
}
