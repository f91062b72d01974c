//! Conditions on the dimensions of cells or loads, as `exclude` and thresholds give them.

use std::collections::BTreeMap;
use std::fmt;

use wirecost_proto::ByteSize;
use wirecost_proto::units::DisplayDuration;
use wirecost_readings::{Compression, Encoding};
use wirecost_security::Start;
use wirecost_stack::Stack;

use super::device;
use super::edit::{OF_COMPARISONS, OF_LOADS};
use super::link;
use super::parameter;
use super::table::{ValueError, clients, meant, message_rate_text, parsed, rate, readings, time, whole};
use super::tariff;

/// The dimensions of one cell or load with their values, as texts.
pub type Labels = BTreeMap<&'static str, String>;

/// Conditions on dimensions. Each must hold, by any of its values. An empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector(BTreeMap<&'static str, Vec<String>>);

/// Why a condition cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The key is not a dimension.
    #[error("{key:?} is not a dimension ({hint})")]
    NoDimension {
        /// The key.
        key: String,
        /// What the key may have meant.
        hint: String,
    },
    /// The dimension cannot have the value.
    #[error(transparent)]
    Value(#[from] ValueError),
}

/// The device file by which the energy of a cell is modelled: a dimension of such figures alone.
pub const DEVICE: &str = "device";

/// The tariff file by which the month of a cell is priced: a dimension of such figures alone.
pub const TARIFF: &str = "tariff";

/// The hop between two sites, of which a figure of a load's links is: a dimension of such figures alone.
pub const HOP: &str = "hop";

/// The program of another maker that runs in place of a stack; also the key that makes a scenario one of a program.
pub const PROGRAM: &str = "program";

/// The dimensions of a link that is a modelled NB-IoT cell.
pub(crate) const OF_NBIOT_CELLS: [&str; 3] = ["link.cell", "link.cell_load", "link.coupling_loss"];

/// The dimensions of cells.
pub fn of_cells() -> Vec<&'static str> {
    [&OF_COMPARISONS[..], &["engine", "target", PROGRAM]].concat()
}

/// The dimensions of phases of loads.
pub fn of_phases() -> Vec<&'static str> {
    [&OF_LOADS[..], &["phase", HOP]].concat()
}

/// Labels as results hold them.
pub fn to_stored(labels: &Labels) -> BTreeMap<String, String> {
    let owned = |(key, value): (&&str, &String)| ((*key).to_owned(), value.clone());
    labels.iter().map(owned).collect()
}

/// Labels that results hold, without the dimensions that this version does not know.
pub fn from_stored(stored: &BTreeMap<String, String>) -> Labels {
    let dimensions = [of_cells(), of_phases()].concat();
    let known = dimensions.into_iter().chain(OF_NBIOT_CELLS);
    known
        .filter_map(|key| Some((key, stored.get(key)?.clone())))
        .collect()
}

