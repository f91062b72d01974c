//! What each stack costs, and which requirement it fails.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::time::Duration;

pub use wirecost_account::Spread;
use wirecost_account::{Curve, Cycle, Packets, ReadingTime, Terms, life};
use wirecost_energy::{Device, mean_power};
use wirecost_proto::calendar::Period;
use wirecost_proto::shown;
use wirecost_report::choice::{Layers, layers_of};
use wirecost_results::Cell;
use wirecost_results::all_in::Parts;
use wirecost_results::traffic::CellTraffic;
use wirecost_scenario::tariff;
use wirecost_stack::Stack;
use wirecost_stats::{Estimate, Judgement};

use super::ways::Way;
use super::{Inputs, needs};
use crate::arguments::By;
use crate::commands::cost::lives;
use crate::exit::Failure;

/// Share of the bytes from which on a cause is named.
const NAMED_SHARE: f64 = 0.4;

/// A stack with a way to use its connections.
pub struct Row {
    pub stack: Stack,
    /// How it is used.
    pub way: Way,
    /// The key of its cell.
    pub key: String,
    /// What it costs; `None` if it was not run.
    pub figures: Option<Figures>,
    /// Requirements that it fails: the name of each, a colon and why. `not run` is one too.
    pub fails: Vec<String>,
    /// What makes up most of its bytes.
    pub note: Option<String>,
    /// The parts of the bytes of a message.
    pub parts: Option<Parts>,
    /// The bytes of a message by layer, up and down, without its share of everything else.
    pub layers: Option<Layers>,
    /// What it is against the first one, where it is not more; `None` of the first one too.
    pub beside_first: Option<Judgement>,
}

/// What a stack costs.
pub struct Figures {
    /// Bytes of IP packets per reading, both ways, with its share of everything else.
    pub bytes: Spread,
    /// The same per month of one device.
    pub month_bytes: f64,
    /// Mean power in watts; `None` without a device.
    pub watts: Option<Spread>,
    /// Money per month, of the packets of each device by itself; `None` without a tariff.
    money: Option<Spread>,
    /// Energy, years, money and time.
    pub outcome: wirecost_account::Figures,
    /// What its current can be drawn from; `None` in a modelled NB-IoT cell.
    drawn: Option<Drawn>,
    /// Readings that did not arrive, of all.
    pub lost: (u64, u64),
}

/// The packets of a device's life, and how often it is repeated.
struct Drawn {
    packets: Packets,
    interval: Duration,
    every: Duration,
}

impl Figures {
    /// The current of one reading and of a day; `None` without a device, in a modelled NB-IoT cell, and where there are too many
    /// packets to be drawn.
    pub fn currents(&self, device: Option<&Device>) -> [Option<Curve>; 2] {
        let Some((drawn, device)) = self.drawn.as_ref().zip(device) else {
            return [None, None];
        };
        [
            drawn.packets.reading(device, drawn.interval),
            drawn.packets.day(device, drawn.every),
        ]
    }
}

impl Row {
    /// Why it is not behind the first one, if it is not.
    pub fn beside_first(&self) -> Option<&'static str> {
        match self.beside_first? {
            Judgement::Less | Judgement::More => None,
            Judgement::Equal => Some("equal to the first"),
            Judgement::Alike => Some("no difference of note from the first"),
            Judgement::TooFew => Some("too few samples to tell it from the first"),
        }
    }

    /// The time of a reading; `None` if none arrived.
    pub fn time(&self) -> Option<ReadingTime> {
        self.figures.as_ref()?.outcome.time
    }

    /// Whether it meets the requirements.
    pub fn is_met(&self) -> bool {
        self.figures.is_some() && self.fails.is_empty()
    }
}

/// The packets of a cell's devices, where they are known.
pub(in crate::commands) type Recorded<'a> = dyn Fn(&Cell) -> Option<Cow<'a, CellTraffic>> + 'a;

/// A row for each cell of the comparison.
pub fn rows<'c>(
    inputs: &Inputs<'_>,
    cells: impl IntoIterator<Item = &'c Cell>,
    recorded: &Recorded<'_>,
) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Row> = Vec::new();
    for cell in cells {
        let row = row(inputs, cell, recorded(cell).as_deref())?;
        // Without a connection both ways are the same; the one with more readings stands.
        let twin = rows
            .iter()
            .position(|other| other.stack == row.stack && other.way == row.way);
        match twin {
            Some(twin) => rows[twin] = row,
            None => rows.push(row),
        }
    }
    Ok(rows)
}

