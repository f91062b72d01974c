//! The columns of a meter's file: which one holds what, in which unit.
//!
//! The unit is in parentheses after the name: `Timestamp(ms)`, `Main current (A)`. Three programs write names without a unit:
//! Otii Arc (a column `Main current`; seconds, amperes, volts), Joulescope (the first columns are `time,current,voltage`; the
//! same units), and the data logger of Keysight's N6705 power analyzers (`Sample,Volt avg 1,Curr avg 1`; volts, amperes), which numbers
//! its samples and has their interval in seconds in a line above.
//!
//! The Power Profiler app writes its digital channels one by one (`D0,D1,...`) or in one column `D0-D7`, of which the first character is D0:
//! 0 or 1, `X` where it was both within the sample, `-` where it is not known.

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
    marker: Option<Marker>,
}

/// Where a marker is.
#[derive(Clone, Copy, Debug)]
struct Marker {
    /// The index of its column.
    index: usize,
    /// Its character in a column of all digital channels; `None` in a column of its own.
    digit: Option<usize>,
}

/// The column of all digital channels.
const ALL_CHANNELS: &str = "D0-D7";

/// The channel of a name: 0 to 7.
fn channel(name: &str) -> Option<usize> {
    let number = name.strip_prefix(['D', 'd'])?.parse().ok()?;
    (number < 8).then_some(number)
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

    fn is_of(&self, quantity: Quantity, is_keysight: bool) -> bool {
        match (quantity, is_keysight) {
            (Quantity::Time, true) => self.name == "sample",
            (Quantity::Current, true) => self.name.starts_with(KEYSIGHT_CURRENT),
            (Quantity::Voltage, true) => self.name.starts_with("volt avg "),
            (Quantity::Time, false) => matches!(self.name.as_str(), "time" | "timestamp"),
            (Quantity::Current | Quantity::Voltage, false) => {
                self.name.split_whitespace().next_back() == Some(quantity.name())
            }
        }
    }
}

impl Columns {
    /// Reads the header. `volts` is the voltage of a file without one, `marker` the name of a column that is 1 where the device sends,
    /// `interval` the seconds between samples of which a line above told.
    pub(super) fn read(
        header: &str,
        volts: Option<f64>,
        marker: Option<&str>,
        interval: Option<f64>,
    ) -> Result<Self, Fault> {
        // Spreadsheets write a byte order mark, and some meters a comment sign, before the header.
        let header = header.trim_start_matches(['\u{feff}', '#']);
        if header.is_empty() {
            return Err(Fault::NoSamples);
        }
        let headings: Vec<Heading<'_>> = header.split(',').map(Heading::read).collect();
        let find = |quantity| find(&headings, quantity, interval);
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
        let place = |name: &str| {
            let named = |name: &str| {
                headings
                    .iter()
                    .position(|heading| heading.text.eq_ignore_ascii_case(name))
            };
            let own = named(name).map(|index| Marker { index, digit: None });
            let shared = || {
                let (digit, index) = (channel(name)?, named(ALL_CHANNELS)?);
                let digit = Some(digit);
                Some(Marker { index, digit })
            };
            own.or_else(shared)
                .ok_or_else(|| Fault::NoMarker(name.to_owned()))
        };
        Ok(Self {
            time,
            current,
            voltage,
            marker: marker.map(place).transpose()?,
        })
    }

    /// Whether the marker is set in a line, at least for a part of the sample; `None` where that is not known, and without a marker.
    pub(super) fn is_marked(&self, line: &str) -> Result<Option<bool>, Fault> {
        let Some(Marker { index, digit }) = self.marker else {
            return Ok(None);
        };
        let text = line.split(',').nth(index).unwrap_or_default();
        let text = text.trim().trim_matches('"');
        let bit = match digit {
            Some(digit) => text.get(digit..=digit).unwrap_or_default(),
            None => text,
        };
        match bit {
            "0" => Ok(Some(false)),
            "1" | "X" => Ok(Some(true)),
            "-" => Ok(None),
            _ => Err(Fault::NoBit(text.to_owned())),
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
fn find(
    headings: &[Heading<'_>],
    quantity: Quantity,
    interval: Option<f64>,
) -> Result<Option<Column>, Fault> {
    let is_keysight = is_keysight(headings);
    let mut all = headings
        .iter()
        .enumerate()
        .filter(|(_, heading)| heading.is_of(quantity, is_keysight));
    let Some((index, heading)) = all.next() else {
        return Ok(None);
    };
    // Two meters in one file: taking the first would be a guess.
    if let Some((_, second)) = all.next() {
        let texts = [heading.text, second.text].map(str::to_owned);
        let [first, second] = texts;
        return Err(Fault::TwoColumns(quantity, first, second));
    }
    let factor = match (is_keysight, quantity) {
        (true, Quantity::Time) => interval.ok_or(Fault::NoInterval)?,
        (true, Quantity::Current | Quantity::Voltage) => 1.0,
        (false, _) => factor(headings, heading, quantity)?,
    };
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

/// How the data logger of a Keysight N6705 names mean currents, before the number of the output.
const KEYSIGHT_CURRENT: &str = "curr avg ";

fn is_keysight(headings: &[Heading<'_>]) -> bool {
    let names = headings
        .iter()
        .map(|heading| (heading.name.as_str(), heading.unit));
    let mut names = names.filter(|(_, unit)| unit.is_none()).map(|(name, _)| name);
    names.next() == Some("sample") && names.any(|name| name.starts_with(KEYSIGHT_CURRENT))
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
