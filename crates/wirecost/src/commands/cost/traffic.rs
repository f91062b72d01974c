//! What is priced: the devices of a capture, or the cells of a comparison.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use wirecost_cost::{Observed, ObservedPacket, Observer, Usage};
use wirecost_dissect::{Reading, Sightings};
use wirecost_energy::{Account, Device, Meter};
use wirecost_proto::units::counted;
use wirecost_proto::{Direction, Instant};
use wirecost_results::ladder::Ladder;
use wirecost_results::summary::Summary;
use wirecost_results::{Cell, RunFolder};
use wirecost_scenario::replay;

use super::{cells as nbiot_cells, devices, loads};
use crate::arguments::CostArguments;
use crate::exit::Failure;

/// The interval between the readings of a results folder.
const INTERVAL: Duration = Duration::from_secs(15 * 60);

/// The most devices of a capture that have rows.
const MAX_DEVICES: usize = 40;

/// How a report in NB-IoT cells is repeated.
pub const IN_CELLS: &str = "in the cells";

/// Traffic that repeats.
#[derive(Debug)]
pub struct Cycle {
    /// What it costs once; `None` without a device.
    pub account: Option<Account>,
    /// What it uses once.
    pub usage: Usage,
    /// Readings in it.
    pub readings: f64,
    /// Seconds from one to the next.
    pub every: f64,
}

impl Cycle {
    /// The mean of the traffic of `devices` devices. Those that have none are not in `cycles`.
    pub fn mean(cycles: &[Self], devices: usize) -> Self {
        let part = 1.0 / devices.max(1) as f64;
        let accounts: Option<Vec<Account>> = cycles.iter().map(|cycle| cycle.account.clone()).collect();
        let account = accounts.map(|mut accounts| {
            accounts.resize(devices.max(1), Account::default());
            Account::mean(&accounts)
        });
        let usage = cycles
            .iter()
            .fold(Usage::default(), |sum, cycle| sum.plus(&cycle.usage));
        Self {
            account: account.filter(|_| !cycles.is_empty()),
            usage: usage.scaled(part),
            readings: cycles.iter().map(|cycle| cycle.readings).sum::<f64>() * part,
            every: cycles.first().map_or(0.0, |cycle| cycle.every),
        }
    }

    /// Seconds that the traffic takes once, with its tails; 0 without a device.
    pub fn seconds(&self) -> f64 {
        self.account
            .as_ref()
            .map_or(0.0, |account| account.total_nanos() as f64 / 1e9)
    }
}

/// The traffic of one device.
#[derive(Debug)]
pub struct Traffic {
    /// The device's address, or the cell.
    pub label: String,
    /// How it is repeated: `as captured`, `as run`, `each interval`, `a connection each`, `kept open`, `kept for N`,
    /// [`IN_CELLS`].
    pub mode: String,
    /// Seconds between readings.
    pub interval: f64,
    /// Seconds between keep-alives that are not part of the readings' traffic.
    pub keep_alive: Option<f64>,
    /// Readings first, then such keep-alives.
    pub cycles: Vec<Cycle>,
    /// What the device of a capture did; `None` for a cell, and without a device file.
    pub activity: Option<Activity>,
}

/// What the device of a capture did, as the model has it: from the wake-up before its first packet to the end of the tails after
/// its last one.
#[derive(Debug)]
pub struct Activity {
    /// Time and energy.
    pub account: Account,
    /// Seconds of the wake-up before the first packet.
    pub wake: f64,
    /// Seconds from the first packet to the first packet up; `None` if there is no packet up.
    pub first_up: Option<f64>,
    /// Messages that the device sent.
    pub readings: f64,
}

impl Activity {
    /// How long the device was active.
    pub fn seconds(&self) -> f64 {
        self.account.total_nanos() as f64 / 1e9
    }
}

/// Observes when the first packet was, and when the first one up.
#[derive(Default)]
struct FirstTimes {
    first: Option<Instant>,
    first_up: Option<Instant>,
}

impl Observer for FirstTimes {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.first.get_or_insert(packet.at);
        if packet.direction == Direction::Up {
            self.first_up.get_or_insert(packet.at);
        }
    }
}

/// What the device of a capture did.
fn activity(device: &Device, tell: impl FnOnce(&mut dyn Observer)) -> Activity {
    let mut observers = (Meter::new(device), (Usage::default(), FirstTimes::default()));
    tell(&mut observers);
    let (meter, (usage, FirstTimes { first, first_up })) = observers;
    let times = first.zip(first_up);
    Activity {
        account: meter.finish(),
        wake: device.wake.map_or(0.0, |wake| wake.time.as_secs_f64()),
        first_up: times.map(|(first, up)| up.saturating_since(first).as_secs_f64()),
        readings: usage.messages,
    }
}

impl Traffic {
    /// Bytes of a reading, both ways, without such keep-alives.
    pub fn bytes_each(&self) -> f64 {
        self.each(|cycle| Some(cycle.usage.wire_bytes())).unwrap_or(0.0)
    }