/// The row of a cell with the packets of its devices.
///
/// # Errors
/// The packets cannot be read.
pub(super) fn row(inputs: &Inputs<'_>, cell: &Cell, seen: Option<&CellTraffic>) -> Result<Row, Failure> {
    let stack: Stack = cell
        .stack
        .parse()
        .map_err(|error| Failure::internal(format_args!("{}: {error}", cell.stack)))?;
    let mut fails: Vec<String> = needs::refusals(inputs.arguments, stack);
    let tariff = inputs.tariff.as_ref();
    let refusal = tariff.and_then(|tariff| tariff::refusal(tariff, stack));
    fails.extend(refusal.map(|why| format!("tariff: {why}")));
    let way = Way::from_arguments(inputs.arguments, &inputs.link, cell, stack);
    // The account is that of messages.
    let figures = figures(inputs, cell, seen)?.map(|figures| Figures {
        bytes: figures.bytes.scaled(1.0 / way.readings as f64),
        ..figures
    });
    match &figures {
        Some(figures) => {
            fails.extend(needs::losses(inputs.arguments, figures.lost));
            fails.extend(needs::invalid(cell));
            fails.extend(failed(inputs, figures));
        }
        None => fails.push(match &cell.not_run {
            Some(why) => format!("not run: {why}"),
            None => "not run: no device finished".to_owned(),
        }),
    }
    Ok(Row {
        stack,
        way,
        key: cell.key.clone(),
        note: figures.as_ref().and_then(|_| note(stack, cell)),
        parts: figures.as_ref().and_then(|_| Parts::from_cell(cell)),
        layers: figures.as_ref().and_then(|_| layers_of(cell)),
        figures,
        fails,
        beside_first: None,
    })
}

fn figures(inputs: &Inputs<'_>, cell: &Cell, seen: Option<&CellTraffic>) -> Result<Option<Figures>, Failure> {
    let Some(seen) = seen else {
        return Ok(None);
    };
    let device = inputs.device.as_ref();
    let lives = lives::cycles(seen, cell, device)?;
    let Some(bytes) = Spread::from_values(lives.iter().map(|life| life.usage.wire_bytes() / life.readings))
    else {
        return Ok(None);
    };
    let watts =
        device.and_then(|device| Spread::from_values(lives.iter().filter_map(|life| watts(device, life))));
    let fleet = inputs.arguments.fleet.fleet();
    let money = inputs.tariff.as_ref().and_then(|tariff| {
        Spread::from_values(
            lives
                .iter()
                .map(|life| tariff.bill(&life.used_in(Period::Month), fleet.devices).amount),
        )
    });
    let traffic = life::of_mean_device(cell.stack.clone(), cell, &lives, device);
    let terms = Terms {
        device,
        tariff: inputs.tariff.as_ref(),
        battery: inputs.battery,
        beside: inputs.beside,
        fleet,
    };
    let offered = cell.outcomes.offered;
    // A late reading has arrived: `within` judges its time.
    let arrived = cell.outcomes.acknowledged + cell.outcomes.delivered + cell.outcomes.late;
    let outcome = tariff::figures(&terms, &traffic);
    let interval = cell.interval_ns.map_or(Duration::ZERO, Duration::from_nanos);
    let every = traffic.cycles.first().map_or(0.0, |cycle| cycle.every);
    let every = Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX);
    let packets = device
        // In a modelled cell the packets alone do not say what the radio did.
        .filter(|_| cell.link.nbiot_cell.is_none())
        .and_then(|_| Packets::of_cell(seen));
    Ok(Some(Figures {
        month_bytes: outcome.month.wire_bytes(),
        bytes,
        watts,
        money,
        outcome,
        drawn: packets.map(|packets| Drawn {
            packets,
            interval,
            every,
        }),
        lost: (offered.saturating_sub(arrived), offered),
    }))
}

/// The mean power of a device that lives so again and again, in watts.
fn watts(device: &Device, life: &Cycle) -> Option<f64> {
    Some(mean_power(device, &[life.repeated()?]).total().joules)
}

fn failed(inputs: &Inputs<'_>, figures: &Figures) -> Vec<String> {
    let arguments = inputs.arguments;
    let mut fails = Vec::new();
    if let Some((time, within)) = figures.outcome.time.zip(arguments.within)
        && time.total() > within
    {
        let parts = time.parts();
        let parts = parts
            .iter()
            .map(|(name, part)| format!("{name} {}", shown::time(*part)));
        let parts = match parts.len() {
            ..2 => String::new(),
            _ => format!(" ({})", parts.collect::<Vec<String>>().join(", ")),
        };
        fails.push(format!(
            "within: {} {}{parts}, above {}",
            time.statistic.name(),
            shown::time(time.total()),
            shown::time(within)
        ));
    }
    let weak = inputs.battery.zip(inputs.device.as_ref());
    // A cell that cannot give the current of sending fails however much charge it has.
    let weak = weak.and_then(|(battery, device)| battery.too_weak_for(device));
    fails.extend(weak.map(|weak| format!("battery: {weak}")));
    if let Some(([years, low, high], least)) = figures.outcome.years.zip(arguments.battery_years)
        && years < least
    {
        let decimals = needs::decimals(years, least);
        fails.push(format!(
            "battery-years: {years:.decimals$} y ({low:.2} to {high:.2}), below {least} y"
        ));
    }
    if let Some(most) = arguments.monthly_bytes
        && figures.month_bytes > most.bytes() as f64
    {
        let (bytes, most) = (figures.month_bytes / 1e6, most.bytes() as f64 / 1e6);
        let decimals = needs::decimals(bytes, most);
        fails.push(format!(
            "monthly-bytes: {bytes:.decimals$} MB a month, above {most:.decimals$} MB"
        ));
    }
    fails
}

