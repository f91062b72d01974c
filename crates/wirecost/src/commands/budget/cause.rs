//! What moved a figure between two runs: the bytes of each layer, by phase, direction and cause, and the settings.

use std::fmt;

use serde_json::{Value, json};
use wirecost_proto::{Direction, Phase};
use wirecost_results::catalogue::Metric;
use wirecost_results::resolved::Tree;
use wirecost_results::summary::{Bytes, Count};
use wirecost_results::{Cell, Section, Summary};

/// The bytes of a layer.
type OfLayer = fn(&Bytes) -> Count;

/// The layers of a packet, from the outside.
const LAYERS: [(&str, OfLayer); 5] = [
    ("ip", |bytes| bytes.ip),
    ("transport", |bytes| bytes.transport),
    ("security", |bytes| bytes.security),
    ("application", |bytes| bytes.application),
    ("payload", |bytes| bytes.payload),
];

/// Bytes that differ by less are equal: they are means.
const ROUNDING: f64 = 1e-6;
/// The most settings that are named.
const MOST_SETTINGS: usize = 12;

/// The bytes of a layer that moved.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedBytes {
    phase: Phase,
    way: Direction,
    layer: &'static str,
    before: f64,
    after: f64,
    /// Why those bytes are sent: the causes in this phase and direction that moved.
    why: Vec<String>,
}

impl fmt::Display for MovedBytes {
    /// `message up: application 12 B to 13 B (+1 B, original)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = [self.before, self.after].map(number);
        write!(
            f,
            "{} {}: {} {before} B to {after} B ({}",
            self.phase.name().replace('_', "-"),
            self.way.name(),
            self.layer,
            signed(self.after - self.before)
        )?;
        for why in &self.why {
            write!(f, ", {why}")?;
        }
        f.write_str(")")
    }
}

impl MovedBytes {
    /// The bytes as JSON.
    pub fn json(&self) -> Value {
        json!({
            "phase": self.phase.name(), "direction": self.way.name(), "layer": self.layer,
            "before": self.before, "after": self.after, "cause": self.why,
        })
    }
}

/// What moved the bytes that a figure is of, the largest change first.
pub fn causes(metric: Metric, old: &Cell, new: &Cell) -> Vec<MovedBytes> {
    let of = match metric.phases() {
        // Energy and money follow from every packet.
        [] if metric.model().is_some() => &Phase::ALL[..],
        phases => phases,
    };
    let mut all: Vec<MovedBytes> = of.iter().flat_map(|phase| moved(*phase, old, new)).collect();
    let distance = |cause: &MovedBytes| (cause.after - cause.before).abs();
    all.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    all
}

/// What moved in a phase.
fn moved(phase: Phase, old: &Cell, new: &Cell) -> Vec<MovedBytes> {
    let nothing = Section::default();
    let [old, new] = [old, new].map(|cell| section(cell, phase).unwrap_or(&nothing));
    let mut all = Vec::new();
    for way in Direction::ALL {
        for (layer, of) in LAYERS {
            let [before, after] = [old, new].map(|section| of(bytes(section, way)).mean);
            if (after - before).abs() > ROUNDING {
                let why = reasons(way, old, new);
                all.push(MovedBytes {
                    phase,
                    way,
                    layer,
                    before,
                    after,
                    why,
                });
            }
        }
    }
    all
}

/// The causes of bytes in a section that moved.
fn reasons(way: Direction, old: &Section, new: &Section) -> Vec<String> {
    let of = |section: &Section, cause: &str| {
        section.by_cause.get(cause).map_or(0.0, |bytes| match way {
            Direction::Up => bytes.up,
            Direction::Down => bytes.down,
        })
    };
    let names = old.by_cause.keys().chain(
        new.by_cause
            .keys()
            .filter(|name| !old.by_cause.contains_key(*name)),
    );
    let moved = names.filter(|name| (of(new, name) - of(old, name)).abs() > ROUNDING);
    moved.cloned().collect()
}

