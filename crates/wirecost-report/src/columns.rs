//! The columns of every table: their values, their texts, and the ranking of cells.

mod ranking;
mod shown;

use wirecost_results::catalogue::{Metric, Quantity};
use wirecost_results::summary::Times;
use wirecost_results::{Cell, Section};

use crate::number;
use crate::per::Per;
use crate::readings::bytes_per_reading;
use wirecost_stats::Estimate;

pub(crate) use ranking::{ALIKE_MEANS, Contest, NO_DIFFERENCE, Rank, TOO_FEW_MEANS, TOO_FEW_SAMPLES};
pub(crate) use shown::shown;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// IP bytes of a message, device to server.
    Up,
    /// IP bytes of a message, server to device.
    Down,
    /// IP bytes of a message, both directions.
    Total,
    /// IP bytes of a message with the shares of connect, keep-alive and close, both directions; or those of a day or a
    /// month.
    AllIn(Per),
    /// All-in bytes by reading, both directions.
    PerReading,
    /// IP bytes of connect and close, both directions.
    Connection,
    /// A figure to which the catalogue gives a column.
    Figure(Metric),
    /// Packets of a message, up + down.
    Packets,
    /// Round trips of connect + message.
    RoundTrips,
    /// Round trips until the first message was acknowledged, or had arrived where nothing answers.
    FirstMessage,
    /// Median response time.
    P50,
    /// 99th percentile of the response time.
    P99,
    /// Mean response time with its 95 % interval.
    Mean,
    /// Payload bits / time to arrival.
    Goodput,
    /// (IP bytes - payload) / payload.
    Ratio,
}

/// The mark of a value without a difference of note from the best.
pub(crate) const ALIKE: &str = "~";
/// The mark of a value of which the samples do not tell whether it differs from the best.
pub(crate) const TOO_FEW: &str = "?";
/// The mark of a quantile from too few samples, and of a mean without an interval.
pub(crate) const LOW_N: &str = "°";
/// The mark of a time that ends with arrival because nothing answers.
pub(crate) const TO_ARRIVAL: &str = "→";
/// The mark of all-in bytes of devices that could not send all their messages.
pub(crate) const CUT_SHORT: &str = "†";
/// The mark of the bytes of a message that shares its packets with the handshake.
pub(crate) const EARLY: &str = "‡";