/// What makes up most of the bytes, if it is not the message, and whether the server ends kept connections.
fn note(stack: Stack, cell: &Cell) -> Option<String> {
    // A message with several readings comes less often than they do.
    let interval = Duration::from_nanos(cell.interval_ns.unwrap_or_default());
    let ends = stack.server_idle_timeout().filter(|timeout| *timeout <= interval);
    let ends = ends
        .filter(|_| cell.messages_per_connection > 1)
        .map(|timeout| format!("the server closes after {} s", timeout.as_secs()));
    let (late, offered) = (cell.outcomes.late, cell.outcomes.offered);
    let late = (late > 0).then(|| format!("{late} of {offered} readings are answered late"));
    let notes: Vec<String> = ends.into_iter().chain(late).chain(most(cell)).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// What makes up most of the bytes, if it is not the message.
fn most(cell: &Cell) -> Option<String> {
    let parts = Parts::from_cell(cell)?;
    let all = parts.connection + parts.message + parts.keep_alive;
    let named = [
        ("keep-alives", parts.keep_alive / all),
        ("handshake and close", parts.connection / all),
    ];
    let named = named.into_iter().find(|(_, share)| *share >= NAMED_SHARE);
    named.map(|(what, share)| format!("{:.0} % {what}", share * 100.0))
}

/// Orders rows: those that meet the requirements first, each part by the figure. Those that are not more than the first are
/// marked.
pub fn rank(rows: &mut [Row], by: By) {
    rows.sort_by(|one, other| {
        let met = other.is_met().cmp(&one.is_met());
        met.then_with(|| match (value(one, by), value(other, by)) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            // What was not run has no figure, and goes to the end.
            (one, other) => other.is_some().cmp(&one.is_some()),
        })
        .then(Ordering::Equal)
    });
    let Some(first) = rows.first().filter(|row| row.is_met()) else {
        return;
    };
    let best = estimate(first, by);
    for row in rows.iter_mut().skip(1).filter(|row| row.is_met()) {
        let judgement = best.zip(estimate(row, by)).map(|(best, row)| row.against(&best));
        row.beside_first = match judgement {
            Some(Judgement::More) => None,
            Some(judgement @ (Judgement::Less | Judgement::Equal | Judgement::Alike | Judgement::TooFew)) => {
                Some(judgement)
            }
            // A row without an interval cannot be told to be behind the first.
            None => Some(Judgement::TooFew),
        };
    }
}

fn value(row: &Row, by: By) -> Option<f64> {
    let figures = row.figures.as_ref()?;
    match by {
        By::Bytes => Some(figures.bytes.mean.mean),
        By::Energy => figures.watts.map(|watts| watts.mean.mean),
        By::Money => figures.outcome.bill.as_ref().map(|bill| bill.amount),
        By::Time => row.time().map(|time| time.total().as_secs_f64()),
    }
}

/// What rows are ordered by, with its interval.
pub(super) fn estimate(row: &Row, by: By) -> Option<Estimate> {
    let figures = row.figures.as_ref()?;
    let interval = match by {
        By::Bytes => figures.bytes.interval(),
        By::Energy => figures.watts.and_then(|watts| watts.interval()),
        By::Money => figures.money.and_then(|money| money.interval()),
        By::Time => row.time().and_then(|time| time.interval()),
    };
    Some(Estimate {
        value: value(row, by)?,
        interval,
    })
}

/// The rows that a table shows: of those that differ only in how their connections start, the first.
pub fn shown(rows: &[Row]) -> Vec<(usize, &Row)> {
    let mut shown: Vec<(usize, &Row)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let is_alike = |(_, other): &(usize, &Row)| {
            other.stack == row.stack && other.way.use_of_connections() == row.way.use_of_connections()
        };
        if !shown.iter().any(is_alike) {
            shown.push((index, row));
        }
    }
    shown
}

/// The ways of rows.
pub fn ways(rows: &[Row]) -> Vec<&Way> {
    rows.iter().map(|row| &row.way).collect()
}