impl Selector {
    /// Adds a condition: a dimension has one of these values. A `*` in a value matches any letters.
    ///
    /// # Errors
    /// The dimension is none of `dimensions`, or cannot have a value.
    pub fn require(
        &mut self,
        key: &str,
        values: &[String],
        dimensions: &[&'static str],
    ) -> Result<(), SelectorError> {
        // A parameter of an NB-IoT network may have the first part that it has in a file.
        let own = key.strip_prefix("nbiot.").unwrap_or(key);
        let Some(key) = dimensions.iter().find(|name| **name == key || **name == own) else {
            return Err(SelectorError::NoDimension {
                key: key.to_owned(),
                hint: meant(key, dimensions),
            });
        };
        let values = values.iter().map(|value| canonical(key, value));
        self.0.insert(key, values.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Whether labels fulfil every condition. A missing label fulfils none.
    pub fn matches(&self, labels: &Labels) -> bool {
        let holds = |(key, values): (&&str, &Vec<String>)| {
            let label = labels.get(*key);
            label.is_some_and(|label| values.iter().any(|value| glob(value, label)))
        };
        self.0.iter().all(holds)
    }

    /// Whether a dimension may have a value.
    pub fn allows(&self, key: &str, value: &str) -> bool {
        let values = self.0.get(key);
        values.is_none_or(|values| values.iter().any(|known| glob(known, value)))
    }

    /// Whether there is a condition on a dimension.
    pub fn names(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Whether there are no conditions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The conditions in the form of a scenario.
    pub fn to_table(&self) -> BTreeMap<String, Vec<String>> {
        let entries = self.0.iter();
        entries
            .map(|(key, values)| ((*key).to_owned(), values.clone()))
            .collect()
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(key, values): (&&str, &Vec<String>)| format!("{key}={}", values.join("|"));
        write!(f, "{{{}}}", self.0.iter().map(one).collect::<Vec<_>>().join(","))
    }
}

/// A value in the form of labels: 1000us becomes 1ms.
fn canonical(key: &str, value: &str) -> Result<String, ValueError> {
    let value = value.trim();
    // A pattern has no value whose form could be another.
    if value.contains('*') {
        return Ok(value.to_owned());
    }
    match key {
        "stack" => parsed::<Stack>(value).map(|stack| stack.to_string()),
        DEVICE => device::known(value).map(str::to_owned),
        TARIFF => tariff::known(value).map(str::to_owned),
        "start" => parsed::<Start>(value).map(|start| start.to_string()),
        "readings" => readings(value).map(|readings| readings.to_string()),
        "encoding" => parsed::<Encoding>(value).map(|encoding| encoding.to_string()),
        "compression" => parsed::<Compression>(value).map(|compression| compression.to_string()),
        "size" => parsed::<ByteSize>(value).map(|size| size.to_string()),
        "link.rtt" | "interval" => time(value).map(|time| DisplayDuration(time).to_string()),
        "link.rate" => link::rate(value).map(link::rate_text),
        "link.mtu" => link::mtu(value).map(|mtu| ByteSize::from_bytes(mtu.into()).to_string()),
        "messages_per_connection" | "inflight" => whole::<u64>(value).map(|number| number.to_string()),
        "clients" => clients(value).map(|number| number.to_string()),
        "rate" | "load" => rate(value).map(message_rate_text),
        // Any other key with a dot is a parameter of a network: the links' own are above.
        _ if key.contains('.') && key != "link.loss" => Ok(parameter::plain(value)),
        _ => Ok(value.to_owned()),
    }
}

/// Whether a text matches a pattern in which `*` matches any characters. Each piece is searched once, from the left, so
/// that the time is at most the product of both lengths.
fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_characters() {
        for (pattern, text, fits) in [
            ("amqp*", "amqp-settled", true),
            ("*tls1.3", "tcp+tls1.3", true),
            ("m*+*3", "mqtt-qos1+tls1.3", true),
            ("m*+*2", "mqtt-qos1+tls1.3", false),
            ("*", "", true),
            ("tcp", "tcp+tls1.3", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn every_condition_must_hold_by_any_of_its_values() {
        let mut selector = Selector::default();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        selector
            .require("size", &texts(&["1000B", "2kB"]), &of_cells())
            .expect("sizes");
        selector
            .require("stack", &texts(&["mqtt*"]), &of_cells())
            .expect("a pattern");
        let labels =
            |stack: &str, size: &str| Labels::from([("stack", stack.to_owned()), ("size", size.to_owned())]);
        assert!(selector.matches(&labels("mqtt-qos1", "1kB")));
        assert!(!selector.matches(&labels("mqtt-qos1", "3kB")) && !selector.matches(&labels("tcp", "1kB")));
        assert_eq!(selector.to_string(), "{size=1kB|2kB,stack=mqtt*}");
    }

    #[test]
    fn unknown_dimensions_and_values_are_refused() {
        let refused = |key: &str, value: &str| {
            let mut selector = Selector::default();
            selector
                .require(key, &[value.to_owned()], &of_cells())
                .expect_err(value)
                .to_string()
        };
        assert!(refused("stak", "tcp").contains("did you mean \"stack\"?"));
        assert!(refused("stack", "h3").contains("unknown stack"));
        assert!(refused("size", "16").contains("no unit"));
    }
}