impl Column {
    /// Every column, in the order of the table: those of the catalogue follow the bytes.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Self::BYTES.to_vec();
        let in_tables = Metric::ALL.iter().filter(|metric| metric.column().is_some());
        all.extend(in_tables.copied().map(Self::Figure));
        all.extend(Self::OTHERS);
        all
    }

    const BYTES: [Self; 6] = [
        Self::Up,
        Self::Down,
        Self::Total,
        Self::AllIn(Per::Message),
        Self::PerReading,
        Self::Connection,
    ];

    const OTHERS: [Self; 8] = [
        Self::Packets,
        Self::RoundTrips,
        Self::FirstMessage,
        Self::P50,
        Self::P99,
        Self::Mean,
        Self::Goodput,
        Self::Ratio,
    ];

    /// The name of the column and its unit.
    pub(crate) fn heading(self) -> (&'static str, &'static str) {
        match self {
            Self::Up => ("up", "B/msg"),
            Self::Down => ("down", "B/msg"),
            Self::Total => ("total", "B/msg"),
            Self::AllIn(per) => ("all-in", per.unit()),
            Self::PerReading => ("all-in", "B/reading"),
            Self::Connection => ("connection", "B"),
            Self::Figure(metric) => metric
                .column()
                .map_or(("", ""), |column| (column.name, column.unit)),
            Self::Packets => ("packets", "up+down"),
            Self::RoundTrips => ("RTTs", "conn+msg"),
            Self::FirstMessage => ("1st ack", "RTTs"),
            Self::P50 => ("p50", "ms"),
            Self::P99 => ("p99", "ms"),
            Self::Mean => ("mean", "ms, 95 %"),
            Self::Goodput => ("goodput", "kbit/s"),
            Self::Ratio => ("header", "/payload"),
        }
    }

    /// The value of the cell as a number; null if it was not measured.
    pub(crate) fn value(self, cell: &Cell) -> Option<f64> {
        self.estimate(cell).map(|estimate| estimate.value)
    }

    /// The value of the cell with its 95 % interval, times in nanoseconds; null if it was not measured.
    pub(crate) fn estimate(self, cell: &Cell) -> Option<Estimate> {
        let message = cell.message.as_ref()?;
        match self {
            Self::Up => Some(cell.count(&message.up.wire)),
            Self::Down => Some(cell.count(&message.down.wire)),
            Self::Total => cell.message_bytes(),
            Self::AllIn(per) => per.estimate(cell),
            Self::PerReading => bytes_per_reading(cell),
            Self::Connection => cell.connection_bytes(),
            Self::Figure(metric) => figure(metric, cell),
            Self::Packets => {
                let [up, down] = [&message.up, &message.down].map(|bytes| cell.count(&bytes.packets));
                Some(up.plus(&down))
            }
            Self::RoundTrips => {
                round_trips(cell).map(|(connect, message)| Estimate::exact(connect + message))
            }
            Self::FirstMessage => cell.first_message_round_trips.map(Estimate::exact),
            Self::P50 => quantile(times(message)?, times(message)?.p50, "p50"),
            Self::P99 => quantile(times(message)?, times(message)?.p99, "p99"),
            Self::Mean => times(message).map(|times| Estimate {
                value: times.mean,
                interval: times.ci95,
            }),
            Self::Goodput => Some(goodput(message, message.goodput_bps?)),
            Self::Ratio => ratio(cell, message),
        }
    }

    /// The value of the cell as text, without marks.
    pub(crate) fn text(self, cell: &Cell) -> String {
        match self {
            Self::Packets => number::optional(cell.message.as_ref(), packets),
            Self::RoundTrips => number::optional(round_trips(cell), |(connect, message)| {
                format!("{}+{}", number::trimmed(connect, 2), number::trimmed(message, 2))
            }),
            Self::FirstMessage => number::optional(self.value(cell), |trips| number::trimmed(trips, 2)),
            Self::Mean => number::optional(cell.message.as_ref().and_then(times), mean),
            Self::P50 | Self::P99 => number::optional(self.value(cell), number::millis),
            Self::Goodput => number::optional(self.value(cell), number::kilobits),
            Self::Ratio => number::optional(self.value(cell), |ratio| format!("{ratio:.2}")),
            Self::AllIn(per) => number::optional(self.value(cell), |bytes| per.text(bytes)),
            Self::PerReading => number::optional(self.value(cell), |bytes| Per::Message.text(bytes)),
            Self::Figure(metric) => number::optional(self.value(cell), |value| written(metric, value)),
            Self::Up | Self::Down | Self::Total | Self::Connection => {
                number::optional(self.value(cell), number::bytes)
            }
        }
    }

    /// The marks of the value: no difference of note, too few samples, no answer.
    pub(crate) fn marks(self, cell: &Cell, rank: Rank) -> String {
        let marks = [
            (self.is_shared(cell), EARLY),
            (self.is_cut_short(cell), CUT_SHORT),
            (rank == Rank::Alike, ALIKE),
            (self.is_low_n(cell), LOW_N),
            (
                // The mark of low n says it already.
                rank == Rank::TooFew && self.has_interval() && !self.is_low_n(cell),
                TOO_FEW,
            ),
            (
                self.depends_on_response() && self.value(cell).is_some() && ends_with_arrival(cell),
                TO_ARRIVAL,
            ),
        ];
        marks
            .iter()
            .filter(|(applies, _)| *applies)
            .map(|(_, mark)| *mark)
            .collect()
    }

    /// Whether the value may be compared with others.
    pub(crate) fn is_comparable(self, cell: &Cell) -> bool {
        cell.valid && !self.is_shared(cell) && !self.is_cut_short(cell)
    }

    /// Whether the bytes of a connection were divided by fewer messages than it should have carried.
    const fn is_cut_short(self, cell: &Cell) -> bool {
        matches!(self, Self::AllIn(_) | Self::PerReading) && cell.outcomes.failed > 0
    }

    /// Whether the column describes a message alone, in a cell whose message shares its packets with the handshake.
    const fn is_shared(self, cell: &Cell) -> bool {
        cell.early_message
            && matches!(
                self,
                Self::Up | Self::Down | Self::Total | Self::Packets | Self::Ratio
            )
    }

    /// Whether a value that differs between samples has an interval. The others are ranked only where all samples have the same.
    const fn has_interval(self) -> bool {
        matches!(
            self,
            Self::Total
                | Self::AllIn(_)
                | Self::PerReading
                | Self::Connection
                | Self::P50
                | Self::P99
                | Self::Mean
        )
    }

    const fn depends_on_response(self) -> bool {
        matches!(
            self,
            Self::RoundTrips | Self::FirstMessage | Self::P50 | Self::P99 | Self::Mean
        )
    }

    fn is_low_n(self, cell: &Cell) -> bool {
        let times = cell.message.as_ref().and_then(times);
        if self == Self::Mean {
            return times.is_some_and(|times| times.ci95.is_none());
        }
        let named = |(times, quantile): (&Times, &str)| times.low_n.iter().any(|low| low == quantile);
        times.zip(self.quantile()).is_some_and(named)
    }

    /// The quantile that the column shows, if it shows one.
    fn quantile(self) -> Option<&'static str> {
        let quantiles = [(Self::P50, "p50"), (Self::P99, "p99")];
        quantiles
            .into_iter()
            .find(|(column, _)| *column == self)
            .map(|(_, name)| name)
    }
}

