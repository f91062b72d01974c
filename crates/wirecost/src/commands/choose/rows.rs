//! What each stack costs, and which requirement it fails.

use std::cmp::Ordering;
use std::time::Duration;

pub use wirecost_account::Spread;
use wirecost_account::{Cycle, Terms, Way, life};
use wirecost_energy::{Device, mean_power};
use wirecost_proto::calendar::MONTH_SECONDS;
use wirecost_proto::shown;
use wirecost_results::all_in::Parts;
use wirecost_results::summary::Times;
use wirecost_results::{Cell, RunFolder, Summary};
use wirecost_scenario::tariff;
use wirecost_stack::Stack;
use wirecost_stats::{Estimate, Judgement};

use super::{Inputs, needs};
use crate::arguments::By;
use crate::commands::cost::{lives, outcome};
use crate::exit::Failure;

/// Share of the bytes from which on a cause is named.
const NAMED_SHARE: f64 = 0.4;
/// The part of a time-out of an address translator after which a keep-alive is sent.
const BEFORE_TIMEOUT: f64 = 0.9;

/// A stack with a way to use its connections.
pub struct Row {
    pub stack: Stack,
    /// `a connection each`, `kept for N`, `no connection`.
    pub way: String,
    /// What it costs; `None` if it was not run.
    pub figures: Option<Figures>,
    /// Requirements that it fails: the name of each, a colon and why. `not run` is one too.
    pub fails: Vec<String>,
    /// What makes up most of its bytes.
    pub note: Option<String>,
    /// The parts of its bytes.
    pub parts: Option<Parts>,
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
    /// Energy, years and money.
    pub outcome: wirecost_account::Figures,
    /// 95th percentile of the time of a reading, or the longest where there are too few.
    pub time: Option<(Duration, &'static str)>,
    /// The 95 % interval of that time, in seconds; `None` where there are too few.
    time_interval: Option<[f64; 2]>,
    /// Readings that did not arrive, of all.
    pub lost: (u64, u64),
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

    /// Whether it meets the requirements.
    pub fn is_met(&self) -> bool {
        self.figures.is_some() && self.fails.is_empty()
    }
}

/// A row for each cell of the comparison.
pub fn rows(inputs: &Inputs<'_>, summary: &Summary, folder: &RunFolder) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Row> = Vec::new();
    for cell in &summary.cells {
        let row = row(inputs, cell, folder)?;
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

fn row(inputs: &Inputs<'_>, cell: &Cell, folder: &RunFolder) -> Result<Row, Failure> {
    let stack: Stack = cell
        .stack
        .parse()
        .map_err(|error| Failure::internal(format_args!("{}: {error}", cell.stack)))?;
    let mut fails: Vec<String> = needs::refusals(inputs.arguments, stack);
    let tariff = inputs.tariff.as_ref();
    let refusal = tariff.and_then(|tariff| tariff::refusal(tariff, stack));
    fails.extend(refusal.map(|why| format!("tariff: {why}")));
    let figures = figures(inputs, cell, folder)?;
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
        way: Way::of(cell).to_string(),
        note: figures.as_ref().and_then(|_| note(inputs, stack, cell)),
        parts: figures.as_ref().and_then(|_| Parts::of(cell)),
        figures,
        fails,
        beside_first: None,
    })
}

fn figures(inputs: &Inputs<'_>, cell: &Cell, folder: &RunFolder) -> Result<Option<Figures>, Failure> {
    let Some(seen) = lives::recorded(folder, cell) else {
        return Ok(None);
    };
    let device = inputs.device.as_ref();
    let lives = lives::of(&seen, cell, device)?;
    let Some(bytes) = Spread::of(lives.iter().map(|life| life.usage.wire_bytes() / life.readings)) else {
        return Ok(None);
    };
    let watts = device.and_then(|device| Spread::of(lives.iter().filter_map(|life| watts(device, life))));
    let month = |life: &Cycle| life.usage.scaled(MONTH_SECONDS / life.every);
    let money = inputs
        .tariff
        .as_ref()
        .and_then(|tariff| Spread::of(lives.iter().map(|life| tariff.bill(&month(life)).amount)));
    let traffic = life::of_mean_device(cell.stack.clone(), cell, &lives);
    let terms = Terms {
        device,
        tariff: inputs.tariff.as_ref(),
        battery: inputs
            .arguments
            .battery
            .map(|size| size.battery(inputs.arguments.self_discharge.value())),
        devices: 1,
    };
    let offered = cell.outcomes.offered;
    let arrived = cell.outcomes.acknowledged + cell.outcomes.delivered + cell.outcomes.late;
    let outcome = outcome::figures(&terms, &traffic)?;
    Ok(Some(Figures {
        month_bytes: outcome.month.wire_bytes(),
        bytes,
        watts,
        money,
        outcome,
        time: times_of(cell).map(time),
        time_interval: times_of(cell).and_then(time_interval),
        lost: (offered.saturating_sub(arrived), offered),
    }))
}

/// The mean power of a device that lives so again and again, in watts.
fn watts(device: &Device, life: &Cycle) -> Option<f64> {
    Some(mean_power(device, &[life.repeated()?]).total().joules)
}

/// The times of a reading: with its connect, where each reading makes one.
fn times_of(cell: &Cell) -> Option<&Times> {
    let with_connect = cell.first_message_time_ns.as_ref();
    let alone = cell
        .message
        .as_ref()
        .and_then(|message| message.response_time_ns.as_ref());
    match cell.messages_per_connection {
        1 => with_connect.or(alone),
        _ => alone,
    }
}

fn time(times: &Times) -> (Duration, &'static str) {
    match times.p95 {
        Some(p95) => (Duration::from_nanos(p95), "p95"),
        None => (Duration::from_nanos(times.max), "longest"),
    }
}

fn time_interval(times: &Times) -> Option<[f64; 2]> {
    if times.min == times.max {
        return Some([times.max as f64 / 1e9; 2]);
    }
    let interval = times.quantile_ci95.get("p95").copied().flatten()?;
    Some(interval.map(|nanos| nanos as f64 / 1e9))
}

fn failed(inputs: &Inputs<'_>, figures: &Figures) -> Vec<String> {
    let arguments = inputs.arguments;
    let mut fails = Vec::new();
    if let Some(((time, what), within)) = figures.time.zip(arguments.within)
        && time > within
    {
        fails.push(format!(
            "within: {what} {}, above {}",
            shown::time(time),
            shown::time(within)
        ));
    }
    if let Some(([years, low, high], least)) = figures.outcome.years.zip(arguments.battery_years)
        && years < least
    {
        fails.push(format!(
            "battery-years: {years:.2} y ({low:.2} to {high:.2}), below {least} y"
        ));
    }
    if let Some(most) = arguments.monthly_bytes
        && figures.month_bytes > most.bytes() as f64
    {
        fails.push(format!(
            "monthly-bytes: {:.2} MB a month, above {:.2} MB",
            figures.month_bytes / 1e6,
            most.bytes() as f64 / 1e6
        ));
    }
    fails
}

/// What makes up most of the bytes, if it is not the message, and whether the server ends kept connections.
fn note(inputs: &Inputs<'_>, stack: Stack, cell: &Cell) -> Option<String> {
    let every = inputs.arguments.every.unwrap_or_default();
    let ends = stack.server_idle_timeout().filter(|timeout| *timeout <= every);
    let ends = ends
        .filter(|_| cell.messages_per_connection > 1)
        .map(|timeout| format!("the server closes after {} s", timeout.as_secs()));
    let (late, offered) = (cell.outcomes.late, cell.outcomes.offered);
    let late = (late > 0).then(|| format!("{late} of {offered} readings are answered late"));
    let notes: Vec<String> = ends.into_iter().chain(late).chain(most(inputs, cell)).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// What makes up most of the bytes, if it is not the message.
fn most(inputs: &Inputs<'_>, cell: &Cell) -> Option<String> {
    let parts = Parts::of(cell)?;
    let all = parts.connection + parts.message + parts.keep_alive;
    let keep_alive = parts.keep_alive / all;
    if keep_alive >= NAMED_SHARE {
        let percent = keep_alive * 100.0;
        return Some(match longer_keep_alive(inputs, cell) {
            Some(longer) => format!(
                "keep-alive is {percent:.0} % of it; --keep-alive {}s would save {:.0} %",
                longer.as_secs(),
                percent * (1.0 - inputs.arguments.keep_alive.as_secs_f64() / longer.as_secs_f64())
            ),
            None => format!("keep-alive is {percent:.0} % of it"),
        });
    }
    let connection = parts.connection / all;
    (connection >= NAMED_SHARE).then(|| format!("handshake and close are {:.0} % of it", connection * 100.0))
}

/// The longest keep-alive that the link's address translator allows, if it is longer than the one asked for and the stack follows it.
fn longer_keep_alive(inputs: &Inputs<'_>, cell: &Cell) -> Option<Duration> {
    let stack: Stack = cell.stack.parse().ok()?;
    // Heartbeats of AMQP follow the container (AMQP 1.0 section 2.4.5).
    let timeout = inputs.link.nat.tcp.filter(|_| stack.is_mqtt())?;
    let longer = Duration::from_secs((timeout.as_secs_f64() * BEFORE_TIMEOUT) as u64);
    (longer > inputs.arguments.keep_alive).then_some(longer)
}

/// Orders rows: those that meet the requirements first, each part by the figure. Those that are not more than the first are
/// marked.
pub fn rank(rows: &mut [Row], by: By) {
    rows.sort_by(|one, other| {
        let met = other.is_met().cmp(&one.is_met());
        met.then_with(|| match (value(one, by), value(other, by)) {
            (Some(one), Some(other)) => one.total_cmp(&other),
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
            None => Some(Judgement::TooFew),
        };
    }
}

fn value(row: &Row, by: By) -> Option<f64> {
    let figures = row.figures.as_ref()?;
    match by {
        By::Bytes => Some(figures.bytes.mean.mean),
        By::Energy => figures.watts.map(|watts| watts.mean.mean),
        By::Money => figures.outcome.bill.map(|bill| bill.amount),
        By::Time => figures.time.map(|(time, _)| time.as_secs_f64()),
    }
}

fn estimate(row: &Row, by: By) -> Option<Estimate> {
    let figures = row.figures.as_ref()?;
    let interval = match by {
        By::Bytes => figures.bytes.interval(),
        By::Energy => figures.watts.and_then(|watts| watts.interval()),
        By::Money => figures.money.and_then(|money| money.interval()),
        By::Time => figures.time_interval,
    };
    Some(Estimate {
        value: value(row, by)?,
        interval,
    })
}
