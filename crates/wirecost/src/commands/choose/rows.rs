//! What each stack costs, and which requirement it fails.

use std::cmp::Ordering;

use wirecost_cost::tariff::MONTH_SECONDS;
use wirecost_energy::{Device, Repeated, mean_power};
use wirecost_results::all_in::Parts;
use wirecost_results::{Cell, RunFolder, Summary};
use wirecost_stack::Stack;
use wirecost_stats::MeanInterval;

use super::times::{ReadingTime, shown};
use super::ways::Way;
use super::{Inputs, needs};
use crate::arguments::By;
use crate::commands::cost::devices;
use crate::commands::cost::outcome::{Asked, Outcome};
use crate::commands::cost::traffic::{Cycle, Traffic, mode};
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
    /// The time of a reading; `None` if none arrived.
    pub times: Option<ReadingTime>,
    /// Whether its interval overlaps with that of the first one.
    pub is_not_separable: bool,
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
    pub outcome: Outcome,
    /// Readings that did not arrive, of all.
    pub lost: (u64, u64),
}

/// A figure over the simulated devices.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// The mean, and its 95 % interval where the devices are enough for one.
    pub mean: MeanInterval,
    /// The least and the most of a device.
    pub range: [f64; 2],
}

impl Spread {
    /// The spread of a figure; `None` without a device.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.collect();
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().fold(least, f64::max);
        Some(Self {
            mean: MeanInterval::of(&values)?,
            range: [least, most],
        })
    }

    /// The spread of a part of the figure.
    #[must_use]
    fn scaled(self, part: f64) -> Self {
        let Self { mean, range } = self;
        Self {
            mean: MeanInterval {
                mean: mean.mean * part,
                low: mean.low.map(|low| low * part),
                high: mean.high.map(|high| high * part),
                ..mean
            },
            range: range.map(|end| end * part),
        }
    }

    /// The 95 % interval of the mean; the range of the devices, where they are too few for their skewness; `None` for one device.
    pub fn interval(&self) -> Option<[f64; 2]> {
        let ends = self.mean.low.zip(self.mean.high);
        let interval = ends.map_or(self.range, |(low, high)| [low, high]);
        (self.mean.n > 1).then_some(interval)
    }
}

impl Row {
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
    let way = Way::of(inputs.arguments, &inputs.link, cell, stack);
    let every = inputs.arguments.every.unwrap_or_default();
    let times = ReadingTime::of(cell, &way, every, inputs.device.as_ref());
    // The account is that of messages.
    let figures = figures(inputs, cell, folder)?.map(|figures| Figures {
        bytes: figures.bytes.scaled(1.0 / way.readings as f64),
        ..figures
    });
    match &figures {
        Some(figures) => fails.extend(failed(inputs, figures, times)),
        None => fails.push(match &cell.not_run {
            Some(why) => format!("not run: {why}"),
            None => "not run: no device finished".to_owned(),
        }),
    }
    Ok(Row {
        stack,
        way,
        key: cell.key.clone(),
        note: figures.as_ref().and_then(|_| note(cell)),
        parts: figures.as_ref().and_then(|_| Parts::of(cell)),
        times: times.filter(|_| figures.is_some()),
        figures,
        fails,
        is_not_separable: false,
    })
}

