//! What a file of JSON is, and how much of it there is to keep, before anything of it is kept.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use wirecost_proto::shown::grouped;

use crate::exit::Failure;

/// The most cells of a summary: each takes kilobytes as figures, and again as rows of the page.
const MOST_CELLS: u64 = 1_000;
/// The most values of its cells and thresholds.
const MOST_VALUES: u64 = 700_000;
/// The most values of its scenario, whose keys are kept as they are.
const MOST_OF_SCENARIO: u64 = 100_000;

/// What a file is.
pub(super) enum Shape {
    /// The summary of a comparison.
    Comparison { schema: Schema, size: Size },
    /// The summary of a load.
    Load,
    /// The summary of reports in NB-IoT cells.
    Nbiot,
    /// `link.json`.
    Link,
    /// None of these.
    Other,
}

/// The version of its format; none where it says none.
pub(super) struct Schema(Option<Number>);

/// How much there is to keep of a summary.
#[derive(Clone, Copy)]
pub(super) struct Size {
    cells: u64,
    values: u64,
    of_scenario: u64,
}

/// The keys that tell one file from another. Everything else is passed over, whatever it is.
#[derive(Deserialize)]
struct Keys {
    schema: Option<Number>,
    cells: Option<Cells>,
    scenario: Option<Values>,
    thresholds: Option<Values>,
    loads: Option<IgnoredAny>,
    points: Option<IgnoredAny>,
    report: Option<IgnoredAny>,
}

/// The cells and their values.
struct Cells {
    cells: u64,
    values: u64,
}

/// How many values there are: numbers, texts, lists, tables and what is in them.
struct Values(u64);

impl Shape {
    /// What a text is.
    ///
    /// # Errors
    /// It is no JSON, or its cells are no list.
    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let Keys {
            schema,
            cells,
            scenario,
            thresholds,
            loads,
            points,
            report,
        } = serde_json::from_str(text)?;
        let count = |values: Option<Values>| values.map_or(0, |Values(values)| values);
        if let Some(Cells { cells, values }) = cells {
            let size = Size {
                cells,
                values: values + count(thresholds),
                of_scenario: count(scenario),
            };
            let schema = Schema(schema);
            return Ok(Self::Comparison { schema, size });
        }
        Ok(match (loads, points, report) {
            (Some(_), _, _) => Self::Load,
            (None, Some(_), _) => Self::Nbiot,
            (None, None, Some(_)) => Self::Link,
            (None, None, None) => Self::Other,
        })
    }
}

impl Schema {
    pub(super) fn is(&self, version: u32) -> bool {
        self.0.as_ref().and_then(Number::as_u64) == Some(version.into())
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("null"),
        }
    }
}

impl Size {
    /// Refuses a summary of which there is more than this page keeps.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub(super) fn check(self, name: &str) -> Result<(), Failure> {
        let Self {
            cells,
            values,
            of_scenario,
        } = self;
        let bounds = [
            (cells, MOST_CELLS, "cells"),
            (values, MOST_VALUES, "values"),
            (of_scenario, MOST_OF_SCENARIO, "values in its scenario"),
        ];
        match bounds.into_iter().find(|(count, most, _)| count > most) {
            None => Ok(()),
            Some((count, most, what)) => Err(Failure::usage(format!(
                "{name} has {} {what}, and this page reads {}",
                grouped(count),
                grouped(most)
            ))
            .with_hint("open its folder: wirecost report FOLDER --open")),
        }
    }
}

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(CellsVisitor)
    }
}

struct CellsVisitor;

impl<'de> Visitor<'de> for CellsVisitor {
    type Value = Cells;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of cells")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cells, A::Error> {
        let (mut cells, mut values) = (0, 0);
        while let Some(Values(of_cell)) = list.next_element()? {
            cells += 1;
            values += of_cell;
        }
        Ok(Cells { cells, values })
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'de> Visitor<'de> for ValuesVisitor {
    type Value = Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Values, E> {
        Ok(Values(1))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Values, E> {
        Ok(Values(1))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Values, E> {
        Ok(Values(1))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Values, E> {
        Ok(Values(1))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Values, E> {
        Ok(Values(1))
    }

    fn visit_str<E>(self, _: &str) -> Result<Values, E> {
        Ok(Values(1))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Values, A::Error> {
        let mut values = 1;
        while let Some(Values(within)) = list.next_element()? {
            values += within;
        }
        Ok(Values(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
        let mut values = 1;
        while let Some((IgnoredAny, Values(within))) = map.next_entry()? {
            values += within;
        }
        Ok(Values(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> Size {
        match Shape::read(text) {
            Ok(Shape::Comparison { size, .. }) => size,
            _ => panic!("no comparison: {text:.60}"),
        }
    }

    fn refused(text: &str) -> Option<String> {
        size(text)
            .check("a.json")
            .err()
            .map(|failure| failure.to_string())
    }

    #[test]
    fn values_are_counted_and_the_rest_is_passed_over() {
        let text = r#"{"schema": 1, "a": [{"": 0}], "scenario": {"a": [1, null, "x"]}, "cells": [{"b": true}, -1.5], "thresholds": [-1]}"#;
        let Size {
            cells,
            values,
            of_scenario,
        } = size(text);
        assert_eq!((cells, values, of_scenario), (2, 2 + 1 + 2, 5));
    }

    #[test]
    fn a_summary_with_more_than_is_kept_is_refused() {
        let list = |value: &str, count: u64| vec![value; count as usize].join(",");
        let cells = |count| format!(r#"{{"cells": [{}]}}"#, list("{}", count));
        assert_eq!(refused(&cells(MOST_CELLS)), None);
        assert_eq!(
            refused(&cells(MOST_CELLS + 1)).as_deref(),
            Some("a.json has 1,001 cells, and this page reads 1,000")
        );
        let values = format!(r#"{{"cells": [[{}]]}}"#, list("0", MOST_VALUES));
        assert_eq!(
            refused(&values).as_deref(),
            Some("a.json has 700,001 values, and this page reads 700,000")
        );
        let scenario = format!(
            r#"{{"cells": [], "scenario": [{}]}}"#,
            list(r#"{"":0}"#, MOST_OF_SCENARIO)
        );
        assert_eq!(
            refused(&scenario).as_deref(),
            Some("a.json has 200,001 values in its scenario, and this page reads 100,000")
        );
    }
}