    /// Joules of a reading, without such keep-alives; `None` without a device.
    pub fn joules_each(&self) -> Option<f64> {
        self.each(|cycle| Some(cycle.account.as_ref()?.total().joules))
    }

    fn each(&self, of: impl Fn(&Cycle) -> Option<f64>) -> Option<f64> {
        let cycles = || self.cycles.iter().filter(|cycle| cycle.readings > 0.0);
        let readings: f64 = cycles().map(|cycle| cycle.readings).sum();
        let sum: Option<f64> = cycles().map(of).sum();
        Some(sum? / readings)
    }
}

/// A capture or a results folder.
#[derive(Debug, Default)]
pub struct Source {
    /// What is in it.
    pub traffic: Vec<Traffic>,
    /// What to know about the figures.
    pub notes: Vec<String>,
    /// Why the capture could not be read to its end.
    pub fault: Option<String>,
}

impl Source {
    /// Reads what the command line names.
    pub fn read(arguments: &CostArguments, device: Option<&Device>) -> Result<Self, Failure> {
        let source = if arguments.source.is_dir() {
            cells(arguments, device)?
        } else {
            capture(arguments, device)?
        };
        if source.traffic.is_empty() {
            let shown = arguments.source.display();
            return Err(
                Failure::usage(format!("{shown} has no packets of a device")).with_hint(
                    "give a capture with TCP or UDP packets, or the folder of a comparison whose cells were run",
                ),
            );
        }
        Ok(source)
    }
}

/// What some traffic costs once.
pub fn cycle(
    device: Option<&Device>,
    every: Option<f64>,
    tell: impl FnOnce(&mut dyn Observer),
) -> (Cycle, Observed) {
    let mut observers = (device.map(Meter::new), (Usage::default(), Observed::default()));
    tell(&mut observers);
    let (meter, (usage, observed)) = observers;
    let account = match every {
        // Its tails are over before it comes again.
        Some(_) => meter.map(Meter::finish),
        None => meter.map(|meter| meter.account().clone()),
    };
    let cycle = Cycle {
        account,
        usage,
        readings: 1.0,
        every: every.unwrap_or_else(|| observed.duration().as_secs_f64()),
    };
    (cycle, observed)
}

/// Reads a capture with the secrets of a key log. Every packet has a time.
pub fn open(path: &Path, key_log: Option<&Path>) -> Result<(Reading, Sightings), Failure> {
    let unreadable = |path: &Path, error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()))
            .with_hint("give a capture file, or the results folder of a comparison")
    };
    let file = File::open(path).map_err(|error| unreadable(path, error))?;
    let key_log = match key_log {
        Some(path) => std::fs::read_to_string(path).map_err(|error| unreadable(path, error))?,
        None => String::new(),
    };
    let (reading, sightings) = wirecost_dissect::observe(file, &key_log).map_err(|error| {
        Failure::usage(format!("{}: {error}", path.display()))
            .with_hint("give a file that tcpdump, dumpcap or Wireshark wrote, or the folder of a comparison")
    })?;
    if sightings.untimed() > 0 {
        let untimed = counted(sightings.untimed(), "packet");
        return Err(
            Failure::usage(format!("{}: {untimed} without a time", path.display()))
                .with_hint("capture with times: energy depends on when a packet is sent"),
        );
    }
    Ok((reading, sightings))
}

fn capture(arguments: &CostArguments, device: Option<&Device>) -> Result<Source, Failure> {
    let (reading, sightings) = open(&arguments.source, arguments.keylog.as_deref())?;
    let mut source = Source {
        fault: reading.fault.map(|fault| fault.to_string()),
        ..Source::default()
    };
    let other: u64 = reading
        .report
        .unattributed
        .iter()
        .filter(|left| left.why == "no flow")
        .map(|left| left.packets)
        .sum();
    if other > 0 {
        source.notes.push(format!(
            "{} belong to no device and are left out",
            counted(other, "packet")
        ));
    }
    let undescribed = reading
        .report
        .unattributed
        .iter()
        .filter(|left| left.why != "no flow");
    let undescribed: u64 = undescribed.map(|left| left.bytes).sum();
    if undescribed > 0 {
        source.notes.push(format!(
            "{} could not be described (wirecost pcap says why): they count as application, and their messages are not seen",
            counted(undescribed, "byte")
        ));
    }
    devices(arguments, device, &sightings, &mut source)?;
    Ok(source)
}