/// Whether a message's time ends with its arrival, because nothing answers.
pub(crate) fn ends_with_arrival(cell: &Cell) -> bool {
    let kind = cell
        .message
        .as_ref()
        .map(|message| message.response_kind.as_str());
    kind == Some("to_arrival")
}

/// A figure of the catalogue, exact where every sample has the same.
fn figure(metric: Metric, cell: &Cell) -> Option<Estimate> {
    let value = metric.of_cell(cell, metric.shown())?;
    let value = match metric.quantity() {
        Quantity::Time => value * 1e9,
        Quantity::Bytes
        | Quantity::PerSecond
        | Quantity::BitRate
        | Quantity::Number
        | Quantity::Share
        | Quantity::Energy
        | Quantity::Money => value,
    };
    Some(match metric.is_constant(cell) {
        true => Estimate::exact(value),
        // A figure without samples of its own has no interval: ranked as if it were exact, noise would win.
        false => Estimate::unknown(value),
    })
}

/// A figure of the catalogue as text, as columns write it.
pub(crate) fn written(metric: Metric, value: f64) -> String {
    match metric.quantity_of(metric.shown()) {
        Quantity::Bytes => number::bytes(value),
        Quantity::Time => number::millis(value),
        Quantity::BitRate => number::kilobits(value),
        Quantity::Share => format!("{:.1} %", 100.0 * value),
        Quantity::PerSecond | Quantity::Number | Quantity::Energy | Quantity::Money => {
            number::trimmed(value, 2)
        }
    }
}

/// A quantile of times with its order-statistic interval; exact where all times are equal.
fn quantile(times: &Times, nanos: Option<u64>, name: &str) -> Option<Estimate> {
    let value = nanos? as f64;
    let interval = match times.min == times.max {
        true => Some([value; 2]),
        false => times
            .quantile_ci95
            .get(name)
            .copied()
            .flatten()
            .map(|ends| ends.map(|ns| ns as f64)),
    };
    Some(Estimate { value, interval })
}

/// The goodput, exact where all messages took equally long.
fn goodput(message: &Section, bps: f64) -> Estimate {
    let delays = message.one_way_delay_ns.as_ref();
    match delays.is_some_and(|delays| delays.min == delays.max) {
        true => Estimate::exact(bps),
        false => Estimate::unknown(bps),
    }
}

/// The bytes beside the payload, by payload, with the interval of a message's bytes.
fn ratio(cell: &Cell, message: &Section) -> Option<Estimate> {
    let ratio = message.header_ratio?;
    let bytes = cell.message_bytes()?;
    let around = bytes.scaled((1.0 + ratio) / bytes.value);
    Some(Estimate {
        value: ratio,
        interval: around.interval.map(|ends| ends.map(|end| end - 1.0)),
    })
}

/// The round trips of connect (0 without one) and message; null under loss.
fn round_trips(cell: &Cell) -> Option<(f64, f64)> {
    let message = cell.message.as_ref()?.round_trips?;
    match &cell.connect {
        None => Some((0.0, message)),
        Some(connect) => Some((connect.round_trips?, message)),
    }
}

const fn times(section: &Section) -> Option<&Times> {
    section.response_time_ns.as_ref()
}

fn packets(message: &Section) -> String {
    let [up, down] = [&message.up, &message.down].map(|bytes| number::trimmed(bytes.packets.mean, 1));
    format!("{up}+{down}")
}

fn mean(times: &Times) -> String {
    let mean = number::millis(times.mean);
    let Some([low, high]) = times.ci95 else {
        return mean;
    };
    let [below, above] = [times.mean - low, high - times.mean].map(number::millis);
    match below == above {
        true => format!("{mean} ±{above}"),
        false => format!("{mean} -{below} +{above}"),
    }
}