const fn section(cell: &Cell, phase: Phase) -> Option<&Section> {
    match phase {
        Phase::Connect => cell.connect.as_ref(),
        Phase::Message => cell.message.as_ref(),
        Phase::KeepAlive => cell.keep_alive.as_ref(),
        Phase::Close => cell.close.as_ref(),
    }
}

const fn bytes(section: &Section, way: Direction) -> &Bytes {
    match way {
        Direction::Up => &section.up,
        Direction::Down => &section.down,
    }
}

/// The settings of two runs that differ, and the versions of the program, if they do.
pub fn settings(old: &Summary, new: &Summary) -> Vec<String> {
    let [before, after] = [old, new].map(|summary| {
        let mut flat = Vec::new();
        flatten("", &Tree::from_value(&summary.scenario), &mut flat);
        flat
    });
    let of = |flat: &[(String, String)], key: &str| {
        let found = flat.iter().find(|(name, _)| name == key);
        found.map_or_else(|| "nothing".to_owned(), |(_, value)| value.clone())
    };
    let added = after
        .iter()
        .filter(|(key, _)| before.iter().all(|(other, _)| other != key));
    let keys = before.iter().chain(added).map(|(key, _)| key);
    let mut differing: Vec<String> = keys
        .filter(|key| of(&before, key) != of(&after, key))
        .map(|key| format!("setting {key}: {} to {}", of(&before, key), of(&after, key)))
        .collect();
    if differing.len() > MOST_SETTINGS {
        let more = differing.len() - MOST_SETTINGS;
        differing.truncate(MOST_SETTINGS);
        differing.push(format!("{more} more settings"));
    }
    if old.version != new.version {
        differing.push(format!("wirecost {} to {}", old.version, new.version));
    }
    differing
}

/// Each value of a tree by its path; a list of plain values is one value.
fn flatten(path: &str, tree: &Tree, into: &mut Vec<(String, String)>) {
    let within = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match tree {
        Tree::Null => {}
        Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => {
            into.push((path.to_owned(), tree.scalar().unwrap_or_default()));
        }
        Tree::Table(entries) => entries
            .iter()
            .for_each(|(key, value)| flatten(&within(key), value, into)),
        Tree::List(list) => match list.iter().map(Tree::scalar).collect::<Option<Vec<String>>>() {
            Some(values) => into.push((path.to_owned(), values.join(", "))),
            None => {
                for (index, value) in list.iter().enumerate() {
                    flatten(&within(&(index + 1).to_string()), value, into);
                }
            }
        },
    }
}

/// A mean number of bytes, with a decimal place where it is not whole.
fn number(bytes: f64) -> String {
    let text = format!("{bytes:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn signed(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "+" };
    format!("{sign}{} B", number(bytes.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_differs_is_named_with_both_values() {
        let tree = |resource: &str, mtu: u64| {
            Tree::Table(vec![
                ("resource".to_owned(), Tree::text(resource)),
                (
                    "links".to_owned(),
                    Tree::List(vec![Tree::Table(vec![("mtu".to_owned(), Tree::number(mtu))])]),
                ),
            ])
        };
        let mut flat = Vec::new();
        flatten("", &tree("meter", 1500), &mut flat);
        let expected = [("resource", "meter"), ("links.1.mtu", "1500")];
        assert_eq!(
            flat,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn bytes_of_a_layer_that_moved_name_their_phase_direction_and_cause() {
        let mut old = Cell::default();
        let mut section = Section::default();
        section.up.application.mean = 12.0;
        section.by_cause.insert("original".to_owned(), Default::default());
        old.message = Some(section.clone());
        section.up.application.mean = 13.0;
        section.by_cause.entry("original".to_owned()).or_default().up = 1.0;
        let new = Cell {
            message: Some(section),
            ..Cell::default()
        };
        let found: Vec<String> = causes(Metric::BytesPerMessage, &old, &new)
            .iter()
            .map(MovedBytes::to_string)
            .collect();
        assert_eq!(found, ["message up: application 12 B to 13 B (+1 B, original)"]);
        assert_eq!(causes(Metric::ConnectBytes, &old, &new), []);
        assert_eq!(causes(Metric::BytesPerMessage, &new, &new), []);
    }
}