/// Adds the devices of a capture, most bytes first.
fn devices(
    arguments: &CostArguments,
    device: Option<&Device>,
    sightings: &Sightings,
    source: &mut Source,
) -> Result<(), Failure> {
    let mut found: Vec<_> = sightings.devices().into_iter().collect();
    found.sort_by_key(|(address, bytes)| (std::cmp::Reverse(*bytes), *address));
    if let Some(client) = arguments.client {
        found.retain(|(address, _)| *address == client);
    }
    if found.len() > MAX_DEVICES {
        let left_out = found.len() - MAX_DEVICES;
        source
            .notes
            .push(format!("{left_out} more devices with fewer bytes are left out"));
        found.truncate(MAX_DEVICES);
    }
    let every = arguments.interval.map(|interval| interval.as_secs_f64());
    for (address, _) in found {
        let tell = |observer: &mut dyn Observer| sightings.tell(address, &mut { observer });
        let (cycle, observed) = cycle(device, every, tell);
        if every.is_none() && observed.duration().is_zero() {
            return Err(Failure::usage(format!(
                "all packets of {address} have the same time, so they have no rate"
            ))
            .with_hint("say how often they are sent with --interval"));
        }
        source.traffic.push(Traffic {
            label: address.to_string(),
            mode: if every.is_some() {
                "each interval"
            } else {
                "as captured"
            }
            .to_owned(),
            interval: cycle.every,
            keep_alive: None,
            cycles: vec![cycle],
            activity: device.map(|device| activity(device, tell)),
        });
    }
    Ok(())
}

fn cells(arguments: &CostArguments, device: Option<&Device>) -> Result<Source, Failure> {
    let folder = RunFolder::open(&arguments.source);
    if wirecost_report::load::is_load(&folder) {
        return loads::read(arguments, &folder, device);
    }
    if wirecost_results::nbiot::is_nbiot(&folder) {
        return nbiot_cells::read(arguments, &folder, device);
    }
    let summary: Summary = folder.read_json("summary.json")?;
    let ladders: Vec<Ladder> = folder.read_json("ladder.json")?;
    let mut source = Source::default();
    let mut is_of_one = false;
    for (position, ladder) in ladders.iter().enumerate() {
        let index = ladder.cell.map_or(position, |cell| cell as usize);
        let Some(cell) = summary.cells.get(index).filter(|cell| cell.message.is_some()) else {
            continue;
        };
        let is_as_run = arguments
            .interval
            .is_none_or(|interval| cell.interval_ns == Some(interval.as_nanos() as u64));
        match devices::read(&folder, cell).filter(|_| is_as_run) {
            Some(lives) => source.traffic.push(Traffic {
                label: label(cell, ladder),
                mode: mode(cell),
                interval: interval_of(arguments, cell).as_secs_f64(),
                keep_alive: None,
                cycles: devices::cycles(&lives, cell, device)?,
                activity: None,
            }),
            None => {
                is_of_one |= device.is_some();
                cell_traffic(arguments, device, cell, ladder, &mut source.traffic);
            }
        }
    }
    if is_of_one {
        source.notes.push(
            "the energy of a cell without an interval is that of one device's connect and first message; bytes are means over its devices"
                .to_owned(),
        );
    }
    Ok(source)
}

fn label(cell: &Cell, ladder: &Ladder) -> String {
    format!(
        "{} {} {}B {} {}",
        cell.stack, cell.start, cell.payload_bytes, ladder.link, cell.engine
    )
}

/// How a cell with an interval uses its connections.
pub fn mode(cell: &Cell) -> String {
    match (cell.connect.is_some(), cell.messages_per_connection) {
        (false, _) => "no connection".to_owned(),
        (true, 1) => "a connection each".to_owned(),
        (true, readings) => format!("kept for {readings}"),
    }
}

/// The interval between readings: the one asked for, otherwise that of the run, if it has one.
fn interval_of(arguments: &CostArguments, cell: &Cell) -> Duration {
    let of_run = cell.interval_ns.map(Duration::from_nanos);
    arguments.interval.or(of_run).unwrap_or(INTERVAL)
}

/// Adds a cell: a connection for each reading, and one that is kept open, where there is a connection.
fn cell_traffic(
    arguments: &CostArguments,
    device: Option<&Device>,
    cell: &Cell,
    ladder: &Ladder,
    to: &mut Vec<Traffic>,
) {
    let every = interval_of(arguments, cell).as_secs_f64();
    let label = label(cell, ladder);
    let has_connection = cell.connect.is_some();
    let ways: &[(bool, &str)] = if has_connection {
        &[(false, "a connection each"), (true, "kept open")]
    } else {
        &[(true, "no connection")]
    };
    for (is_kept, mode) in ways.iter().copied() {
        let (mut reading, _) = cycle(device, Some(every), |observer| {
            replay::tell(ladder, cell, is_kept, observer);
        });
        reading.usage = replay::usage(cell, is_kept);
        let mut cycles = vec![reading];
        let keep_alive = Some(arguments.keep_alive.as_secs_f64())
            .filter(|every| is_kept && cell.stack.starts_with("mqtt") && *every > 0.0);
        if let Some(every) = keep_alive {
            let (pings, _) = cycle(device, Some(every), |to| replay::tell_keep_alive(ladder, to));
            cycles.push(Cycle {
                readings: 0.0,
                ..pings
            });
        }
        to.push(Traffic {
            label: label.clone(),
            mode: mode.to_owned(),
            interval: every,
            keep_alive,
            cycles,
            activity: None,
        });
    }
}
