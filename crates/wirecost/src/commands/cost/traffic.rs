//! What is priced: the devices of a capture, or the cells of a comparison.

use std::time::Duration;

use wirecost_cost::{Observed, ObservedPacket, Observer, Usage, UsageMeter};
use wirecost_energy::{Account, Device, Meter};
use wirecost_proto::{Direction, Instant};
use wirecost_results::ladder::Ladder;
use wirecost_results::summary::Summary;
use wirecost_results::{Cell, RunFolder};
use wirecost_stack::Stack;

use super::table::time;
use super::{capture, cells as nbiot_cells, devices, loads, sessions};
use crate::arguments::CostArguments;
use crate::exit::Failure;

/// The interval between the readings of a results folder.
const INTERVAL: Duration = Duration::from_secs(15 * 60);

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
    /// The stack of a cell or a load; `None` for a capture, whose packets may be of any.
    pub stack: Option<Stack>,
    /// How it is repeated: `as captured`, `as run`, `each interval`, `a connection each`, `kept open`, `kept for N`,
    /// `forgotten by the NAT`, each of them with `, renewed`;
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
pub fn activity(device: &Device, tell: impl FnOnce(&mut dyn Observer)) -> Activity {
    let mut observers = (Meter::new(device), (UsageMeter::default(), FirstTimes::default()));
    tell(&mut observers);
    let (meter, (usage, FirstTimes { first, first_up })) = observers;
    let times = first.zip(first_up);
    Activity {
        account: meter.finish(),
        wake: device.wake.map_or(0.0, |wake| wake.time.as_secs_f64()),
        first_up: times.map(|(first, up)| up.saturating_since(first).as_secs_f64()),
        readings: usage.finish().messages,
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
        let readings: f64 = cycles().map(|cycle| cycle.readings / cycle.every).sum();
        let sum: Option<f64> = cycles().map(|cycle| Some(of(cycle)? / cycle.every)).sum();
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
    /// That most of the capture could not be read.
    pub unread: Option<Failure>,
    /// Whether a message of a comparison carries several readings, of which there is then one message at each interval.
    pub has_batches: bool,
    /// Why the capture could not be read to its end.
    pub fault: Option<String>,
}

impl Source {
    /// Reads what the command line names.
    pub fn read(arguments: &CostArguments, device: Option<&Device>) -> Result<Self, Failure> {
        let source = if arguments.source.is_dir() {
            refuse_capture_options(arguments)?;
            cells(arguments, device)?
        } else {
            refuse_sessions(arguments, OTHER_SOURCE)?;
            capture::read(arguments, device)?
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
    let mut observers = (
        device.map(Meter::new),
        (UsageMeter::default(), Observed::default()),
    );
    tell(&mut observers);
    let (meter, (usage, observed)) = observers;
    let account = match every {
        // Its tails are over before it comes again.
        Some(_) => meter.map(Meter::finish),
        None => meter.map(|meter| meter.account().clone()),
    };
    let cycle = Cycle {
        account,
        usage: usage.finish(),
        readings: 1.0,
        every: every.unwrap_or_else(|| observed.duration().as_secs_f64()),
    };
    (cycle, observed)
}

/// Why the connections of captures, loads and reports in cells are as they are.
const OTHER_SOURCE: &str = "only the connections of a comparison can be made again";

/// Refuses the options of connections that are made again, where they would change nothing.
fn refuse_sessions(arguments: &CostArguments, why: &str) -> Result<(), Failure> {
    let given = [
        arguments.session_lifetime.map(|_| "--session-lifetime"),
        arguments.nat_timeout.map(|_| "--nat-timeout"),
    ];
    given.into_iter().flatten().next().map_or(Ok(()), |flag| {
        Err(Failure::usage(format!(
            "{flag} has no effect on {}: {why}",
            arguments.source.display()
        ))
        .with_hint("give the folder of a comparison that was run without --interval"))
    })
}

/// Refuses the options of captures beside a results folder, where they would change nothing.
fn refuse_capture_options(arguments: &CostArguments) -> Result<(), Failure> {
    let given = [
        arguments.client.map(|_| "--client"),
        arguments.keylog.as_ref().map(|_| "--keylog"),
    ];
    let shown = arguments.source.display();
    given.into_iter().flatten().next().map_or(Ok(()), |flag| {
        Err(
            Failure::usage(format!("{flag} has no effect on {shown}: it is about a capture")).with_hint(
                format!(
                    "give its capture instead, e.g. {}",
                    capture::in_folder(&arguments.source).display()
                ),
            ),
        )
    })
}

fn cells(arguments: &CostArguments, device: Option<&Device>) -> Result<Source, Failure> {
    let folder = RunFolder::open(&arguments.source);
    if wirecost_report::load::is_load(&folder) {
        refuse_sessions(arguments, OTHER_SOURCE)?;
        return loads::read(arguments, &folder, device);
    }
    if wirecost_results::nbiot::is_nbiot(&folder) {
        refuse_sessions(arguments, OTHER_SOURCE)?;
        return nbiot_cells::read(arguments, &folder, device);
    }
    let summary: Summary = folder.read_json("summary.json")?;
    let ladders: Vec<Ladder> = folder.read_json("ladder.json")?;
    let mut source = Source::default();
    let mut is_of_one = false;
    let seen = ladders.iter().enumerate().filter_map(|(position, ladder)| {
        let index = ladder.cell.map_or(position, |cell| cell as usize);
        let cell = summary.cells.get(index)?;
        cell.message.is_some().then_some((cell, ladder))
    });
    let seen: Vec<sessions::Seen<'_>> = seen.collect();
    let mut readings = seen.iter().filter_map(|(cell, _)| cell.readings.as_ref());
    source.has_batches = readings.any(|readings| readings.count > 1);
    for (cell, ladder) in seen.iter().copied() {
        let is_as_run = arguments
            .interval
            .is_none_or(|interval| cell.interval_ns == Some(interval.as_nanos() as u64));
        let every = interval_of(arguments, cell).as_secs_f64();
        if let Some(lives) = devices::read(&folder, cell).filter(|_| is_as_run) {
            refuse_sessions(
                arguments,
                "a cell with an interval has the connections that it was run with",
            )?;
            source.traffic.push(Traffic {
                label: label(cell, ladder),
                stack: cell.stack.parse().ok(),
                mode: mode(cell),
                interval: every,
                keep_alive: None,
                cycles: vec![Cycle::mean(
                    &devices::lives(&lives, cell, device)?,
                    lives.devices.len(),
                )],
                activity: None,
            });
        } else {
            is_of_one |= device.is_some();
            let cell = ((cell, ladder), &seen[..]);
            sessions::rows(arguments, device, cell, every, &mut source.traffic)?;
        }
    }
    session_notes(arguments, &mut source);
    if is_of_one {
        source.notes.push(
            "the energy of a cell without an interval is that of one device's connect and first message; bytes are means over its devices"
                .to_owned(),
        );
    }
    Ok(source)
}

/// Says what sessions that end and mappings that are forgotten do to the rows.
fn session_notes(arguments: &CostArguments, source: &mut Source) {
    let has = |source: &Source, word: &str| source.traffic.iter().any(|traffic| traffic.mode.contains(word));
    if let Some(lifetime) = arguments.session_lifetime {
        let renewed = has(source, "renewed");
        source.notes.push(match renewed {
            true => format!(
                "renewed: one reading in {} has a full handshake, the others are as without --session-lifetime",
                time(lifetime)
            ),
            false => "--session-lifetime changes nothing: no row keeps or resumes a session".to_owned(),
        });
    }
    if arguments.nat_timeout.is_some() {
        let forgotten = has(source, "forgotten");
        source.notes.push(if forgotten {
            "forgotten by the NAT: no packet within its time-out, so that each reading makes its connection again; keep-alives are \
             counted in full"
                .to_owned()
        } else {
            "--nat-timeout changes nothing: no kept connection is silent for longer".to_owned()
        });
    }
}

/// The name of a cell's rows.
pub fn label(cell: &Cell, ladder: &Ladder) -> String {
    let readings = cell.readings.as_ref().map(|readings| format!("{readings}: "));
    format!(
        "{} {} {}{}B {} {}",
        cell.stack,
        cell.start,
        readings.unwrap_or_default(),
        cell.payload_bytes,
        ladder.link,
        cell.engine
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