fn figures(inputs: &Inputs<'_>, cell: &Cell, folder: &RunFolder) -> Result<Option<Figures>, Failure> {
    let Some(seen) = devices::read(folder, cell) else {
        return Ok(None);
    };
    let device = inputs.device.as_ref();
    let lives = devices::lives(&seen, cell, device)?;
    let Some(bytes) = Spread::of(lives.iter().map(|life| life.usage.wire_bytes() / life.readings)) else {
        return Ok(None);
    };
    let watts = device.and_then(|device| Spread::of(lives.iter().filter_map(|life| watts(device, life))));
    let month = |life: &Cycle| life.usage.scaled(MONTH_SECONDS / life.every);
    let money = inputs
        .tariff
        .as_ref()
        .and_then(|tariff| Spread::of(lives.iter().map(|life| tariff.bill(&month(life)).amount)));
    let traffic = Traffic {
        label: cell.stack.clone(),
        mode: mode(cell),
        interval: cell.interval_ns.unwrap_or_default() as f64 / 1e9,
        keep_alive: None,
        cycles: vec![Cycle::mean(&lives, lives.len())],
        activity: None,
    };
    let asked = Asked {
        device,
        tariff: inputs.tariff.as_ref(),
        battery: inputs
            .arguments
            .battery
            .map(|size| size.battery(inputs.arguments.self_discharge.value())),
        devices: 1,
    };
    let offered = cell.outcomes.offered;
    let arrived = cell.outcomes.acknowledged + cell.outcomes.delivered;
    Ok(Some(Figures {
        month_bytes: bytes.mean.mean * MONTH_SECONDS / traffic.interval,
        bytes,
        watts,
        money,
        outcome: asked.outcome(&traffic)?,
        lost: (offered.saturating_sub(arrived), offered),
    }))
}

/// The mean power of a device that lives so again and again, in watts.
fn watts(device: &Device, life: &Cycle) -> Option<f64> {
    let (account, every) = (life.account.as_ref()?, life.every);
    Some(mean_power(device, &[Repeated { account, every }]).total().joules)
}

fn failed(inputs: &Inputs<'_>, figures: &Figures, times: Option<ReadingTime>) -> Vec<String> {
    let arguments = inputs.arguments;
    let mut fails = Vec::new();
    if let Some((time, within)) = times.zip(arguments.within)
        && time.total() > within
    {
        let parts = time.parts();
        let parts = parts
            .iter()
            .map(|(name, part)| format!("{name} {}", shown(*part)));
        let parts = match parts.len() {
            ..2 => String::new(),
            _ => format!(" ({})", parts.collect::<Vec<String>>().join(", ")),
        };
        fails.push(format!(
            "within: {} {}{parts}, above {}",
            time.what,
            shown(time.total()),
            shown(within)
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

/// What makes up most of the bytes, if it is not the message.
fn note(cell: &Cell) -> Option<String> {
    let parts = Parts::of(cell)?;
    let all = parts.connection + parts.message + parts.keep_alive;
    let named = [
        ("keep-alives", parts.keep_alive / all),
        ("handshake and close", parts.connection / all),
    ];
    let named = named.into_iter().find(|(_, share)| *share >= NAMED_SHARE);
    named.map(|(what, share)| format!("{:.0} % {what}", share * 100.0))
}

/// Orders rows: those that meet the requirements first, each part by the figure. Those that cannot be told apart from the
/// first are marked.
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
    let best = interval(first, by);
    for row in rows.iter_mut().skip(1).filter(|row| row.is_met()) {
        row.is_not_separable = match (best, interval(row, by)) {
            (Some([_, high]), Some([low, _])) => low <= high,
            _ => true,
        };
    }
}

fn value(row: &Row, by: By) -> Option<f64> {
    let figures = row.figures.as_ref()?;
    match by {
        By::Bytes => Some(figures.bytes.mean.mean),
        By::Energy => figures.watts.map(|watts| watts.mean.mean),
        By::Money => figures.outcome.bill.map(|bill| bill.amount),
        By::Time => row.times.map(|time| time.total().as_secs_f64()),
    }
}

fn interval(row: &Row, by: By) -> Option<[f64; 2]> {
    let figures = row.figures.as_ref()?;
    match by {
        By::Bytes => figures.bytes.interval(),
        By::Energy => figures.watts.and_then(|watts| watts.interval()),
        By::Money => figures.money.and_then(|money| money.interval()),
        By::Time => row.times.and_then(|time| time.interval()),
    }
}
