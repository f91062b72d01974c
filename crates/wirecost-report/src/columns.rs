//! The columns of every table: their values, their texts, and the ranking of cells.

mod ranking;
mod shown;

use wirecost_results::summary::Times;
use wirecost_results::{Cell, Section};

use crate::figures::BothWays;
use crate::number;
use crate::per::Per;
use crate::readings::bytes_per_reading;
pub(crate) use ranking::{ANYTHING, Entry, Rank, overlap};
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

/// The mark of a value without a significant difference from the best.
pub(crate) const INSEPARABLE: &str = "~";
/// The mark of a quantile from too few samples, and of a mean without an interval.
pub(crate) const LOW_N: &str = "°";
/// The mark of a time that ends with arrival because nothing answers.
pub(crate) const TO_ARRIVAL: &str = "→";
/// The mark of all-in bytes of devices that could not send all their messages.
pub(crate) const CUT_SHORT: &str = "†";
/// The mark of the bytes of a message that shares its packets with the handshake.
pub(crate) const EARLY: &str = "‡";

impl Column {
    /// Every column, in the order of the table.
    pub(crate) const ALL: [Self; 14] = [
        Self::Up,
        Self::Down,
        Self::Total,
        Self::AllIn(Per::Message),
        Self::PerReading,
        Self::Connection,
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
    pub(crate) const fn heading(self) -> (&'static str, &'static str) {
        match self {
            Self::Up => ("up", "B/msg"),
            Self::Down => ("down", "B/msg"),
            Self::Total => ("total", "B/msg"),
            Self::AllIn(per) => ("all-in", per.unit()),
            Self::PerReading => ("all-in", "B/reading"),
            Self::Connection => ("connection", "B"),
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
        let message = cell.message.as_ref()?;
        match self {
            Self::Up => Some(message.up.wire.mean),
            Self::Down => Some(message.down.wire.mean),
            Self::Total => Some(message.up.wire.mean + message.down.wire.mean),
            Self::AllIn(per) => per.bytes(cell),
            Self::PerReading => bytes_per_reading(cell),
            Self::Connection => BothWays::of_connection(cell).map(|bytes| bytes.total()),
            Self::Packets => Some(message.up.packets.mean + message.down.packets.mean),
            Self::RoundTrips => round_trips(cell).map(|(connect, message)| connect + message),
            Self::FirstMessage => cell.first_message_round_trips,
            Self::P50 => times(message).and_then(|t| t.p50).map(|ns| ns as f64),
            Self::P99 => times(message).and_then(|t| t.p99).map(|ns| ns as f64),
            Self::Mean => times(message).map(|t| t.mean),
            Self::Goodput => message.goodput_bps,
            Self::Ratio => message.header_ratio,
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
            Self::Up | Self::Down | Self::Total | Self::Connection => {
                number::optional(self.value(cell), number::bytes)
            }
        }
    }

    /// The marks of the value: no significant difference, too few samples, no answer.
    pub(crate) fn marks(self, cell: &Cell, rank: Rank) -> String {
        let marks = [
            (self.is_shared(cell), EARLY),
            (self.is_cut_short(cell), CUT_SHORT),
            (rank == Rank::Inseparable, INSEPARABLE),
            (self.is_low_n(cell), LOW_N),
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

    /// Whether the value is shown as the best. Bytes under loss are means without an interval, so that no test says
    /// whether they differ.
    pub(crate) fn is_best(self, cell: &Cell, rank: Rank) -> bool {
        let is_mean_of_bytes = is_lossy(cell) && !self.is_noisy() && !self.depends_on_response();
        rank.is_among_the_best() && !is_mean_of_bytes
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

    /// Whether a value is meaningless without its interval.
    const fn is_noisy(self) -> bool {
        matches!(self, Self::P50 | Self::P99 | Self::Mean)
    }

    const fn depends_on_response(self) -> bool {
        matches!(
            self,
            Self::RoundTrips | Self::FirstMessage | Self::P50 | Self::P99 | Self::Mean
        )
    }

    /// The 95 % interval of a noisy value in nanoseconds; `None` for exact values and for too few samples.
    pub(crate) fn interval(self, cell: &Cell) -> Option<[f64; 2]> {
        let times = times(cell.message.as_ref()?)?;
        if self == Self::Mean {
            return times.ci95;
        }
        let quantile = self.quantile()?;
        if times.min == times.max {
            return Some([times.min as f64; 2]);
        }
        let bounds = (*times.quantile_ci95.get(quantile)?)?;
        Some(bounds.map(|ns| ns as f64))
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

/// Whether the link loses packets, so that bytes differ between samples.
pub(crate) fn is_lossy(cell: &Cell) -> bool {
    cell.link.up.loss > 0.0 || cell.link.down.loss > 0.0
}

/// Whether a message's time ends with its arrival, because nothing answers.
pub(crate) fn ends_with_arrival(cell: &Cell) -> bool {
    let kind = cell
        .message
        .as_ref()
        .map(|message| message.response_kind.as_str());
    kind == Some("to_arrival")
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
