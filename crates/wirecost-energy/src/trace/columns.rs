//! The columns of a meter's file: which one holds what, in which unit.
//!
//! The unit is in parentheses after the name: `Timestamp(ms)`, `Main current (A)`. Two programs write names without a unit:
//! Otii Arc (a column `Main current`; seconds, amperes, volts) and Joulescope (the first columns are `time,current,voltage`; the
//! same units).

use super::fault::{Fault, Quantity};
use super::{MAX_SECONDS, MAX_VALUE, Sample};

/// Units by quantity, as factors to seconds, amperes and volts.
const TIMES: [(&str, f64); 5] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9)];
const CURRENTS: [(&str, f64); 5] = [("A", 1.0), ("mA", 1e-3), ("uA", 1e-6), ("µA", 1e-6), ("nA", 1e-9)];
const VOLTAGES: [(&str, f64); 3] = [("V", 1.0), ("mV", 1e-3), ("uV", 1e-6)];

/// A column: its index from 0, and the factor from its unit.
#[derive(Clone, Copy, Debug)]
struct Column {
    quantity: Quantity,
    index: usize,
    factor: f64,
}

/// Where the voltage comes from.
#[derive(Clone, Copy, Debug)]
enum Voltage {
    Column(Column),
    Volts(f64),
}

/// The columns of a file.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    time: Column,
    current: Column,
    voltage: Voltage,
    /// The index of the column of a marker.
    marker: Option<usize>,
}

/// A column's name in lower case, and its unit.
struct Heading<'a> {
    text: &'a str,
    name: String,
    unit: Option<&'a str>,
}

impl<'a> Heading<'a> {
    fn read(text: &'a str) -> Self {
        let text = text.trim().trim_matches('"').trim();
        let split = text.strip_suffix(')').and_then(|text| text.rsplit_once('('));
        let (name, unit) = split.map_or((text, None), |(name, unit)| (name, Some(unit.trim())));
        Self {
            text,
            name: name.trim().to_lowercase(),
            unit,
        }
    }

    fn is_of(&self, quantity: Quantity) -> bool {
        match quantity {
            Quantity::Time => matches!(self.name.as_str(), "time" | "timestamp"),
            Quantity::Current | Quantity::Voltage => {
                self.name.split_whitespace().next_back() == Some(quantity.name())
            }
        }
    }
}

impl Columns {
    /// Reads the header. `volts` is the voltage of a file without one, `marker` the name of a column that is 1 where the device sends.
    pub(super) fn read(header: &str, volts: Option<f64>, marker: Option<&str>) -> Result<Self, Fault> {
        // Spreadsheets write a byte order mark, and some meters a comment sign, before the header.
        let header = header.trim_start_matches(['\u{feff}', '#']);
        if header.is_empty() {
            return Err(Fault::NoSamples);
        }
        let headings: Vec<Heading<'_>> = header.split(',').map(Heading::read).collect();
        let find = |quantity| find(&headings, quantity);
        let time = find(Quantity::Time)?.ok_or(Fault::NoColumn(Quantity::Time))?;
        let current = find(Quantity::Current)?.ok_or(Fault::NoColumn(Quantity::Current))?;
        let voltage = match (find(Quantity::Voltage)?, volts) {
            (Some(column), None) => Voltage::Column(column),
            (None, Some(volts)) => Voltage::Volts(volts),
            (None, None) => return Err(Fault::NoVoltage),
            // Which of the two is meant is not for the program to guess: they differ by the drop of the battery.
            (Some(column), Some(_)) => {
                return Err(Fault::TwoVoltages(headings[column.index].text.to_owned()));
            }
        };
        let index = |name: &str| {
            let found = headings
                .iter()
                .position(|heading| heading.text.eq_ignore_ascii_case(name));
            found.ok_or_else(|| Fault::NoMarker(name.to_owned()))
        };
        Ok(Self {
            time,
            current,
            voltage,
            marker: marker.map(index).transpose()?,
        })
    }

    /// Whether the marker is set in a line; never without one.
    pub(super) fn is_marked(&self, line: &str) -> Result<bool, Fault> {
        let Some(index) = self.marker else {
            return Ok(false);
        };
        match line
            .split(',')
            .nth(index)
            .unwrap_or_default()
            .trim()
            .trim_matches('"')
        {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(Fault::NoBit(other.to_owned())),
        }
    }

    /// Reads the line of a sample.
    pub(super) fn sample(&self, line: &str) -> Result<Sample, Fault> {
        let seconds = self.time.value(line, MAX_SECONDS)?;
        let amperes = self.current.value(line, MAX_VALUE)?;
        let volts = match &self.voltage {
            Voltage::Column(column) => column.value(line, MAX_VALUE)?,
            Voltage::Volts(volts) => *volts,
        };
        Ok(Sample {
            seconds,
            amperes,
            watts: amperes * volts,
        })
    }
}

impl Column {
    fn value(&self, line: &str, most: f64) -> Result<f64, Fault> {
        let text = line.split(',').nth(self.index).unwrap_or_default();
        let text = text.trim().trim_matches('"');
        if text.is_empty() {
            return Err(Fault::NoValue(self.quantity));
        }
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| Fault::NotANumber(self.quantity, text.to_owned()))? * self.factor;
        (value.abs() <= most)
            .then_some(value)
            .ok_or_else(|| Fault::OutOfRange(self.quantity, text.to_owned()))
    }
}

/// The column of a quantity, if there is one.
fn find(headings: &[Heading<'_>], quantity: Quantity) -> Result<Option<Column>, Fault> {
    let mut all = headings
        .iter()
        .enumerate()
        .filter(|(_, heading)| heading.is_of(quantity));
    let Some((index, heading)) = all.next() else {
        return Ok(None);
    };
    // Two meters in one file: taking the first would be a guess.
    if let Some((_, second)) = all.next() {
        let texts = [heading.text, second.text].map(str::to_owned);
        let [first, second] = texts;
        return Err(Fault::TwoColumns(quantity, first, second));
    }
    let factor = factor(headings, heading, quantity)?;
    Ok(Some(Column {
        quantity,
        index,
        factor,
    }))
}

fn factor(headings: &[Heading<'_>], heading: &Heading<'_>, quantity: Quantity) -> Result<f64, Fault> {
    let Some(unit) = heading.unit else {
        // These programs write amperes and seconds without saying so; of others the unit would be a guess.
        let is_known = is_otii(headings) || is_joulescope(headings);
        return is_known
            .then_some(1.0)
            .ok_or_else(|| Fault::NoUnit(heading.text.to_owned()));
    };
    let units = match quantity {
        Quantity::Time => &TIMES[..],
        Quantity::Current => &CURRENTS[..],
        Quantity::Voltage => &VOLTAGES[..],
    };
    let found = units.iter().find(|(name, _)| *name == unit);
    found
        .map(|(_, factor)| *factor)
        .ok_or_else(|| Fault::UnknownUnit(heading.text.to_owned(), quantity))
}

fn is_otii(headings: &[Heading<'_>]) -> bool {
    headings
        .iter()
        .any(|heading| heading.name == "main current" && matches!(heading.unit, None | Some("A")))
}

fn is_joulescope(headings: &[Heading<'_>]) -> bool {
    let first = headings.iter().take(3);
    let names: Vec<&str> = first
        .filter(|heading| heading.unit.is_none())
        .map(|heading| heading.name.as_str())
        .collect();
    names == ["time", "current", "voltage"]
}
