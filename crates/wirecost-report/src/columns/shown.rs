//! Which columns a table shows: those that say something about its cells.

use wirecost_results::Cell;

use super::{Column, round_trips, times};
use crate::per::Per;

/// Bytes of the headers of an IP packet with TCP.
const HEADERS: u64 = 40;

/// The columns that say something about these cells, in the order of the table; all-in bytes are those of `per`.
pub(crate) fn shown(cells: &[&Cell], per: Per) -> Vec<Column> {
    let of_period = |column| {
        if matches!(column, Column::AllIn(_)) {
            Column::AllIn(per)
        } else {
            column
        }
    };
    let columns = Column::all().into_iter().map(of_period);
    columns.filter(|column| column.is_telling(cells)).collect()
}

impl Column {
    fn is_telling(self, cells: &[&Cell]) -> bool {
        let any = |applies: fn(&Cell) -> bool| cells.iter().any(|cell| applies(cell));
        let has_values = cells.iter().any(|cell| self.value(cell).is_some());
        match self {
            Self::Up | Self::Down | Self::Total | Self::Packets | Self::RoundTrips | Self::P50 => true,
            // A single message shares nothing: the column would repeat those beside it.
            Self::AllIn(per) => per != Per::Message || any(is_kept),
            Self::PerReading => any(is_batch),
            Self::Connection => cells.iter().any(|cell| self.value(cell) != Some(0.0)),
            Self::FirstMessage => has_values && any(waits_in_between),
            Self::P99 | Self::Mean => has_values && any(has_spread),
            Self::Goodput => has_values && any(spans_packets),
            Self::Ratio | Self::Figure(_) => has_values,
        }
    }
}

/// Whether a device sends several messages, or at an interval: only then does a message have a share of the rest.
const fn is_kept(cell: &Cell) -> bool {
    cell.messages_per_connection > 1 || cell.interval_ns.is_some()
}

/// Whether a message carries several readings.
fn is_batch(cell: &Cell) -> bool {
    cell.readings.as_ref().is_some_and(|readings| readings.count > 1)
}

/// Whether the first message takes another number of round trips than connect and message together.
fn waits_in_between(cell: &Cell) -> bool {
    let sum = round_trips(cell).map(|(connect, message)| connect + message);
    cell.first_message_round_trips.is_some() && cell.first_message_round_trips != sum
}

/// Whether response times differ at all; otherwise the median is every quantile and the mean.
fn has_spread(cell: &Cell) -> bool {
    let times = cell.message.as_ref().and_then(times);
    times.is_some_and(|times| times.min != times.max)
}

/// Whether a message takes several packets. The goodput of a single packet is its delay in other words.
const fn spans_packets(cell: &Cell) -> bool {
    cell.payload_bytes + HEADERS > cell.link.up.mtu_bytes
}
