//! What all-in bytes are of: a message, a day, a month or a year.

use wirecost_proto::calendar::Period;
use wirecost_results::Cell;
use wirecost_stats::Estimate;

use crate::number;

/// What all-in bytes are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// One message.
    #[default]
    Message,
    /// The messages of a day, at the interval of the cell.
    Day,
    /// The messages of a month of 30 days, at the interval of the cell.
    Month,
    /// The messages of 365 days, at the interval of the cell.
    Year,
}

impl Per {
    /// The unit of a column of all-in bytes. The bytes of a day, a month or a year have their own unit each.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Message => "B/msg",
            Self::Day => "a day",
            Self::Month => "a month",
            Self::Year => "a year",
        }
    }

    const fn period(self) -> Option<Period> {
        match self {
            Self::Message => None,
            Self::Day => Some(Period::Day),
            Self::Month => Some(Period::Month),
            Self::Year => Some(Period::Year),
        }
    }

    /// The all-in bytes of a cell, both directions, with their interval. A day, a month and a year need an interval between messages.
    pub(crate) fn estimate(self, cell: &Cell) -> Option<Estimate> {
        let each = cell.all_in_bytes()?;
        let Some(period) = self.period() else {
            return Some(each);
        };
        let interval = cell.interval_ns.filter(|nanos| *nanos > 0)?;
        Some(each.scaled(period.times(interval as f64 / 1e9)))
    }

    /// All-in bytes as text, without the unit of the column.
    pub(crate) fn text(self, bytes: f64) -> String {
        match self {
            Self::Message if bytes < 100.0 => number::bytes(bytes),
            Self::Message => format!("{bytes:.0}"),
            Self::Day | Self::Month | Self::Year => number::data(bytes.round() as u64),
        }
    }

    /// All-in bytes in a sentence: `1,287 B a message all-in`.
    pub(crate) fn words(self, bytes: f64) -> String {
        match self {
            Self::Message => format!("{} a message all-in", number::whole_bytes(bytes)),
            Self::Day => format!("{} a day", self.text(bytes)),
            Self::Month => format!("{} a month", self.text(bytes)),
            Self::Year => format!("{} a year", self.text(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use wirecost_results::AllIn;

    use super::*;

    #[test]
    fn a_month_has_thirty_days_of_messages_at_the_interval() {
        let all_in = AllIn {
            messages: 288,
            up: 800.0,
            down: 486.9,
        };
        let mut cell = Cell {
            all_in: Some(all_in),
            interval_ns: Some(300_000_000_000),
            ..Cell::default()
        };
        let words = |per: Per, cell: &Cell| per.estimate(cell).map(|bytes| per.words(bytes.value));
        let expected = [
            (Per::Message, "1,287 B a message all-in"),
            (Per::Day, "371 kB a day"),
            (Per::Month, "11.1 MB a month"),
            (Per::Year, "135 MB a year"),
        ];
        for (per, text) in expected {
            assert_eq!(words(per, &cell).as_deref(), Some(text));
        }
        cell.interval_ns = None;
        assert_eq!(words(Per::Month, &cell), None, "no interval, no month");
    }
}
